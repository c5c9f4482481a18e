# SPDX-License-Identifier: GPL-2.0
"""Each discipline's contract with the core and with its parents, on the lab's kernel."""

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
    # hfsc stalls by itself when its link goes down and up.
    own = [name for name in wanted if name.startswith("hfsc") and name.endswith(": down")]
    if not kind.filters:
        own += [name for name in wanted if ": filter-" in name]
    skipped = [name.split(" # ")[0] for name in tap.skipped]
    assert sorted(set(skipped) - set(own)) == []
    # Once for each of the two parts: the module can be unloaded and loaded again.
    unloaded = [] if short else 2 * [f"{kind.name}: unload"]
    assert sorted([*tap.passed, *skipped]) == sorted([*wanted, *unloaded])
    assert tap.status == 0


def with_servers(where: Path, script: str, *words: str, **programs: str) -> tuple[str, str]:
    """What a script says with the servers of lib.sh, some of which are such shell scripts."""
    for name, text in {"burst": "exec cat", **programs}.items():
        (where / name).write_text(f"#!/bin/sh\n{text}\n")
        (where / name).chmod(0o755)
    script = f". selftests/lib.sh\nPATH={where}:$PATH\nstart_servers\n{script}"
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words],
        cwd=TOP, env={**os.environ, "TOOLS_DIR": str(where)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.stdout, done.stderr


def test_a_refusal_is_heard_whatever_its_length(tmp_path: Path) -> None:
    """tc is asked by a shell that reads so many bytes at once, and lines after that."""
    script = """
        for name in "$@"; do
            ! in_tc "qdisc show dev $name" || exit
            [[ $said == *"$name"* ]] || exit
            in_tc "qdisc show dev lo" || exit
        done
        echo "all $#"
    """
    said, wrong = with_servers(tmp_path, script, *("n" * length for length in range(1, 16)))
    assert said == "all 15\n", wrong


@pytest.mark.parametrize("half", ["", "half", "a line\nand half " * 5], ids=len)
def test_a_server_that_does_not_answer_is_waited_for_once(half: str, tmp_path: Path) -> None:
    rest = 'Object "over" is unknown, try "tc help".\nCommand failed -:2'
    tc = f"printf %s '{half}' >&2; sleep 3; echo '{rest}' >&2"
    script = "answer_time=2; in_tc 'qdisc show dev lo'; echo over"
    said, wrong = with_servers(tmp_path, script, tc=tc)
    assert (said, wrong) == ("", f"no answer, but: {half}\n")
