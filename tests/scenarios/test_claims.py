# SPDX-License-Identifier: GPL-2.0
"""Verdicts on claims, and errors in the files of claims."""

from __future__ import annotations

import math
import re
import statistics
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from aqmlab.report import intervals
from replay import claim_types, claims, judgement, pages, paper, store, time_plots
from replay.claim_verdict import by_cell, judge, versions
from replay.paper import Paper
from tests.scenarios.paper_by_hand import CLAIMS, SWEEP, rewrite, run, verdicts


def test_claim_is_judged_by_its_interval(made_up: Paper) -> None:
    found = verdicts(made_up)
    assert {key: judged.verdict for key, judged in found.items()} == {
        "C1": "confirmed",
        "C2": "confirmed",
    }
    # 0.89, 0.90, 0.91: sd 0.01, and Student's t for 95 % and 2 degrees of freedom is 4.303
    assert found["C1"].value
    assert found["C1"].value.value == pytest.approx(0.9)
    assert found["C1"].value.half == pytest.approx(4.303 * 0.01 / math.sqrt(3), rel=1e-3)
    assert len(found["C1"].cells) == 3
    assert len(found["C2"].cells) == 12


def test_changed_rows_change_the_verdict(made_up: Paper) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["discipline"] == "good" and row["at"]["buffer"] == 200:
            row["metrics"]["summary"]["utilization"] -= 0.5
        return row

    rewrite(made_up, planted)
    found = verdicts(made_up)
    assert {key: judged.verdict for key, judged in found.items()} == {
        "C1": "contradicted",
        "C2": "contradicted",
    }


def test_one_outlier_makes_a_claim_inconclusive(made_up: Paper) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["seed"] == 1:
            row["metrics"]["summary"]["utilization"] *= 0.8
        return row

    rewrite(made_up, planted)
    assert verdicts(made_up)["C1"].verdict == "inconclusive"
    # 0.712, 0.90 and 0.91: sd 0.112
    assert verdicts(made_up)["C1"].why_not == "the interval lies across a bound"


def test_ratio_is_judged_by_its_logarithm(made_up: Paper) -> None:
    """Ratios of 4, 6 and 9 are equally far from each other, and far above 1.5.

    Their mean is 6.3 ±6.3. Their logarithms have the mean 1.79 ±1.01, so the ratio is 2.2 to 16.4.
    """

    def planted(row: dict[str, Any]) -> dict[str, Any]:
        good = {1: 0.4, 2: 0.6, 3: 0.9}[row["seed"]]
        row["metrics"]["summary"]["utilization"] = good if row["discipline"] == "good" else 0.1
        return row

    rewrite(made_up, planted)
    found = verdicts(made_up)["C2"]
    assert found.verdict == "confirmed"
    assert found.value
    assert found.value.text() == "6.0 (2.2 to 16.4)"


def test_q_values_are_of_all_judged_claims(made_up: Paper) -> None:
    """An inconclusive claim was judged, too: the other claim's q-value is twice its p-value."""
    before = judgement.of(made_up).verdicts["C2"].p
    assert before
    (made_up.directory / claims.CLAIMS).write_text(CLAIMS.replace("low = 0.8", "low = 0.895"))
    store.journal(made_up.results).unlink()
    run(made_up, good=0.9, bad=0.3, third=0.1)
    one = judgement.of(made_up)
    assert one.verdicts["C1"].why_not == "the interval lies across a bound"
    assert one.q_values.keys() == {"C1", "C2"}
    assert one.q_values["C2"] == pytest.approx(2 * before)


