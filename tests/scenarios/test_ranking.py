# SPDX-License-Identifier: GPL-2.0
"""Rankings of disciplines, and the advice that people wrote from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from replay import questions, ranking
from replay.paper import Paper, load

COMPARISON = {
    "what": "use",
    "experiment": "one",
    "metric": "summary.utilization",
    "at": {"buffer": 200},
    "scale": 100.0,
}


def ranked(
    made_up: Paper, values: dict[str, tuple[float, ...]], *comparisons: dict[str, Any]
) -> questions.Ranked:
    """Rank disciplines by the percentage of the link that they used. values: by seed"""
    one = replace(made_up.experiments[0], disciplines=list(values), others=3)
    question = {
        "head": "Use",
        "asks": "Who?",
        "comparison": [COMPARISON | changed for changed in comparisons or ({},)],
    }
    rows = [
        {
            "experiment": "one",
            "at": {"buffer": buffer},
            "discipline": name,
            "seed": seed,
            "metrics": {"summary": {"utilization": use / 100 if buffer == 200 else 0.0}},
        }
        for name, by_seed in values.items()
        for seed, use in enumerate(by_seed, 1)
        for buffer in (100, 200)
    ]
    (found,) = questions.ranked(
        replace(made_up, experiments=[one], text={"question": [question]}), rows
    )
    return found


THREE = {"cake": (1, 2, 3), "pfifo": (90, 91, 92), "qsdrr": (50, 51, 52)}


@pytest.mark.parametrize(
    ("values", "most", "best", "side", "avoided"),
    [
        (THREE, False, ["cake"], "mainline", ["pfifo", "qsdrr"]),
        (THREE, True, ["pfifo"], "mainline", ["cake"]),
        ({"cake": (32, 33, 34), "lqd": (9, 10, 11)}, False, ["lqd"], "ours", ["cake"]),
        ({"cake": (10, 10, 10), "lqd": (10, 10, 10)}, False, ["cake", "lqd"], "a tie", []),
        ({"cake": (8, 11, 12), "lqd": (10, 10, 10)}, False, ["lqd", "cake"], "open", []),
    ],
)
def test_best_disciplines_lose_the_fewest_comparisons(
    made_up: Paper,
    values: dict[str, tuple[float, ...]],
    most: bool,
    best: list[str],
    side: str,
    avoided: list[str],
) -> None:
    found = ranked(made_up, values, {"most": most})
    assert found.best == best
    assert found.tally == {side: 1}
    assert found.avoided == avoided


def test_each_cell_has_an_interval_and_a_verdict(made_up: Paper) -> None:
    found = ranked(made_up, THREE)
    ((comparison, measured),) = zip(found.comparisons, found.every, strict=True)
    # 1, 2 and 3: sd 1; Student's t for two degrees of freedom is 4.303; 4.303 / sqrt(3) = 2.5.
    assert questions.cell_of(comparison, measured, "cake") == ("2.0 ±2.5", "best")
    assert questions.cell_of(comparison, measured, "qsdrr") == ("51.0 ±2.5", "worse")
    assert questions.cell_of(comparison, measured, "tdrr") == ("", "")


@pytest.mark.parametrize(
    ("cake", "floor", "verdict"),
    [(0.7, 0.24, "tie"), (0.7, 0.0, "worse"), (0.8, 0.24, "worse"), (0.5, 0.0, "tie")],
)
def test_a_difference_below_the_floor_is_a_tie(
    made_up: Paper, cake: float, floor: float, verdict: str
) -> None:
    found = ranked(made_up, {"pfifo": (0.5,) * 3, "cake": (cake,) * 3}, {"floor": floor})
    one = next(one for one in found.every[0] if one.name == "cake")
    assert one.verdict_against(found.every[0][0]) == verdict


def test_a_discipline_that_fails_the_needed_metric_cannot_win(made_up: Paper) -> None:
    """pfifo uses the least of the link. Here, more is better."""
    found = ranked(
        made_up,
        {"pfifo": (1, 1, 1), "cake": (10, 10, 10), "sfq": (9, 9, 9)},
        {"needs": {"metric": "summary.utilization", "most": True}},
    )
    assert [(one.name, one.out) for one in found.every[0]] == [
        ("sfq", False),
        ("cake", False),
        ("pfifo", True),
    ]


def test_a_suffix_is_taken_off_the_name(made_up: Paper) -> None:
    found = ranked(made_up, {"lqd-ecn": (1, 1, 1), "cake": (2, 2, 2)}, {"suffix": "-ecn"})
    assert found.best == ["lqd"]


def test_disciplines_can_be_left_out(made_up: Paper) -> None:
    found = ranked(made_up, THREE, {"without": ["cake"]})
    assert [one.name for one in found.every[0]] == ["qsdrr", "pfifo"]


def test_a_comparison_can_be_of_another_papers_experiment() -> None:
    """tdrr's goodputs deviate least, by the rows of papers/buffers."""
    at = {"flows": 64, "per_flow": 0.25}
    found = ranking.rank(
        ranking.MetricComparison(
            paper="buffers",
            experiment="share",
            at=at,
            metric="summary.sd_over_fair_share",
        ),
        load("today"),
        [],
    )
    assert found[0].name == "tdrr"
    values = [
        row["metrics"]["summary"]["sd_over_fair_share"]
        for row in load("buffers").rows()
        if (row["experiment"], row["discipline"], row["at"]) == ("share", "tdrr", at)
    ]
    common = len(found[0].values)  # the seeds that all disciplines have
    assert common >= 3
    assert list(found[0].values) == values[:common]


