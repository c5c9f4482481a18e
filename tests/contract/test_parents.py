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
    """The short matrix where the card names a kind that meets its parents with the same code."""
    short = ["-q"] if kind.card.get("LIKE") else []
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

def test_a_refusal_is_heard_whatever_its_length(tmp_path: Path) -> None:
    """tc is asked by a shell that reads so many bytes at once, and lines after that."""
    burst = tmp_path / "burst"
    burst.write_text("#!/bin/sh\nexec cat\n")
    burst.chmod(0o755)
    script = """
        . selftests/lib.sh
        start_servers
        for name in "$@"; do
            ! in_tc "qdisc show dev $name" || exit
            [[ $said == *"$name"* ]] || exit
            in_tc "qdisc show dev lo" || exit
        done
        echo "all $#"
    """
    names = ["n" * length for length in range(1, 16)]
    done = subprocess.run(
        ["bash", "-c", script, "bash", *names], cwd=TOP,
        env={**os.environ, "TOOLS_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == "all 15\n", done.stderr