def test_q_values_are_those_of_benjamini_and_hochberg(made_up: Paper) -> None:
    """With two claims the larger p-value stays, and the smaller is at most doubled."""

    def p_value(values: list[float], bound: float) -> float:
        """Student's t with two degrees of freedom has a closed form."""
        t = abs(statistics.mean(values) - bound) / (statistics.stdev(values) / math.sqrt(3))
        return 0.5 - t / (2 * math.sqrt(2 + t * t))

    c1 = p_value([0.89, 0.90, 0.91], 0.8)
    c2 = p_value([math.log(x) for x in (0.89 / 0.29, 0.90 / 0.30, 0.91 / 0.31)], math.log(1.5))
    assert c2 < c1
    assert judgement.of(made_up).q_values == pytest.approx({"C1": c1, "C2": min(2 * c2, c1)})


def test_verdict_counts_its_seeds(made_up: Paper) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any] | None:
        if row["discipline"] == "good":
            row["metrics"]["summary"]["utilization"] = 0.5
        return row if row["discipline"] == "good" or row["seed"] != 4 else None

    sweep = made_up.directory / "sweep.toml"
    sweep.write_text(SWEEP.replace("seeds = 3", "seeds = 5"))
    one = paper.load("made-up")
    run(one, good=0.9, bad=0.3, third=0.1)
    rewrite(one, planted)
    ((_, ablated),) = judgement.of(one).ablations["C1"]
    assert (ablated.verdict, ablated.seeds) == ("contradicted", 4)


def test_missing_cell_is_absent_and_not_zero(made_up: Paper) -> None:
    rewrite(made_up, lambda row: None if row["discipline"] == "bad" else row)
    found = verdicts(made_up)
    assert found["C1"].verdict == "confirmed"
    assert found["C2"].verdict == "inconclusive"
    assert found["C2"].value is None
    assert "absent: bad in one at buffer 100" in found["C2"].why_not
    rewrite(made_up, lambda row: None if row["seed"] == 3 else row)
    assert verdicts(made_up)["C1"].verdict == "inconclusive"


def test_experiment_can_have_more_seeds_than_its_paper(made_up: Paper) -> None:
    sweep = made_up.directory / "sweep.toml"
    sweep.write_text(
        SWEEP.replace('disciplines = ["good", "bad"]', 'disciplines = ["good", "bad"]\nseeds = 5')
    )
    one = paper.load("made-up")
    cells = [(cell.experiment.name, cell.seed) for cell in one.cells()]
    assert {seed for name, seed in cells if name == "one"} == {1, 2, 3, 4, 5}
    assert {seed for name, seed in cells if name == "other"} == {1, 2, 3}
    assert {cell.seed for cell in paper.load("made-up", profile="today").cells()} == {1, 2, 3}
    assert verdicts(one)["C1"].seeds == 3
    store.journal(made_up.results).unlink()
    run(one, good=0.9, bad=0.3, third=0.1)
    found = verdicts(one)["C1"]
    # 0.89 to 0.93: sd 0.0158, and Student's t for 95 % and 4 degrees of freedom is 2.776
    assert found.value
    assert found.value.value == pytest.approx(0.91)
    assert found.value.half == pytest.approx(2.776 * 0.01 * math.sqrt(2.5 / 5), rel=1e-3)


@pytest.mark.parametrize(
    ("against", "change", "of_discipline"),
    [
        ("", 'of = "bad"', True),
        ("", 'of = "good"', False),  # the claim's own discipline
        ("", 'experiment = "other"\nof = "good"', False),
        ("", 'experiment = "other"\nof = "third"', True),
        ('against = { of = "bad" }', 'against = { of = "bad", experiment = "other" }', False),
        ('against = { of = "bad" }', 'against = { of = "third" }', True),
        ('against = { of = "bad" }', 'of = "third"', True),
        # Two metrics of one discipline, and one metric of two disciplines.
        ('against = { metric = "groups.far.share_of_fair" }', "at = { buffer = 100 }", False),
        ('against = { metric = "groups.far.share_of_fair" }', 'against = { of = "bad" }', True),
    ],
)
def test_ablation_knows_whether_it_changes_the_discipline(
    against: str, change: str, of_discipline: bool
) -> None:
    text = CLAIMS.replace("low = 0.8", f"low = 0.8\n{against}").replace(
        'change = "bad"\nof = "bad"', f'change = "bad"\n{change}'
    )
    (claim, _) = claims.parse(tomllib.loads(text))
    assert [one.of_discipline for one in claim.ablations] == [of_discipline]