def test_a_seed_that_one_discipline_lacks_is_left_out(made_up: Paper) -> None:
    found = ranked(made_up, {"cake": (1, 2, 3, 90), "pfifo": (5, 5, 5)})
    assert {len(one.values) for one in found.every[0]} == {3}


def test_a_comparison_without_all_runs_is_not_ranked(made_up: Paper) -> None:
    assert ranked(made_up, {"cake": (1, 2), "pfifo": (1, 2, 3)}).every == []


@pytest.mark.parametrize(
    ("mine", "other", "most", "word"),
    [
        ("good", "bad", True, "better"),
        ("bad", "good", True, "worse"),
        ("bad", "good", False, "better"),
        ("good", "good", True, "not distinguishable"),
    ],
)
def test_two_disciplines_are_compared_at_each_point(
    made_up: Paper, mine: str, other: str, most: bool, word: str
) -> None:
    metric = {"what": "use", "metric": "summary.utilization", "most": most}
    found = ranking.pairs(made_up, made_up.rows(), mine, other, "one", [metric])
    assert [(pair.comparison.at, pair.word) for pair in found] == [
        ({"buffer": 100}, word),
        ({"buffer": 200}, word),
    ]


def test_the_comparisons_of_questions_are_made_in_experiments_with_a_prefix(made_up: Paper) -> None:
    again = replace(made_up.experiments[0], name="again-one")
    repeated = replace(
        made_up,
        experiments=[*made_up.experiments, again],
        text={"question": [{"comparison": [COMPARISON | {"most": True}]}]},
    )
    rows = [row | {"experiment": "again-one"} for row in made_up.rows()]
    (found,) = ranking.pairs(repeated, rows, "good", "bad", "again-")
    assert (found.word, found.text(found.mine)) == ("better", "90.0 ±2.5")
    assert ranking.pairs(repeated, made_up.rows(), "good", "bad", "again-") == []


def test_one_for_all_took_part_everywhere_and_is_avoided_nowhere(made_up: Paper) -> None:
    first = ranked(made_up, {"cake": (1, 1, 1), "sfq": (1.2,) * 3, "tdrr": (9, 9, 9)})
    second = ranked(made_up, {"sfq": (2, 2, 2), "cake": (2, 2, 2), "lqd": (1.8,) * 3})
    assert questions.one_for_all([first, second]) == ["cake"]
    assert questions.one_for_all(
        [first, ranked(made_up, {"sfq": (1, 1, 1), "cake": (5, 5, 5)})]
    ) == ["sfq"]


def test_the_advice_is_in_the_best_set() -> None:
    """The advice in papers/today is written by a person."""
    today = load("today")
    for question in questions.ranked(today, today.rows()):
        assert question.text["use"], question.text["head"]
        assert set(question.text["use"]) <= set(question.best), question.text["head"]
        assert set(question.text["avoid"]) == set(question.avoided), question.text["head"]
