# SPDX-License-Identifier: GPL-2.0
"""The report of any run or runs: one HTML file that needs nothing else. All of it is computed.

Runs that differ in the seed only are one row; those that differ in the discipline are one section;
and those of another setting, or at another buffer of a sweep, another section.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import numpy as np
from netns import rundir
from netns.errors import UserError
from netns.params import Param
from netns.scenario import find

from . import explore, logs, plots
from .compare import COLUMNS, Column, Mean, Row, beyond, known_mean, mean
from .summary import elastic_goodput_bps, window

TEMPLATE = Path(__file__).with_name("report.html.j2")


@dataclass(frozen=True)
class Run:
    """One finished run: its directory and its result.json."""

    directory: Path
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """Runs of one setting, of each discipline in the order of the seeds. notes: see sweep.py."""

    buffer: int | None
    runs: dict[str, list[Run]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """As `compare` takes them."""
        return [Row(name, self.buffer, [r.result for r in several])
                for name, several in self.runs.items()]

    @property
    def any(self) -> Mapping[str, Any]:
        """result.json of one of the runs; what makes the setting is alike in all."""
        return next(iter(self.runs.values()))[0].result

    @property
    def first(self) -> list[tuple[str, Run]]:
        """The first seed's run of each discipline."""
        return [(name, several[0]) for name, several in self.runs.items()]


def _sweep(directory: Path) -> Mapping[str, Any]:
    """What the sweep says that made the runs in a directory; nothing if none did."""
    path = directory / logs.SWEEP
    return dict(json.loads(path.read_text())) if path.exists() else {"runs": {}}


def _directories(places: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Any], str]]:
    """Every directory with a result.json in these or below, once, in the order of its sweep; with
    what that says of it."""
    seen = set[Path]()
    for place in places:
        found = [path.parent for path in sorted(place.resolve().rglob(rundir.RESULT))]
        if not found:
            raise UserError(f"{place}: no {rundir.RESULT} here or below")
        sweeps = {parent: _sweep(parent) for parent in {one.parent for one in found}}
        order = {parent / name: at for parent, sweep in sweeps.items()
                 for at, name in enumerate(sweep["runs"])}
        for one in sorted(found, key=lambda directory: order.get(directory, len(order))):
            if one in seen:
                continue
            seen.add(one)
            sweep = sweeps[one.parent]
            yield one, sweep["runs"].get(one.name, {}), sweep.get("note", "")


def _add(several: list[Run], run: Run) -> None:
    """To the runs of a discipline, unless it is one of them made again. UserError: another of that
    seed had other bytes."""
    for other in several:
        if other.result["seed"] == run.result["seed"]:
            if other.result["digest"] != run.result["digest"]:
                raise UserError(
                    f"{other.directory} and {run.directory} have one setting and seed, and not one "
                    "digest: another kernel, modules or clock made them; report on each by itself")
            return
    several.append(run)


def collect(places: Sequence[Path]) -> list[Section]:
    """All runs in these directories or below, put together with their like. Runs that differ in
    more than the seed have not one name, whatever their sweep calls them."""
    sections: dict[str, Section] = {}
    for directory, label, note in _directories(places):
        result = logs.load_result(directory)
        buffer = label.get("buffer")
        setting = json.dumps([result[key] for key in ("scenario", "clock", "kernel", "parameters")]
                             + [buffer])
        section = sections.setdefault(setting, Section(buffer))
        name = label.get("name", result["qdisc"])
        if (there := section.runs.get(name)) and there[0].result["qdisc"] != result["qdisc"]:
            name = result["qdisc"]
        _add(section.runs.setdefault(name, []), Run(directory, result))
        if note and note not in section.notes:
            section.notes.append(note)
    for section in sections.values():
        for several in section.runs.values():
            several.sort(key=lambda run: run.result["seed"])
    return sorted(sections.values(), key=lambda s: (s.any["scenario"], s.buffer or 0))


def _ranked(rows: Sequence[Row], column: Column) -> list[tuple[Row, Mean]]:
    """Rows from the best to the worst of a column; of those only that know it."""
    cells = [(row, cell) for row in rows if (cell := row.cell(column))]
    return sorted(cells, key=lambda rc: -column.better * rc[1].value)