def test_versions_are_compared_whatever_the_order_of_axes() -> None:
    new, stored = (
        {
            "experiment": "e",
            "discipline": "d",
            "at": at,
            "made": {"edition": 1, "kernel": "7", "modules": {"sch_d": module}},
        }
        for at, module in (({"flows": 16, "buffer": 8}, "A"), ({"buffer": 8, "flows": 16}, "B"))
    )
    assert versions([new, stored]) == "sch_d"


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"modules": {"sch_good": "A"}}, "sch_good"),
        ({"kernel": "8"}, "the kernel"),
        ({"edition": 9}, "the lab"),
    ],
)
def test_cells_by_two_versions_decide_nothing(
    made_up: Paper, changed: dict[str, Any], name: str
) -> None:
    def by_another(row: dict[str, Any], *changes: bool) -> dict[str, Any]:
        return {**row, "made": {**row["made"], **(changed if all(changes) else {})}}

    # Another seed of the same cell, and another cell, which has the same module.
    for key, value in (("seed", 2), ("at", {"buffer": 200})):
        rewrite(made_up, lambda row: {**row, "made": {**row["made"], "modules": {"sch_good": "B"}}})
        rewrite(
            made_up,
            lambda row, key=key, value=value: by_another(
                row, row["discipline"] == "good", row[key] == value
            ),
        )
        found = verdicts(made_up)["C2"]
        assert found.verdict == "inconclusive"
        assert found.why_not == f"cells by two versions of {name}"
        made_up.results.unlink()
        run(made_up, good=0.9, bad=0.3, third=0.1)
    rewrite(made_up, lambda row: by_another(row, row["experiment"] == "one"))
    assert {one.verdict for one in verdicts(made_up).values()} == {"confirmed"}


@pytest.mark.parametrize("name", paper.names())
def test_each_decided_claim_has_one_kernel_and_one_version_of_each_module(name: str) -> None:
    for key, judged in verdicts(paper.load(name)).items():
        made = [
            {
                "edition": str(row["made"]["edition"]),
                "kernel": row["made"]["kernel"],
                **row["made"]["modules"],
            }
            for row in judged.cells
        ]
        for part in {part for one in made for part in one}:
            seen = {one[part] for one in made if part in one}
            assert len(seen) == 1 or judged.verdict == "inconclusive", (key, part, seen)


def test_an_interval_of_a_search_is_wider_by_a_step(made_up: Paper) -> None:
    """Ratios of 3.07, 3 and 2.94 are above 2.5. With steps of 1.5 they are above 1.9 only."""
    rewrite(made_up, lambda row: {**row, "metrics": {**row["metrics"], "step": 1.5}})
    (made_up.directory / claims.CLAIMS).write_text(CLAIMS.replace("low = 1.5", "low = 2.5"))
    rewrite(
        made_up,
        lambda row: {
            **row,
            "bounds": {one.id: one.bounds for one in claims.load(made_up.directory)},
        },
    )
    found = verdicts(made_up)["C2"]
    assert (found.verdict, found.why_not) == ("inconclusive", "the interval lies across a bound")
    # Seeds that find the same value are no evidence that it is exact.
    assert found.p is None
    rewrite(made_up, lambda row: {**row, "metrics": {**row["metrics"], "step": 1.01}})
    assert verdicts(made_up)["C2"].verdict == "confirmed"


