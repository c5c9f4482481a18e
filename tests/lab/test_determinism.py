# SPDX-License-Identifier: GPL-2.0
"""One seed, one run: to the byte."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]


@pytest.fixture(scope="module")
def runs(lab: Lab) -> list[str]:
    """Output of the traffic script, twice under seed 1 and once under seed 2."""
    outputs = []
    for seed in ("1", "1", "2"):
        done = lab("--seed", seed, "--", "tests/lab/traffic.sh")
        assert done.returncode == 0, done.stderr.decode()
        outputs.append(done.stdout.decode())
    return outputs


def test_same_seed(runs: list[str]) -> None:
    assert runs[0] == runs[1]


def test_same_seed_elsewhere(lab: Lab, runs: list[str], tmp_path: Path) -> None:
    """Where the results go does not matter."""
    deep = tmp_path / "some" / "deeper" / "place"
    done = lab("--share", str(deep), "--", "tests/lab/traffic.sh")
    assert done.stdout.decode() == runs[0]


def test_other_seed(runs: list[str]) -> None:
    """Another seed changes the random numbers and the traffic, not just one of them."""
    one, two = runs[0].splitlines(), runs[2].splitlines()
    assert one[-3] != two[-3]  # uuid
    assert [line for line in one if "dropped" in line] != [
        line for line in two if "dropped" in line
    ]


def test_something_was_random(runs: list[str]) -> None:
    """The loss really happened; otherwise equality proves nothing."""
    assert "dropped 0," not in runs[0].splitlines()[1]
