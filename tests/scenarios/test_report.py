# SPDX-License-Identifier: GPL-2.0
"""Reports drawn from runs made by hand and read back as HTML."""

from __future__ import annotations

import base64
import copy
import json
import re
import shutil
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from aqmlab.exceptions import UserError
from aqmlab.measure import logs, result
from aqmlab.replay import run_cells
from aqmlab.report import html_report, intervals, load_runs, png_plots, sentences
from aqmlab.run.execute import Cost
from tests.scenarios import handmade


@dataclass
class Page(HTMLParser):
    """Text of the cells, row by row, of captions and headings; sources of pictures. best: row
    and column of the cells that are marked so."""

    rows: list[list[str]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    best: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:  # noqa: D105
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.images.append(dict(attrs)["src"] or "")
        if tag in ("meta", "img"):
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            if ("class", "best") in attrs:
                self.best.append((len(self.rows) - 1, len(self.rows[-1]) - 1))
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def change(run: Path, **changes: Any) -> Path:
    """Have run.json say so, and result.json made of that."""
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | changes))
    result.write(run, Cost(1.0, 0.5))
    return run


def make_run(place: Path, **changes: Any) -> Path:
    """handmade's run, but for these words of run.json."""
    place.mkdir(parents=True)
    return change(handmade.write(place), **changes)


def make(directory: Path, settings: dict[tuple[str, int], float]) -> None:
    """A sweep's runs of each (name, buffer), alike but for a factor to what flow 1 received."""
    labels = {}
    for (name, buffer), factor in settings.items():
        place = directory / f"{name}-{buffer}"
        place.mkdir(parents=True)
        handmade.write(place)
        rows = (place / "progress.csv").read_text().splitlines()
        scaled = [f"{at},{flow},{float(count) * (factor if flow == '1' else 1):.0f}"
                  for at, flow, count in (row.split(",") for row in rows[1:])]
        (place / "progress.csv").write_text("\n".join([rows[0], *scaled]) + "\n")
        result.write(place, Cost(1.0, 0.5))
        labels[place.name] = {"name": name, "buffer": buffer, "words": []}
    (directory / "sweep.json").write_text(json.dumps({"note": "a < note", "runs": labels}))


def render(tmp_path: Path, settings: dict[tuple[str, int], float]) -> Page:
    make(tmp_path / "runs", settings)
    return read_back(tmp_path / "runs")


def read_back(*directories: Path) -> Page:
    out = directories[0].parent / "report.html"
    assert html_report.main([*map(str, directories), "--out", str(out)]) == 0
    page = Page()
    page.feed(out.read_text())
    page.close()
    assert page.open == []
    return page


def rows_of(page: Page) -> list[list[str]]:
    """The rows of the tables of disciplines."""
    width = 1 + len(intervals.COLUMNS)
    return [row for row in page.rows if row[0] and len(row) == width]


def best_of(page: Page) -> dict[str, list[str]]:
    """Whose cells are marked as the best of a table of disciplines, by the column's title."""
    found: dict[str, list[str]] = {}
    for row, column in page.best:
        found.setdefault(intervals.COLUMNS[column - 1].title, []).append(page.rows[row][0])
    return found


