# SPDX-License-Identifier: GPL-2.0
"""The papers' cells are valid runs, and their rows belong to these cells. Nothing is run."""

from __future__ import annotations

import argparse
import math
import re
import shlex
from typing import Any

import pytest

from aqmlab.qdiscs.metadata import all_metadata
from replay import choice, claims, ledger, paper, run_cells, store
from replay.claim_verdict import by_cell, measure
from replay.paper import Cell, Paper
from tests.scenarios.paper_by_hand import (
    CLAIMS,
    PAPERS,
    PROFILES,
    SWEEP,
    facts_of,
    plausible,
    with_where,
)

#: Kinds that can mark: mainline's that the papers use, and ours by their metadata. tdrr can only
#: with target, which no profile sets.
MARK = {"red", "choke", "pie", *(kind for kind, one in all_metadata().items() if one["MARKS"])} - {
    "tdrr"
}


@pytest.mark.parametrize("name", PAPERS)
def test_cells_are_valid_runs_and_claims_can_be_computed(name: str) -> None:
    """Each claim and ablation finds its cells and its metric, unless the discipline is absent."""
    one = paper.load(name)
    cells = [cell for cell in one.cells() if cell.round == 1]
    assert len({cell.words for cell in cells}) > 0.9 * len(cells)
    made = [
        {
            "cell": cell.name,
            "experiment": cell.experiment.name,
            "discipline": cell.discipline,
            "at": {axis: value for axis, value in cell.at.items() if axis in cell.experiment.axes},
            "seed": cell.seed,
            "metrics": plausible(facts_of(cell)),
        }
        for cell in cells
    ]
    axes = {e.name: e.axes for e in one.experiments}
    first = {e.name: e.first for e in one.experiments}
    listed = claims.load(one.directory)
    for claim in listed:
        for varied in (claim, *(claim.varied(t.by) for t in claim.ablations)):
            # The ratio of a cell to itself is always 1.
            assert varied.what != varied.against, claim.id
            used = varied.selections
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
def test_every_listed_discipline_is_used(name: str) -> None:
    one = paper.load(name)
    assert set(one.disciplines) == {name for e in one.experiments for name in e.disciplines}


@pytest.mark.parametrize("name", PAPERS)
def test_quick_look_is_a_part_of_the_whole(name: str) -> None:
    quick, whole = paper.load(name, quick=True), paper.load(name)
    of_whole = {(c.experiment.name, c.discipline, *c.at.values(), c.seed) for c in whole.cells()}
    of_quick = {(c.experiment.name, c.discipline, *c.at.values(), c.seed) for c in quick.cells()}
    assert of_quick < of_whole
    for cell in quick.cells():
        facts_of(cell)


@pytest.mark.parametrize(("name", "profile"), PROFILES)
def test_every_row_is_of_a_cell_and_says_what_made_it(name: str, profile: str) -> None:
    one = paper.load(name, profile=profile)
    cells = {cell.name: shlex.join(cell.words) for cell in one.cells()}
    made = one.stored()
    assert len({row["cell"] for row in made}) == len(made)
    for row in made:
        assert row["command"] == cells.get(row["cell"]), row["cell"]
        assert not row["made"]["version"].endswith("dirty")
        assert len(row["digest"]) == 16
    # A paper whose bounds were committed and whose cells have not run has none.
    assert not one.results.exists() or one.results.stat().st_size < 400_000


def test_rows_have_each_flows_goodput_where_the_sweep_asks_for_it() -> None:
    one = paper.load("kantawala2001")
    asked = {cell.name: cell.keeps_flows for cell in one.cells()}
    kept = {row["cell"]: "flows_bps" in row["metrics"] for row in one.stored()}
    assert set(kept.values()) == {True, False}
    assert kept == {name: asked[name] for name in kept}


def without(cell: Cell, *keys: str) -> list[str]:
    """Return the words of a cell, without the discipline's `ecn` and without these parameters."""
    return [
        " ".join(part for part in word.split() if part != "ecn")
        for word in cell.words
        if word != "--set" and word.split("=")[0] not in keys
    ]


def by_itself(cell: Cell) -> set[str]:
    """Return the parameters that only this cell has, by a `where`."""
    return {
        key
        for one in cell.experiment.where
        if one.holds(cell.discipline, cell.at)
        for key in one.set
    }