def test_experiment_can_start_with_another_seed(made_up: Paper) -> None:
    """Rows of other seeds do not count. Seeds of two experiments are paired in their order."""
    (made_up.directory / "sweep.toml").write_text(
        SWEEP.replace(
            'disciplines = ["good", "bad"]', 'disciplines = ["good", "bad"]\nfirst_seed = 11'
        )
    )
    (made_up.directory / "claims.toml").write_text(
        CLAIMS.replace(
            'against = { of = "bad" }\nfold = "min"',
            'at = { buffer = 100 }\nagainst = { experiment = "other", of = "third", '
            "at = { rtt = 10.0, buffer = [] } }",
        )
    )
    one = paper.load("made-up")
    fresh = [11, 12, 13]
    assert [
        c.seed
        for c in one.cells()
        if (c.experiment.name, c.at.get("buffer")) == ("one", 100) and c.discipline == "good"
    ] == fresh
    assert {c.seed for c in one.cells() if c.experiment.name == "other"} == {1, 2, 3}
    assert {
        c.seed for c in paper.load("made-up", profile="today").cells() if c.experiment.name == "one"
    } == set(fresh)
    assert {trace.cell.seed for trace in time_plots.asked(one)} == {11}
    assert verdicts(one)["C1"].why_not == "absent: good in one at buffer 200, seed 11"
    assert (len(judgement.of(one).rows), judgement.of(one).asked) == (3, 15)

    store.journal(made_up.results).unlink()
    run(one, good=0.9, bad=0.3, third=0.1)
    found = verdicts(one)
    assert found["C1"].value
    assert found["C1"].value.value == pytest.approx(0.9 + 0.01 * (12 - 2))
    assert found["C2"].value
    assert found["C2"].value.value == pytest.approx(
        statistics.geometric_mean(
            (0.9 + 0.01 * (seed + 8)) / (0.1 + 0.01 * (seed - 2)) for seed in (1, 2, 3)
        )
    )


def test_bounds_changed_after_the_runs_decide_nothing(made_up: Paper) -> None:
    path = made_up.directory / "claims.toml"
    path.write_text(path.read_text().replace("low = 0.8", "low = 0.1"))
    found = verdicts(made_up)
    assert found["C1"].verdict == "inconclusive"
    assert found["C1"].why_not == "its bounds are younger than the runs"
    assert found["C2"].verdict == "confirmed"
    # The text of a claim may change.
    path.write_text(CLAIMS.replace("Good is good.", "Good is very good."))
    assert verdicts(made_up)["C1"].verdict == "confirmed"


@pytest.mark.parametrize(
    ("changed", "accepted"),
    [
        ({"metric": "groups.probe.delay_ms.p50"}, "at most 3 ms"),
        ({"metric": "groups.senders.completion_s.p99"}, "at most 3 s"),
        ({"metric": "phases.1.queue_packets.mean"}, "at most 3 packets"),
        ({"metric": "groups.bully.share_of_fair"}, "at most 3 times the fair share"),
        ({"metric": "groups.rest.share_of_fair", "scale": 100.0}, "at most 300 %"),
        ({"metric": "groups.probe.delay_ms.p50", "against": {"of": "bad"}}, "at most 3"),
        (
            {"metric": "groups.probe.delay_ms.p50", "against": {"of": "bad"}, "difference": True},
            "at most 3 ms",
        ),
        ({"metric": "timeouts"}, "at most 3"),
    ],
)
def test_bounds_have_a_unit(changed: dict[str, Any], accepted: str) -> None:
    text = dict.fromkeys(("place", "says", "published", "why"), "") | {
        "experiment": "one",
        "of": "good",
        "high": 3.0,
        **changed,
    }
    (claim,) = claims.parse({"claim": {"C": text}})
    assert claim.accepted() == accepted


@pytest.mark.parametrize(
    ("disciplines", "buffers", "verdict"),
    [
        (("bad",), (200,), "confirmed"),  # the ratio at 100 is the minimum
        (("good", "bad"), (200,), "inconclusive"),
    ],
)
def test_ratio_of_two_zeros_is_undefined(
    made_up: Paper, disciplines: tuple[str, ...], buffers: tuple[int, ...], verdict: str
) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if (
            row["discipline"] in disciplines
            and row["seed"] == 2
            and row["at"].get("buffer") in buffers
        ):
            row["metrics"]["summary"]["utilization"] = 0.0
        return row

    rewrite(made_up, planted)
    found = verdicts(made_up)["C2"]
    assert found.verdict == verdict
    assert (found.why_not == "no ratio to bad: both have 0 under seed 2") == (not found.value)
    # All cells are still present.
    assert (found.seeds, len(found.cells)) == (3, 12)


