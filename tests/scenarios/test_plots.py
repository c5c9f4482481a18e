# SPDX-License-Identifier: GPL-2.0
"""Plots of a paper's rows, and of runs over time."""

from __future__ import annotations

import argparse
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from aqmlab.compare import sweep
from aqmlab.measure import time_series as lines_of
from aqmlab.report import looks, svg_plots
from replay import judgement, pages, paper, paper_plots, run_cells, store, time_plots
from replay.paper import Paper
from tests.scenarios import handmade
from tests.scenarios.paper_by_hand import PAPERS, facts_of, made_by_hand, ran, rewrite


def pictures_of(one: Paper) -> dict[str, str]:
    """Return the pictures of a paper, by the names of its plots."""
    pictures = pages.PageModel(judgement.of(one)).pictures
    return {spec["name"]: picture for spec, picture, _ in pictures}


def marks(svg: str) -> list[tuple[float, float]]:
    """Return the places of all marks of the lines."""
    paths = re.findall(r'd="M([^"h]*)" [^>]*marker:', svg)
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", "L".join(paths))]


def test_distribution_is_drawn_for_the_cells_that_have_one(made_up: Paper) -> None:
    """The plot shows the mean of each percentile over the seeds, on an axis with round values."""
    spec = {
        "experiment": "one",
        "group": "all",
        "x_title": "ms",
        "y_title": "%",
        "panels": [
            {"title": "at 200", "at": {"buffer": 200}, "disciplines": ["good", "bad"]},
            {"title": "at 100", "at": {"buffer": 100}, "disciplines": ["good"]},
        ],
    }

    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["discipline"] == "good" and row["at"].get("buffer") == 200:
            row["metrics"]["delays_ms"] = {"all": [row["seed"] * (i + 1.0) for i in range(13)]}
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


def test_pictures_are_well_formed_and_reproducible(made_up: Paper) -> None:
    assert pictures_of(made_up) == pictures_of(made_up)
    svg = pictures_of(made_up)["1"]
    assert ET.fromstring(svg).tag.endswith("svg")
    assert len(marks(svg)) == 4
    used = re.findall(r"url\(#([^)]*)\)", svg)
    assert len(used) == 2 + 2, "two lines, and the legend"
    assert set(used) == set(re.findall(r'<marker id="([^"]*)"', svg))


def test_shapes_of_equal_look_become_one_path() -> None:
    drawing = svg_plots._Drawing()
    drawing.stroke("M1 2.0H3", "red")
    drawing.text("a 2.0", 'x="1"')
    drawing.stroke("M1 2H3", "blue")
    drawing.stroke("M1 4H3", "red")
    assert drawing.lines() == [
        '<path d="M1 2H3M1 4H3" stroke="red"/>',
        '<path d="M1 2H3" stroke="blue"/>',
        '<text x="1">a 2.0</text>',
    ]


@pytest.mark.parametrize(("profile", "drawn"), [(paper.OWN, 2), ("today", 0)])
def test_one_run_gives_a_row_and_its_time_series(
    made_up: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str, drawn: int
) -> None:
    """Both panels of the plot over time use one cell. Other TCP profiles have no such plot."""
    one = paper.load("made-up", profile=profile)
    store.write(one.results, ())
    cells = {cell.name: cell for cell in one.cells() if cell.round == 1}
    made: list[dict[str, Any]] = []

    def run(
        args: argparse.Namespace, jobs: Mapping[str, Any], taken: Callable[[str], None]
    ) -> list[str]:
        for name in jobs:
            (args.out / name).mkdir()
            ran(args.out / name)
            taken(name)
        return list(jobs)

    monkeypatch.setattr(sweep, "run", run)
    monkeypatch.setattr(
        run_cells,
        "row_of",
        lambda _paper, cell, _directory: {
            "cell": cell.name,
            "made": {"edition": 2, "version": "2"},
        },
    )
    assert not run_cells._round(argparse.Namespace(out=tmp_path, quick=False), one, cells, made)
    assert [row["cell"] for row in store.read(one.results)] == list(cells)
    assert len(store.read(one.traces)) == drawn