@pytest.mark.parametrize("profile", ["own", "today", "bbr"])
def test_goodput_does_not_exceed_what_crossed_the_link(profile: str) -> None:
    """The tolerance is 2 %, because data behind a lost packet counts after its retransmission.

    After a first slow start with many losses, this can be a tenth of all data.
    """
    for row in paper.load("kantawala2001", profile=profile).stored():
        summary = row["metrics"]["summary"]
        assert summary["goodput_bps"]["mean"] < 1.02 * summary["fair_share_bps"], row["cell"]


def comparisons_of(name: str) -> list[dict[str, Any]]:
    return [
        one
        for question in paper.load(name).text.get("question", ())
        for one in question["comparison"]
    ]


@pytest.mark.parametrize(("name", "profile"), [(n, e) for n, e in PROFILES if e != paper.OWN])
def test_another_profile_changes_tcp_and_marks_alone(name: str, profile: str) -> None:
    """Its cells equal the paper's own, except for era, cc, ecn, and parameters of a `where`.

    It has the cells that claims and comparisons need, with the seeds that all cells have. All
    disciplines that can mark do so, unless sweep.toml gives a reason. A profile with pacing differs
    only in that.
    """
    seeds = paper.load(name).text["seeds"]
    own = {cell.name: cell for cell in paper.load(name).cells()}
    listed = claims.load(paper.PAPERS / name)
    compared = [one for one in comparisons_of(name) if profile in one.get("tcp_profiles", ())]
    cells = list(paper.load(name, profile=profile).cells())
    assert {cell.name for cell in cells} == {
        key
        for key, c in own.items()
        if c.round <= seeds
        and (
            any(claim.judges(c.experiment.name, c.discipline, c.at) for claim in listed)
            or any(
                one["experiment"] == c.experiment.name and one["at"].items() <= c.at.items()
                for one in compared
            )
        )
    }
    for cell in cells:
        keys = by_itself(cell) ^ by_itself(own[cell.name])
        assert keys <= {"warmup", "duration", "window", "memory"}
        keys |= {"pacing"} if profile == "paced" else {"era", "cc", "ecn"}
        assert without(cell, *keys) == without(own[cell.name], *keys)
        if profile == "paced":
            assert "pacing=on" in cell.words
            assert "pacing=off" in own[cell.name].words
            continue
        assert "era=today" in cell.words
        assert ("cc=bbr" in cell.words) == (profile == "bbr")
        assert ("ecn=on" in cell.words) == (profile == "today")
        marks = any(word.split()[0] in MARK and "ecn" in word.split() for word in cell.words)
        could = any(word.split()[0] in MARK for word in cell.words)
        assert marks == (could and profile == "today" and cell.experiment.name != "theory")
        facts_of(cell)


def test_timestamps_reduce_the_maximum_goodput(made_up: Paper) -> None:
    (then, *_), (now, *_) = made_up.cells(), paper.load("made-up", profile="today").cells()
    ratio = facts_of(now).fair_share_bps / facts_of(then).fair_share_bps
    assert ratio == pytest.approx(1448 / 1460)


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["--claims", "P99999"], 'no claim "P99999"'),
        (["--only", "blasted"], "did you mean blast"),
        (["--disciplines", "read"], 'no discipline "read": did you mean'),
        (["--at", "udp_rat=2"], 'no axis "udp_rat": did you mean udp_rate'),
        (["--at", "udp_rate=2,3"], 'no udp_rate "3"'),
    ):
        with pytest.raises(SystemExit):
            run_cells.main(["parris1999", *words])
        assert said in capsys.readouterr().err


def test_axis_keeps_the_type_of_its_values(made_up: Paper) -> None:
    for text in ("10", "10.0"):
        args = argparse.Namespace(claims=None, only=None, disciplines=None, at=[f"rtt={text}"])
        choice.check(args, made_up)
        assert args.axes == {"rtt": [10.0]}


def test_cell_is_selected_if_each_of_its_axes_matches() -> None:
    cells = list(paper.load("kantawala2001").cells())
    args = argparse.Namespace(
        claims=None,
        only=None,
        disciplines=None,
        seeds=None,
        axes={"buffer": [100, 200], "queues": [10]},
    )
    assert {
        (cell.at.get("buffer"), cell.at.get("queues"))
        for cell in cells
        if choice.selects(args, (), cell)
    } == {(100, None), (200, None), (None, 10)}
    args.axes = {"flows": [10], "udp_flows": [5], "udp_rate": [8.0]}
    mixed = [cell for cell in paper.load("ahammed2010").cells() if cell.experiment.name == "mix"]
    assert {tuple(cell.at.values()) for cell in mixed if choice.selects(args, (), cell)} == {
        (10, 5, 8.0)
    }


