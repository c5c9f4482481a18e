# SPDX-License-Identifier: GPL-2.0
"""The papers' cells can be run, their claims be computed and judged, and docs/results is what rows
and claims give; nothing is run."""

from __future__ import annotations

import argparse
import copy
import functools
import json
import math
import re
import shlex
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aqmlab import ROOT
from aqmlab.measure import time_series as lines_of
from aqmlab.measure.derived_metrics import Absent, choke_theory, metric_of
from aqmlab.qdiscs.metadata import cards
from aqmlab.replay import (
    claim_verdict,
    claims,
    judgement,
    ledger,
    pages,
    paper,
    paper_plots,
    ranking,
    rows,
    run_cells,
    store,
    sweep,
    time_plots,
)
from aqmlab.replay.claim_verdict import Judged, by_cell, judge, measure
from aqmlab.replay.paper import Cell, Paper
from aqmlab.report import intervals, svg_plots
from aqmlab.run.fair_shares import Facts
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings
from tests.scenarios import handmade

PAPERS = paper.names()
ERAS = [(name, era) for name in PAPERS for era in paper.load(name).eras]


#: Kinds that mark when they are told to: mainline's that papers take, and ours by their cards.
MARK = {"red", "choke", "pie", *(kind for kind, card in cards().items() if card["MARKS"])}


def facts_of(cell: Cell) -> Facts:
    """What the run of a cell would be about, by its command line."""
    scenario, *words = cell.words
    options = list(zip(words[::2], words[1::2], strict=True))
    given = [value for option, value in options if option == "--set"]
    others = {option: value for option, value in options if option != "--set"}
    assert set(others) == {"--qdisc", "--seed"}
    assert others["--qdisc"].split()
    assert "{" not in others["--qdisc"]
    return _facts(scenario, *given)


@functools.cache
def _facts(scenario: str, *given: str) -> Facts:
    found = find(scenario)
    return compose(found, Settings(resolve(found.params, given), "pfifo", 1, "virtual"))[1]


def plausible(facts: Facts) -> dict[str, Any]:
    """Figures of a run that gave everybody 98 % of its share, with all that a result may have."""
    spread = {"mean": 30.0, "sd": 1.0, "p50": 30.0, "p95": 31.0, "p99": 32.0, "max": 33.0}
    sizes = ("0-10 kB", "10-20 kB", "20-50 kB", "50-100 kB", "75-110 kB", "100-200 kB",
             "200-up kB")
    figures: dict[str, Any] = {
        "utilization": 0.95, "fair_share_bps": facts.fair_share_bps,
        "goodput_bps": {"mean": 0.98 * facts.fair_share_bps or 1.0, "sd": 1.0, "min": 1.0,
                        "max": 2.0},
        "sd_over_fair_share": 0.05, "jain": 0.99, "queue_delay_ms": spread,
        "queue_packets": {"mean": 50.0, "max": 90}, "dropped": 10, "marked": 0, "sent": 1000,
    }
    return {
        "summary": figures,
        "groups": {name: {
            "flows": group.flows, "rtt_ms": group.rtt_ms, "share_of_fair": 1.0, "loss": 0.01,
            "dropped": 0.01,
            "goodput_bps": {"mean": group.fair_share_bps, "sd": 1.0}, "delay_ms": spread,
            "completion_s": {**spread, "completed": 9, "unfinished": 0, "by_size": {
                size: {"completed": 9, "mean": 1.0, "sd": 0.1} for size in sizes}},
        } for name, group in facts.groups.items()},
        "phases": [{"name": phase.name, **figures, "estimate": {"above_0": 0.5, "used": 0.99},
                    "groups": {name: {"mean": 1e6, "sd": 1.0} for name in facts.groups}}
                   for phase in facts.phases],
        "rate_bps": facts.rate_bps, "timeouts": 3,
        "payload": dict.fromkeys(facts.groups, 972),
        "offered_bps": dict.fromkeys(facts.groups, 2e6),
        "flows_bps": [1e6, 2e6],
        "use": {"rtr": 0.5, "far": 0.5},
        "lengths": {queue: {"mean": 50.0, "sd": 10.0, "max": 90.0, "within": 0.9}
                    for queue in ("packets", "qlen_long", "qlen_short")},
    }


@pytest.mark.parametrize("name", PAPERS)
def test_cells_can_be_asked_for_and_claims_be_computed(name: str) -> None:
    """All cells, of one seed; and every claim, and what is tried on it, finds its cells and its
    figure, unless the discipline is said to be absent."""
    one = paper.load(name)
    cells = [cell for cell in one.cells() if cell.round == 1]
    assert len({cell.words for cell in cells}) > 0.9 * len(cells)
    made = [{"cell": cell.name, "experiment": cell.experiment.name, "discipline": cell.discipline,
             "at": cell.at, "seed": cell.seed, "figures": plausible(facts_of(cell))}
            for cell in cells]
    axes = {e.name: e.axes for e in one.experiments}
    first = {e.name: e.first for e in one.experiments}
    listed = claims.load(one.directory)
    for claim in listed:
        for varied in (claim, *(claim.varied(t.by) for t in claim.ablations)):
            # Of a cell and itself the ratio is 1, whatever anything does.
            assert varied.what != varied.against, claim.id
            used = [s for s in (varied.what, varied.against) if s]
            for selection in used:
                assert set(selection.at) <= set(axes[selection.experiment]), claim.id
                for axis, values in selection.at.items():
                    assert set(values) <= set(axes[selection.experiment][axis]), claim.id
            if any(s.of in one.absent for s in used):
                continue
            value, behind = measure(varied, axes, by_cell(made), first)
            assert math.isfinite(value), claim.id
            assert behind, claim.id
    assert len(listed) >= 5


@pytest.mark.parametrize("name", PAPERS)
def test_no_discipline_is_listed_for_nothing(name: str) -> None:
    one = paper.load(name)
    assert set(one.disciplines) == {name for e in one.experiments for name in e.disciplines}


@pytest.mark.parametrize("name", PAPERS)
def test_a_quick_look_is_a_part_of_the_whole(name: str) -> None:
    quick, whole = paper.load(name, quick=True), paper.load(name)
    of_whole = {(c.experiment.name, c.discipline, *c.at.values(), c.seed) for c in whole.cells()}
    of_quick = {(c.experiment.name, c.discipline, *c.at.values(), c.seed) for c in quick.cells()}
    assert of_quick < of_whole
    for cell in quick.cells():
        facts_of(cell)


@pytest.mark.parametrize("name", PAPERS)
def test_pages_are_what_rows_and_claims_give(name: str) -> None:
    files = ledger.files([name])
    assert ledger.stale(files) == []
    assert ledger.stale({f"{name}.md": "something else"}) != []
    # Pictures of what is drawn no more.
    there = {path.name for path in ledger.RESULTS.glob(f"{name}*")}
    assert there == {file for file in files if file.startswith(name)}


def test_a_picture_that_is_drawn_no_more_goes(tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "RESULTS", tmp_path)
    for name in ("made-up-1.svg", "other-1.svg"):
        (tmp_path / name).write_text("")
    page = {"made-up.md": "page", "made-up-2.svg": "picture"}
    assert ledger.stale(page) == [*page, "made-up-1.svg"]
    ledger._put(page)
    assert ledger.stale(page) == []
    assert {path.name for path in tmp_path.iterdir()} == {*page, "other-1.svg"}


@pytest.mark.parametrize(("name", "era"), ERAS)
def test_every_row_is_of_a_cell_and_says_what_made_it(name: str, era: str) -> None:
    one = paper.load(name, era=era)
    cells = {cell.name: shlex.join(cell.words) for cell in one.cells()}
    made = one.stored()
    assert len({row["cell"] for row in made}) == len(made)
    for row in made:
        assert row["command"] == cells.get(row["cell"]), row["cell"]
        assert not row["made"]["version"].endswith("dirty")
        assert len(row["digest"]) == 64
        for hop in row["hops"].values():
            assert hop["offered"] > 0
    assert one.results.stat().st_size < 600_000


def without(cell: Cell, *keys: str) -> list[str]:
    """Its words but for a discipline's `ecn`, and for these parameters."""
    return [" ".join(part for part in word.split() if part != "ecn") for word in cell.words
            if word != "--set" and word.split("=")[0] not in keys]


def by_itself(cell: Cell) -> set[str]:
    """Parameters that it has by a `where`."""
    return {key for one in cell.experiment.where if one.holds(cell.discipline, cell.at)
            for key in one.set}


@pytest.mark.parametrize("era", ["own", "today", "bbr"])
def test_what_is_delivered_in_the_measured_time_crossed_the_link_in_it(era: str) -> None:
    """To 2 %: what waited behind a hole counts when the hole is mended, and after a first slow
    start in which much was lost that can be a tenth of all."""
    for row in paper.load("kantawala2001", era=era).stored():
        summary = row["figures"]["summary"]
        assert summary["goodput_bps"]["mean"] < 1.02 * summary["fair_share_bps"], row["cell"]


def contests_of(name: str) -> list[dict[str, Any]]:
    return [one for question in paper.load(name).text.get("question", ())
            for one in question["comparison"]]