@pytest.mark.parametrize(
    ("seeds", "bounds", "verdict"),
    [
        ((1, 2, 3), {"low": 1.5}, "confirmed"),
        ((1, 2, 3), {"high": 1.5}, "contradicted"),
        ((1, 2, 3), {"low": 1.5, "high": 9.0}, "contradicted"),
        # 1 / 3, 0 and 0: sd 0.192, and half of the interval is 0.478, so at most 0.589.
        ((2, 3), {"low": 1.6}, "confirmed"),
        ((2, 3), {"low": 1.8}, "inconclusive"),
        ((2, 3), {"high": 1.6}, "contradicted"),
    ],
)
def test_ratio_to_zero_is_judged_by_its_inverse(
    made_up: Paper, seeds: tuple[int, ...], bounds: dict[str, float], verdict: str
) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["discipline"] == "bad":
            row["metrics"]["summary"]["utilization"] = 0.0 if row["seed"] in seeds else 0.3
        else:
            row["metrics"]["summary"]["utilization"] = 0.9
        return row

    rewrite(made_up, planted)
    (claim,) = [c for c in claims.load(made_up.directory) if c.id == "C2"]
    claim = replace(claim, low=bounds.get("low", -math.inf), high=bounds.get("high", math.inf))
    axes = {e.name: e.axes for e in made_up.experiments}
    found = judge(claim, axes, by_cell(store.read(made_up.results)), made_up.seeds)
    assert found.verdict == verdict
    assert found.value
    assert found.value.text(digits=2) == ("infinite" if len(seeds) == 3 else "at least 1.70")


@pytest.mark.parametrize(
    ("value", "half", "said"),
    [(0.25, 0.15, "2.5 to 10"), (0.25, math.nan, "4.0"), (0.25, 0.25, "at least 2.0")],
)
def test_inverse_is_shown_as_the_ratio(value: float, half: float, said: str) -> None:
    assert intervals.Mean(value, half, inverse=True).text() == said


def test_geometric_mean_is_shown_with_the_ends_of_its_interval() -> None:
    """They lie a factor below and above: here 3/2."""
    assert intervals.Mean(6.0, math.log(1.5), log=True).text(digits=0) == "6 (4 to 9)"


def test_ratio_with_zero_and_infinity_is_inconclusive(made_up: Paper) -> None:
    nothing = {("good", 2), ("bad", 3)}

    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if (row["discipline"], row["seed"]) in nothing:
            row["metrics"]["summary"]["utilization"] = 0.0
        return row

    rewrite(made_up, planted)
    found = verdicts(made_up)["C2"]
    assert found.verdict == "inconclusive"
    assert found.why_not == "a seed has 0, and another a ratio to 0"


