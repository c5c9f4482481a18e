# SPDX-License-Identifier: GPL-2.0
"""A kernel fault makes lab/boot fail and name the log, even if the command succeeds."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]

GUEST = 70


def expect_fault(done: Done, *words: str) -> None:
    """Check that a run failed by a kernel fault, and that its output and its log contain WORDS."""
    said = done.stderr.decode()
    assert done.returncode == GUEST, said
    match = re.search(r"kernel log: (\S+)", said)
    assert match, said
    assert Path(match[1]).stat().st_size > 0
    for word in words:
        assert word in said, said


@pytest.mark.parametrize(
    ("fault", "words"),
    [("oops", ()), ("panic", ("Kernel panic", "asked to")), ("warn", ("WARNING",))],
)
def test_fault_in_the_fast_kernel_is_reported(
    lab: Lab, oops_module: Callable[[str], str], fault: str, words: tuple[str, ...]
) -> None:
    module = oops_module("fast")
    expect_fault(lab("--", "sh", "-c", f"insmod {module} fault={fault}; exit 0"), *words)


def test_silent_console_hides_no_report(lab: Lab, oops_module: Callable[[str], str]) -> None:
    """A command can silence the console."""
    script = f"echo 1 > /proc/sys/kernel/printk; insmod {oops_module('fast')} fault=warn"
    done = lab("--", "sh", "-c", script)
    expect_fault(done, "WARNING")


def test_module_without_a_fault_is_accepted(lab: Lab, oops_module: Callable[[str], str]) -> None:
    """Loading the module alone causes no report."""
    done = lab("--", "insmod", oops_module("fast"))
    assert (done.returncode, done.stderr) == (0, b"")


def test_endless_kernel_loop_is_reported(lab: Lab, oops_module: Callable[[str], str]) -> None:
    done = lab("--time-limit", "2", "--", "insmod", oops_module("fast"), "fault=spin")
    assert done.returncode == 124
    assert b"kernel log: " in done.stderr


def test_process_that_hangs_in_the_kernel_is_reported(
    lab: Lab, oops_module: Callable[[str], str]
) -> None:
    script = f"insmod {oops_module('fast')} fault=hang & sleep 1; echo done"
    done = lab("--", "sh", "-c", script, timeout=60)
    expect_fault(done, "hang: ")
    assert done.stdout == b"done\n"


def test_command_that_waits_forever_is_reported(lab: Lab) -> None:
    """In virtual time this is detected at once."""
    script = "mkfifo /tmp/never; cat /tmp/never"
    done = lab("--time-limit", "120", "--", "sh", "-c", script)
    expect_fault(done, "hang")


def test_guest_that_powers_off_is_reported(lab: Lab) -> None:
    """The command powers the guest off."""
    power_off = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"  # RB_POWER_OFF
    expect_fault(lab("--", "python3", "-c", power_off))


@pytest.mark.extra
@pytest.mark.parametrize(("fault", "word"), [("overflow", "KASAN"), ("shift", "UBSAN")])
def test_kasan_report(lab: Lab, oops_module: Callable[[str], str], fault: str, word: str) -> None:
    module = oops_module("checked")
    expect_fault(lab("--flavour", "checked", "--", "insmod", module, f"fault={fault}"), word)


@pytest.mark.extra
@pytest.mark.parametrize(("fault", "word"), [("locks", "circular locking"), ("leak", "kmemleak")])
def test_lockdep_report(lab: Lab, oops_module: Callable[[str], str], fault: str, word: str) -> None:
    module = oops_module("checked")
    done = lab("--flavour", "checked", "--", "insmod", module, f"fault={fault}")
    expect_fault(done, word)


@pytest.mark.extra
def test_checked_kernel_is_quiet_without_a_fault(lab: Lab) -> None:
    """A correct run causes no report in the checking kernel."""
    done = lab("--flavour", "checked", "--", "tests/lab/traffic.sh")
    assert (done.returncode, done.stderr) == (0, b"")