def test_plot_over_time_uses_the_run_of_seed_1(made_up: Paper, tmp_path: Path) -> None:
    assert list(pictures_of(made_up)) == ["1"]
    (cell,) = time_plots.missing(made_up).values()
    assert cell.name == "one-good-buffer=100-1"
    made_by_hand(made_up, tmp_path)
    assert not time_plots.missing(made_up)
    whole, closer = store.read(made_up.traces)
    # handmade.QUEUE; and 90, 10 and 10 kB per second of handmade.FLOW_BYTES, at mid-interval.
    assert whole["lines"] == {
        "packets": [[0, 0], [1, 4], [2, 2], [3, 0]],
        "goodput:far": [[0.5, 0.72], [1.5, 0.08], [2.5, 0.08]],
    }
    assert closer["lines"] == {"packets": [[1, 4], [2, 2]], "goodput:far": [[1.5, 0.08]]}
    assert (whole["digest"], whole["command"]) == ("d", shlex.join(cell.words))
    picture = ET.fromstring(pictures_of(made_up)["over-time"])
    heads = [e.text for e in picture.iter() if e.attrib.get("font-weight") == "bold"]
    assert heads == ["good", "good, closer"]
    # The queue of the whole run, and from 1 to 2 s.
    drawn = time_plots.panels(time_plots.found(made_up), "over-time", "", 1.0)
    assert [[x for x, *_ in panel.lines[0].points] for panel in drawn] == [[0, 1, 2, 3], [1, 2]]
    assert {half for panel in drawn for *_, half in panel.lines[0].points} == {0.0}  # no bars
    time_plots.tidy(made_up)
    assert store.read(made_up.traces) == [whole, closer]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--era", "today"), "plots over time have the paper's own TCP profile"),
        (("--claims", "P01"), "no claim and no quick look needs"),
        (("--quick",), "no claim and no quick look"),
    ],
)
def test_impossible_plots_over_time_are_refused(
    capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit):
        run_cells.main(["parris1999", "--figures", *more])
    assert said in capsys.readouterr().err


def test_a_point_needs_all_seeds(made_up: Paper) -> None:
    def planted(row: dict[str, Any]) -> dict[str, Any]:
        if row["seed"] == 2 and row["at"].get("buffer") == 100:
            del row["metrics"]["summary"]["utilization"]
        return row

    rewrite(made_up, planted)
    line = paper_plots._line(
        "good",
        {"x": "buffer", "metric": "summary.utilization"},
        made_up.experiments[0],
        store.read(made_up.results),
    )
    assert [x for x, _, _ in line.points] == [200.0]


def test_plot_over_time_with_other_lines_runs_again(made_up: Paper, tmp_path: Path) -> None:
    made_by_hand(made_up, tmp_path)
    sweep = made_up.directory / paper.SWEEP
    sweep.write_text(sweep.read_text().replace("to_s = 2 }", "to_s = 3 }"))
    changed = paper.load(made_up.name)
    assert list(time_plots.missing(changed)) == ["one-good-buffer=100-1"]
    whole, _ = store.read(changed.traces)
    time_plots.tidy(changed)
    assert store.read(changed.traces) == [whole]


def test_missing_time_series_is_refused(tmp_path: Path) -> None:
    run = handmade.write(tmp_path)
    for name in ("max_p", "goodput:nobody"):
        with pytest.raises(lines_of.NoSuchLine, match=name.rpartition(":")[2]):
            lines_of.of_run(run, [name])
    (marked,) = lines_of.of_run(run, ["marked"]).values()
    assert [y for _, y in marked] == [0, 2, 2, 5]


@pytest.mark.parametrize("name", PAPERS)
def test_every_stored_time_series_is_used_and_has_provenance(name: str) -> None:
    one = paper.load(name)
    asked = [trace.head for trace in time_plots.asked(one)]
    for line in store.read(one.traces):
        assert time_plots.head_of(line) in asked
        assert line["made"]["version"]
        assert len(line["digest"]) == 16
    for trace in time_plots.asked(one):
        assert trace.cell.at.keys() == trace.cell.experiment.axes.keys()
        assert facts_of(trace.cell)


def test_eighteen_lines_look_different() -> None:
    """They differ in color or in the shape of the mark."""
    assert len(set(looks.looks_of([f"line {i}" for i in range(18)]).values())) == 18
    assert len(set(looks.MARKS.values())) == len(looks.MARKS)