def test_row_of_another_command_is_ignored(made_up: Paper) -> None:
    commands = made_up.commands()
    have = store.of(store.read(made_up.results), commands)
    assert [row["cell"] for row in have] == list(commands)
    first, *others = commands
    have = store.of(store.read(made_up.results), {**commands, first: "other"})
    assert [row["cell"] for row in have] == others


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("low = 0.8", "low = 0.8\nhihg = 2", 'claim.C1: no key "hihg": did you mean high'),
        ("low = 0.8\nhigh = 1.0", "", "claim.C1: needs low or high"),
        ("low = 0.8\nhigh = 1.0", "low = 1.0\nhigh = 1.0", "C1: low is not below high"),
        ('fold = "min"', 'fold = "modal"', 'claim.C2.fold: no value "modal"'),
        (
            'metric = "summary.utilization"',
            'metric = "udp:nonsense"',
            "C1: no such metric: nonsense",
        ),
        ('ablations = ["bad"]', 'ablations = ["bda"]', "C1: no such ablation: bda"),
        ('change = "bad"', 'change = "bad"\noff = "bad"', 'ablation.bad: no key "off"'),
        ('change = "bad"', 'change = "bad"\nmetric = ":none"', "C1: no such metric: none"),
        ('change = "bad"\n', "", "ablation.bad: 'change' is a required property"),
        ('published = "2"', "published = true", "claim.C2.published: True is not of type"),
        ("[claim.C2]", '[claim.C2]\nlike = "C3"', "C2: C3 is no claim above it"),
        ("[claim.C2]", '[claim.C2]\nlike = "C2"', "C2: C2 is no claim above it"),
    ],
)
def test_bad_claims_are_refused(made_up: Paper, old: str, new: str, said: str) -> None:
    assert old in CLAIMS
    (made_up.directory / claims.CLAIMS).write_text(CLAIMS.replace(old, new))
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        claims.load(made_up.directory)


def test_claim_has_the_keys_of_the_claim_it_is_like(made_up: Paper) -> None:
    (made_up.directory / claims.CLAIMS).write_text(
        CLAIMS + '[claim.C3]\nlike = "C1"\nhigh = 0.95\n[claim.C4]\nlike = "C3"\nlow = 0.9\n'
    )
    first, _, third, fourth = claims.load(made_up.directory)
    assert (third.id, third.low, third.high) == ("C3", 0.8, 0.95)
    assert (fourth.id, fourth.low, fourth.high) == ("C4", 0.9, 0.95)
    assert (third.what, third.ablations) == (first.what, first.ablations)


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ("", 2.0),  # (0.8 / 0.2) / (0.4 / 0.2)
        ("difference = true", 0.4),  # (0.8 - 0.2) - (0.4 - 0.2)
    ],
)
def test_claim_compares_its_value_with_the_value_elsewhere(
    made_up: Paper, more: str, value: float
) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        good = {100: 0.4, 200: 0.8}.get(row["at"].get("buffer"), 0.0)
        row["metrics"]["summary"]["utilization"] = good if row["discipline"] == "good" else 0.2
        return row

    extra = '[claim.C3]\nlike = "C1"\nagainst = { of = "bad" }\nthan = { at = { buffer = 100 } }\n'
    (made_up.directory / claims.CLAIMS).write_text(f"{CLAIMS}{extra}low = 0.1\nhigh = 3\n{more}\n")
    rewrite(made_up, planted)
    third = claims.load(made_up.directory)[2]
    axes = {one.name: one.axes for one in made_up.experiments}
    judged = judge(third, axes, by_cell(made_up.rows()), made_up.seeds)
    assert judged.value
    assert judged.value.value == pytest.approx(value)
    assert {row["at"]["buffer"] for row in judged.cells} == {100, 200}
    assert third.judges("one", "bad", {"buffer": 100})
    assert third.unit == ""
    shorter = {key: value for key, value in third.text.items() if key != "than"}
    assert third.bounds != claim_types.bounds_of(shorter)