@pytest.mark.parametrize(("name", "era"), [(n, e) for n, e in ERAS if e != paper.OWN])
def test_another_era_changes_tcp_and_marks_alone(name: str, era: str) -> None:
    """It has the cells that claims and contests need, under the seeds that all have, each as the
    paper's own but for era, cc, ecn, and the discipline's `ecn`, and for what a `where` gives cells
    of one era alone; and all that mark do, but where sweep.toml says why not. Paced senders are the
    paper's own but for that."""
    seeds = paper.load(name).text["seeds"]
    own = {cell.name: cell for cell in paper.load(name).cells()}
    listed = claims.load(paper.PAPERS / name)
    cells = list(paper.load(name, era=era).cells())
    assert {cell.name for cell in cells} == {
        key for key, c in own.items() if c.round <= seeds
        and (any(claim.judges(c.experiment.name, c.discipline, c.at) for claim in listed)
             or any(era in one.get("tcp_profiles", ()) and one["experiment"] == c.experiment.name
                    and one["at"].items() <= c.at.items() for one in contests_of(name)))}
    for cell in cells:
        keys = by_itself(cell) ^ by_itself(own[cell.name])
        assert keys <= {"warmup", "duration", "window", "memory"}
        keys |= {"pacing"} if era == "paced" else {"era", "cc", "ecn"}
        assert without(cell, *keys) == without(own[cell.name], *keys)
        if era == "paced":
            assert "pacing=on" in cell.words
            assert "pacing=off" in own[cell.name].words
            continue
        assert "era=today" in cell.words
        assert ("cc=bbr" in cell.words) == (era == "bbr")
        assert ("ecn=on" in cell.words) == (era == "today")
        marks = any(word.split()[0] in MARK and "ecn" in word.split() for word in cell.words)
        could = any(word.split()[0] in MARK for word in cell.words)
        assert marks == (could and era == "today" and cell.experiment.name != "theory")
        facts_of(cell)


def test_what_a_flow_can_have_at_most_is_less_with_timestamps(made_up: Paper) -> None:
    (then, *_), (now, *_) = made_up.cells(), paper.load("made-up", era="today").cells()
    ratio = facts_of(now).fair_share_bps / facts_of(then).fair_share_bps
    assert ratio == pytest.approx(1448 / 1460)


# A paper of one experiment, made by hand.

SWEEP = """
title = "A paper"
seeds = 3
thinned = "3 seeds."
note = "Made up."
[disciplines]
good = "pfifo limit {buffer}"
bad = "bfifo limit {bytes}"
third = "pfifo limit 3"
[tcp_profile.today]
head = "now"
about = "a later TCP"
set = { era = "today", ecn = "on" }
options = { headdrop = ["bad"] }
[quick]
[[experiment]]
name = "one"
scenario = "dumbbell"
axes = { buffer = [100, 200] }
disciplines = ["good", "bad"]
[[experiment]]
name = "other"
scenario = "dumbbell"
axes = { rtt = [10.0] }
disciplines = ["third"]
[[plot]]
name = "over-time"
head = "Figure 2"
kind = "time"
experiment = "one"
at = { buffer = 100 }
disciplines = ["good"]
of = ["packets", "goodput:far"]
y_title = "of something"
panels = [{}, { title = "closer", from_s = 1, to_s = 2 }]
[[plot]]
name = "1"
head = "Figure 1"
experiment = "one"
metric = "summary.utilization"
x = "buffer"
x_title = "buffer"
y_title = "used"
"""
CLAIMS = """
[[claim]]
id = "C1"
place = "figure 1"
says = "Good is good."
published = "0.9"
why = "Near."
experiment = "one"
metric = "summary.utilization"
of = "good"
at = { buffer = 200 }
low = 0.8
high = 1.0
ablations = ["bad"]
[[claim]]
id = "C2"
place = "figure 1"
says = "Good is twice as good as bad."
published = "2"
why = "Near."
experiment = "one"
metric = "summary.utilization"
of = "good"
against = { of = "bad" }
fold = "min"
low = 1.5
[ablation.bad]
change = "bad"
of = "bad"
"""


def run(one: Paper, **at: float) -> None:
    """A row for each cell: each discipline at so much of the link, whatever the buffer, to a
    hundredth by the seed."""
    for cell in one.cells():
        figures = plausible(facts_of(cell))
        figures["summary"]["utilization"] = 0.01 * (cell.seed - 2) + at[cell.discipline]
        store.append(one.results, {
            "tcp_profile": one.era, "cell": cell.name,
            "experiment": cell.experiment.name, "discipline": cell.discipline,
            "at": dict(cell.at), "seed": cell.seed, "command": shlex.join(cell.words),
            "bounds": {c.id: c.bounds for c in claims.load(one.directory)
                       if c.judges(cell.experiment.name, cell.discipline, cell.at)},
            "figures": figures, "hops": {}, "digest": "", "cpu_s": 6.0,
            "made": {"version": "1", "modules": {}, "kernel": "7", "compiler": "c", "tc": "t"},
        })


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paper:
    """Good at 0.9 of the link and bad at 0.3."""
    monkeypatch.setattr(paper, "PAPERS", tmp_path)
    directory = tmp_path / "made-up"
    directory.mkdir()
    (directory / "sweep.toml").write_text(SWEEP)
    (directory / "claims.toml").write_text(CLAIMS)
    one = paper.load("made-up")
    run(one, good=0.9, bad=0.3, third=0.1)
    return one


def verdicts(one: Paper) -> Mapping[str, Judged]:
    return judgement.of(one).verdicts


def pages_of(one: Paper) -> dict[str, str]:
    """Its pages, beside no other paper."""
    judged = judgement.of(one)
    return pages.page(judged, [judged])


def then_and_now(one: Paper) -> tuple[list[str], list[str]]:
    return pages.then_and_now([judgement.of(one)])


def asking(one: Paper, *contests_of: str) -> None:
    """One more question, with these contests of use at 200 packets."""
    with (one.directory / "sweep.toml").open("a") as file:
        file.write('\n[[question]]\nhead = "Use"\nasks = "Who?"\n')
        for text in contests_of:
            file.write('[[question.comparison]]\nexperiment = "one"\n'
                       f'metric = "summary.utilization"\nat = {{ buffer = 200 }}\n{text}\n')


def rewrite(one: Paper, change: Any) -> None:
    """The rows, each changed by change(row), or left out when that is None."""
    changed = [change(copy.deepcopy(row)) for row in store.read(one.results)]
    store.write(one.results, filter(None, changed))


def test_a_claim_is_judged_by_its_interval(made_up: Paper) -> None:
    found = verdicts(made_up)
    assert {key: judged.verdict for key, judged in found.items()} == {
        "C1": "confirmed", "C2": "confirmed"}
    # 0.89, 0.90, 0.91: sd 0.01, and Student's t for 95 % and 2 degrees of freedom is 4.303
    assert found["C1"].value
    assert found["C1"].value.value == pytest.approx(0.9)
    assert found["C1"].value.half == pytest.approx(4.303 * 0.01 / math.sqrt(3), rel=1e-3)
    assert len(found["C1"].cells) == 3
    assert len(found["C2"].cells) == 12


def test_a_claim_is_judged_once_for_all_that_is_said_of_it(
        made_up: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []

    def counting(claim: claims.Claim, *rest: Any) -> Judged:
        judged.append(claim.id)
        return judge(claim, *rest)

    monkeypatch.setattr(claim_verdict, "judge", counting)
    run(paper.load("made-up", era="today"), good=0.5, bad=0.3)
    one = judgement.of(made_up)
    pages.page(one, [one])
    pages.index([one])
    # In two eras, and what is tried on the first of them.
    assert sorted(judged) == ["C1", "C1", "C1", "C2", "C2"]


def test_a_planted_result_turns_the_verdict_over(made_up: Paper) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["discipline"] == "good" and row["at"]["buffer"] == 200:
            row["figures"]["summary"]["utilization"] -= 0.5
        return row

    rewrite(made_up, planted)
    found = verdicts(made_up)
    assert {key: judged.verdict for key, judged in found.items()} == {
        "C1": "differs", "C2": "differs"}
    assert "**differs**" in pages_of(made_up)["made-up.md"]


def test_one_outlier_leaves_it_open(made_up: Paper) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["seed"] == 1:
            row["figures"]["summary"]["utilization"] *= 0.8
        return row

    rewrite(made_up, planted)
    assert verdicts(made_up)["C1"].verdict == "not decidable"
    # 0.712, 0.90 and 0.91: sd 0.112
    assert ("- **C1**: the interval lies across a bound. 0.84 ±0.28 with 3 seeds, accepted 0.8 to "
            "1." in pages_of(made_up)["made-up.md"])


def test_what_a_decided_try_lacks_is_said_in_seeds(made_up: Paper) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any] | None:
        if row["discipline"] == "good":
            row["figures"]["summary"]["utilization"] = 0.5
        return row if row["discipline"] == "good" or row["seed"] != 4 else None

    sweep = made_up.directory / "sweep.toml"
    sweep.write_text(SWEEP.replace("seeds = 3", "seeds = 5"))
    one = paper.load("made-up")
    run(one, good=0.9, bad=0.3, third=0.1)
    rewrite(one, planted)
    assert "| bad | 0.31 ±0.03 | differs, 4 of 5 seeds |" in pages_of(one)["made-up.md"]


def test_an_absent_cell_is_absent_and_not_zero(made_up: Paper) -> None:
    rewrite(made_up, lambda row: None if row["discipline"] == "bad" else row)
    found = verdicts(made_up)
    assert found["C1"].verdict == "confirmed"
    assert found["C2"].verdict == "not decidable"
    assert found["C2"].value is None
    assert "absent: bad in one at buffer 100" in found["C2"].why_not
    page = pages_of(made_up)["made-up.md"]
    assert "| bad | absent | absent |" in page
    rewrite(made_up, lambda row: None if row["seed"] == 3 else row)
    assert verdicts(made_up)["C1"].verdict == "not decidable"


