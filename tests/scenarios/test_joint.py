# SPDX-License-Identifier: GPL-2.0
"""Whole figures under one setting, counts by cause, and comparisons at points."""

from __future__ import annotations

from typing import Any

import pytest

from replay import claims, joint, judgement, paper, points, store
from replay.paper import Paper
from tests.scenarios.paper_by_hand import CLAIMS, SWEEP, rewrite, run


def test_one_setting_is_applied_to_all_claims_about_a_figure(made_up: Paper) -> None:
    """With `bad` C1 would be confirmed and C2, whose ratio is then 1, contradicted."""
    text = CLAIMS.replace('fold = "min"', 'fold = "min"\nablations = ["bad"]').replace(
        'change = "bad"', 'change = "the other one"\nopen = "the queue"'
    )
    (made_up.directory / claims.CLAIMS).write_text(text)
    store.journal(made_up.results).unlink()
    run(made_up, good=0.5, bad=0.9, third=0.1)
    (figure,) = joint.figures(judgement.of(made_up))
    assert (figure.name, figure.claims) == ("figure 1", ["C1", "C2"])
    found = {
        setting.name: (setting.counts["confirmed"], setting.counts["contradicted"], setting.missing)
        for setting in figure.settings
    }
    # As we ran it: 0.5 is not 0.8 to 1, and 0.5 / 0.9 is not 1.5.
    assert found == {"as we ran it": (0, 2, 0), "the other one": (1, 1, 0)}


def test_claim_without_the_setting_did_not_run_with_it(made_up: Paper) -> None:
    (made_up.directory / claims.CLAIMS).write_text(
        CLAIMS.replace('change = "bad"', 'change = "bad"\nopen = "the queue"')
    )
    (figure,) = joint.figures(judgement.of(made_up))
    assert [setting.missing for setting in figure.settings] == [0, 1]


def test_figure_without_an_open_setting_is_left_out(made_up: Paper) -> None:
    assert joint.figures(judgement.of(made_up)) == []


def test_claims_with_one_phenomenon_are_counted_once(made_up: Paper) -> None:
    text = CLAIMS.replace("[claim.C1]", '[claim.C1]\nphenomenon = "it is good"')
    (made_up.directory / claims.CLAIMS).write_text(
        text + '[claim.C3]\nlike = "C1"\n[claim.C4]\nlike = "C1"\nphenomenon = "another"\n'
    )
    store.journal(made_up.results).unlink()
    run(made_up, good=0.9, bad=0.3, third=0.1)
    one = judgement.of(made_up)
    judged = [(claim, one.verdicts[claim.id]) for claim in one.claims]
    assert judgement.tally(found for _, found in judged)["confirmed"] == 4
    assert judgement.tally_of_causes(judged)["confirmed"] == 3


def test_claim_that_only_more_seeds_decide_is_listed(made_up: Paper) -> None:
    """0.89, 0.90 and 0.91 lie across 0.885 with three seeds: the interval is 0.875 to 0.925.

    With five, 0.89 to 0.93, it is 0.890 to 0.930. When rows run again in another edition, their
    number is known before.
    """
    (made_up.directory / "sweep.toml").write_text(SWEEP.replace("seeds = 3", "seeds = 5"))
    (made_up.directory / claims.CLAIMS).write_text(CLAIMS.replace("low = 0.8", "low = 0.885"))
    one = paper.load("made-up")
    store.journal(made_up.results).unlink()
    run(one, good=0.9, bad=0.3, third=0.1)
    for edition, late in ((1, ["C1"]), (2, [])):
        rewrite(one, lambda row, made=edition: {**row, "made": row["made"] | {"edition": made}})
        assert judgement.of(one).decided_late == late


def row(discipline: str, seed: int, lost: float, **at: float) -> dict[str, Any]:
    return {
        "experiment": "e",
        "discipline": discipline,
        "seed": seed,
        "at": at,
        "metrics": {"lost": lost},
    }


def test_points_compare_means_with_the_median_of_the_others() -> None:
    rows = [
        row("mine", 1, 6.0, flows=1),
        row("mine", 2, 10.0, flows=1),
        row("a", 1, 1.0, flows=1),
        row("b", 1, 4.0, flows=1),
        row("c", 1, 9.0, flows=1),
        row("mine", 1, 5.0, flows=2),
        {**row("a", 1, 7.0, flows=3), "experiment": "other"},
    ]
    (point,) = points.points(rows, "lost", "mine", ["a", "b", "c"], ["e"])
    assert (point.at, point.mine, point.ratio, point.most) == ({"flows": 1}, 8.0, 2.0, False)
    assert (point.over("a"), point.over("none")) == (7.0, 0.0)


def test_points_without_the_metric_are_left_out() -> None:
    rows = [row("mine", 1, 6.0), row("a", 1, 1.0)]
    assert points.points(rows, "no.such", "mine", ["a"], ["e"]) == []
    assert points.points(rows, "lost", "mine", ["a"], ["e"])[0].most


@pytest.mark.parametrize("name", paper.names())
def test_each_phenomenon_decides_two_claims_or_more(name: str) -> None:
    listed = [claim.phenomenon for claim in claims.load(paper.load(name).directory)]
    assert all(listed.count(one) > 1 for one in set(listed) - {""})


@pytest.mark.parametrize("name", paper.names())
def test_stand_ins_and_proposed_disciplines_exist(name: str) -> None:
    from replay import schema

    text, one = schema.read(paper.PAPERS / name / claims.CLAIMS), paper.load(name)
    named = [*text.get("stand_in", {}), *text.get("proposed", {}).get("disciplines", ())]
    assert set(named) <= set(one.disciplines)
    # All disciplines of a stand-in's kind that a claim is about are stand-ins.
    kinds = {one.disciplines[stand_in].split()[0] for stand_in in text.get("stand_in", {})}
    for claim in claims.load(one.directory):
        assert claim.stand_in or one.disciplines[claim.what.of].split()[0] not in kinds