@pytest.mark.parametrize(
    ("good", "better", "open_", "ablated", "verdict"),
    [
        (0.5, "", False, 0.9, "contradicted"),
        (0.5, "lower", False, 0.9, "better than published"),
        (0.5, "higher", False, 0.9, "contradicted"),
        (0.5, "", True, 0.9, "undetermined"),
        (0.5, "lower", True, 0.9, "undetermined"),
        (0.5, "lower", True, 0.3, "better than published"),
        (0.5, "", True, 0.3, "contradicted"),
        # 0.79, 0.80 and 0.81 lie across the lower bound: this value does not contradict.
        (0.5, "", True, 0.8, "undetermined"),
        (0.5, "lower", True, 0.8, "undetermined"),
        (0.9, "", False, 0.3, "confirmed"),
        (0.9, "", True, 0.3, "undetermined"),
        (0.9, "", True, 0.8, "confirmed"),
        (0.9, "", True, 0.85, "confirmed"),
    ],
)
def test_verdict_holds_for_every_admissible_value(
    made_up: Paper, good: float, better: str, open_: bool, ablated: float, verdict: str
) -> None:
    """C1 accepts 0.8 to 1. We measure `good`, and `ablated` with the only ablation."""
    text = CLAIMS
    if better:
        text += f'[proposed]\ndisciplines = ["good"]\n{better} = ["summary.utilization"]\n'
    if open_:
        text = text.replace('change = "bad"', 'change = "bad"\nopen = "the buffer"')
    (made_up.directory / claims.CLAIMS).write_text(text)
    store.journal(made_up.results).unlink()
    run(made_up, good=good, bad=ablated, third=0.1)
    found = verdicts(made_up)["C1"]
    assert found.verdict == verdict
    assert ("the buffer" in found.why_not) == (verdict == "undetermined")


def test_admissible_value_that_did_not_run_explains_nothing(made_up: Paper) -> None:
    """Without its third seed the ablation has no verdict."""
    (made_up.directory / claims.CLAIMS).write_text(
        CLAIMS.replace('change = "bad"', 'change = "bad"\nopen = "the buffer"')
    )
    store.journal(made_up.results).unlink()
    run(made_up, good=0.5, bad=0.9, third=0.1)
    rewrite(made_up, lambda row: None if (row["discipline"], row["seed"]) == ("bad", 3) else row)
    assert verdicts(made_up)["C1"].verdict == "contradicted"


def test_setting_that_is_lost_cannot_contradict(made_up: Paper) -> None:
    (made_up.directory / claims.CLAIMS).write_text(
        CLAIMS.replace("[claim.C1]", '[claim.C1]\nopen = "the buffer"')
    )
    assert verdicts(made_up)["C1"].verdict == "confirmed"
    store.journal(made_up.results).unlink()
    run(made_up, good=0.5, bad=0.3, third=0.1)
    found = verdicts(made_up)["C1"]
    assert (found.verdict, found.why_not) == ("undetermined", "the paper leaves the buffer open")


@pytest.mark.parametrize("good", [0.9, 0.8, 0.5])
def test_another_algorithm_decides_nothing(made_up: Paper, good: float) -> None:
    """Its claims do not confirm or contradict the paper, on either side of a comparison."""
    (made_up.directory / claims.CLAIMS).write_text(CLAIMS + '[stand_in]\nbad = "mainline\'s"\n')
    store.journal(made_up.results).unlink()
    run(made_up, good=good, bad=0.3, third=0.1)
    found = verdicts(made_up)
    assert (found["C2"].verdict, found["C2"].why_not) == ("not the paper's algorithm", "mainline's")
    assert found["C1"].verdict != "not the paper's algorithm"
    assert "C2" not in judgement.of(made_up).q_values


@pytest.mark.parametrize(
    ("changed", "better"),
    [
        ({"of": "good"}, "lower"),
        ({"of": "bad"}, ""),
        ({"of": "bad", "against": {"of": "good"}, "low": 7.0, "high": 13.0}, "higher"),
        ({"of": "good", "against": {"of": "bad"}, "low": 0.2, "high": 0.4}, "lower"),
        ({"of": "good", "against": {"of": "new"}, "low": 0.2, "high": 0.4}, ""),
        # "As much as": more or less is a difference from the paper.
        ({"of": "good", "against": {"of": "bad"}, "low": 0.8, "high": 1.25}, ""),
        ({"of": "good", "metric": "groups.far.share_of_fair"}, "higher"),
        ({"of": "good", "metric": "timeouts"}, ""),
        ({"of": "good", "low": -math.inf}, ""),  # an order
    ],
)
def test_proposed_discipline_does_better_on_one_side(changed: dict[str, Any], better: str) -> None:
    text = dict.fromkeys(("place", "says", "published", "why"), "") | {
        "experiment": "one",
        "metric": ":variance",
        "low": 2.0,
        "high": 3.0,
        **changed,
    }
    (claim,) = claims.parse(
        {
            "claim": {"C": text},
            "proposed": {
                "disciplines": ["good", "new"],
                "lower": [":variance"],
                "higher": ["groups.*.share_of_fair"],
            },
        }
    )
    assert claim.better == better