def _column(title: str) -> Column:
    return next(c for c in COLUMNS if c.title.startswith(title))


@dataclass(frozen=True)
class DisciplineMean:
    """A discipline and what it has of something, by seed."""

    name: str
    by_seed: Mapping[int, float]

    @property
    def mean(self) -> Mean:
        """Over the seeds."""
        return mean(list(self.by_seed.values()))

    def told_from(self, best: DisciplineMean, better: int) -> bool:
        """Whether the seeds that both have tell that it is worse."""
        seeds = sorted(self.by_seed.keys() & best.by_seed.keys())
        if len(seeds) < 2:
            return False
        worse = beyond([self.by_seed[seed] for seed in seeds],
                       [best.by_seed[seed] for seed in seeds], -better)
        return worse.value - worse.half > 0


@dataclass(frozen=True)
class Ranking:
    """Disciplines from the best to the worst of something. better: see `Column`."""

    better: int
    of: Sequence[DisciplineMean]


def _compared(ranking: Ranking, scale: float, digits: int,
              verb: Callable[[str, str, str, str], str], same: Callable[[str], str]) -> str:
    """A clause about the best and the worst, and whether the seeds tell the best from the next;
    `same` is the clause when the figures, as they are printed, do not differ. Who has the same as
    they are printed is named, too."""
    best, worst = ranking.of[0], ranking.of[-1]
    texts = {one.name: one.mean.text(scale, digits) for one in ranking.of}
    shown = {name: text.split()[0] for name, text in texts.items()}
    few = ", by one seed" if any(len(one.by_seed) == 1 for one in ranking.of) else ""
    if shown[best.name] == shown[worst.name]:
        return same(shown[best.name]) + few
    text = verb(_who(shown, shown[best.name]), texts[best.name],
                _who(shown, shown[worst.name]), texts[worst.name])
    after = next(one for one in ranking.of if shown[one.name] != shown[best.name])
    if not few and not after.told_from(best, ranking.better):
        text += f" (seed by seed {best.name} and {after.name} are not told apart)"
    return text + few


def _who(shown: Mapping[str, str], text: str) -> str:
    """All of whom this is shown: a, b and c."""
    *others, last = [name for name, one in shown.items() if one == text]
    return f"{', '.join(others)} and {last}" if others else last


def _said(ranking: Ranking, scale: float, digits: int, apart: str, alike: str) -> str:
    """`_compared` in the words of two templates, which name {best}, {b}, {worst} and {w}."""
    return _compared(ranking, scale, digits,
                     lambda best, b, worst, w: apart.format(best=best, b=b, worst=worst, w=w),
                     lambda x: alike.format(b=x))


def _extremes(rows: Sequence[Row], title: str, verb: Callable[[str, str, str, str], str],
              same: Callable[[str], str]) -> str:
    """`_compared` for a column; nothing unless two know it."""
    column = _column(title)
    of = [DisciplineMean(row.name, row.by_seed(column)) for row, _ in _ranked(rows, column)]
    return _compared(Ranking(column.better, of), column.scale, column.digits, verb,
                     same) if of[1:] else ""


def _of_group(section: Section, group: str, path: str, better: int) -> Ranking | None:
    """A figure of a group from the best discipline to the worst, of those only that know it; None
    unless two do."""
    found = []
    for name, several in section.runs.items():
        known = {run.result["seed"]: value for run in several if (
            value := _deep(run.result["groups"].get(group, {}), path)) is not None}
        if len(known) == len(several):
            found.append(DisciplineMean(name, known))
    found.sort(key=lambda one: -better * one.mean.value)
    return Ranking(better, found) if found[1:] else None