def test_two_kinds_at_two_buffers(tmp_path: Path) -> None:
    page = render(tmp_path, {("fair", 2): 2.5, ("fair", 4): 2.5, ("plain", 2): 1.0,
                             ("plain", 4): 0.5})
    # Flow 0 gets 200 kb/s; flow 1 gets 80 kb/s times the factor; the fair share is 250 kb/s.
    assert [(row[0], row[3].split()[0]) for row in rows_of(page)] == [
        ("fair", "0.0"), ("plain", "24.0"), ("fair", "0.0"), ("plain", "32.0")]
    captions = page.texts["figcaption"]
    goodputs = [text for text in captions if "A dot is a flow" in text]
    assert len(goodputs) == 2
    assert re.search(r"most alike under fair, .* 0\.0 % .* least alike under plain, with 24\.0",
                     goodputs[0])
    assert "from 56.0 % of the fair share (plain) to 80.0 % (fair)" in goodputs[0]
    assert "from 48.0 % of the fair share (plain) to 80.0 % (fair)" in goodputs[1]
    assert [text for text in page.texts["h2"] if text.startswith("Buffer")] == [
        "Buffer 2 packets", "Buffer 4 packets"]
    for image in page.images:
        kind, _, data = image.partition(";base64,")
        assert kind.startswith("data:image/")
        assert len(base64.b64decode(data)) > 1000
    assert "a < note" in page.texts["p"][-1]


def test_a_tie_is_called_one(tmp_path: Path) -> None:
    page = render(tmp_path, {("one", 4): 1.0, ("two", 4): 1.0})
    said = " ".join(page.texts["figcaption"])
    # One reading of three is empty, one has 4 of 4 packets.
    assert "the queue is empty in 33.3 % of the readings under each discipline; nearly full " \
        "(90 % of the buffer) it is in 33.3 % under each" in said
    assert "equally alike under each discipline: their standard deviation is 24.0 % of" in said
    assert "on average they get 56.0 % of the fair share under each" in said
    assert "The median queue delay is 20.00 ms under each discipline" in said
    for wrong in ("most", "least", "longest", "shortest", "under one", "under two"):
        assert wrong not in said


def test_ties_for_the_best_are_named(tmp_path: Path) -> None:
    """Flow 1 gets 80 kb/s times the number; the fair share is 250."""
    page = render(tmp_path, {("one", 4): 2.5, ("two", 4): 2.5, ("three", 4): 1.0})
    said = " ".join(page.texts["figcaption"])
    assert "most alike under one and two, where their standard deviation is 0.0 %" in said
    assert "least alike under three, with 24.0 %" in said
    assert "from 56.0 % of the fair share (three) to 80.0 % (one and two)" in said
    assert sentences.share_of_readings({"a": 0.0, "b": 0.04, "c": 50.0, "d": 50.0}) == (
        "c and d", "50.0 %", "a and b", "0.0 %")


def test_shares_are_given_for_unequal_groups(tmp_path: Path) -> None:
    make(tmp_path, {("one", 4): 1.0, ("two", 4): 2.5})
    (section,) = load_runs.collect([tmp_path])
    # near has 200 of 250 kb/s under both; far 80 and 200.
    assert sentences.group_sentences(section) == (
        "Group near gets 80.0 % of its fair share under each, by one seed. Group far gets 80.0 % "
        "of its fair share under two, and 32.0 % under one, by one seed.")


def make_seeds(directory: Path, backlogs: dict[str, tuple[float, ...]]) -> load_runs.Section:
    """Runs of these disciplines under seeds 1, 2, ..., alike but for a factor to the backlog: the
    queue delay is handmade's times that, p50 20 ms, p99 39.6 ms."""
    for name, factors in backlogs.items():
        for seed, factor in enumerate(factors, 1):
            place = make_run(directory / f"{name}-{seed}")
            head, *rows = (place / "queue.csv").read_text().splitlines()
            at = head.split(",").index("bytes")
            cells = [row.split(",") for row in rows]
            lines = [",".join([*c[:at], f"{factor * float(c[at]):g}", *c[at + 1:]]) for c in cells]
            (place / "queue.csv").write_text("\n".join([head, *lines]) + "\n")
            change(place, qdisc=name, seed=seed)
    (section,) = load_runs.collect([directory])
    return section


# Medians of 20, 40, 60 ms and a tenth more under each seed: t 4.302653, sd 20 and 22.
APART = {"one": (1.0, 2.0, 3.0), "two": (1.1, 2.2, 3.3)}
# 30, 40, 44 ms have a mean of 38 and an sd of sqrt(52); two is the worse, as good, the better.
OPEN = {"one": (1.0, 2.0, 3.0), "two": (1.5, 2.0, 2.2)}


