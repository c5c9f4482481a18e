# SPDX-License-Identifier: GPL-2.0
"""Whatever goes wrong in the kernel is a failure that names the log, whatever the command says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUEST = 70


def complaint(done, *words: str) -> None:
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
def test_fast(lab, oops_module, fault, words):
    module = oops_module("fast")
    complaint(lab("--", "sh", "-c", f"insmod {module} fault={fault}; exit 0"), *words)


def test_innocent(lab, oops_module):
    """The module alone is no reason to complain."""
    done = lab("--", "insmod", oops_module("fast"))
    assert (done.returncode, done.stderr) == (0, b"")


def test_spinning_kernel(lab, oops_module):
    done = lab("--time-limit", "2", "--", "insmod", oops_module("fast"), "fault=spin")
    assert done.returncode == 124
    assert b"kernel log: " in done.stderr


def test_waits_for_ever(lab):
    """A command that nothing will ever wake is found out in virtual time, not by the wall."""
    script = "mkfifo /tmp/never; cat /tmp/never"
    done = lab("--time-limit", "120", "--", "sh", "-c", script)
    complaint(done, "hang")


def test_guest_dies(lab):
    """Process 1 gone, however: not a success."""
    complaint(lab("--", "sh", "-c", "echo b > /proc/sysrq-trigger || kill -9 1; poweroff -ff"))


@pytest.mark.parametrize(("fault", "word"), [("overflow", "KASAN"), ("shift", "UBSAN")])
def test_kasan(lab, oops_module, fault, word):
    module = oops_module("kasan")
    complaint(lab("--flavour", "kasan", "--", "insmod", module, f"fault={fault}"), word)


@pytest.mark.parametrize(("fault", "word"), [("locks", "circular locking"), ("leak", "kmemleak")])
def test_lockdep(lab, oops_module, fault, word):
    module = oops_module("lockdep")
    done = lab("--flavour", "lockdep", "--", "insmod", module, f"fault={fault}")
    complaint(done, word)


@pytest.mark.parametrize("flavour", ["kasan", "lockdep"])
def test_flavour_is_quiet(lab, flavour):
    """A healthy run under the checking kernels has nothing to report."""
    done = lab("--flavour", flavour, "--", "tests/lab/traffic.sh")
    assert (done.returncode, done.stderr) == (0, b"")