def group_sentences(section: Section) -> str:
    """Who leaves what to whom, where a scenario has groups that are not alike."""
    said = []
    groups = section.any["groups"]
    for group in groups if len(groups) > 1 else ():
        requests, datagrams, share, loss = (
            _of_group(section, group, path, better) for path, better in
            (("completion_s.mean", -1), ("delay_ms.p50", -1), ("share_of_fair", 1), ("loss", -1)))
        if requests:
            said.append(_said(requests, 1, 2,
                              "A request takes {b} s in the mean under {best}, and {w} s under "
                              "{worst}", "A request takes {b} s in the mean under each discipline"))
        elif datagrams and loss:
            of_group = f"Of {group}'s datagrams "
            said.append(_said(loss, 100, 1,
                              of_group + "{b} % are lost under {best}, and {w} % under {worst}",
                              of_group + "{b} % are lost under each"))
        elif share:
            gets = f"Group {group} gets "
            said.append(_said(share, 100, 1,
                              gets + "{b} % of its fair share under {best}, and {w} % under "
                              "{worst}", gets + "{b} % of its fair share under each"))
    return " ".join(f"{one}." for one in said)


def fairness_sentence(rows: Sequence[Row]) -> str:
    """What the picture of goodputs at one buffer shows."""
    spread = _extremes(
        rows, "sd",
        lambda best, b, worst, w: f"The flows are most alike under {best}, where their standard "
        f"deviation is {b} % of the fair share, and least alike under {worst}, with {w} %",
        lambda x: "The flows are equally alike under each discipline: their standard deviation is "
        f"{x} % of the fair share",
    )
    goodput = _extremes(
        rows, "goodput",
        lambda best, b, worst, w: f"on average they get from {w} % of the fair share ({worst}) "
        f"to {b} % ({best})",
        lambda x: f"on average they get {x} % of the fair share under each",
    )
    said = "; ".join(filter(None, (spread, goodput)))
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def share_of_readings(percent: Mapping[str, float]) -> tuple[str, str, str, str]:
    """Who have the most and the least, and how much that is as it is printed."""
    shown = {name: f"{value:.1f} %" for name, value in percent.items()}
    m, x = (f"{end(percent.values()):.1f} %" for end in (max, min))
    return _who(shown, m), m, _who(shown, x), x


def queue_sentence(runs: Sequence[tuple[str, Run]], buffer: int) -> str:
    """What the picture of queues at one buffer shows: how often each is empty and nearly full."""
    empty, full = {}, {}
    for name, run in runs:
        read = logs.read(run.directory)
        facts = read.run["facts"]
        first, last = window(read.queue["time_s"], facts["warmup_s"], facts["end_s"])
        packets = read.queue["packets"][first : last + 1]
        empty[name] = 100 * float(np.mean(packets == 0))
        full[name] = 100 * float(np.mean(packets >= 0.9 * buffer))
    most, m, least, x = share_of_readings(empty)
    emptiness = (f"in {m} of the readings under each discipline" if m == x else
                 f"in {m} of the readings under {most} and in {x} under {least}")
    most, m, _, x = share_of_readings(full)
    fullness = (f"nearly full (90 % of the buffer) it is in {m} under each" if m == x else
                f"most often nearly full (90 % of the buffer) is {most}, in {m} of the readings")
    return f"In this run the queue is empty {emptiness}; {fullness}."


def delay_sentence(rows: Sequence[Row]) -> str:
    """Queue delay at one buffer."""
    return _extremes(
        rows, "queue delay p50",
        lambda best, b, worst, w: f"The median queue delay is shortest under {best} ({b} ms) "
        f"and longest under {worst} ({w} ms)",
        lambda x: f"The median queue delay is {x} ms under each discipline",
    ) + "."


def _params(scenario: str) -> dict[str, Param]:
    """The parameters of a scenario, by name; none of one that this checkout does not know."""
    try:
        return {p.name: p for p in find(scenario).params}
    except UserError:
        return {}


def _changed(result: Mapping[str, Any]) -> str:
    """The parameters that are not the defaults, as `run --set` takes them."""
    known = _params(result["scenario"])
    return " ".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                    for key, value in result["parameters"].items()
                    if key not in known or known[key].default != value)


