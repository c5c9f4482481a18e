# SPDX-License-Identifier: GPL-2.0
"""Repeat the run of one committed row. Its metrics must be equal.

The row changes every day. Set ROWS_SEED to the text in the test's name to repeat the same row.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shlex
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aqmlab import ROOT
from aqmlab.run.execute import EDITION
from replay import paper, run_cells
from replay.paper import Cell, Paper

SEED = os.environ.get("ROWS_SEED") or datetime.now(UTC).date().isoformat()
#: Maximum CPU seconds of the original run.
LONGEST_S = 60.0


#: Papers without rows of edition 1.
YOUNG = ("dropcut", "mixed")


@functools.cache
def drawn(seed: str, edition: int = EDITION) -> tuple[Paper, Cell, dict[str, Any]]:
    """Draw a paper, and then one of its rows, because papers have from 231 to 1745 cells."""
    rng = random.Random(seed)
    name = rng.choice([name for name in paper.names() if name not in YOUNG])
    one = paper.load(name, profile=rng.choice(paper.load(name).profiles))
    cells = {cell.name: cell for cell in one.cells()}
    made = [
        row
        for row in one.stored()
        if row["cpu_s"] <= LONGEST_S and row["cell"] in cells and row["made"]["edition"] == edition
    ]
    if not made:
        raise LookupError(f"{one.name}, {one.profile}: no row is of edition {edition}")
    row = rng.choice(made)
    return one, cells[row["cell"]], row


def zeros(known: Any) -> bool:
    """Return whether all nested metrics are 0."""
    inner = known.values() if isinstance(known, Mapping) else [known]
    return all(zeros(one) if isinstance(one, Mapping) else one == 0 for one in inner)


def of_the_keys(value: Any, known: Any) -> Any:
    """Remove metrics that `known` does not have, because newer runs have more metrics.

    Old rows have 0 instead of None.
    """
    if value is None and zeros(known):
        return known
    if isinstance(value, Mapping) and isinstance(known, Mapping):
        return {key: of_the_keys(value.get(key), one) for key, one in known.items()}
    if isinstance(value, list) and isinstance(known, list) and len(value) == len(known):
        return [of_the_keys(*pair) for pair in zip(value, known, strict=True)]
    return value


@pytest.mark.extra
@pytest.mark.parametrize("seed", [SEED])
def test_committed_row_is_reproduced(seed: str, tmp_path: Path) -> None:
    try:
        one, cell, row = drawn(seed)
    except LookupError as none:
        pytest.skip(str(none))
    again = f"{one.name}, {one.profile}: netns-scenarios/run {row['command']}"
    print(f"ROWS_SEED={seed}: {again}")
    assert row["command"] == shlex.join(cell.words)
    done = subprocess.run(
        [ROOT / "netns-scenarios" / "run", *cell.words, "--out", tmp_path / "r"],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    new = json.loads(json.dumps(run_cells.row_of(one, cell, tmp_path / "r")))
    then, now = row["made"], new["made"]
    if then["kernel"] != now["kernel"]:
        pytest.skip(f"made with {then['kernel']}, here is {now['kernel']}: {again}")
    changed = {
        name
        for name in then["modules"].keys() | now["modules"].keys()
        if then["modules"].get(name) != now["modules"].get(name)
    }
    hint = f"{again}; modules that have changed since: {', '.join(sorted(changed)) or 'none'}"
    assert of_the_keys(new["metrics"], row["metrics"]) == row["metrics"], hint
    # The digest covers the disciplines' statistics, whose layout may have changed.
    if not changed:
        assert new["digest"].startswith(row["digest"]), hint


def test_drawn_row_depends_only_on_the_seed() -> None:
    first = drawn("1", 1)[2]["cell"]
    drawn.cache_clear()
    assert drawn("1", 1)[2]["cell"] == first
    assert len({drawn(str(seed), 1)[2]["cell"] for seed in range(5)}) > 1


def test_metrics_missing_in_old_rows_are_not_compared() -> None:
    assert of_the_keys({"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"c": 9}]}) == {"b": [{"c": 2}]}
    assert of_the_keys({"a": 1}, {"b": 2}) == {"b": None}


def test_none_is_equal_to_the_zeros_of_old_rows() -> None:
    old = {"jain": 0, "goodput_bps": {"mean": 0, "sd": 0}}
    assert of_the_keys({}, old) == of_the_keys({"jain": None, "goodput_bps": None}, old) == old
    assert of_the_keys({}, {"jain": 0.5}) != {"jain": 0.5}
