# SPDX-License-Identifier: GPL-2.0
"""Whatever goes wrong in the kernel is a failure that names the log, whatever the command says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]

GUEST = 70


def complaint(done: Done, *words: str) -> None:
    """DONE failed as the guest's fault, says WORDS, and names a log that has them."""
    said = done.stderr.decode()
    assert done.returncode == GUEST, said
    match = re.search(r"kernel log: (\S+)", said)
    assert match, said
    assert Path(match[1]).stat().st_size > 0
    for word in words:
        assert word in said, said


@pytest.mark.parametrize(
    ("fault", "words"),
    [("oops", ()), ("panic", ("Kernel panic", "told to")), ("warn", ("WARNING",))],
)
def test_fast(
    lab: Lab, oops_module: Callable[[str], str], fault: str, words: tuple[str, ...]
) -> None:
    module = oops_module("fast")
    complaint(lab("--", "sh", "-c", f"insmod {module} fault={fault}; exit 0"), *words)


def test_hushed_console(lab: Lab, oops_module: Callable[[str], str]) -> None:
    """A command that silences the console cannot hide a report."""
    script = f"echo 1 > /proc/sys/kernel/printk; insmod {oops_module('fast')} fault=warn"
    done = lab("--", "sh", "-c", script)
    complaint(done, "WARNING")


def test_innocent(lab: Lab, oops_module: Callable[[str], str]) -> None:
    """The module alone is no reason to complain."""
    done = lab("--", "insmod", oops_module("fast"))
    assert (done.returncode, done.stderr) == (0, b"")


def test_spinning_kernel(lab: Lab, oops_module: Callable[[str], str]) -> None:
    done = lab("--time-limit", "2", "--", "insmod", oops_module("fast"), "fault=spin")
    assert done.returncode == 124
    assert b"kernel log: " in done.stderr


def test_waits_for_ever(lab: Lab) -> None:
    """A command that nothing will ever wake is found out in virtual time, not by the wall."""
    script = "mkfifo /tmp/never; cat /tmp/never"
    done = lab("--time-limit", "120", "--", "sh", "-c", script)
    complaint(done, "hang")


def test_guest_dies(lab: Lab) -> None:
    """The machine powered off under the command: not a success."""
    power_off = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"  # RB_POWER_OFF
    complaint(lab("--", "python3", "-c", power_off))


@pytest.mark.parametrize(("fault", "word"), [("overflow", "KASAN"), ("shift", "UBSAN")])
def test_kasan(lab: Lab, oops_module: Callable[[str], str], fault: str, word: str) -> None:
    module = oops_module("checked")
    complaint(lab("--flavour", "checked", "--", "insmod", module, f"fault={fault}"), word)


@pytest.mark.parametrize(("fault", "word"), [("locks", "circular locking"), ("leak", "kmemleak")])
def test_lockdep(lab: Lab, oops_module: Callable[[str], str], fault: str, word: str) -> None:
    module = oops_module("checked")
    done = lab("--flavour", "checked", "--", "insmod", module, f"fault={fault}")
    complaint(done, word)


def test_checked_is_quiet(lab: Lab) -> None:
    """A healthy run under the checking kernel has nothing to report."""
    done = lab("--flavour", "checked", "--", "tests/lab/traffic.sh")
    assert (done.returncode, done.stderr) == (0, b"")
