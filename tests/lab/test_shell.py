# SPDX-License-Identifier: GPL-2.0
"""`lab/boot --shell` gives an interactive shell in the guest."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.person import Person

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]

ROOT = Path(__file__).resolve().parents[2]
KINDS = sorted(path.stem for path in ROOT.glob("sch_*.c") if not path.name.endswith(".mod.c"))


@pytest.fixture
def sit(lab: Lab) -> Iterator[Callable[..., Person]]:
    """Return a function that starts lab/boot at a terminal. It is killed after the test."""
    people: list[Person] = []

    def start(*arguments: str) -> Person:
        people.append(Person(ROOT / "lab" / "boot", *arguments))
        return people[-1]

    yield start
    for person in people:
        person.goes()


def test_shell_has_the_same_environment_as_a_command(sit: Callable[..., Person]) -> None:
    """Modules are loaded, the user is root in the checkout, and the terminal's size is right."""
    person = sit("--shell")
    person.reads(r"lab:.*# ")
    person.types("echo $(id -u) $PWD $LAB_CLOCK $(stty size)\n")
    person.reads(rf"\n0 {re.escape(str(ROOT))} wall 30 100\r\n")
    person.types("cut -d' ' -f1 /proc/modules | grep ^sch_ | sort | tr '\\n' ' '\n")
    person.reads(rf"\n{' '.join(sorted((*KINDS, 'sch_aqm')))} ")
    person.types("tc qdisc add dev lo root tdrr && tc qdisc show dev lo\n")
    person.reads(r"\nqdisc tdrr ")
    person.types("exit 7\n")
    assert person.leaves() == 7


def test_keys_act_in_the_guest(sit: Callable[..., Person]) -> None:
    """Ctrl-C ends the command in the guest but not the lab. Ctrl-D ends the shell."""
    person = sit("--shell")
    person.reads(r"lab:.*# ")
    person.types("echo be''gun; cat\n")
    person.reads(r"\nbegun\r\n")
    person.types("word\n")
    person.reads(r"word\r\nword\r\n")
    person.types("\x03")
    person.reads(r"lab:.*# ")
    person.types("echo status $?\n")
    person.reads(r"\nstatus 130\r\n")
    # An end of file is lost if it comes before the shell has set up the terminal again.
    person.reads(r"lab:.*# ")
    person.types("\x04")
    assert person.leaves() == 0


def test_other_command_can_use_the_terminal(sit: Callable[..., Person]) -> None:
    """All its output arrives, and unread input does not prevent the end."""
    person = sit("--shell", "--", "sh", "-c", "read x; seq 500; echo last $x; exit 3")
    person.types("one\ntwo\nthree")
    person.reads(r"499\r\n500\r\nlast one\r\n")
    assert person.leaves() == 3


def test_kernel_report_is_printed_on_the_terminal(
    sit: Callable[..., Person], oops_module: Callable[[str], str]
) -> None:
    person = sit("--shell", "--", "insmod", oops_module("fast"), "fault=warn")
    person.reads(r"the kernel reported: WARNING.*kernel log: ")
    assert person.leaves() == 70


@pytest.mark.parametrize("how", ["escape", "signal"])
def test_guest_that_does_not_answer_can_be_left(
    sit: Callable[..., Person], leftovers: Callable[[str], list[str]], how: str
) -> None:
    """Ctrl-] three times or a signal ends it. No process stays, and the terminal is restored."""
    script = "stty -isig; trap '' INT QUIT HUP; echo deaf; while :; do sleep 100; done"
    person = sit("--shell", "--", "sh", "-c", script)
    person.reads(r"deaf\r\n")
    marker = f"lab-boot-{person.boot.pid}-"
    assert leftovers(marker)
    if how == "escape":
        person.types("\x03\x1d\x1dx\x1d")
        person.types("\x1d\x1d")
    else:
        person.boot.send_signal(signal.SIGTERM)
    assert person.leaves() == 128 + signal.SIGTERM
    assert leftovers(marker) == []


def test_shell_with_the_virtual_clock_is_refused(sit: Callable[..., Person]) -> None:
    person = sit("--shell", "--clock", "virtual")
    person.reads("wall clock")
    assert person.leaves() == 69


def test_shell_needs_a_terminal(call: Lab) -> None:
    done = call("--shell")
    assert done.returncode == 69
    assert b"needs a terminal" in done.stderr