def _heading(section: Section, sections: Sequence[Section]) -> str:
    """What tells it from the other sections: the scenario, its buffer, and, of several with these,
    what is set."""
    scenario, changed = section.any["scenario"], _changed(section.any)
    alike = [one for one in sections
             if (one.any["scenario"], one.buffer) == (scenario, section.buffer)]
    words = [scenario] if section.buffer is None or len(
        {one.any["scenario"] for one in sections}) > 1 else []
    words += [] if section.buffer is None else [f"buffer {section.buffer} packets"]
    words += [changed] if len(alike) > 1 and changed else []
    heading = ", ".join(words)
    return heading if words[0] == scenario else heading[0].upper() + heading[1:]


def _text(section: Section) -> str:
    """The setting, in words."""
    result, known = section.any, _params(section.any["scenario"])
    values = ", ".join(
        f"{key} {f'{value:g}' if isinstance(value, float) else value}"
        f"{' ' + known[key].unit if key in known and known[key].unit not in key else ''}"
        for key, value in result["parameters"].items())
    summary = f"{find(result['scenario']).summary}. " if known else ""
    fair = result["summary"]["fair_share_bps"]
    share = f" The fair share of a flow is {fair / 1e6:.3g} Mb/s of payload." if fair else ""
    seeds = max(len(several) for several in section.runs.values())
    return (f"{summary[:1].upper()}{summary[1:]}{values}. By the {result['clock']} clock on Linux "
            f"{result['kernel']}; {seeds} seed{'s' if seeds > 1 else ''}.{share}")


@dataclass(frozen=True)
class Cell:
    """text, half of the interval, and whether it is the best of its column."""

    text: str
    half: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A row of titles, and rows of cells."""

    head: list[str]
    rows: list[list[Cell]]


def _table(rows: Sequence[Row]) -> Table:
    best = {c.title: ranked[0][1].text(c.scale, c.digits).split()[0]
            for c in COLUMNS if c.better and (ranked := _ranked(rows, c))[1:]}
    lines = []
    for row in rows:
        cells = [Cell(row.name)]
        for column in COLUMNS:
            cell = _cell(row.cell(column), column.scale, column.digits)
            best_of = best.get(column.title)
            cells.append(replace(cell, best=best_of is not None and cell.text == best_of))
        lines.append(cells)
    return Table(["", *(c.title for c in COLUMNS)], lines)


def _cell(known: Mean | None, scale: float, digits: int) -> Cell:
    """Empty where there is no mean."""
    if known is None:
        return Cell("")
    text, _, half = known.text(scale, digits).partition(" ")
    return Cell(text, half)


def _deep(what: Mapping[str, Any], path: str) -> float | None:
    value: Any = what
    for key in path.split("."):
        value = value.get(key) if value else None
    return value


#: Title, where it stands, factor, digits.
GROUP_COLUMNS = (
    ("flows", "flows", 1, 0), ("RTT, ms", "rtt_ms", 1, 0),
    ("goodput / fair share, %", "share_of_fair", 100, 1), ("loss, %", "loss", 100, 2),
    ("delay p50, ms", "delay_ms.p50", 1, 1), ("delay p99, ms", "delay_ms.p99", 1, 1),
    ("requests done", "completion_s.completed", 1, 0),
    ("completion mean, s", "completion_s.mean", 1, 3),
    ("completion p95, s", "completion_s.p95", 1, 3),
)
PHASE_COLUMNS = (
    ("utilization, %", "utilization", 100, 1), ("Jain's index", "jain", 1, 4),
    ("queue delay p50, ms", "queue_delay_ms.p50", 1, 2),
    ("queue delay p99, ms", "queue_delay_ms.p99", 1, 2), ("dropped, packets", "dropped", 1, 0),
)


def _detail(section: Section, kind: str, columns: Sequence[tuple[str, str, float, int]],
            parts: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A table with a row for each discipline and part, if there are two parts at least; columns
    that are empty all over are left out."""
    lines = []
    for name, several in section.runs.items():
        of_run = [parts(run.result) for run in several]
        for part in of_run[0]:
            lines.append([Cell(name), Cell(part), *(
                _cell(known_mean([_deep(one[part], path) for one in of_run]), scale, digits)
                for _, path, scale, digits in columns)])
    if len(lines) <= len(section.runs):
        return []
    head = ["", kind, *(title for title, *_ in columns)]
    used = [i for i in range(len(head)) if i < 2 or any(line[i].text for line in lines)]
    return [{"heading": f"Each {kind}", "table": Table(
        [head[i] for i in used], [[line[i] for i in used] for line in lines])}]