@pytest.mark.parametrize(
    ("x", "y", "x_log", "said"),
    [
        (1.0, -2.0, False, "use: a has -2 at 1, which y"),
        (0.0, 2.0, True, "use: a has 2 at 0, which"),
        (0.0, 0.0, False, ""),
        (0.5, 0.0, True, ""),
    ],
)
def test_point_outside_the_axes_is_refused(x: float, y: float, x_log: bool, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}") if said else nullcontext():
        line = svg_plots.Line("a", [(x, y, 0.0)])
        svg_plots.picture([svg_plots.Panel("", "x", "use", [line], x_log)])


def test_panels_share_a_scale_if_they_share_a_unit() -> None:
    def heights(*panels: tuple[str, float]) -> list[float]:
        lines = [(title, svg_plots.Line("a", [(1.0, y, 0.0)])) for title, y in panels]
        text = svg_plots.picture([svg_plots.Panel("", "x", title, [line]) for title, line in lines])
        return [y for _, y in marks(text)]

    same, half, other = heights(("s", 2.0), ("s", 1.0), ("%", 50.0))
    assert same == other != half


def test_larger_values_are_drawn_higher() -> None:
    line = svg_plots.Line("a", [(1.0, 1.0, 0.0), (2.0, 3.0, 0.0)])
    text = svg_plots.picture([svg_plots.Panel("", "x", "y", [line])])
    (_, low), (_, high) = marks(text)
    assert high < low


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_axis() -> None:
    points = [(1.0, 1.0, 0.0), (2.0, 4.0, 0.0), (3.0, 16.0, 0.0)]
    drawn = svg_plots.picture(
        [svg_plots.Panel("", "x", "y", [svg_plots.Line("a", points)], y_log=True)]
    )
    heights = [y for _, y in marks(drawn)]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)
    assert heights[0] > heights[1]


def test_a_slope_is_a_power_of_x_through_the_first_point() -> None:
    root, inverse = paper_plots._slopes([-0.5, -1], [(16.0, 0.5, 0.1), (64.0, 0.1, 0.0)])
    assert list(root.points) == [(16.0, 0.5, 0.0), (64.0, 0.25, 0.0)]
    assert list(inverse.points) == [(16.0, 0.5, 0.0), (64.0, 0.125, 0.0)]


def test_numbers_of_the_papers_text_stand_beside_ours() -> None:
    """Kantawala and Turner, section 4.2: under QSDRR and DRR 200 ms flows get 40 % of their share
    with 100 packets, 80 % with 200, and almost 90 % with more; under RED and Blue always 40 %."""
    one = paper.load("kantawala2001")
    (experiment,) = [each for each in one.experiments if each.name == "rtt"]
    (figure,) = [spec for spec in one.text["plot"] if spec["name"] == "8"]
    spec = {**figure, **figure["panels"][1]}
    said = {
        line.name: sorted(line.points) for line in paper_plots._published(spec, one, experiment)
    }
    buffers = (100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)
    values = {
        "qsdrr": (40.0, 80.0, 90.0, 90.0, 90.0, 90.0),
        "drr": (40.0, 80.0, 90.0, 90.0, 90.0, 90.0),
        "red": (40.0,) * 6,
        "blue": (40.0,) * 6,
    }
    for name, ys in values.items():
        assert said[name] == [(x, y, 0.0) for x, y in zip(buffers, ys, strict=True)], name
    assert said["tdrr"] == [(100.0, 90.0, 0.0)]
    spec["published"] = ["K301"]
    with pytest.raises(ValueError, match='published: no claim "K301": did you mean K'):
        paper_plots._published(spec, one, experiment)
    spec["published"] = ["K87"]
    with pytest.raises(ValueError, match=r"K87 has no number for a plot of groups\.far"):
        paper_plots._published(spec, one, experiment)


def test_equal_hollow_marks_stand_side_by_side() -> None:
    lines = [
        svg_plots.Line("ours", [(1.0, 4.0, 0.0), (2.0, 5.0, 0.0)]),
        *(svg_plots.Line(name, [(1.0, 3.0, 0.0)], hollow=True) for name in ("ours", "another")),
    ]
    drawn = svg_plots.picture([svg_plots.Panel("", "x", "y", lines)])
    hollow = re.findall(r'd="M([\d.]+) ([\d.]+)" [^>]*url\(#hollow-', drawn)
    (left, y), (right, other) = [(float(x), float(y)) for x, y in hollow]
    assert y == other
    assert right - left == 8
    assert (left + right) / 2 == pytest.approx(marks(drawn)[0][0], abs=0.1)
    assert drawn.count("<marker ") == 4
    assert drawn.count('fill="white" stroke=') == 2
