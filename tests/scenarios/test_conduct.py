# SPDX-License-Identifier: GPL-2.0
"""tools/conduct.c in the lab: turns, random numbers, and what it tells of a failure."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TURNS = ("--first", "1000000000", "--turn", "50000000")


def conduct(*commands: tuple[str, ...], turns: tuple[str, ...] = TURNS) -> tuple[int, str, str]:
    """Status, what the composer was told, and all of standard error; commands without the last,
    empty word."""
    words = "".join(f"{word}\\0000" for command in commands for word in (*command, ""))
    # The composer: says the score, and then what it hears.
    script = "printf '%b' \"$0\"; exec >&2; echo told; cat"
    done = subprocess.run(
        [ROOT / "lab" / "boot", "--", "conduct", *turns, "/bin/sh", "-c", script, words],
        capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr.partition("told\n")[2], done.stderr


def test_random_numbers_do_not_depend_on_earlier_readers() -> None:
    seen = set()
    for count in (1, 1000):
        # The kernel seeds anew by itself a second after boot, and then not for another.
        status, told, _ = conduct(
            ("run", "true", "", "", "true"),
            ("run", "dd", "", "", "dd", "if=/dev/urandom", "of=/dev/null", "bs=1",
             f"count={count}"),
            ("run", "cat", "", "", "sh", "-c", "cat /proc/sys/kernel/random/uuid; exit 3"))
        assert status == 0
        number, _, uuid = told.partition("\n")
        assert number == "2 3"
        assert len(uuid.strip()) == 36
        seen.add(uuid)
    assert len(seen) == 1


def test_each_begins_in_its_turn_and_the_traffic_after_the_last() -> None:
    clock = "cut -d' ' -f1 /proc/uptime; echo $0; exit 1"
    status, told, _ = conduct(("run", "sleep", "", "", "sleep", "0.04"),
                              ("run", "clock", "", "", "sh", "-c", clock, "@EPOCH"))
    assert status == 0
    assert told.splitlines() == ["1 1", "1.05", "1100000000"]


def test_started_program_gets_input_and_its_failure_is_reported() -> None:
    """The others are ended, and nobody is waited for."""
    status, told, said = conduct(
        ("start", "for ever", "", "", "sleep", "1000000"),
        ("start", "fails", "words\nfor it", "/tmp/out", "sh", "-c", "cat; exit 5"),
        ("run", "waits", "", "", "sh", "-c", "cat /tmp/out >/dev/kmsg; sleep 1000000"))
    assert (status, told) == (0, "1 5\n")
    assert "hang" not in said


@pytest.mark.parametrize(("commands", "said"), [
    ((("run", "slow", "", "", "sleep", "0.06"), ("run", "next", "", "", "true")),
     "next comes 0.0"),
    ((("play", "x", "", "", "true"),), "the score says 'play'"),
    ((("run", "nothing", "", ""),), "nothing: no program"),
])
def test_impossible_command_is_reported(commands: tuple[tuple[str, ...], ...], said: str) -> None:
    status, _, heard = conduct(*commands)
    assert status in (1, 2)
    assert said in heard