def test_an_experiment_can_have_more_seeds_than_its_paper(made_up: Paper) -> None:
    sweep = made_up.directory / "sweep.toml"
    sweep.write_text(SWEEP.replace('disciplines = ["good", "bad"]',
                                   'disciplines = ["good", "bad"]\nseeds = 5'))
    one = paper.load("made-up")
    cells = [(cell.experiment.name, cell.seed) for cell in one.cells()]
    assert {seed for name, seed in cells if name == "one"} == {1, 2, 3, 4, 5}
    assert {seed for name, seed in cells if name == "other"} == {1, 2, 3}
    assert {cell.seed for cell in paper.load("made-up", era="today").cells()} == {1, 2, 3}
    assert verdicts(one)["C1"].seeds == 3
    store.journal(made_up.results).unlink()
    run(one, good=0.9, bad=0.3, third=0.1)
    found = verdicts(one)["C1"]
    # 0.89 to 0.93: sd 0.0158, and Student's t for 95 % and 4 degrees of freedom is 2.776
    assert found.value
    assert found.value.value == pytest.approx(0.91)
    assert found.value.half == pytest.approx(2.776 * 0.01 * math.sqrt(2.5 / 5), rel=1e-3)
    assert "(3 to 5 seeds each)" in pages_of(one)["made-up.md"]


def test_a_distribution_is_drawn_of_the_cells_that_have_one(made_up: Paper) -> None:
    """Of the mean of each percentile over the seeds, on an axis of round values."""
    spec = {"experiment": "one", "group": "all", "x_title": "ms", "y_title": "%", "panels": [
        {"title": "at 200", "at": {"buffer": 200}, "disciplines": ["good", "bad"]},
        {"title": "at 100", "at": {"buffer": 100}, "disciplines": ["good"]}]}

    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["discipline"] == "good" and row["at"].get("buffer") == 200:
            row["figures"]["delays_ms"] = {"all": [row["seed"] * (i + 1.0) for i in range(13)]}
        return row

    rewrite(made_up, planted)
    (panel,) = paper_plots._delays(spec, made_up.experiments[0], store.read(made_up.results))
    (line,) = panel.lines
    assert (panel.title, line.name) == ("at 200", "good")
    assert line.points[0] == (2.0, 0.0, 0.0)
    assert line.points[5] == (12.0, 50.0, 0.0)
    assert line.points[-1] == (26.0, 100.0, 0.0)
    drawn = paper_plots.plot(spec | {"kind": "delays"}, made_up, store.read(made_up.results), ())
    assert [f">{ms}<" in drawn for ms in (2, 5, 10, 20, 4, 26)] == [True] * 4 + [False] * 2


def test_a_page_says_for_how_long_windows_held_senders_back(made_up: Paper) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        (group,) = row["figures"]["groups"].values()
        group["window_limited"] = {"good": 0.31, "bad": 0.04}.get(row["discipline"], 0)
        return row

    assert "held a group back" not in pages_of(made_up)["made-up.md"]
    rewrite(made_up, planted)
    page = pages_of(made_up)["made-up.md"]
    assert page.count("receivers' windows held a group back for up to 31 % of the time") == 2
    assert "A receiver's window holds senders back where" in page


