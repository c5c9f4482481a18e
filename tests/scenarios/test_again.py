# SPDX-License-Identifier: GPL-2.0
"""Repeat the run of one committed row. Its metrics must be equal.

The row changes every day. Set ROWS_SEED to the text in the test's name to repeat the same row.
"""

from __future__ import annotations

import copy
import functools
import os
import random
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aqmlab.run.execute import EDITION
from replay import elsewhere, paper, repeat, run_cells
from replay.paper import Cell, Paper
from tests.scenarios.paper_by_hand import rewrite, verdicts

SEED = os.environ.get("ROWS_SEED") or datetime.now(UTC).date().isoformat()
#: Maximum CPU seconds of the original run.
LONGEST_S = 60.0


@functools.cache
def drawn(seed: str) -> tuple[Paper, Cell, dict[str, Any]]:
    """Draw a paper with a TCP profile that has rows of this edition, and then one of the rows.

    A row by itself would nearly always be of a paper with many cells.
    """
    rng = random.Random(seed)
    pairs = [(name, profile) for name in paper.names() for profile in paper.load(name).profiles]
    for name, profile in rng.sample(pairs, len(pairs)):
        one = paper.load(name, profile=profile)
        cells = {cell.name: cell for cell in one.cells()}
        made = [
            row
            for row in one.stored()
            if row["cpu_s"] <= LONGEST_S
            and row["cell"] in cells
            and row["made"]["edition"] == EDITION
        ]
        if made:
            row = rng.choice(made)
            return one, cells[row["cell"]], row
    raise LookupError(f"no row is of edition {EDITION}")


@pytest.mark.extra
@pytest.mark.parametrize("seed", [SEED])
def test_committed_row_is_reproduced(
    seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, cell, row = drawn(seed)
    again = f"{one.name}, {one.profile}: netns-scenarios/run {row['command']}"
    print(f"ROWS_SEED={seed}: {again}")
    assert row["command"] == shlex.join(cell.words)
    told = run_cells.main(
        [
            one.name,
            *("--repeat", cell.name, "--tcp-profile", one.profile),
            *("--out", str(tmp_path), "--jobs", "1"),
        ]
    )
    shown = capsys.readouterr().out
    if (kernel := re.search(r"^kernel +(\S+ \S+) +(\S+ \S+)$", shown, re.M)) and len(
        {*kernel.groups()}
    ) > 1:
        pytest.skip(f"made with another kernel: {again}\n{shown}")
    assert told == 0, f"{again}\n{shown}"


def test_drawn_row_depends_only_on_the_seed() -> None:
    first = drawn("1")[2]["cell"]
    drawn.cache_clear()
    assert drawn("1")[2]["cell"] == first
    assert len({drawn(str(seed))[2]["cell"] for seed in range(5)}) > 1


def test_metrics_missing_in_old_rows_are_not_compared() -> None:
    assert repeat.of_the_keys({"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"c": 9}]}) == {
        "b": [{"c": 2}]
    }
    assert repeat.of_the_keys({"a": 1}, {"b": 2}) == {"b": None}


def test_none_is_equal_to_the_zeros_of_old_rows() -> None:
    old = {"jain": 0, "goodput_bps": {"mean": 0, "sd": 0}}
    assert (
        repeat.of_the_keys({}, old)
        == repeat.of_the_keys({"jain": None, "goodput_bps": None}, old)
        == old
    )
    assert repeat.of_the_keys({}, {"jain": 0.5}) != {"jain": 0.5}


OLD: Any = {
    "digest": "ab",
    "made": {"edition": 2, "kernel": "7.3 x", "modules": {"sch_tdrr": "A"}},
    "metrics": {"use": 0.5, "groups": {"b": {"flows": 3}}},
}


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ({}, True),
        ({"digest": "cd00"}, False),
        ({"digest": "cd00", "made": OLD["made"] | {"modules": {"sch_tdrr": "B"}}}, True),
        ({"metrics": OLD["metrics"] | {"later": 7}}, True),
        ({"metrics": OLD["metrics"] | {"use": 0.6}}, False),
        ({"metrics": {"use": 0.5, "groups": {"b": {}}}}, False),
    ],
)
def test_a_row_is_repeated_if_its_metrics_and_its_bytes_are_equal(
    new: dict[str, Any], told: bool
) -> None:
    """Another version of a module may have another layout of statistics, and thus other bytes."""
    assert repeat.equal(OLD, OLD | {"digest": "ab12"} | new) is told


def test_what_differs_stands_in_the_table() -> None:
    new = OLD | {"digest": "ab12", "metrics": OLD["metrics"] | {"use": 0.6}}
    assert re.search(r"\nmetrics that differ +1 of 2\nuse +0\.5 +0\.6$", repeat.table(OLD, new))


def test_a_row_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cells.main(["mixed", "--repeat", "share-pfio-per_flow=0.25-71"]) == 1
    assert 'no row "share-pfio-per_flow=0.25-71": did you mean' in capsys.readouterr().err


def test_rows_of_an_earlier_edition_are_missing_only_if_they_shall_run_again(
    made_up: Paper,
) -> None:
    assert not run_cells.missing(made_up)
    rewrite(made_up, lambda row: {**row, "made": {**row["made"], "edition": 1}})
    assert not run_cells.missing(made_up)
    assert set(run_cells.missing(made_up, again=True)) == set(made_up.commands())
    first = made_up.rows()[0]["cell"]
    newest = {"edition": EDITION}
    rewrite(
        made_up,
        lambda row: {**row, "made": row["made"] | (newest if row["cell"] == first else {})},
    )
    assert set(run_cells.missing(made_up, again=True)) == set(made_up.commands()) - {first}


def test_another_kernel_names_the_claims_with_another_verdict(made_up: Paper) -> None:
    """Where `bad` gets as much as `good`, it is not worse any more."""
    rows = made_up.rows()
    decided = [key for key, judged in verdicts(made_up).items() if judged.value]
    assert (
        elsewhere.table(made_up, rows) == f"same verdict: {len(decided)} claims; another verdict: 0"
    )
    equal = copy.deepcopy(rows)
    for row in equal:
        if row["discipline"] == "bad":
            row["metrics"]["summary"]["utilization"] = 0.01 * (row["seed"] - 2) + 0.9
    shown = elsewhere.table(made_up, equal)
    assert re.search(r"^C2 .* confirmed .* contradicted", shown, re.M)
    assert elsewhere.table(made_up, []) == "same verdict: 0 claims; another verdict: 0"
