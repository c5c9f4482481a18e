# SPDX-License-Identifier: GPL-2.0
"""A search finds the smallest value that meets a criterion, with few runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from replay import rows, search
from replay.search import Search

VALUES = [4, 8, 16, 32, 64, 128, 256]
LEAST = {
    "use": {"summary.utilization": 0.99},
    "share": {"summary.utilization": 0.99, "worst_share": 0.8},
}
SEARCH = Search("buffer", VALUES, LEAST)


def row(value: int, use: float, worst: float, module: str = "A") -> dict[str, Any]:
    """Make the row of a run with this buffer."""
    return {
        "experiment": "e",
        "discipline": "tdrr",
        "seed": 31,
        "cell": f"e-{value}",
        "at": {"flows": 16, "buffer": value},
        "cpu_s": 2.0,
        "bounds": {"T1": "abc"},
        "made": {"edition": 1, "kernel": "7", "modules": {"sch_tdrr": module}},
        "metrics": {
            "groups": {},
            "rate_bps": 1e8,
            "summary": {"utilization": use},
            "worst_share": worst,
        },
    }


def finished(of: Callable[[int], dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Run all runs that a search requests, until it has finished."""
    made: dict[int, dict[str, Any]] = {}
    while asked := SEARCH.following(made):
        assert not set(asked) & set(made)
        made |= {value: of(int(value)) for value in asked}
    return made


@pytest.mark.parametrize("needed", [1, *VALUES, 1000])
def test_search_finds_what_trying_every_value_finds(needed: int) -> None:
    made = finished(lambda value: row(value, 1.0 if value >= needed else 0.9, 1.0))
    figures = SEARCH.row(made)["metrics"]
    expected = [value for value in VALUES if value >= needed]
    assert figures["smallest"] == ({"use": expected[0], "share": expected[0]} if expected else {})
    assert figures["at_least"]["use"] == (expected[0] if expected else VALUES[-1])
    assert len(made) <= 3  # log2 of 7 values and none


def test_criteria_have_results_of_their_own() -> None:
    made = finished(
        lambda value: row(value, 1.0 if value >= 16 else 0.9, 0.9 if value >= 128 else 0.5)
    )
    assert SEARCH.row(made)["metrics"]["smallest"] == {"use": 16, "share": 128}


def test_a_value_equal_to_the_least_meets_a_criterion() -> None:
    made = finished(lambda value: row(value, 0.99, 0.8))
    assert SEARCH.row(made)["metrics"]["smallest"]["share"] == 4


def test_rows_of_a_finished_search_become_one_row() -> None:
    made = finished(lambda value: row(value, 1.0, 1.0))
    other = {**row(4, 1.0, 1.0), "experiment": "other"}
    folded = search.folded([*made.values(), other], {"e": SEARCH})
    assert [one["experiment"] for one in folded] == ["other", "e"]
    assert folded[1]["at"] == {"flows": 16}
    assert folded[1]["cpu_s"] == 2.0 * len(made)
    assert folded[1]["metrics"]["summary"] == {"utilization": 1.0}


def test_an_unfinished_search_has_no_row() -> None:
    made = finished(lambda value: row(value, 1.0, 1.0))
    made.popitem()
    assert search.folded(list(made.values()), {"e": SEARCH}) == []


def test_a_search_that_ran_again_forgets_the_runs_of_before() -> None:
    """They may have met the criterion at other values."""
    before = finished(lambda value: row(value, 1.0 if value >= 64 else 0.9, 1.0))
    later = [row(value, 1.0 if value >= 8 else 0.9, 1.0) for value in (32, 8, 4)]
    for each in later:
        each["made"]["edition"] = 2
    other = {**row(4, 1.0, 1.0), "experiment": "other"}
    folded = search.folded([*before.values(), other, *later], {"e": SEARCH})
    assert [each["experiment"] for each in folded] == ["other", "e"]
    assert folded[1]["metrics"]["smallest"] == {"use": 8, "share": 8}
    # Not finished in the new edition: the old rows do not fill in.
    assert search.folded([*before.values(), *later[:2]], {"e": SEARCH}) == []


def test_rows_are_of_one_search_whatever_the_order_of_their_axes() -> None:
    new = {"pacing": "on", "flows": 16, "buffer": 8}
    stored = {"buffer": 64, "flows": 16, "pacing": "on"}
    (found,) = search.by_search(
        [{**row(8, 1.0, 1.0), "at": new}, {**row(64, 1.0, 1.0), "at": stored}], {"e": SEARCH}
    ).values()
    assert sorted(found) == [8, 64]


def test_a_search_tells_of_bounds_and_modules_that_changed_while_it_ran() -> None:
    made = finished(lambda value: row(value, 1.0, 1.0))
    last = list(made)[-1]
    made[last] = {**row(last, 1.0, 1.0, module="B"), "bounds": {"T1": "other"}}
    folded = SEARCH.row(made)
    assert folded["bounds"] == {}
    assert folded["made"]["modules"] == {"sch_tdrr": "A and B"}
    made[last]["made"]["kernel"] = "8"
    assert SEARCH.row(made)["made"]["kernel"] == "7 and 8"


def test_a_search_is_as_exact_as_its_longest_step() -> None:
    made = finished(lambda value: row(value, 1.0, 1.0))
    assert SEARCH.row(made)["metrics"]["step"] == 2
    assert Search("buffer", [4, 6, 8, 11], LEAST).row(made)["metrics"]["step"] == 1.5


def test_the_worst_share_is_of_5_percent_of_the_flows_and_of_one_at_least() -> None:
    assert rows.worst_share([3.0, 1.0, 2.0], 2.0) == 0.5
    assert rows.worst_share([float(flow) for flow in range(40)], 1.0) == 0.5  # flows 0 and 1
