# SPDX-License-Identifier: GPL-2.0
"""The matrix of parents (selftests/matrix) on the lab's kernel, and its shell library."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.selftests import TOP, Kind, every_kind, matrix_names, run_selftest


@pytest.mark.slow
@every_kind
def test_under_every_parent(kind: Kind) -> None:
    """Run the short matrix for a kind whose metadata names another one with the same code."""
    short = ["-q"] if kind.metadata.get("LIKE") else []
    tap = run_selftest(["selftests/matrix", *short, kind.name])
    assert not tap.failed
    wanted = matrix_names(kind, *short)
    assert len(wanted) > (40 if short else 100)
    # hfsc itself stalls when its link goes down and up.
    own = [name for name in wanted if name.startswith("hfsc") and name.endswith(": down")]
    if not kind.filters:
        own += [name for name in wanted if ": filter-" in name]
    skipped = [name.split(" # ")[0] for name in tap.skipped]
    assert sorted(set(skipped) - set(own)) == []
    # Each of the two parts of the matrix unloads and reloads the module.
    unloaded = [] if short else 2 * [f"{kind.name}: unload"]
    assert sorted([*tap.passed, *skipped]) == sorted([*wanted, *unloaded])
    assert tap.status == 0


def with_servers(where: Path, script: str, *words: str, **programs: str) -> tuple[str, str]:
    """Run a script with the servers of lib.sh, and return its output and errors.

    programs: shell scripts that replace servers, by name
    """
    for name, text in {"burst": "exec cat", **programs}.items():
        (where / name).write_text(f"#!/bin/sh\n{text}\n")
        (where / name).chmod(0o755)
    script = f". selftests/lib.sh\nPATH={where}:$PATH\nstart_servers\n{script}"
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words],
        cwd=TOP,
        env={**os.environ, "TOOLS_DIR": str(where)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout, done.stderr


def test_error_messages_of_any_length_are_read(tmp_path: Path) -> None:
    """The shell reads a fixed number of bytes at first, and then lines."""
    script = """
        for name in "$@"; do
            ! run_tc "qdisc show dev $name" || exit
            [[ $answer == *"$name"* ]] || exit
            run_tc "qdisc show dev lo" || exit
        done
        echo "all $#"
    """
    out, error = with_servers(tmp_path, script, *("n" * length for length in range(1, 16)))
    assert out == "all 15\n", error


def test_missing_answer_times_out_once(tmp_path: Path) -> None:
    rest = 'Object "over" is unknown, try "tc help".\nCommand failed -:2'
    tc = f"sleep 3; echo '{rest}' >&2"
    script = "answer_time=2; run_tc 'qdisc show dev lo'; echo over"
    assert with_servers(tmp_path, script, tc=tc) == ("", "no answer in 2 s\n")


def test_error_of_burst_ends_the_test(tmp_path: Path) -> None:
    out, error = with_servers(
        tmp_path,
        "burst g0 100; echo over",
        burst="read line; echo 'burst: g0: No such device'; exec cat",
    )
    assert (out, error) == ("", "burst: g0: No such device\n")