def test_quick_look_has_a_line_for_each_claim_with_cells(made_up: Paper) -> None:
    made = made_up.rows()
    (first, second) = ledger.quick(made_up, made).splitlines()
    assert " ".join(first.split()) == "C1 0.90 ±0.02 accepted 0.8 to 1: Good is good."
    assert second.startswith("C2 ")
    # C2 needs the cells of bad. Without them only C1 is left.
    of_good = [row for row in made if row["discipline"] == "good"]
    assert ledger.quick(made_up, of_good).splitlines() == [first]


def test_cells_of_no_claim_can_have_fewer_seeds(made_up: Paper) -> None:
    listed = 'disciplines = ["good", "bad"'
    (made_up.directory / "sweep.toml").write_text(
        SWEEP.replace(f"{listed}]", f'{listed}, "third"]\nseeds = 5\nothers = 4')
    )
    for judged, most in (
        (CLAIMS, 4),
        (CLAIMS.replace('change = "bad"\nof = "bad"', 'change = "bad"\nof = "third"'), 5),
    ):
        (made_up.directory / "claims.toml").write_text(judged)
        seeds: dict[tuple[str, Any], list[int]] = {}
        for cell in paper.load("made-up").cells():
            seeds.setdefault((cell.discipline, cell.at.get("buffer")), []).append(cell.seed)
        assert seeds["good", 100] == seeds["bad", 200] == [1, 2, 3, 4, 5]
        assert seeds["third", 100] == [1, 2, 3, 4]
        # An ablation of C1, at 200 packets, or none.
        assert len(seeds["third", 200]) == most
    assert {cell.seed for cell in paper.load("made-up", profile="today").cells()} == {1, 2, 3}


def test_parameters_of_some_cells_do_not_affect_others(made_up: Paper) -> None:
    with_where(
        made_up,
        """
        { disciplines = ["good"], at = { buffer = 200, flows = [2] }, set = { window = 64 } },
        { tcp_profiles = ["today"], set = { window = 32 } },
        { tcp_profiles = ["own"], at = { flows = 1 }, set = { duration = 9 } }""",
    )
    cells = list(paper.load("made-up").cells())
    of_one = [cell for cell in cells if cell.experiment.name == "one"]
    assert {cell.name for cell in cells if "window=64" in cell.words} == {
        f"one-good-flows=2-buffer=200-{seed}" for seed in (1, 2, 3)
    }
    assert {cell.name for cell in cells if "duration=9" in cell.words} == {
        cell.name for cell in of_one if cell.at["flows"] == 1
    }
    assert not [cell for cell in cells if "window=32" in cell.words]
    today = list(paper.load("made-up", profile="today").cells())
    assert today
    assert all(("window=32" in cell.words) == (cell.experiment.name == "one") for cell in today)
    # A quick look has its own duration.
    quick = [cell for cell in paper.load("made-up", quick=True).cells() if "flows=1" in cell.name]
    assert quick
    assert not [cell for cell in quick if "duration=9" in cell.words]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ('{ disciplines = ["god"], set = { window = 64 } }', "god"),
        ("{ at = { bufer = 200 }, set = { window = 64 } }", "bufer = 200"),
        ("{ at = { buffer = 201 }, set = { window = 64 } }", "buffer = 201"),
        ("{ of = 1, set = { window = 64 } }", 'no key "of"'),
        ('{ tcp_profiles = ["onw"], set = { window = 64 } }', "onw"),
        ("{ at = { buffer = 200 } }", "'set' is a required property"),
    ],
)
def test_parameters_of_missing_cells_are_refused(made_up: Paper, where: str, said: str) -> None:
    with_where(made_up, where)
    with pytest.raises(ValueError, match=said):
        paper.load("made-up")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'scenario = "dumbbell"\naxes = { rtt',
            'first_sed = 2\nscenario = "dumbbell"\naxes = { rtt',
            'experiment.other: no key "first_sed": did you mean first_seed',
        ),
        (
            'x_title = "buffer"',
            'x_title = "buffer"\nx_logg = true',
            'plot.1: no key "x_logg": did you mean x_log',
        ),
        ('x_title = "buffer"', 'x_title = "buffer"\nto_s = 9', 'plot.1: no key "to_s":'),
        (
            "from_s = 1,",
            "form_s = 1,",
            'plot.over-time.panels.2: no key "form_s": did you mean from_s',
        ),
        ('kind = "time"', 'kind = "tim"', 'plot.over-time.kind: no value "tim": did you mean time'),
        ('kind = "time"', 'kind = "series"', 'plot.over-time: no key "of":'),
        ('x_title = "buffer"', 'like = "2"', 'plot.1: no plot "2": '),
        ("[quick]", '[quick]\nexperiments = ["on"]', 'quick: no experiment "on": did you mean one'),
    ],
)
def test_unknown_keys_are_refused(made_up: Paper, old: str, new: str, said: str) -> None:
    assert old in SWEEP
    (made_up.directory / paper.SWEEP).write_text(SWEEP.replace(old, new))
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        paper.load("made-up")