def test_a_paper_that_asks_has_one_page_and_one_of_its_claims(
        made_up: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    # One of the two is ours.
    monkeypatch.setattr(ranking, "LQD", "bad")
    asking(made_up, 'what = "use"')
    rewrite(made_up, lambda row: row | {"figures": row["figures"] | {
        "summary": row["figures"]["summary"] | {"utilization": 0.4}}})
    files = pages_of(paper.load("made-up"))
    assert sorted(files) == ["made-up-1.svg", "made-up-claims.md", "made-up.md"]
    short, whole = files["made-up.md"], files["made-up-claims.md"]
    assert "| use | good 0.4 ±0.0 | bad 0.4 ±0.0 | none | a tie |" in short
    assert "- Good is good. Accepted: 0.8 to 1; measured: 0.40 ±0.00 (C1)." in short
    assert "0 others of 2 claims hold, and 0 are not decided" in short
    assert "![Figure 1](made-up-1.svg)" in short
    assert "| [made-up](made-up-claims.md) | now |" in short
    assert "| verdict |" not in short
    assert "| C1 | Good is good." in whole
    assert "What holds\n\nNothing." in whole


def test_what_many_cells_cost_is_counted(made_up: Paper) -> None:
    """6 s each, and 0.5 more: 10 000 cells are 65 000 s. As jobs 3.7 s more: 102 000 s."""
    assert "| made-up () | 6.0 | 18.1 | 28.3 | 8 min |" in pages.index([judgement.of(made_up)])
    store.journal(made_up.results).unlink()
    assert "| made-up | none has run | | | |" in pages.index([judgement.of(made_up)])


def test_what_the_load_turns_over_is_not_what_a_discipline_does(made_up: Paper) -> None:
    assert "bad: 0.30 ±0.02 |  |" in pages_of(made_up)["made-up.md"]
    assert "the load than of the discipline: C2 (none was tried)." in (
        pages_of(made_up)["made-up.md"])
    path = made_up.directory / "claims.toml"
    path.write_text(path.read_text().replace(
        'change = "bad"\nof = "bad"', 'change = "half"\nat = { buffer = 100 }'))
    rewrite(made_up, lambda row: row | {"figures": row["figures"] | {"summary": {
        **row["figures"]["summary"],
        **({"utilization": 0.4} if row["at"].get("buffer") == 100 else {})}}})
    page = pages_of(made_up)["made-up.md"]
    (first,) = [line for line in page.splitlines() if line.startswith("| C1 ")]
    assert "|  | half: 0.40 ±0.00 |" in first
    assert "the load than of the discipline: C1 (none was tried)." in page


@pytest.mark.parametrize(("against", "change", "of_discipline"), [
    ("", 'of = "bad"', True),
    ("", 'of = "good"', False),  # named, but the claim's own
    ("", 'experiment = "other"\nof = "good"', False),
    ("", 'experiment = "other"\nof = "third"', True),
    ('against = { of = "bad" }', 'against = { of = "bad", experiment = "other" }', False),
    ('against = { of = "bad" }', 'against = { of = "third" }', True),
    ('against = { of = "bad" }', 'of = "third"', True),
    # The same in two figures; then of two disciplines.
    ('against = { metric = "groups.far.share_of_fair" }', "at = { buffer = 100 }", False),
    ('against = { metric = "groups.far.share_of_fair" }', 'against = { of = "bad" }', True),
])
def test_what_a_try_names_is_another_discipline_only_if_it_is_not_the_claims_own(
        against: str, change: str, of_discipline: bool) -> None:
    text = CLAIMS.replace("low = 0.8", f"low = 0.8\n{against}").replace(
        'change = "bad"\nof = "bad"', f'change = "bad"\n{change}')
    (claim, _) = claims.parse(tomllib.loads(text))
    assert [one.of_discipline for one in claim.ablations] == [of_discipline]


def test_what_was_set_when_cells_had_run_is_marked(made_up: Paper) -> None:
    assert "†" not in pages_of(made_up)["made-up.md"]
    path = made_up.directory / "claims.toml"
    path.write_text(path.read_text().replace('id = "C1"', 'id = "C1"\nseen = true'))
    page = pages_of(made_up)["made-up.md"]
    assert "| 0.8 to 1 † |" in page
    assert "- C1: 0.8 to 1 †." in page
    assert "- †: some of its cells had run" in page
    # It judges nothing.
    assert verdicts(made_up)["C1"].verdict == "confirmed"


def test_what_is_asked_for_must_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in ((["--claims", "P99999"], 'no claim "P99999"'),
                        (["--only", "blasted"], "did you mean blast"),
                        (["--disciplines", "read"], 'no discipline "read": did you mean'),
                        (["--at", "udp_rat=2"], 'no axis "udp_rat": did you mean udp_rate'),
                        (["--at", "udp_rate=2,3"], 'no udp_rate "3"')):
        with pytest.raises(SystemExit):
            run_cells.main(["parris1999", *words])
        assert said in capsys.readouterr().err


def test_an_axis_has_its_own_type(made_up: Paper) -> None:
    for text in ("10", "10.0"):
        args = argparse.Namespace(claims=None, only=None, disciplines=None, at=[f"rtt={text}"])
        run_cells._known(args, made_up)
        assert args.axes == {"rtt": [10.0]}


def test_a_cell_is_selected_if_each_of_its_axes_matches() -> None:
    cells = list(paper.load("kantawala2001").cells())
    args = argparse.Namespace(claims=None, only=None, disciplines=None, seeds=None,
                              axes={"buffer": [100, 200], "queues": [10]})
    assert {(cell.at.get("buffer"), cell.at.get("queues"))
            for cell in cells if run_cells._asked(args, (), cell)} == {
        (100, None), (200, None), (None, 10)}
    args.axes = {"flows": [10], "udp_flows": [5], "udp_rate": [8.0]}
    mixed = [cell for cell in paper.load("ahammed2010").cells() if cell.experiment.name == "mix"]
    assert {tuple(cell.at.values()) for cell in mixed if run_cells._asked(args, (), cell)} == {
        (10, 5, 8.0)}


def test_a_quick_look_has_a_line_for_each_claim_with_cells(made_up: Paper) -> None:
    made = made_up.made()
    (first, second) = ledger.quick(made_up, made).splitlines()
    assert " ".join(first.split()) == "C1 0.90 ±0.02 accepted 0.8 to 1: Good is good."
    assert second.startswith("C2 ")
    # Without the cells of bad, which C2 needs, there is C1 alone.
    of_good = [row for row in made if row["discipline"] == "good"]
    assert ledger.quick(made_up, of_good).splitlines() == [first]


def test_a_row_of_another_command_is_ignored(made_up: Paper) -> None:
    commands = made_up.commands()
    have = store.of(store.read(made_up.results), commands)
    assert [row["cell"] for row in have] == list(commands)
    first, *others = commands
    have = store.of(store.read(made_up.results), {**commands, first: "other"})
    assert [row["cell"] for row in have] == others


@pytest.mark.parametrize(("changed", "name"), [
    ({"modules": {"sch_good": "A"}}, "sch_good"), ({"kernel": "8"}, "the kernel")])
def test_seeds_by_two_versions_decide_nothing(made_up: Paper, changed: dict[str, Any],
                                              name: str) -> None:
    def by_another(row: dict[str, Any], *seeds: int) -> dict[str, Any]:
        other = row["discipline"] == "good" and row["seed"] in seeds
        return {**row, "made": {**row["made"], **(changed if other else {})}}

    rewrite(made_up, lambda row: by_another(row, 2))
    assert verdicts(made_up)["C1"].verdict == "not decidable"
    assert verdicts(made_up)["C1"].why_not == f"seeds by two versions of {name}"
    # All of one discipline by one version, and of the other by another, is a comparison.
    rewrite(made_up, lambda row: by_another(row, 1, 2, 3))
    assert {one.verdict for one in verdicts(made_up).values()} == {"confirmed"}


def test_an_experiment_can_begin_with_another_seed(made_up: Paper) -> None:
    """Rows of other seeds judge nothing; two experiments are set against each other first seed by
    first seed."""
    (made_up.directory / "sweep.toml").write_text(SWEEP.replace(
        'disciplines = ["good", "bad"]', 'disciplines = ["good", "bad"]\nfirst_seed = 11'))
    (made_up.directory / "claims.toml").write_text(CLAIMS.replace(
        'against = { of = "bad" }\nfold = "min"',
        'at = { buffer = 100 }\nagainst = { experiment = "other", of = "third", '
        'at = { rtt = 10.0, buffer = [] } }'))
    one = paper.load("made-up")
    fresh = [11, 12, 13]
    assert [c.seed for c in one.cells() if (c.experiment.name, c.at.get("buffer")) == ("one", 100)
            and c.discipline == "good"] == fresh
    assert {c.seed for c in one.cells() if c.experiment.name == "other"} == {1, 2, 3}
    assert {c.seed for c in paper.load("made-up", era="today").cells()
            if c.experiment.name == "one"} == set(fresh)
    assert {trace.cell.seed for trace in time_plots.asked(one)} == {11}
    assert verdicts(one)["C1"].why_not == "absent: good in one at buffer 200, seed 11"
    page = pages_of(one)
    assert "3 of 15 cells" in page["made-up.md"]
    assert "made-up-1.svg" not in page

    store.journal(made_up.results).unlink()
    run(one, good=0.9, bad=0.3, third=0.1)
    found = verdicts(one)
    assert found["C1"].value
    assert found["C1"].value.value == pytest.approx(0.9 + 0.01 * (12 - 2))
    assert found["C2"].value
    assert found["C2"].value.value == pytest.approx(
        sum((0.9 + 0.01 * (seed + 8)) / (0.1 + 0.01 * (seed - 2)) for seed in (1, 2, 3)) / 3)


def test_cells_of_no_claim_can_have_fewer_seeds(made_up: Paper) -> None:
    listed = 'disciplines = ["good", "bad"'
    (made_up.directory / "sweep.toml").write_text(
        SWEEP.replace(f"{listed}]", f'{listed}, "third"]\nseeds = 5\nothers = 4'))
    for judged, most in ((CLAIMS, 4), (CLAIMS.replace(
            'change = "bad"\nof = "bad"', 'change = "bad"\nof = "third"'), 5)):
        (made_up.directory / "claims.toml").write_text(judged)
        seeds: dict[tuple[str, Any], list[int]] = {}
        for cell in paper.load("made-up").cells():
            seeds.setdefault((cell.discipline, cell.at.get("buffer")), []).append(cell.seed)
        assert seeds["good", 100] == seeds["bad", 200] == [1, 2, 3, 4, 5]
        assert seeds["third", 100] == [1, 2, 3, 4]
        # What is tried on C1, with 200 packets, or nothing.
        assert len(seeds["third", 200]) == most
    assert {cell.seed for cell in paper.load("made-up", era="today").cells()} == {1, 2, 3}


def test_bounds_that_move_after_the_run_judge_nothing(made_up: Paper) -> None:
    path = made_up.directory / "claims.toml"
    path.write_text(path.read_text().replace("low = 0.8", "low = 0.1"))
    found = verdicts(made_up)
    assert found["C1"].verdict == "not decidable"
    assert found["C1"].why_not == "its bounds are younger than the runs"
    assert found["C2"].verdict == "confirmed"
    # Words may be mended.
    path.write_text(CLAIMS.replace("Good is good.", "Good is very good."))
    assert verdicts(made_up)["C1"].verdict == "confirmed"


def test_a_change_that_leaves_a_claim_open_is_shown(made_up: Paper) -> None:
    """0.79 to 0.81 lies across the least that is accepted, 0.8."""
    rewrite(made_up, lambda row: row if row["discipline"] == "good" else {
        **row, "figures": {**row["figures"], "summary": {
            **row["figures"]["summary"], "utilization": 0.8 + 0.01 * (row["seed"] - 2)}}})
    (first,) = [line for line in pages_of(made_up)["made-up.md"].splitlines()
                if line.startswith("| C1 ")]
    assert "| nothing yet; left open by: bad: 0.80 ±0.02 |" in first


def test_another_era_is_judged_by_its_own_cells(made_up: Paper) -> None:
    today = paper.load("made-up", era="today")
    fates = {"nothing has run": "| now | has not run |  |  |  |  |",
             "run": "| now | 1 | 0 | 1 | 0 | 0 |"}
    assert fates["nothing has run"] in "\n".join(then_and_now(made_up)[0])
    page = pages_of(made_up)["made-up.md"]
    assert "with a later TCP: nothing of it has run." in page
    assert "| verdict | turned over by another discipline |" in page
    assert {c.discipline for c in today.cells()} == {"good", "bad"}  # no claim needs the third
    assert all(("headdrop" in c.words[2]) == (c.discipline == "bad") for c in today.cells())
    own = made_up.stored()
    run(today, good=0.5, bad=0.3)
    assert made_up.stored() == own
    assert {k: j.verdict for k, j in verdicts(today).items()} == {
        "C1": "differs", "C2": "confirmed"}
    assert {j.verdict for j in verdicts(made_up).values()} == {"confirmed"}
    page = pages_of(made_up)["made-up.md"]
    (first,) = [line for line in page.splitlines() if line.startswith("| C1 ")]
    assert "| 0.90 ±0.02 | **confirmed** | **differs** 0.50 ±0.02 | bad: 0.30" in first
    assert "1 confirmed, 1 differs, 0 not decidable. 12 of 12 cells" in page
    assert fates["run"] in "\n".join(then_and_now(made_up)[0])
    assert "| C1 | Good is good. | 0.8 to 1 | 0.90 ±0.02 | 0.50 ±0.02 | holds no more |" in (
        then_and_now(made_up)[1])


CONTEST = {"what": "use", "experiment": "one", "metric": "summary.utilization",
           "at": {"buffer": 200}, "scale": 100.0}
QUESTION = {"head": "Use", "asks": "Who?", "comparison": [CONTEST]}


def as_disciplines(made_up: Paper, changed: dict[str, Any], *names: str) -> Paper:
    """The paper of one contest, with the disciplines of these names in it."""
    one = replace(made_up.experiments[0], disciplines=list(names))
    contest = CONTEST | changed
    return replace(made_up, experiments=[one], text={"question": [{**QUESTION,
                                                                  "comparison": [contest]}]})


def rows_of(**uses: tuple[float, ...]) -> list[dict[str, Any]]:
    return [{"experiment": "one", "at": {"buffer": buffer}, "discipline": name, "seed": seed,
             "figures": {"summary": {"utilization": use / 100 if buffer == 200 else 0.0}}}
            for name, by_seed in uses.items() for seed, use in enumerate(by_seed, 1)
            for buffer in (100, 200)]


NOT = ("Not to be taken, as at most half as good as the best in more than half of these contests: ")


@pytest.mark.parametrize(("uses", "most", "who", "row", "advice"), [
    ({"cake": (1, 2, 3), "pfifo": (90, 91, 92), "qsdrr": (50, 51, 52)}, False, "mainline",
     "| use | cake 2.0 (1.0 to 3.0) | qsdrr 51.0 ±2.5 | pfifo 91.0 ±2.5; qsdrr | mainline |",
     "take cake (as good as the best in 1 of 1). Of ours: none, for each would be under Not. "
     + NOT + "pfifo, qsdrr."),
    ({"cake": (1, 2, 3), "pfifo": (90, 91, 92), "qsdrr": (50, 51, 52)}, True, "mainline",
     "| use | pfifo 91.0 ±2.5 | qsdrr 51.0 ±2.5 | cake 2.0 (1.0 to 3.0) | mainline |",
     "take pfifo (as good as the best in 1 of 1). Of ours: qsdrr (as good as the best of ours in 1 "
     "of 1). Worse than the best of all: qsdrr in 1. " + NOT + "cake."),
    # cake is a tenth worse each time, though it varies more from seed to seed than that. tdrr is 1,
    # 1.33 and 1.2 times as much: ln of that over 1.05 is 0.108 ±0.362; so it is worse in none, too.
    ({"cake": (11, 33, 55), "lqd": (10, 30, 50), "tdrr": (10, 40, 60)}, False, "ours",
     "| use | cake 33.0 (11.0 to 55.0) | lqd 30.0 (10.0 to 50.0); not told apart: tdrr | none | "
     "ours |",
     "take lqd (as good as the best in 1 of 1) or tdrr (as good as the best in 0 of 1, not told "
     "apart in 1). Of ours: lqd (as good as the best of ours in 1 of 1) or tdrr (as good as the "
     "best of ours in 0 of 1, not told apart in 1)."),
    # ln of 1, 9 and 9, over 1.05, is 1.42 ±3.15: neither as good nor worse.
    ({"cake": (10, 90, 90), "lqd": (10, 10, 10)}, False, "open",
     "| use | cake 63.3 (10.0 to 90.0) | lqd 10.0 ±0.0 | none | open |",
     "take lqd (as good as the best in 1 of 1) or cake (as good as the best in 0 of 1, not told "
     "apart in 1). Of ours: lqd (as good as the best of ours in 1 of 1)."),
    # ln of 0.8, 1.1 and 1.2, over 1.05, is -0.03 ±0.53: near in the mean is not enough.
    ({"cake": (8, 11, 12), "lqd": (10, 10, 10)}, False, "open",
     "| use | cake 10.3 (8.0 to 12.0) | lqd 10.0 ±0.0 | none | open |",
     "take lqd (as good as the best in 1 of 1) or cake (as good as the best in 0 of 1, not told "
     "apart in 1). Of ours: lqd (as good as the best of ours in 1 of 1)."),
    # A 0: lqd is 1, 2 and 1.95 more than 1.05 times the best, 1.65 ±1.40, and 1, 2 and 1 more than
    # twice, 1.33 ±1.43.
    ({"sfq": (0, 0, 1), "lqd": (1, 2, 3), "cake": (40, 41, 42)}, False, "mainline",
     "| use | sfq 0.3 (0.0 to 1.0) | lqd 2.0 (1.0 to 3.0) | cake 41.0 ±2.5 | mainline |",
     "take sfq (as good as the best in 1 of 1). Of ours: lqd (as good as the best of ours in 1 of "
     "1). Worse than the best of all: lqd in 1. " + NOT + "cake."),
    ({"sfq": (0, 0, 0), "lqd": (0, 0, 0), "cake": (5, 6, 7)}, False, "a tie",
     "| use | sfq 0.0 ±0.0 | lqd 0.0 ±0.0 | cake 6.0 (5.0 to 7.0) | a tie |",
     "take sfq (as good as the best in 1 of 1) or lqd (as good as the best in 1 of 1). Of ours: "
     "lqd (as good as the best of ours in 1 of 1). " + NOT + "cake."),
    ({"sfq": (98, 98, 98), "cake": (96, 96, 96), "lqd": (100, 100, 100)}, True, "a tie",
     "| use | sfq 98.0 ±0.0; as good: cake | lqd 100.0 ±0.0 | none | a tie |",
     "take cake (as good as the best in 1 of 1), sfq (as good as the best in 1 of 1) or lqd (as "
     "good as the best in 1 of 1). Of ours: lqd (as good as the best of ours in 1 of 1)."),
])
def test_who_is_best_is_what_the_rows_say(made_up: Paper, uses: dict[str, tuple[float, ...]],
                                          most: bool, who: str, row: str, advice: str) -> None:
    one, made = as_disciplines(made_up, {"most": most}, *uses), rows_of(**uses)
    said = ranking.summary(one, made)
    assert row in said
    count = {"mainline": 0, "ours": 0, "a tie": 0, "open": 0, who: 1}
    (told,) = [line for line in said if "contests have run" in line]
    assert (f"Mainline is better in {count['mainline']} of them, ours in {count['ours']}, "
            f"{count['a tie']} are a tie, and {count['open']} are open.") in told
    assert f"- **Use**: {advice}" in said
    assert not any("One for all" in line for line in said)


def several(one: Paper, *contests_: dict[str, Any]) -> Paper:
    """The paper with an experiment like its only one for each of these contests, in one question;
    they are called one, two, three."""
    names = ("one", "two", "three")[:len(contests_)]
    return replace(one, experiments=[replace(one.experiments[0], name=name) for name in names],
                   text={"question": [{**QUESTION, "comparison": [
                       CONTEST | {"experiment": name, "what": f"use of {name}"} | contest
                       for name, contest in zip(names, contests_, strict=True)]}]})


def test_who_is_worse_least_often_is_to_be_taken(made_up: Paper) -> None:
    """pie is as good as the best in two of three and worse in one; lqd in one, and is not told
    apart in two: 10, 90 and 90 beside 10, as ln over 1.05, are 1.42 ±3.15."""
    one = several(as_disciplines(made_up, {}, "cake", "pie", "lqd"), {}, {}, {})
    made = rows_of(cake=(12, 12, 12), pie=(90, 90, 90), lqd=(10, 10, 10))
    made += [row | {"experiment": name} for name in ("two", "three") for row in
             rows_of(cake=(12, 12, 12), pie=(10, 10, 10), lqd=(10, 90, 90))]
    assert ("- **Use**: take lqd (as good as the best in 1 of 3, not told apart in 2). Of ours: "
            "lqd (as good as the best of ours in 3 of 3).") in ranking.summary(one, made)


def test_what_is_advised_says_where_it_is_worse(made_up: Paper) -> None:
    one = several(as_disciplines(made_up, {}, "cake", "sfq", "lqd"), {}, {}, {})
    made = [row | {"experiment": name} for name, sfq in zip(
        ("one", "two", "three"), (20, 9, 20), strict=True)
            for row in rows_of(cake=(10, 10, 10), sfq=(sfq, sfq, sfq), lqd=(90, 90, 90))]
    (said,) = [line for line in ranking.summary(one, made) if line.startswith("- **Use**")]
    assert said.startswith("- **Use**: take cake (as good as the best in 2 of 3, worse in 1).")
    assert " cake is worse in: use of two (10.0; sfq 9.0)." in said


@pytest.mark.parametrize(("most", "cake", "pfifo", "floor", "as_good"), [
    (False, 0.5, 0.7, 0.24, True),
    (False, 0.5, 0.7, 0.0, False),
    (False, 0.5, 0.8, 0.24, False),
    (False, 0.0, 0.2, 0.24, True),
    (True, 0.7, 0.5, 0.24, True),
    (True, 0.8, 0.5, 0.24, False),
    # 5 % are more than that.
    (False, 10.0, 10.4, 0.24, True),
])
def test_less_than_the_floor_is_no_difference(made_up: Paper, most: bool, cake: float, pfifo: float,
                                              floor: float, as_good: bool) -> None:
    """In the unit that is shown, a hundred times that of the row."""
    one = as_disciplines(made_up, {"most": most, "floor": floor}, "cake", "pfifo", "lqd")
    made = rows_of(cake=(cake,) * 3, pfifo=(pfifo,) * 3, lqd=(50 - 50 * most,) * 3)
    assert (f"| use | cake {cake:.1f} ±0.0{'; as good: pfifo' * as_good} |"
            in "\n".join(ranking.summary(one, made)))


def test_who_fails_at_what_a_contest_needs_is_out_of_it(made_up: Paper) -> None:
    """tdrr is best by drops, and has a tenth of the use."""
    needs = {"metric": "summary.utilization", "most": True}
    one = as_disciplines(made_up, {"metric": "summary.dropped", "scale": 1.0, "needs": needs},
                         "cake", "sfq", "lqd", "tdrr")
    dropped = {"cake": 30, "sfq": 10, "lqd": 40, "tdrr": 1}
    made = rows_of(cake=(90, 90, 90), sfq=(9, 9, 9), lqd=(80, 80, 80), tdrr=(9, 9, 9))
    for row in made:
        row["figures"]["summary"]["dropped"] = dropped[row["discipline"]]
    said = "\n".join(ranking.summary(one, made))
    assert "| use | cake 30.0 ±0.0 | lqd 40.0 ±0.0 | none; out: sfq, tdrr | mainline |" in said
    assert "take cake (as good as the best in 1 of 1). Of ours: lqd" in said
    assert NOT + "sfq, tdrr." in said
    # Without use there is no telling.
    for row in made:
        del row["figures"]["summary"]["utilization"]
    assert "Not all that this needs has run." in ranking.summary(one, made)


def test_a_discipline_of_another_name_is_known_by_what_the_contest_takes_off(
        made_up: Paper) -> None:
    one = as_disciplines(made_up, {"suffix": "-ecn"}, "cake", "lqd-ecn")
    one = replace(one, disciplines={"cake": "cake memlimit {memory}", "lqd": "qsdrr",
                                    "lqd-ecn": "qsdrr limit {buffer}", "pie": "pie"})
    said = ranking.summary(one, rows_of(cake=(10, 10, 10), **{"lqd-ecn": (10, 10, 10)}))
    assert "| use | cake 10.0 ±0.0 | lqd 10.0 ±0.0 | none | a tie |" in said
    # How they were configured.
    assert {"| cake | `cake memlimit {memory}` |", "| lqd | `qsdrr` |",
            "| lqd-ecn | `qsdrr limit {buffer}` |"} < set(said)
    (told,) = [line for line in said if line.startswith("How those that are advised")]
    assert "`{buffer}` is the buffer in packets; `{memory}` is the same" in told
    assert not any("`pie`" in line for line in said)


def test_seeds_that_not_all_have_are_left_out(made_up: Paper) -> None:
    one = as_disciplines(made_up, {}, "cake", "lqd")
    one = replace(one, experiments=[replace(one.experiments[0], seeds=5, others=3)])
    made = rows_of(cake=(2, 2, 2), lqd=(10, 10, 10, 90, 90))
    assert ("| use | cake 2.0 ±0.0 | lqd 10.0 ±0.0 | lqd 10.0 ±0.0 | mainline |"
            in ranking.summary(one, made))


def test_contests_are_held_in_another_era(made_up: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of `good` and `bad` at 200 packets is, and so it has all its cells there."""
    monkeypatch.setattr(ranking, "LQD", "bad")
    asking(made_up, 'what = "use"\nmost = true\ntcp_profiles = ["today"]',
           'what = "the same"\nmost = true')
    (made_up.directory / "claims.toml").write_text("")
    one, today = paper.load("made-up"), paper.load("made-up", era="today")
    assert {(c.discipline, c.at["buffer"], c.seed) for c in today.cells()} == {
        (name, 200, seed) for name in ("good", "bad") for seed in (1, 2, 3)}
    made = store.read(one.results)
    assert "| | best of mainline's | best of ours | at most half as good: the worst, and others | "\
        "better |" in ranking.summary(one, made)
    run(today, good=0.2, bad=0.8)
    said = ranking.summary(one, made)
    assert ("| use | good 0.9 ±0.0 | bad 0.3 ±0.0 | bad 0.3 ±0.0 | mainline | ours: bad 0.8 ±0.0; "
            "now worse: good 0.2; now as good: bad 0.8 |") in said
    assert "| the same | good 0.9 ±0.0 | bad 0.3 ±0.0 | bad 0.3 ±0.0 | mainline |  |" in said
    (told,) = [line for line in said if line.startswith("- **Use**")]
    assert told.endswith(
        " Now, in 1 of these 2 contests: take bad (as good as the best in 1 of 1). Of ours: bad "
        "(as good as the best of ours in 1 of 1). Worse there: good, use (0.2; bad 0.8).")


def test_one_for_all_has_taken_part_in_all(made_up: Paper) -> None:
    """lqd is not in the first contest, and tdrr, of ours alone there, is at most half as good
    there."""
    one = as_disciplines(made_up, {}, "cake", "sfq", "tdrr")
    other = replace(one.experiments[0], name="two", disciplines=["cake", "lqd", "sfq", "tdrr"])
    more = {**QUESTION, "head": "More", "comparison": [CONTEST | {"experiment": "two"}]}
    both = replace(one, experiments=[*one.experiments, other],
                   text={"question": [*one.text["question"], more]})

    def said(tdrr: int) -> list[str]:
        made = rows_of(cake=(1, 1, 1), sfq=(1, 1, 1), tdrr=(tdrr,) * 3)
        made += [row | {"experiment": "two"} for row in
                 rows_of(cake=(1.5, 1.5, 1.5), lqd=(1, 1, 1), sfq=(1, 1, 1), tdrr=(1.6, 1.6, 1.6))]
        assert ranking.one_for_all(both, made) == ["sfq"]
        return ranking.summary(both, made)

    (told,) = [line for line in said(9) if "One for all" in line]
    assert "take sfq (as good as the best in 2 of 2). Of ours: none, for each would be" in told
    (told,) = [line for line in said(1.8) if "One for all" in line]
    assert "Of ours: tdrr (as good as the best of ours in 1 of 2, worse in 1)." in told
    assert "- **More**: take sfq (as good as the best in 1 of 1) or lqd" in "\n".join(said(9))


def test_the_first_page_names_who_is_worse_least_often() -> None:
    today = paper.load("today")
    names = ranking.one_for_all(today, today.made())
    (said,) = [line for line in (ROOT / "README.md").read_text().splitlines()
               if line.startswith("| a queue about which nobody has to think")]
    first, _, _ = said.partition(", which were worse than the best in the fewest")
    assert [name for name in names if f"`{name}`" in first] == names


def test_a_contest_that_has_not_all_run_has_no_winner(made_up: Paper) -> None:
    one = as_disciplines(made_up, {}, "cake", "lqd")
    for made in ([], rows_of(cake=(1, 1, 1)), rows_of(cake=(1, 1, 1), lqd=(2, 2))):
        assert "Not all that this needs has run." in ranking.summary(one, made)


@pytest.mark.parametrize(("changed", "accepted"), [
    ({"metric": "groups.probe.delay_ms.p50"}, "at most 3 ms"),
    ({"metric": "groups.senders.completion_s.p99"}, "at most 3 s"),
    ({"metric": "phases.1.queue_packets.mean"}, "at most 3 packets"),
    ({"metric": "groups.bully.share_of_fair"}, "at most 3 times an equal part"),
    ({"metric": "groups.rest.share_of_fair", "scale": 100.0}, "at most 300 %"),
    ({"metric": "groups.probe.delay_ms.p50", "against": {"of": "bad"}}, "at most 3"),
    ({"metric": "groups.probe.delay_ms.p50", "against": {"of": "bad"}, "difference": True},
     "at most 3 ms"),
    ({"metric": "timeouts"}, "at most 3"),
])
def test_bounds_have_a_unit(changed: dict[str, Any], accepted: str) -> None:
    text = dict.fromkeys(("id", "place", "says", "published", "why"), "") | {
        "experiment": "one", "of": "good", "high": 3.0, **changed}
    (claim,) = claims.parse({"claim": [text]})
    assert claim.accepted() == accepted


@pytest.mark.parametrize(("disciplines", "buffers", "verdict"), [
    (("bad",), (200,), "confirmed"),  # the ratio at 100 is the least
    (("good", "bad"), (200,), "not decidable"),
])
def test_of_nothing_there_is_no_ratio(made_up: Paper, disciplines: tuple[str, ...],
                                      buffers: tuple[int, ...], verdict: str) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if (row["discipline"] in disciplines and row["seed"] == 2
                and row["at"].get("buffer") in buffers):
            row["figures"]["summary"]["utilization"] = 0.0
        return row

    rewrite(made_up, planted)
    found = verdicts(made_up)["C2"]
    assert found.verdict == verdict
    assert (found.why_not == "no ratio to bad: both have 0 under seed 2") == (not found.value)
    # It lacks no cell for that.
    assert (found.seeds, len(found.cells)) == (3, 12)


@pytest.mark.parametrize(("seeds", "bounds", "verdict"), [
    ((1, 2, 3), {"low": 1.5}, "confirmed"),
    ((1, 2, 3), {"high": 1.5}, "differs"),
    ((1, 2, 3), {"low": 1.5, "high": 9.0}, "differs"),
    # 1 / 3, and twice 0: sd 0.192, and half of the interval is 0.478; hence 0.589 at most.
    ((2, 3), {"low": 1.6}, "confirmed"),
    ((2, 3), {"low": 1.8}, "not decidable"),
    ((2, 3), {"high": 1.6}, "differs"),
])
def test_a_ratio_to_nothing_is_judged_by_its_inverse(
        made_up: Paper, seeds: tuple[int, ...], bounds: dict[str, float], verdict: str) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["discipline"] == "bad":
            row["figures"]["summary"]["utilization"] = 0.0 if row["seed"] in seeds else 0.3
        else:
            row["figures"]["summary"]["utilization"] = 0.9
        return row

    rewrite(made_up, planted)
    (claim,) = [c for c in claims.load(made_up.directory) if c.id == "C2"]
    claim = replace(claim, low=bounds.get("low", -math.inf), high=bounds.get("high", math.inf))
    axes = {e.name: e.axes for e in made_up.experiments}
    found = judge(claim, axes, by_cell(store.read(made_up.results)), made_up.seeds)
    assert found.verdict == verdict
    assert found.value
    assert found.value.text(digits=2) == ("infinite" if len(seeds) == 3 else "at least 1.70")


@pytest.mark.parametrize(("value", "half", "said"), [
    (0.25, 0.15, "2.5 to 10"), (0.25, math.nan, "4.0"), (0.25, 0.25, "at least 2.0")])
def test_an_inverse_is_shown_as_what_it_is_the_inverse_of(value: float, half: float,
                                                          said: str) -> None:
    assert intervals.Mean(value, half, inverse=True).text() == said


def test_a_ratio_that_is_now_0_and_now_infinite_is_not_decidable(made_up: Paper) -> None:
    nothing = {("good", 2), ("bad", 3)}

    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if (row["discipline"], row["seed"]) in nothing:
            row["figures"]["summary"]["utilization"] = 0.0
        return row

    rewrite(made_up, planted)
    found = verdicts(made_up)["C2"]
    assert found.verdict == "not decidable"
    assert found.why_not == "a seed has 0, and another a ratio to 0"


def test_what_never_arrived_has_no_wait() -> None:
    udp = {"rtt_ms": 50.0, "flows": 1, "goodput_bps": {"mean": 8000.0}}
    with pytest.raises(Absent, match="no packet of udp that arrived"):
        metric_of({"groups": {"udp": udp}}, "udp:wait_ms")
    assert metric_of({"groups": {"udp": {**udp, "delay_ms": {"mean": 27.0}}}}, "udp:wait_ms") == 2.0


def test_a_mark_counts_as_the_drop_that_it_stands_for() -> None:
    phase = {"dropped": 30, "sent": 70}  # marked packets are among those sent
    for marked, share in ((0, 0.3), (20, 0.5)):
        figures = {"phases": [{}, {**phase, "marked": marked}]}
        assert metric_of(figures, ":dropped_1") == pytest.approx(share)
    # A row leaves out what is not known.
    with pytest.raises(Absent):
        metric_of({"phases": [{}, phase]}, ":dropped_1")


@pytest.mark.parametrize("path", [
    "phases.7.sent", "groups.nobody.loss", "nobody:mbps", "7:use", "0:goodput_use",
    ":kept_1", "tcp:unevenness", ":dropped_0", ":mean_over_fair", "udp:waiting_share",
    "udp:choke_theory"])
def test_a_figure_that_a_run_does_not_have_is_absent(path: str) -> None:
    """Of a run in which nothing passed."""
    nothing = {"mean": 0.0, "sd": 0.0}
    figures = {
        "summary": {"utilization": 0.0, "goodput_bps": nothing, "fair_share_bps": 0.0,
                    "queue_packets": {"mean": 0.0}},
        "groups": {name: {"goodput_bps": nothing, "flows": 1, "loss": 0.0, "rtt_ms": 0.0}
                   for name in ("tcp", "udp")},
        "phases": [{"dropped": 0, "marked": 0, "sent": 0, "groups": {"tcp": nothing}}] * 2,
        "rate_bps": 1e6, "payload": {"udp": 972}, "offered_bps": {"udp": 2e6},
    }
    with pytest.raises(Absent, match=f"no {path}|nothing passed|no packet|no flow"):
        metric_of(figures, path)


def test_the_page_names_what_turns_a_claim_over(made_up: Paper) -> None:
    page = pages_of(made_up)["made-up.md"]
    (first,) = [line for line in page.splitlines() if line.startswith("| C1 ")]
    assert "| **confirmed** | bad: 0.30 ±0.02 |  | 3 seeds, 3 cells, 0.3 CPU min |" in first
    (second,) = [line for line in page.splitlines() if line.startswith("| C2 ")]
    assert "| **confirmed** | nothing yet |  | 3 seeds, 12 cells, 1.2 CPU min |" in second


def test_a_row_has_five_digits_of_a_figure_and_nothing_of_one_that_there_is_not() -> None:
    made = rows.rounded({"mean": 1.23456789, "delay_ms": None, "rate_bps": 1234567.0, "jain": 1.0,
                         "at": [{"p99": None, "n": 3}]})
    assert json.dumps(made) == (
        '{"mean": 1.2346, "rate_bps": 1234600, "jain": 1, "at": [{"n": 3}]}')


def with_where(one: Paper, where: str) -> None:
    """Give its experiment a `where`, and another axis."""
    sweep = one.directory / paper.SWEEP
    text = sweep.read_text().replace("axes = { ", "axes = { flows = [1, 2], ", 1)
    text = text.replace("[quick]\n", "[quick]\nset = { duration = 5 }\n")
    sweep.write_text(text.replace('disciplines = ["good", "bad"]\n',
                                  f'disciplines = ["good", "bad"]\nwhere = [{where}]\n', 1))


def test_what_some_cells_have_by_themselves_no_other_has(made_up: Paper) -> None:
    with_where(made_up, """
        { disciplines = ["good"], at = { buffer = 200, flows = [2] }, set = { window = 64 } },
        { tcp_profiles = ["today"], set = { window = 32 } },
        { tcp_profiles = ["own"], at = { flows = 1 }, set = { duration = 9 } }""")
    cells = list(paper.load("made-up").cells())
    of_one = [cell for cell in cells if cell.experiment.name == "one"]
    assert {cell.name for cell in cells if "window=64" in cell.words} == {
        f"one-good-flows=2-buffer=200-{seed}" for seed in (1, 2, 3)}
    assert {cell.name for cell in cells if "duration=9" in cell.words} == {
        cell.name for cell in of_one if cell.at["flows"] == 1}
    assert not [cell for cell in cells if "window=32" in cell.words]
    today = list(paper.load("made-up", era="today").cells())
    assert today
    assert all(("window=32" in cell.words) == (cell.experiment.name == "one") for cell in today)
    # A quick look is as short as it says.
    quick = [cell for cell in paper.load("made-up", quick=True).cells() if "flows=1" in cell.name]
    assert quick
    assert not [cell for cell in quick if "duration=9" in cell.words]


@pytest.mark.parametrize(("where", "said"), [
    ('{ disciplines = ["god"], set = { window = 64 } }', "god"),
    ("{ at = { bufer = 200 }, set = { window = 64 } }", "bufer = 200"),
    ("{ at = { buffer = 201 }, set = { window = 64 } }", "buffer = 201"),
    ("{ of = 1, set = { window = 64 } }", 'no key "of"'),
    ('{ tcp_profiles = ["onw"], set = { window = 64 } }', "onw"),
    ("{ at = { buffer = 200 } }", "'set' is a required property"),
])
def test_parameters_of_cells_that_there_are_not_are_refused(made_up: Paper, where: str,
                                                            said: str) -> None:
    with_where(made_up, where)
    with pytest.raises(ValueError, match=said):
        paper.load("made-up")


@pytest.mark.parametrize(("old", "new", "said"), [
    ('scenario = "dumbbell"\naxes = { rtt', 'first_sed = 2\nscenario = "dumbbell"\naxes = { rtt',
     'experiment.other: no key "first_sed": did you mean first_seed'),
    ('x_title = "buffer"', 'x_title = "buffer"\nx_logg = true',
     'plot.1: no key "x_logg": did you mean x_log'),
    ('x_title = "buffer"', 'x_title = "buffer"\nto_s = 9', 'plot.1: no key "to_s":'),
    ("from_s = 1,", "form_s = 1,",
     'plot.over-time.panels.2: no key "form_s": did you mean from_s'),
    ('kind = "time"', 'kind = "tim"', 'plot.over-time.kind: no value "tim": did you mean time'),
    ('kind = "time"', 'kind = "series"', 'plot.over-time: no key "of":'),
])
def test_keys_that_nobody_reads_are_refused(made_up: Paper, old: str, new: str, said: str) -> None:
    assert old in SWEEP
    (made_up.directory / paper.SWEEP).write_text(SWEEP.replace(old, new))
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        paper.load("made-up")


def test_a_sweep_goes_on_where_it_stopped(made_up: Paper) -> None:
    file = store.journal(made_up.results)
    text, whole = file.read_text(), store.read(made_up.results)
    file.write_text(text[: len(text) // 2])
    left = len(store.read(made_up.results))
    assert 0 < left < len(whole)
    store.append(made_up.results, whole[-1])
    assert len(store.read(made_up.results)) == left + 1


def test_pictures_are_well_formed_and_the_same_again(made_up: Paper) -> None:
    files = pages_of(made_up)
    assert files == pages_of(made_up)
    picture = ET.fromstring(files["made-up-1.svg"])
    marks = [e for e in picture.iter() if e.tag.endswith(("circle", "polygon"))]
    # 4 points, 2 of them squares, and the legend's 2
    assert len([e for e in marks if e.tag.endswith("circle")]) == 3


def made_by_hand(one: Paper, directory: Path) -> None:
    """Keep the lines of handmade's run as those of the figure over time's cell."""
    (cell,) = time_plots.missing(one).values()
    ran(directory)
    time_plots.keep(one, cell, directory)


def ran(directory: Path) -> None:
    """handmade's run, with what made it."""
    handmade.write(directory)
    (directory / "result.json").write_text(json.dumps({
        "provenance": {"version": "2", "modules": {}, "compiler": "c", "tc": "t",
                       "lab": {"image": "ab"}},
        "kernel": "7", "digest": "d", "cpu_seconds": 1.0, "virtual_seconds": 3.0}))


@pytest.mark.parametrize(("era", "drawn"), [(paper.OWN, 2), ("today", 0)])
def test_a_run_gives_its_row_and_what_is_drawn_of_it(
        made_up: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str,
        drawn: int) -> None:
    """Both panels of the figure over time are of one cell; in another era none is."""
    one = paper.load("made-up", era=era)
    store.write(one.results, ())
    cells = {cell.name: cell for cell in one.cells() if cell.round == 1}
    made: list[dict[str, Any]] = []

    def run(args: argparse.Namespace, jobs: Mapping[str, Any],
            taken: Callable[[str], None]) -> list[str]:
        for name in jobs:
            (args.out / name).mkdir()
            ran(args.out / name)
            taken(name)
        return list(jobs)

    monkeypatch.setattr(sweep, "run", run)
    monkeypatch.setattr(run_cells, "row_of", lambda _paper, cell, _directory: {
        "cell": cell.name, "made": {"version": "2"}})
    assert not run_cells._round(argparse.Namespace(out=tmp_path, quick=False), one, cells, made)
    assert [row["cell"] for row in store.read(one.results)] == list(cells)
    assert len(store.read(one.traces)) == drawn


def test_a_figure_over_time_is_drawn_of_the_run_of_seed_1(made_up: Paper, tmp_path: Path) -> None:
    before = pages_of(made_up)
    assert "made-up-over-time.svg" not in before
    assert "Not drawn, for no run of it is kept yet:\n\n- Figure 2\n" in before["made-up.md"]
    (cell,) = time_plots.missing(made_up).values()
    assert cell.name == "one-good-buffer=100-1"
    made_by_hand(made_up, tmp_path)
    assert not time_plots.missing(made_up)
    whole, closer = store.read(made_up.traces)
    # handmade.QUEUE, and of handmade.FLOW_BYTES 90, 10 and 10 kB in a second each, in its middle.
    assert whole["lines"] == {"packets": [[0, 0], [1, 4], [2, 2], [3, 0]],
                              "goodput:far": [[0.5, 0.72], [1.5, 0.08], [2.5, 0.08]]}
    assert closer["lines"] == {"packets": [[1, 4], [2, 2]], "goodput:far": [[1.5, 0.08]]}
    assert (whole["digest"], whole["command"]) == ("d", shlex.join(cell.words))
    picture = ET.fromstring(pages_of(made_up)["made-up-over-time.svg"])
    heads = [e.text for e in picture.iter() if e.attrib.get("font-weight") == "bold"]
    assert heads == ["good", "good, closer"]
    # The whole run's packets, and those from 1 to 2 s of it.
    drawn = time_plots.panels(time_plots.found(made_up), "over-time", "", 1.0)
    assert [[x for x, *_ in panel.lines[0].points] for panel in drawn] == [[0, 1, 2, 3], [1, 2]]
    time_plots.tidy(made_up)
    assert store.read(made_up.traces) == [whole, closer]
    page = pages_of(made_up)["made-up.md"]
    assert "Absent:" not in page
    assert "Not drawn" not in page
    # Both of its lines are of one run, and each of the rows of another.
    versions = f"- version: 1 ({len(store.read(made_up.results))}), 2 (1)\n"
    assert versions in page
    store.write(made_up.traces, [whole])
    assert "One run each, with seed 1. Absent: good, closer." in pages_of(made_up)["made-up.md"]


@pytest.mark.parametrize(("more", "said"), [
    (("--era", "today"), "figures over time are of the paper's own era"),
    (("--claims", "P01"), "no claim needs figures over time"),
    (("--quick",), "nor has a quick look any"),
])
def test_figures_over_time_that_there_are_not_are_refused(
        capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str) -> None:
    with pytest.raises(SystemExit):
        run_cells.main(["parris1999", "--figures", *more])
    assert said in capsys.readouterr().err


def test_a_figure_over_time_that_asks_for_other_lines_runs_again(made_up: Paper,
                                                                 tmp_path: Path) -> None:
    made_by_hand(made_up, tmp_path)
    sweep = made_up.directory / paper.SWEEP
    sweep.write_text(sweep.read_text().replace("to_s = 2 }", "to_s = 3 }"))
    changed = paper.load(made_up.name)
    assert list(time_plots.missing(changed)) == ["one-good-buffer=100-1"]
    whole, _ = store.read(changed.traces)
    time_plots.tidy(changed)
    assert store.read(changed.traces) == [whole]


def test_a_line_that_a_run_has_not_got_is_refused(tmp_path: Path) -> None:
    run = handmade.write(tmp_path)
    for name in ("max_p", "goodput:nobody"):
        with pytest.raises(lines_of.NoSuchLine, match=name.rpartition(":")[2]):
            lines_of.of_run(run, [name])
    (marked,) = lines_of.of_run(run, ["marked"]).values()
    assert [y for _, y in marked] == [0, 2, 2, 5]


@pytest.mark.parametrize("name", PAPERS)
def test_every_line_over_time_is_asked_for_and_says_what_made_it(name: str) -> None:
    one = paper.load(name)
    asked = [trace.head for trace in time_plots.asked(one)]
    for line in store.read(one.traces):
        assert time_plots.head_of(line) in asked
        assert line["made"]["version"]
        assert len(line["digest"]) == 64
    for trace in time_plots.asked(one):
        assert trace.cell.at.keys() == trace.cell.experiment.axes.keys()
        assert facts_of(trace.cell)


def test_eighteen_lines_look_different() -> None:
    """In colour or in the mark; a mark is told by its element and the way from corner to corner."""
    names = [f"line {i}" for i in range(18)]
    text = svg_plots.picture([svg_plots.Panel("", "x", "y", [
        svg_plots.Line(name, [(1.0, 1.0, 0.0)]) for name in names])])
    looks = set()
    for element in list(ET.fromstring(text))[-2 * len(names)::2]:
        shown = element.attrib
        corners = [[float(x) for x in corner.split(",")]
                   for corner in shown.get("points", "0,0 0,0").split()]
        way = tuple(round(b - a, 1) for a, b in zip(*corners[:2], strict=True))
        looks.add((element.tag, shown.get("fill", shown.get("stroke")), len(corners), way))
    assert len(looks) == len(names)


@pytest.mark.parametrize(("x", "y", "x_log", "said"), [
    (1.0, -2.0, False, "use: a has -2 at 1, which y"), (0.0, 2.0, True, "use: a has 2 at 0, which"),
    (0.0, 0.0, False, ""), (0.5, 0.0, True, "")])
def test_a_point_that_axes_do_not_show_is_refused(x: float, y: float, x_log: bool,
                                                  said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}") if said else nullcontext():
        line = svg_plots.Line("a", [(x, y, 0.0)])
        svg_plots.picture([svg_plots.Panel("", "x", "use", [line], x_log)])


def test_panels_of_one_unit_have_one_scale_and_another_unit_has_its_own() -> None:
    def heights(*panels: tuple[str, float]) -> list[str]:
        lines = [(title, svg_plots.Line("a", [(1.0, y, 0.0)])) for title, y in panels]
        text = svg_plots.picture([svg_plots.Panel("", "x", title, [line]) for title, line in lines])
        return re.findall('cy="([0-9.]+)"', text)

    same, half, other = heights(("s", 2.0), ("s", 1.0), ("%", 50.0))
    assert same == other != half


def test_a_picture_shows_the_larger_value_higher() -> None:
    line = svg_plots.Line("a", [(1.0, 1.0, 0.0), (2.0, 3.0, 0.0)])
    text = svg_plots.picture([svg_plots.Panel("", "x", "y", [line])])
    dots = [e for e in ET.fromstring(text).iter() if e.tag.endswith("circle")]
    low, high = (float(e.attrib["cy"]) for e in dots)
    assert high < low


@pytest.mark.parametrize(("packets", "off"), [(40, 0.5 - 1 / 11), (220, 0.0),
                                              (2000, 1 / 11 - 0.01)])
def test_how_far_a_part_of_the_queue_is_from_an_equal_one(packets: int, off: float) -> None:
    """10 packets a second of UDP that wait for 2 s each, beside ten flows of TCP."""
    made: dict[str, Any] = {
        "payload": {"udp": 1000}, "summary": {"queue_packets": {"mean": packets}},
        "groups": {"tcp": {"flows": 10},
                   "udp": {"flows": 1, "rtt_ms": 50, "delay_ms": {"mean": 2025},
                           "goodput_bps": {"mean": 80e3}}}}
    assert metric_of(made, "udp:off_equal_part") == pytest.approx(off)
    made["summary"]["queue_packets"]["mean"] = 0
    with pytest.raises(Absent, match="no packet in the queue"):
        metric_of(made, "udp:off_equal_part")


def test_chokes_theory_has_its_published_maximum() -> None:
    """Tang, Wang and Low 2003: at most 1 / (1 + e) of the link, and nothing in the end."""
    most = 1 / (1 + math.e)
    shares = [choke_theory(x / 100) for x in range(10, 2000)]
    assert max(shares) == pytest.approx(most, rel=1e-4)
    assert shares.index(max(shares)) / 100 + 0.1 == pytest.approx(2 - 3 * most, abs=0.02)
    assert shares[-1] < 0.01


@pytest.mark.parametrize(("own", "packets"), [(0.0, 100), (0.1, 100), (0.25, 60)])
def test_chokes_theory_takes_reds_own_drops_alone(own: float, packets: int) -> None:
    """32 flows of TCP share what 20 packets of UDP leave of the queue; a packet of one that meets
    its like is lost with it, and of the others RED drops `own`."""
    each = (packets - 20) / 32
    loss = 1 - (1 - 2 * each / packets) * (1 - own)
    made = {
        "rate_bps": 1e6, "offered_bps": {"udp": 4e6}, "payload": {"udp": 1000},
        "summary": {"queue_packets": {"mean": packets}, "utilization": 1.0},
        "groups": {"tcp": {"flows": 32, "loss": loss},
                   # 10 packets a second that wait for 2 s each
                   "udp": {"flows": 1, "rtt_ms": 50, "delay_ms": {"mean": 2025},
                           "goodput_bps": {"mean": 80e3}}},
    }
    assert metric_of(made, "udp:choke_theory") == pytest.approx(choke_theory(4 * (1 - own)))
    with pytest.raises(Absent, match="nothing passed"):
        metric_of({**made, "summary": {**made["summary"], "utilization": 0.0}}, "udp:choke_theory")


@pytest.mark.parametrize(("old", "new", "said"), [
    ("low = 0.8", "low = 0.8\nhihg = 2", 'claim.C1: no key "hihg": did you mean high'),
    ("low = 0.8\nhigh = 1.0", "", "claim.C1: needs low or high"),
    ("low = 0.8\nhigh = 1.0", "low = 1.0\nhigh = 1.0", "C1: low is not below high"),
    ('fold = "min"', 'fold = "modal"', 'claim.C2.fold: no value "modal"'),
    ('metric = "summary.utilization"', 'metric = "udp:nonsense"', "C1: no such metric: nonsense"),
    ('ablations = ["bad"]', 'ablations = ["bda"]', "C1: no such ablation: bda"),
    ('change = "bad"', 'change = "bad"\noff = "bad"', 'ablation.bad: no key "off"'),
    ('change = "bad"', 'change = "bad"\nmetric = ":none"', "C1: no such metric: none"),
    ('change = "bad"\n', "", "ablation.bad: 'change' is a required property"),
    ('published = "2"', "published = true", "claim.C2.published: True is not of type"),
    ('id = "C2"', 'id = "C1"', "two claims have the same id"),
])
def test_bad_claims_are_refused(made_up: Paper, old: str, new: str, said: str) -> None:
    assert old in CLAIMS
    (made_up.directory / claims.CLAIMS).write_text(CLAIMS.replace(old, new))
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        claims.load(made_up.directory)