#: The claims that the audit of 2026-11 could defend as contradictions, and K48, which says that
#: two disciplines are equal. Its reasons are in the issue "A result that survives attack".
CONTRADICTED = [
    "A45",
    "A47",
    "A49",
    "A55",
    "A58",
    "A59",
    "A69",
    "A75",
    "A76",
    "A88",
    "A89",
    "J10",
    "J12",
    "J17",
    "J19",
    "J34",
    "J53",
    "J72",
    "K11",
    "K16",
    "K18",
    "K45",
    "K48",
    "K51",
    "K53",
    "K68",
    "K71",
    "K73",
    "K90",
    "K99",
    "W17",
    "W21",
    "W23",
    "W24",
    "W25",
    "W26",
    "W46",
    "W57",
    "W69",
]
#: The replay runs its own SFB, so no claim is about another algorithm.
ANOTHER: list[str] = []


def test_only_claims_that_no_admissible_value_saves_are_contradicted() -> None:
    found = {}
    for name in paper.names():
        one = judgement.of(paper.load(name))
        found |= {
            claim.id: one.verdicts[claim.id].verdict
            for claim in one.claims
            if name not in pages.QUESTIONS and not judgement.calibrates(claim, one.paper)
        }
    assert sorted(key for key in found if found[key] == "contradicted") == sorted(CONTRADICTED)
    assert sorted(key for key in found if found[key] == "not the paper's algorithm") == sorted(
        ANOTHER
    )


@pytest.mark.parametrize(
    ("bounds", "kind"),
    [("low = 0.8\nhigh = 1.0", "number"), ("low = 0.8", "order"), ("high = 1.0", "order")],
)
def test_claim_with_one_bound_is_an_order(bounds: str, kind: str) -> None:
    text = tomllib.loads(CLAIMS.replace("low = 0.8\nhigh = 1.0", bounds))
    assert claims.parse(text)[0].kind == kind


def test_broken_setting_shows_nothing_about_the_discipline(made_up: Paper) -> None:
    """`bad` contradicts C1, so C1 is about the discipline, unless `bad` cannot work."""
    assert judgement.holds_for_all(judgement.of(made_up)) == ["C2"]
    (made_up.directory / claims.CLAIMS).write_text(
        CLAIMS.replace('change = "bad"', 'change = "bad"\nbroken = true')
    )
    assert judgement.holds_for_all(judgement.of(made_up)) == ["C1", "C2"]


def test_other_tcp_profile_is_judged_by_its_own_cells(made_up: Paper) -> None:
    today = paper.load("made-up", profile="today")
    assert {c.discipline for c in today.cells()} == {"good", "bad"}  # no claim needs the third
    assert all(("headdrop" in c.words[2]) == (c.discipline == "bad") for c in today.cells())
    own = made_up.stored()
    run(today, good=0.5, bad=0.3)
    assert made_up.stored() == own
    assert {k: j.verdict for k, j in verdicts(today).items()} == {
        "C1": "contradicted",
        "C2": "confirmed",
    }
    assert {j.verdict for j in verdicts(made_up).values()} == {"confirmed"}


def test_each_module_that_a_row_may_need_says_its_version() -> None:
    """A claim whose cells have a module without a version decides nothing."""
    sources = [*(paper.ROOT / "lab" / "tcp").glob("*.c"), *paper.ROOT.glob("papers/*/*/*.c")]
    assert len(sources) >= 4
    for source in sources:
        assert "MODULE_VERSION(" in source.read_text(), source