def test_plot_has_the_keys_of_the_plot_it_is_like(made_up: Paper) -> None:
    (made_up.directory / paper.SWEEP).write_text(
        SWEEP.replace("[plot.1]", "[plot.1]\nmain = true") + '[plot.2]\nlike = "1"\nhead = "2"\n'
    )
    one, two = (dict(plot) for plot in paper.load("made-up").text["plot"][1:])
    del one["main"]
    assert two == {**one, "name": "2", "head": "2", "like": "1"}


def test_quick_look_can_leave_experiments_out(made_up: Paper) -> None:
    (made_up.directory / paper.SWEEP).write_text(
        SWEEP.replace("[quick]", '[quick]\nexperiments = ["other"]')
    )
    for quick, names in (True, ["other"]), (False, ["one", "other"]):
        assert [e.name for e in paper.load("made-up", quick=quick).experiments] == names


def test_interrupted_sweep_continues(made_up: Paper) -> None:
    file = store.journal(made_up.results)
    text, whole = file.read_text(), store.read(made_up.results)
    file.write_text(text[: len(text) // 2])
    left = len(store.read(made_up.results))
    assert 0 < left < len(whole)
    store.append(made_up.results, whole[-1])
    assert len(store.read(made_up.results)) == left + 1


def test_experiment_measures_the_time_in_the_queue_if_it_says_so(made_up: Paper) -> None:
    file = made_up.directory / "sweep.toml"
    file.write_text(file.read_text().replace("axes = { rtt", "sojourn = true\naxes = { rtt", 1))
    found = {
        (cell.experiment.name, cell.words.count("--sojourn"))
        for cell in paper.load("made-up").cells()
    }
    assert found == {("one", 0), ("other", 1)}


def test_experiment_takes_the_workload_of_another(made_up: Paper) -> None:
    """Both are a copy of `one`, except for the axis and the parameter that they give themselves."""
    more = (
        "[experiment.copy]\nlike = {}\naxes = {{ buffer = [200] }}\nset = {{ flows = 3 }}\n"
        'disciplines = ["bad"]\n\n'
    )
    text, mark = (made_up.directory / "sweep.toml").read_text(), "[plot.over-time]"
    of_one = 'scenario = "dumbbell"\naxes = { buffer'
    text = text.replace(of_one, f"set = {{ flows = 2, warmup = 1 }}\n{of_one}", 1)
    for given, name in (('"one"', "copy"), ('["one"]', "copy-one")):
        (made_up.directory / "sweep.toml").write_text(
            text.replace(mark, more.format(given) + mark, 1)
        )
        one, copy = (
            next(e for e in paper.load("made-up").experiments if e.name == wanted)
            for wanted in ("one", name)
        )
        assert (copy.scenario, copy.axes) == (one.scenario, {"buffer": [200]})
        assert (one.set, copy.set) == ({"flows": 2, "warmup": 1}, {"flows": 3, "warmup": 1})
        assert list(copy.disciplines) == ["bad"]
    (made_up.directory / "sweep.toml").write_text(text.replace(mark, more.format('"on"') + mark, 1))
    with pytest.raises(ValueError, match='copy: no experiment "on": did you mean one'):
        paper.load("made-up")