def test_difference_in_every_seed_is_significant(tmp_path: Path) -> None:
    """However far the seeds are from each other."""
    assert sentences.delay_sentence(make_seeds(tmp_path, APART).rows) == (
        "The median queue delay is shortest under one (40.00 ±49.68 ms) and longest under two "
        "(44.00 ±54.65 ms).")


def test_difference_of_means_alone_is_not_significant(tmp_path: Path) -> None:
    assert sentences.delay_sentence(make_seeds(tmp_path, OPEN).rows) == (
        "The median queue delay is shortest under two (38.00 ±17.91 ms) and longest under one "
        "(40.00 ±49.68 ms) (seed by seed two and one are not told apart).")


def test_the_best_is_set_beside_the_next_that_is_shown_with_another_figure(tmp_path: Path) -> None:
    """Who is its like to the digits that are shown is named with it."""
    section = make_seeds(tmp_path, OPEN | {"also": OPEN["two"]})
    said = sentences.delay_sentence(section.rows)
    assert "shortest under also and two (38.00" in said
    assert "(seed by seed also and one are not told apart)" in said


def test_lower_value_is_worse_if_more_is_better() -> None:
    """0.118 and 0.105 by the logarithm: an interval of 0.112 ±0.079."""
    less, more = (sentences.DisciplineMean(name, dict(enumerate(values, 1)))
                  for name, values in (("less", (80.0, 90.0)), ("more", (90.0, 100.0))))
    assert less.told_from(more, better=1)
    assert more.told_from(less, better=-1)
    assert not more.told_from(less, better=1)


def test_seeds_that_no_two_disciplines_share_tell_nothing(tmp_path: Path) -> None:
    """Of one, there are seeds 1 and 2, of two, 2 and 3."""
    make_seeds(tmp_path, {"one": (1.0, 1.0, 1.0), "two": (2.0, 2.0, 2.0)})
    shutil.rmtree(tmp_path / "one-3")
    shutil.rmtree(tmp_path / "two-1")
    (section,) = load_runs.collect([tmp_path])
    assert sentences.delay_sentence(section.rows) == (
        "The median queue delay is shortest under one (20.00 ±0.00 ms) and longest under two "
        "(40.00 ±0.00 ms) (seed by seed one and two are not told apart).")


def test_result_of_one_seed_is_labelled(tmp_path: Path) -> None:
    rows = make_seeds(tmp_path, {"one": (1.0,), "two": (1.1,)}).rows
    assert sentences.delay_sentence(rows) == (
        "The median queue delay is shortest under one (20.00 ms) and longest under two (22.00 ms), "
        "by one seed.")
    assert sentences.fairness_sentence(rows) == (
        "The flows are equally alike under each discipline: their standard deviation is 24.0 % of "
        "the fair share, by one seed; on average they get 56.0 % of the fair share under each, by "
        "one seed.")
    assert "Over all seeds" not in " ".join(read_back(tmp_path).texts["figcaption"])


