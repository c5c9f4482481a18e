# SPDX-License-Identifier: GPL-2.0
"""Test lab/traffic/conduct.c in the lab: start times, random numbers, and reports of failures."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TURNS = ("--first", "1000000000", "--turn", "50000000")


def conduct(*commands: tuple[str, ...], turns: tuple[str, ...] = TURNS) -> tuple[int, str, str]:
    """Run conduct. Returns its status, its report, and its standard error.

    commands: without the empty word at the end
    """
    words = "".join(f"{word}\\0000" for command in commands for word in (*command, ""))
    # After conduct's report, every `sleep` that still runs is shown.
    script = (
        'printf \'%b\' "$0" >/tmp/list; exec >&2; conduct "$@" /tmp/list /tmp/report; status=$?; '
        "echo report; cat /tmp/report; grep -lx sleep /proc/[0-9]*/comm; exit $status"
    )
    done = subprocess.run(
        [ROOT / "lab" / "boot", "--", "/bin/sh", "-c", script, words, *turns],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stderr.partition("report\n")[2], done.stderr


def test_random_numbers_do_not_depend_on_earlier_readers() -> None:
    seen = set()
    for count in (1, 1000):
        # The kernel itself reseeds one second after boot, and not again for another second.
        status, told, _ = conduct(
            ("run", "true", "", "", "true"),
            (
                "run",
                "dd",
                "",
                "",
                "dd",
                "if=/dev/urandom",
                "of=/dev/null",
                "bs=1",
                f"count={count}",
            ),
            ("run", "cat", "", "", "sh", "-c", "cat /proc/sys/kernel/random/uuid; exit 3"),
        )
        assert status == 0
        number, _, uuid = told.partition("\n")
        assert number == "2 3"
        assert len(uuid.strip()) == 36
        seen.add(uuid)
    assert len(seen) == 1


def test_programs_start_one_turn_apart_and_traffic_after_the_last() -> None:
    clock = "cut -d' ' -f1 /proc/uptime; echo $0; exit 1"
    status, told, _ = conduct(
        ("run", "sleep", "", "", "sleep", "0.04"),
        ("run", "clock", "", "", "sh", "-c", clock, "@EPOCH"),
    )
    assert status == 0
    assert told.splitlines() == ["1 1", "1.05", "1100000000"]


def test_started_program_gets_input_and_its_failure_is_reported() -> None:
    """conduct kills the other programs and does not wait for them."""
    status, told, said = conduct(
        ("start", "for ever", "", "", "sleep", "1000000"),
        ("start", "fails", "words\nfor it", "/tmp/out", "sh", "-c", "cat; exit 5"),
        ("run", "waits", "", "", "sh", "-c", "cat /tmp/out >/dev/kmsg; sleep 1000000"),
    )
    assert (status, told) == (0, "1 5\n")
    assert "hang" not in said


def test_program_without_an_end_is_ended_with_its_children() -> None:
    """Even if it ignores SIGTERM. Only an earlier end is reported, with its time."""
    status, told, said = conduct(
        ("start", "ends", "", "", "sleep", "1"),
        ("exec", "stays", "", "/tmp/stays", "sh", "-c", "trap '' TERM; sleep 1000000 & wait"),
        ("exec@250000000", "later", "", "/tmp/later", "true"),
    )
    assert status == 0
    ended = re.fullmatch(r"ended 2 (\d+)\n", told)
    assert ended, told
    assert 250_000_000 < int(ended[1]) < 251_000_000
    assert "hang" not in said


def test_last_programs_run_after_all_others_and_only_after_success() -> None:
    show = ("last", "show", "", "/tmp/shown", "sh", "-c", "cat /tmp/slow.stdout >/dev/kmsg; exit 7")
    slow = ("exec", "slow", "", "/tmp/slow", "sh", "-c", "sleep 2; echo 1")
    status, told, _ = conduct(("start", "waits", "", "", "sleep", "3"), slow, show)
    assert status == 0
    assert re.fullmatch(r"ended 1 \d+\n2 7\n", told), told
    status, told, _ = conduct(("start", "fails", "", "", "sh", "-c", "exit 5"), show)
    assert (status, told) == (0, "0 5\n")


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (
            (("run", "slow", "", "", "sleep", "0.06"), ("run", "next", "", "", "true")),
            "next comes 0.0",
        ),
        ((("play", "x", "", "", "true"),), "'play' given, needs 'run', 'start', 'exec' or 'last'"),
        (
            (("last", "x", "", "/tmp/x", "true"), ("run", "y", "", "", "true")),
            "'run' comes after 'last'",
        ),
        ((("run", "nothing", "", ""),), "nothing: no program"),
    ],
)
def test_impossible_command_is_reported(
    commands: tuple[tuple[str, ...], ...], message: str
) -> None:
    status, _, errors = conduct(*commands)
    assert status in (1, 2)
    assert message in errors