def _phases(result: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{p['from_s']:g} to {p['to_s']:g} s: {p['name']}": p for p in result["phases"]}


def _goodput_panels(section: Section) -> list[plots.Panel]:
    """Of the first seed; none where there is no elastic flow."""
    panels = []
    for name, run in section.first:
        goodput = elastic_goodput_bps(logs.read(run.directory))
        if not len(goodput):
            return []
        panels.append(plots.Panel(name, np.arange(1, len(goodput) + 1, dtype=float),
                                  goodput / 1e6))
    return panels


def goodput_picture(section: Section) -> bytes:
    """Each flow's goodput, a panel for each discipline, as PNG."""
    fair = section.any["summary"]["fair_share_bps"]
    return plots.goodputs(_goodput_panels(section), fair / 1e6 if fair else None)


def _queue_panel(name: str, run: Run) -> plots.Panel:
    queue = logs.read(run.directory).queue
    return plots.Panel(name, queue["time_s"], queue["packets"])


def _delay_panel(name: str, shown: Mapping[str, Any]) -> list[plots.Panel]:
    """Of the queue, and of each group's datagrams, if any; shown: explore.of_run."""
    part = explore.QUANTILES / 100
    return [plots.Panel(name, np.array(ms), part, of) for of, ms in shown["delays"].items()]


def _loss_panel(name: str, shown: Mapping[str, Any]) -> list[plots.Panel]:
    time = np.array(shown["time"])
    return [plots.Panel(name, time, np.array(shown[of], dtype=float), of)
            for of in ("dropped", "marked") if shown[of]]


def _figure(heading: str, image: bytes, *caption: str, moves: bool = False) -> dict[str, Any]:
    """`moves`: explore.py draws the same for who can run scripts."""
    return {"heading": heading, "what": heading, "image": plots.data_url(image), "moves": moves,
            "caption": " ".join(c for c in caption if c)}


def _figures(section: Section) -> list[dict[str, Any]]:
    rows, several = section.rows, len(section.runs) > 1
    fairness = fairness_sentence(rows)
    if fairness and any(len(row.results) > 1 for row in rows):
        fairness = f"Over all seeds: {fairness}"
    made = []
    if several:
        wanted = [column for title in ("utilization", "sd", "queue delay p50")
                  if _ranked(rows, column := _column(title))]
        made.append(_figure("The same as a picture", plots.intervals(rows, wanted),
                            delay_sentence(rows)))
    seed = section.first[0][1].result["seed"]
    if _goodput_panels(section):
        made.append(_figure(
            "Goodput of each flow", goodput_picture(section),
            f"A dot is a flow, the red line the fair share; seed {seed}.",
            fairness, moves=True))
    panels = [_queue_panel(*named) for named in section.first]
    p, buffer = section.any["parameters"], section.buffer
    made.append(_figure(
        "The queue over time", plots.queues(panels, buffer, p["warmup"]),
        f"Packets in the queue every {p['sample']} ms, {'the red line the buffer, ' * bool(buffer)}"
        f"the warm-up grey; seed {seed}.",
        queue_sentence(section.first, buffer) if buffer and several else "", moves=True))
    shown = [(name, explore.of_run(run.directory, run.result)) for name, run in section.first]
    made += [
        _figure("How long packets wait", plots.curves(
            [_delay_panel(*one) for one in shown], "delay, ms", "part that waits no longer"),
            f"Of what is queued at each instant, and of datagrams one way; seed {seed}.",
            moves=True),
        _figure("Losses and marks", plots.curves(
            [_loss_panel(*one) for one in shown], "time, s", "packets since the start"),
            f"Dropped and marked by the discipline; seed {seed}.", moves=True)]
    return made


def _commands(section: Section) -> Iterator[str]:
    """Each run's own, but for where its directory was to be."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--out")
    for several in section.runs.values():
        for run in several:
            _, *words = run.result["provenance"]["argv"]
            _, words = parser.parse_known_args(words)
            yield (shlex.join(["netns-scenarios/run", *words])
                   + f"\n  digest {run.result['digest']}")


def _shown_first(sections: Sequence[Section]) -> list[str]:
    """Twelve lines are none to read: the first discipline, and the best at what the sentences
    speak of."""
    rows = sections[0].rows
    best = [ranked[0][0].name
            for title in ("utilization", "sd", "queue delay p50", "queue delay p99")
            if (ranked := _ranked(rows, _column(title)))]
    names = list(dict.fromkeys(name for section in sections for name in section.runs))
    return names if len(names) <= 4 else list(dict.fromkeys([names[0], *best]))


def _csv(table: Table) -> str:
    """A table as a link that needs no script: mean and half of the interval side by side."""
    out = io.StringIO()
    writer = csv.writer(out)
    first, *titles = table.head
    writer.writerow([first or "discipline", *(t for title in titles for t in (title, "±"))])
    for name, *cells in table.rows:
        writer.writerow([name.text, *(t for c in cells for t in (c.text, c.half.strip("± ")))])
    return "data:text/csv;charset=utf-8," + quote(out.getvalue())


def _provenance(sections: Sequence[Section]) -> Table:
    """What the runs were made with: a row for each that differs from the others."""
    lines: dict[tuple[str, ...], None] = {}
    for section in sections:
        for name, several in section.runs.items():
            for run in several:
                made = run.result["provenance"]
                modules = ", ".join(f"{k} {v}" for k, v in made["modules"].items())
                image = made["lab"].get("image", "") if made.get("lab") else ""
                lines[(name, made["version"], run.result["kernel"], image[:12], modules,
                       made["compiler"], made["tc"])] = None
    return Table(["", "version", "kernel", "its image", "modules' srcversion", "compiler", "tc"],
                 [[Cell(text or "") for text in line] for line in lines])


def write(path: Path, sections: Sequence[Section]) -> None:
    """The report of these."""
    scenarios = sorted({s.any["scenario"] for s in sections})
    names = dict.fromkeys(name for s in sections for name in s.runs)
    what = f"{len(names)} queue disciplines" if len(names) > 1 else next(iter(names))
    engine = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
                                lstrip_blocks=True)
    headings = [_heading(section, sections) for section in sections]
    tables = [_table(section.rows) for section in sections]
    data = explore.data(sections, headings, _shown_first(sections))
    path.write_text(engine.from_string(TEMPLATE.read_text()).render(
        title=f"{what}: {', '.join(scenarios)}",
        sections=[{
            "heading": heading,
            "text": _text(section),
            "found": group_sentences(section) if len(section.runs) > 1 else "",
            "table": table,
            "csv": _csv(table),
            "file": f"{re.sub(r'[^a-z0-9]+', '-', heading.lower())}.csv",
            "more": [*_detail(section, "group", GROUP_COLUMNS, lambda r: r["groups"]),
                     *_detail(section, "phase", PHASE_COLUMNS, _phases)],
            "figures": _figures(section),
        } for section, heading, table in zip(sections, headings, tables, strict=True)],
        notes=list(dict.fromkeys(note for s in sections for note in s.notes)),
        commands=[line for section in sections for line in _commands(section)],
        provenance=_provenance(sections),
        data=explore.script_json(data),
        left_out=data["left_out"],
        models=explore.pictures(),
        library=explore.library(),
        script=explore.SCRIPT.read_text(),
    ) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run is not whole, 2 when it was asked wrongly."""
    parser = argparse.ArgumentParser(
        prog="report", description="Draw any run or runs as one HTML file.")
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR",
                        help="a run's directory, or one that holds some")
    parser.add_argument("--out", type=Path, metavar="FILE",
                        help="default: report.html in the first DIR's parent, or in a sweep's DIR")
    args = parser.parse_args(argv)
    first = args.directories[0]
    out = args.out or (first if not (first / rundir.RESULT).exists() else
                       first.resolve().parent) / "report.html"
    try:
        write(out, collect(args.directories))
    except UserError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    except logs.BadLog as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    print(out)
    return 0