def test_single_discipline_is_not_called_best(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    assert best_of(read_back(tmp_path)) == {}


def test_the_best_mean_of_each_column_is_marked(tmp_path: Path) -> None:
    """The shortest delays; what both have is the best of both; drops are neither good nor bad."""
    make_seeds(tmp_path, APART)
    page = read_back(tmp_path)
    assert best_of(page) == {
        "utilization, %": ["one", "two"], "goodput / fair share, %": ["one", "two"],
        "sd / fair share, %": ["one", "two"], "Jain's index": ["one", "two"],
        "queue delay p50, ms": ["one"], "queue delay p99, ms": ["one"]}
    # 39.6 ms times 2, and a tenth more
    assert [(row[0], row[6].split()[0]) for row in rows_of(page)] == [
        ("one", "79.20"), ("two", "87.12")]


@pytest.mark.parametrize("fair", [0.25, None])
def test_the_fair_share_is_a_line_where_there_is_one(
        monkeypatch: pytest.MonkeyPatch, fair: float | None) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(png_plots, "_png", lambda figure: drawn.append(figure) or b"")
    png_plots.goodputs([png_plots.Panel("one", np.array([1.0, 2.0]), np.array([0.2, 0.08]))], fair)
    (axis,) = drawn[0].axes
    *lines, flows = (line.get_ydata() for line in axis.lines)
    assert list(flows) == [0.2, 0.08]
    assert [list(line) for line in lines] == ([] if fair is None else [[fair, fair]])


def test_a_bar_is_as_long_as_the_interval(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = make_seeds(tmp_path, APART).rows
    drawn: list[Figure] = []
    monkeypatch.setattr(png_plots, "_png", lambda figure: drawn.append(figure) or b"")
    png_plots.intervals(rows, [c for c in intervals.COLUMNS if c.title == "queue delay p50, ms"])
    (axis,) = drawn[0].axes
    (marks,) = axis.containers
    (bars,) = marks.lines[2]
    assert [[x for x, _ in bar] for bar in bars.get_segments()] == [
        pytest.approx([40 - 49.683, 40 + 49.683], abs=1e-3),
        pytest.approx([44 - 54.651, 44 + 54.651], abs=1e-3)]


def test_unknown_metric_is_neither_shown_nor_best(tmp_path: Path) -> None:
    """Two runs without bulk TCP: nobody's flows are equally alike."""
    facts = copy.deepcopy(handmade.RUN["facts"]) | {"fair_share_bps": 0.0}
    for group in facts["groups"].values():
        group |= {"elastic": False, "fair_share_bps": 0.0}
    for name in ("one", "two"):
        make_run(tmp_path / name, qdisc=name, facts=facts)
    page = read_back(tmp_path)
    # utilization; goodput, sd and Jain's index; delays and drops
    assert [row[1:] for row in rows_of(page)] == [
        ["80.0", "", "", "", "20.00", "39.60", "5"]] * 2
    assert list(best_of(page)) == ["utilization, %", "queue delay p50, ms", "queue delay p99, ms"]
    said = " ".join(text for of in page.texts.values() for text in of)
    assert "equally alike" not in said
    assert "of the fair share" not in said


@pytest.mark.parametrize("buffer", [4, 8])
def test_full_links_are_named(tmp_path: Path, buffer: int) -> None:
    make(tmp_path, {("one", buffer): 1.0, ("two", buffer): 1.0})
    place = tmp_path / f"two-{buffer}"
    queue = (place / "queue.csv").read_text()
    (place / "queue.csv").write_text(queue.replace("2.000000,2,", "2.000000,8,"))
    (section,) = load_runs.collect([tmp_path])
    said = sentences.queue_sentence(section.first, buffer)
    assert json.loads((place / "run.json").read_text())["facts"]["warmup_s"] == 1
    full = {4: "66.7 %", 8: "33.3 %"}[buffer]
    assert f"most often nearly full (90 % of the buffer) is two, in {full} of the readings" in said


def test_runs_that_differ_in_more_than_the_seed_are_no_seeds_of_one(tmp_path: Path) -> None:
    """A sweep may have two of one name; and what is given is the run itself, not its sweep."""
    make(tmp_path, {("red", 100): 1.0, ("other", 100): 1.0})
    path = tmp_path / "sweep.json"
    path.write_text(path.read_text().replace('"name": "other"', '"name": "red"'))
    change(tmp_path / "other-100", seed=2)
    given = [tmp_path / "red-100", tmp_path / "other-100"]
    (section,) = load_runs.collect(given)
    assert [(name, len(several)) for name, several in section.runs.items()] == [("red", 2)]
    assert section.buffer == 100
    assert section.notes == ["a < note"]
    told = tmp_path / "other-100" / "result.json"
    told.write_text(told.read_text().replace('"red limit 300000 ecn"', '"red limit 9 ecn"'))
    (section,) = load_runs.collect(given)
    assert [(name, len(several)) for name, several in section.runs.items()] == [
        ("red", 1), ("red limit 9 ecn", 1)]


def seeds(*given: Path) -> list[list[int]]:
    """Of each discipline of each section."""
    return [[run.result["seed"] for run in several]
            for section in load_runs.collect(given) for several in section.runs.values()]


def test_a_run_given_twice_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself, with its sweep, by a link and by another way to it."""
    run, _ = (make_run(tmp_path / "runs" / str(seed), seed=seed) for seed in (1, 2))
    (tmp_path / "link").symlink_to(run)
    monkeypatch.chdir(tmp_path)
    for more in (run, tmp_path / "link", tmp_path / "runs" / "2" / ".." / "1", Path("runs/1")):
        assert seeds(tmp_path / "runs", more) == [[1, 2]]
        assert seeds(more, tmp_path / "runs") == [[1, 2]]


def test_a_seed_made_twice_is_one_seed(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("again", 1), ("b", 2)):
        make_run(tmp_path / name, seed=seed)
    assert seeds(tmp_path) == [[1, 2]]


def test_a_seed_of_two_digests_is_refused_and_both_runs_are_named(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As two versions of a module make it."""
    for name in ("old", "new"):
        make_run(tmp_path / name)
    ends = tmp_path / "new" / "flows.csv"
    ends.write_text(ends.read_text().replace("bulk,0,3,110000", "bulk,0,3,110001"))
    change(tmp_path / "new")
    assert html_report.main([str(tmp_path), "--out", str(tmp_path / "x.html")]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path / 'new'} and {tmp_path / 'old'} have one setting and seed" in said
    assert not (tmp_path / "x.html").exists()


def test_what_is_no_report_ends_a_papers_quick_look_with_a_line(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*_: Any) -> None:
        raise UserError("a and b have not one digest")

    monkeypatch.setattr(run_cells, "_replay", refused)
    assert run_cells.main(["today", "--quick"]) == 1
    assert capsys.readouterr().err == "paper: a and b have not one digest\n"


@pytest.mark.parametrize("out", [["--out", "some where"], ["--out=x"], ["--ou", "x"], []])
def test_the_command_of_a_run_remakes_it(tmp_path: Path, out: list[str]) -> None:
    """All that it was called with, but for where its directory was to be."""
    words = ["dumbbell", "--qdisc", "pfifo limit 9", "--set", "rate=12.3456789", "--clock", "wall",
             *out, "--kernel", "6.12", "--flavour", "kasan", "--seed", "7"]
    make_run(tmp_path / "run", seed=7, qdisc="pfifo limit 9",
             made_with={**handmade.RUN["made_with"], "argv": ["/else/where/run", *words]})
    (code,) = read_back(tmp_path / "run").texts["code"]
    assert code.splitlines()[0] == (
        "netns-scenarios/run dumbbell --qdisc 'pfifo limit 9' --set rate=12.3456789 --clock wall "
        "--kernel 6.12 --flavour kasan --seed 7")


def test_without_scripts_there_is_a_still_of_each_picture(tmp_path: Path) -> None:
    page = render(tmp_path, {("red", 2): 1.0, ("other", 2): 2.0})
    assert [text.removesuffix(": a still picture") for text in page.texts["summary"]
            if "still" in text] == ["Goodput of each flow", "The queue over time",
                                    "How long packets wait", "Losses and marks"]
    # And of the table.
    assert len(page.images) == len(set(page.images)) == 5


def test_the_stills_of_losses_have_the_marks_where_there_are_any(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {("red", 2): 1.0})
    drawn: list[list[list[png_plots.Panel]]] = []
    curves = png_plots.curves

    def seen(panels: list[list[png_plots.Panel]], *words: str) -> bytes:
        drawn.append(panels)
        return curves(panels, *words)

    monkeypatch.setattr(png_plots, "curves", seen)
    read_back(tmp_path)
    ((delays,), (losses,)) = drawn
    assert [(line.title, line.label) for line in delays] == [("red", "queue")]
    # handmade.QUEUE, packets of 1 Mb/s: 40 ms at 1 s, 20 at 2 s, none at 3 s.
    assert [delays[0].x[i] for i in (0, 50, 100)] == [0, 20, 40]
    assert [(line.label, line.y.tolist()) for line in losses] == [
        ("dropped", [0, 7, 8, 12]), ("marked", [0, 2, 2, 5])]


def test_the_logs_of_a_run_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_seeds(tmp_path, APART)
    given: list[str] = []
    read = logs.read

    def counted(directory: Path) -> logs.Logs:
        given.append(directory.name)
        return read(directory)

    monkeypatch.setattr(logs, "read", counted)
    read_back(tmp_path)
    assert sorted(given) == ["one-1", "one-2", "one-3", "two-1", "two-2", "two-3"]


def test_sections_with_equal_buffers_are_named_by_their_settings(tmp_path: Path) -> None:
    make(tmp_path, {("red", 100): 1.0, ("other", 100): 1.0, ("red", 200): 1.0})
    path = tmp_path / "other-100" / "result.json"
    path.write_text(path.read_text().replace('"rtt": 40', '"rtt": 41'))
    heads = [text for text in read_back(tmp_path).texts["h2"] if "uffer" in text]
    assert heads[2] == "Buffer 200 packets"
    assert [re.findall(r"rtt=\d+", head) for head in heads[:2]] == [["rtt=40"], ["rtt=41"]]
    assert all(head.startswith("Buffer 100 packets, ") for head in heads[:2])


def test_single_runs_of_several_settings(tmp_path: Path) -> None:
    """Seeds of one discipline are a row, disciplines of one setting a section."""
    for place, changes in (
        ("a", {"seed": 2}), ("b", {"seed": 1}), ("c", {"qdisc": "pfifo limit 9"}),
        ("deep/d", {"scenario": "multi-rtt"}),
    ):
        make_run(tmp_path / place, **changes)
    page = read_back(tmp_path / "a", tmp_path / "b", tmp_path / "c", tmp_path / "deep")
    assert [row[0] for row in rows_of(page)] == [
        "red limit 300000 ecn", "pfifo limit 9", "red limit 300000 ecn"]
    # two seeds that are alike have an interval of no width; one seed has none
    assert ["±" in row[1] for row in rows_of(page)] == [True, False, False]
    assert [text.split(",")[0] for text in page.texts["h2"][:2]] == ["dumbbell", "multi-rtt"]
    groups = [row for row in page.rows if row[1:2] in (["near"], ["far"])]
    assert len(groups) == 6
    # near: 200 of 250 kb/s
    assert "80.0" in groups[0][4]


def test_no_run_and_half_a_run_are_refused(tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert html_report.main([str(tmp_path)]) == 2
    assert "no result.json here or below" in capsys.readouterr().err
    half = tmp_path / "r.incomplete"
    make_run(half)
    assert html_report.main([str(tmp_path), "--out", str(tmp_path / "x.html")]) == 2
    assert f"{half} is incomplete" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


def test_failed_runs_among_others_are_left_out(tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("good", "half.incomplete"):
        make_run(tmp_path / name)
    (tmp_path / "empty").mkdir()
    page = read_back(*sorted(tmp_path.iterdir()))
    assert len(rows_of(page)) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"left out: {tmp_path / 'empty'}: no result.json here or below",
        f"left out: {tmp_path / 'half.incomplete'} is incomplete: its run was interrupted, failed, "
        "or still runs"]
