# SPDX-License-Identifier: GPL-2.0
"""docs/results: a page for each paper, made of its claims and of the rows of its cells, and of
nothing else: whoever makes it again gets the same bytes."""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis import claims, compare, figures, svg, traffic, verdict
from analysis.claims import Claim
from analysis.verdict import CONFIRMED, DIFFERS, UNDECIDED, Judged
from netns.execute import ROOT

from . import contests, traces
from .paper import Experiment, Paper, load, names

#: CPU seconds that a cell costs beside its run, alone and as a cluster's job; and a cluster's CPUs.
SETUP_S, JOB_S, CPUS = 0.5, 3.7, 200
#: Behind what is accepted where cells had run before.
SEEN = " †"
#: Share of the time that is worth saying.
HELD_BACK = 0.05
RESULTS = ROOT / "docs" / "results"

Row = Mapping[str, Any]


def _axes(paper: Paper) -> dict[str, Mapping[str, Sequence[Any]]]:
    return {experiment.name: experiment.axes for experiment in paper.experiments}


def _shown(claim: Claim, value: compare.Mean | None) -> str:
    return value.text(claim.scale, claim.digits) + claim.unit if value else ""


def verdict_of(claim: Claim, paper: Paper, made: Sequence[Row]) -> Judged:
    """Its verdict; none for a claim whose bounds have changed since its cells ran."""
    judged = verdict.judge(claim, _axes(paper), made, paper.seeds)
    if judged.value and verdict.moved(claim, judged.cells):
        return Judged(UNDECIDED, judged.value, judged.seeds, judged.cells,
                      "its bounds are younger than the runs")
    return judged


@dataclass(frozen=True)
class Era:
    """What one more era says of a paper: head and about for people, its cells, and the verdict on
    each claim, by id."""

    head: str
    about: str
    paper: Paper
    made: Sequence[Row]
    verdicts: Mapping[str, Judged]


def other_eras(paper: Paper, listed: Sequence[Claim]) -> list[Era]:
    """All but the paper's own."""
    found = []
    for name in paper.eras[1:]:
        one = load(paper.name, era=name)
        made, says = one.made(), paper.text["era"][name]
        found.append(Era(says["head"], _cell(says["about"]), one, made,
                         {claim.id: verdict_of(claim, one, made) for claim in listed}))
    return found


def _minutes(cells: Sequence[Row]) -> float:
    return sum({row["cell"]: row["cpu_s"] for row in cells}.values()) / 60


def _many(count: int, one: str) -> str:
    return f"{count} {one}{'s' * (count != 1)}"


def _held_back(cells: Sequence[Row]) -> str:
    """For how much of their time senders of one of the cells waited for their receiver's window,
    if for more than a few percent."""
    share = max((float(group.get("window_limited", 0)) for row in cells
                 for group in row["figures"].get("groups", {}).values()), default=0.0)
    return (f"; its receivers' windows held a group back for up to {100 * share:.0f} % of the time"
            if share > HELD_BACK else "")


def _behind(judged: Judged) -> str:
    cells = len({row["cell"] for row in judged.cells})
    if not cells:
        return ""
    return (f"{_many(judged.seeds, 'seed')}, {_many(cells, 'cell')}, "
            f"{_minutes(judged.cells):.1f} CPU min{_held_back(judged.cells)}")


def _said(claim: Claim, paper: Paper, judged: Judged) -> str:
    """A verdict, and what there is to say of it."""
    if judged.verdict == UNDECIDED:
        return f"{judged.verdict}: {judged.why_not}"
    least = claim.least(paper.seeds)
    return judged.verdict + (f", {judged.seeds} of {least} seeds" if judged.seeds < least else "")


def _tries(claim: Claim, paper: Paper, made: Sequence[Row]) -> list[tuple[str, Judged]]:
    return [(one.change, verdict.judge(claim.varied(one.by), _axes(paper), made, paper.seeds))
            for one in claim.tries]


def _turned(judged: Judged, tries: Sequence[tuple[str, Judged]], claim: Claim) -> tuple[str, str]:
    """What turns a confirmed claim over, and what leaves it open, an interval across a bound: of
    other disciplines, and of all else. Else a claim may be one of the load."""
    if judged.verdict != CONFIRMED:
        return "", ""
    said = []
    for of_discipline in (True, False):
        shown = [(other, f"{change}: {_shown(claim, other.value)}")
                 for one, (change, other) in zip(claim.tries, tries, strict=True)
                 if one.of_discipline == of_discipline]
        over = "; ".join(text for other, text in shown if other.verdict == DIFFERS)
        left = "; ".join(text for other, text in shown if other.why_not == verdict.ACROSS)
        said.append("; ".join([over] * bool(over) + [f"left open by: {left}"] * bool(left)))
    if not any(other.verdict == DIFFERS for _, other in tries):
        said[0] = "; ".join(["nothing yet"] + [said[0]] * bool(said[0]))
    return said[0], said[1]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _in_short(claim: Claim, judged: Judged) -> str:
    if judged.why_not.startswith("absent") and not judged.value:
        return "absent"
    return f"**{judged.verdict}** {_shown(claim, judged.value) or judged.why_not}"


def _alone(paper: Paper, listed: Sequence[Claim], made: Sequence[Row]) -> str:
    """Which of the confirmed claims no other discipline turns over: they may be of the load."""
    tried: dict[str, list[str]] = {
        "none was tried": [], "none decides": [], "one holds it, too": []}
    for claim in listed:
        if verdict_of(claim, paper, made).verdict != CONFIRMED:
            continue
        others = {judged.verdict for one, (_, judged) in
                  zip(claim.tries, _tries(claim, paper, made), strict=True) if one.of_discipline}
        if DIFFERS not in others:
            why = ("one holds it, too" if CONFIRMED in others else "none decides" if others
                   else "none was tried")
            tried[why].append(claim.id)
    said = "; ".join(f"{', '.join(ids)} ({why})" for why, ids in tried.items() if ids)
    return (f" Of the confirmed these are turned over by no other discipline, and may tell of the "
            f"load more than of the discipline: {said}." if said else "")


def claims_table(paper: Paper, listed: Sequence[Claim], made: Sequence[Row],
                 eras: Sequence[Era]) -> list[str]:
    """Markdown."""
    says = paper.text.get("says", ("what the paper says, and where", "published"))
    heads = [*says, "accepted", "measured", "verdict",
             *(era.head for era in eras), "turned over by another discipline",
             "by another load, TCP or figure", "behind it"]
    out = [f"| | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for claim in listed:
        judged = verdict_of(claim, paper, made)
        turned = _turned(judged, _tries(claim, paper, made), claim)
        out.append("| " + " | ".join(map(_cell, (
            claim.id, f"{claim.says} *{claim.place}*", claim.published,
            claim.accepted() + SEEN * claim.seen,
            _shown(claim, judged.value), f"**{judged.verdict}**",
            *(_in_short(claim, era.verdicts[claim.id]) for era in eras), *turned, _behind(judged),
        ))) + " |")
    return out


def _differences(paper: Paper, listed: Sequence[Claim], made: Sequence[Row]) -> list[str]:
    """For each claim that differs: what was changed, and what is known of the reason."""
    out = []
    for claim in listed:
        if verdict_of(claim, paper, made).verdict != DIFFERS:
            continue
        out += [f"**{claim.id}**, {_cell(claim.place)}: "
                + (_cell(claim.reason) or "the reason is not found yet."), ""]
        tries = [(change, judged) for change, judged in _tries(claim, paper, made)]
        if tries:
            out += ["| changed | measured | that would be |", "|---|---|---|"]
            out += [f"| {_cell(change)} | {_shown(claim, judged.value)} | "
                    f"{_said(claim.varied(one.by), paper, judged)} |"
                    for one, (change, judged) in zip(claim.tries, tries, strict=True)]
            out.append("")
    return out


def _undecided(paper: Paper, listed: Sequence[Claim], made: Sequence[Row]) -> list[str]:
    """For each claim that is not decidable: why, and what there is."""
    out = []
    for claim in listed:
        judged = verdict_of(claim, paper, made)
        if judged.verdict == UNDECIDED:
            have = (f" {_shown(claim, judged.value)} with {_many(judged.seeds, 'seed')}, accepted "
                    f"{claim.accepted()}." if judged.value else "")
            out.append(f"- **{claim.id}**: {judged.why_not}.{have} {_cell(claim.reason)}".rstrip())
    return out


def _bounds(paper: Paper, listed: Sequence[Claim]) -> list[str]:
    return [f"- {claim.id}: {claim.accepted()}{SEEN * claim.seen}. {_cell(claim.why)}"
            for claim in listed]


def _line(name: str, spec: Mapping[str, Any], metric: str, experiment: Experiment,
          made: Sequence[Row]) -> svg.Line:
    """Means over the seeds with their intervals, along the axis `x`."""
    scale, points = spec.get("scale", 1.0), []
    of = (experiment.name, name)
    mine = [row for row in made if (row["experiment"], row["discipline"]) == of]
    for x in experiment.axes[spec["x"]]:
        at = {**spec.get("at", {}), spec["x"]: x}
        values = []
        for row in mine:
            if any(row["at"][axis] != value for axis, value in at.items()):
                continue
            try:
                values.append(figures.figure(row["figures"], metric) * scale)
            except figures.Absent:
                continue
        if values:
            mean = compare.mean(values)
            points.append((float(x), mean.value, 0.0 if math.isnan(mean.half) else mean.half))
    return svg.Line(name, points)


def _flows(spec: Mapping[str, Any], experiment: Experiment, made: Sequence[Row]) -> list[svg.Panel]:
    """A panel for each discipline: every flow's goodput, of the first seed, Mb/s."""
    panels = []
    for name in spec.get("disciplines", experiment.disciplines):
        for row in made:
            if (row["experiment"], row["discipline"], row["seed"]) == (
                    experiment.name, name, experiment.first) and all(
                    row["at"][k] == v for k, v in spec["at"].items()):
                flows = row["figures"]["flows_bps"]
                points = [(float(i), bps / 1e6, 0.0) for i, bps in enumerate(flows)]
                fair = row["figures"]["summary"]["fair_share_bps"] / 1e6
                panels.append(svg.Panel(name, "flow", "goodput, Mb/s",
                                        [svg.Line("a flow", points, joined=False)], at_y=fair))
    return panels


def _series(spec: Mapping[str, Any], experiment: Experiment,
            made: Sequence[Row]) -> list[svg.Panel]:
    """A panel for each discipline: a group's goodput over time, mean of the seeds, Mb/s."""
    panels = []
    for name in spec.get("disciplines", experiment.disciplines):
        runs = [row["figures"]["series_bps"][spec["group"]] for row in made
                if (row["experiment"], row["discipline"]) == (experiment.name, name)
                and "series_bps" in row["figures"]
                and all(row["at"][k] == v for k, v in spec.get("at", {}).items())]
        means = [compare.mean([bps / 1e6 for bps in values]) for values in zip(*runs, strict=True)]
        points = [((i + 0.5) * experiment.step_s, mean.value,
                   0.0 if math.isnan(mean.half) else mean.half) for i, mean in enumerate(means)]
        if points:
            panels.append(svg.Panel(name, "time, s", spec["y_title"],
                                    [svg.Line(spec["group"], points)]))
    return panels


def _delays(spec: Mapping[str, Any], experiment: Experiment,
            made: Sequence[Row]) -> list[svg.Panel]:
    """The panels of `panels`: share of a group's datagrams that came within x, %; mean of the seeds
    at each of traffic.PERCENTS."""
    panels = []
    for part in spec["panels"]:
        mine, lines = {**spec, **part}, []
        for name in mine["disciplines"]:
            runs = [row["figures"]["delays_ms"][spec["group"]] for row in made
                    if (row["experiment"], row["discipline"]) == (experiment.name, name)
                    and "delays_ms" in row["figures"]
                    and all(row["at"][k] == v for k, v in mine["at"].items())]
            means = [compare.mean(values).value for values in zip(*runs, strict=True)]
            if means:
                lines.append(svg.Line(name, [(ms, float(share), 0.0) for ms, share in zip(
                    means, traffic.PERCENTS, strict=True)]))
        if lines:
            panels.append(svg.Panel(mine["title"], mine["x_title"], mine["y_title"], lines,
                                    x_log=True))
    return panels


def figure(spec: Mapping[str, Any], paper: Paper, made: Sequence[Row],
           over_time: Sequence[traces.Found]) -> str:
    """The text of a picture; empty when there is nothing to draw yet. over_time: traces.found."""
    if spec.get("kind") == traces.KIND:
        drawn = traces.panels(over_time, spec["name"], spec["y_title"], spec.get("scale", 1.0))
        return svg.picture(drawn, columns=2, top=spec.get("y_top")) if drawn else ""
    (experiment,) = [e for e in paper.experiments if e.name == spec["experiment"]]
    if spec.get("kind") in KINDS:
        panels = KINDS[spec["kind"]](spec, experiment, made)
        return svg.picture(panels, columns=3, top=spec.get("y_top")) if panels else ""
    panels = []
    for part in spec.get("panels", [{}]):
        mine = {**spec, **part}
        lines = [_line(name, mine, mine["metric"], experiment, made)
                 for name in mine.get("disciplines", experiment.disciplines)]
        if lines := [line for line in lines if line.points]:
            panels.append(svg.Panel(mine.get("title", ""), mine["x_title"], mine["y_title"], lines,
                                    mine.get("x_log", False), mine.get("at_y")))
    return svg.picture(panels, columns=2, top=spec.get("y_top")) if panels else ""


#: Figures that have no table of numbers beside them.
KINDS = {"flows": _flows, "series": _series, "delays": _delays}


def _short(value: float, digits: int) -> str:
    """With so many significant digits, or all those before the point."""
    whole = abs(value) >= 10**digits - 0.5
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def _numbers(spec: Mapping[str, Any], paper: Paper, made: Sequence[Row]) -> list[str]:
    """What a figure shows, as a table for each of its panels."""
    if spec.get("kind") in {traces.KIND, *KINDS}:
        return []
    (experiment,) = [e for e in paper.experiments if e.name == spec["experiment"]]
    out: list[str] = []
    for part in spec.get("panels", [{}]):
        mine = {**spec, **part}
        values = experiment.axes[mine["x"]]
        out += [f"| {_cell(mine.get('title', mine['y_title']))} | " + " | ".join(map(str, values))
                + " |", "|---" * (1 + len(values)) + "|"]
        for name in mine.get("disciplines", experiment.disciplines):
            found = {x: (y, half) for x, y, half in
                     _line(name, mine, mine["metric"], experiment, made).points}
            cells = [_short(found[float(x)][0], 3) + (f" ±{_short(found[float(x)][1], 2)}"
                                                      if found[float(x)][1] else "")
                     if float(x) in found else "absent" for x in values]
            out.append(f"| {name} | " + " | ".join(cells) + " |")
        out.append("")
    return out


def _made_with(made: Sequence[Row]) -> list[str]:
    """Commits, modules, kernels, compilers and tc, each with the number of runs."""
    def counted(values: Sequence[str]) -> str:
        return ", ".join(f"{value} ({count})" for value, count in sorted(Counter(values).items()))

    modules = [f"{name} {version}" for row in made
               for name, version in row["made"]["modules"].items() if version]
    return [f"- {what}: {counted(values)}" for what, values in (
        ("version", [row["made"]["version"] for row in made]), ("modules (srcversion)", modules),
        ("kernel, and the first half of its image's SHA-256",
         [row["made"]["kernel"] for row in made]),
        ("compiler", [row["made"]["compiler"] for row in made]),
        ("tc", [row["made"]["tc"] for row in made]),
    ) if values]


def _ran(paper: Paper, made: Sequence[Row]) -> tuple[int, int]:
    """Of how many of its cells there are rows, and how many it has."""
    return len(made), len(paper.commands())


def _have(paper: Paper, made: Sequence[Row]) -> str:
    have, asked = _ran(paper, made)
    least, most = min(e.others for e in paper.experiments), max(map(len, paper.seeds.values()))
    seeds = f"{least} to {most}" if least < most else f"{most}"
    return (f"{have} of {asked} cells ({seeds} seeds each), "
            f"{_many(round(_minutes(made)), 'minute')} of one CPU.")


def _state(paper: Paper, made: Sequence[Row], listed: Sequence[Claim],
           eras: Sequence[Era]) -> list[str]:
    out = [f"{len(listed)} claims: " + ", ".join(
        f"{count} {one}" for one, count in _tally(
            verdict_of(claim, paper, made) for claim in listed).items()) + ". "
        + _have(paper, made)]
    for era in eras:
        if not era.made:
            out += ["", f"The same claims with {era.about}: nothing of it has run."]
            continue
        out += ["", f"The same claims with {era.about} (the column \"{era.head}\"): " + ", ".join(
            f"{count} {one}" for one, count in _tally(era.verdicts.values()).items()) + ". "
            + _have(era.paper, era.made)]
    for name, reason in paper.absent.items():
        out.append(f"Absent: {name}, {reason}.")
    return out


def _what_holds(listed: Sequence[Claim], judged: Mapping[str, Judged], verdict_: str,
                head: str) -> list[str]:
    """A line for each claim that got this verdict."""
    mine = [claim for claim in listed if judged[claim.id].verdict == verdict_]
    return [f"## {head}", "",
            *(f"- {_cell(claim.says)} Accepted: {claim.accepted()}; measured: "
              f"{_shown(claim, judged[claim.id].value)} ({claim.id})." for claim in mine),
            *([] if mine else ["Nothing."]), ""]


def _one_page(paper: Paper, made: Sequence[Row], listed: Sequence[Claim],
              drawn: Mapping[str, str]) -> str:
    """Of a paper that asks questions: who is best, what was expected and does not hold, and what
    holds of the other papers with another TCP. drawn: heads of its figures, by their files."""
    judged = {claim.id: verdict_of(claim, paper, made) for claim in listed}
    table, _ = then_and_now([load(name) for name in names()])
    tally = _tally(judged.values())
    more = f"[{paper.claims_page}]({paper.claims_page})"
    out = [f"# {paper.text['title']}", "",
           f"On one page; {more} has all claims, what was tried on them, the figures' numbers, and "
           "what becomes of each claim of the papers.", "",
           paper.text["note"].strip(), "", *contests.summary(paper, made),
           *(line for name, head in drawn.items() for line in (f"![{head}]({name})", "")),
           *_what_holds(listed, judged, DIFFERS, "What was expected and does not hold"),
           f"{_many(tally[CONFIRMED], 'other')} of {len(listed)} claims hold, and "
           f"{tally[UNDECIDED]} are not decided: {more}.", "",
           "## What still holds of the papers", "",
           "Each claim is judged again by the same bounds, with another TCP and nothing else "
           "changed but the marks, or with senders that are paced; the pages have all figures.", "",
           *table]
    return "\n".join(out) + "\n"


def _figures(paper: Paper, made: Sequence[Row],
             over_time: Sequence[traces.Found]) -> tuple[dict[str, str], list[str]]:
    """The pictures by their files, and what a page says with them: Markdown."""
    text, files, undrawn = paper.text, dict[str, str](), []
    out = ["## The figures", ""]
    for spec in text.get("figure", ()):
        if drawn := figure(spec, paper, made, over_time):
            name = f"{paper.name}-{spec['name']}.svg"
            files[name] = drawn
            one = spec.get("kind") in {traces.KIND, "flows"}
            first = next(e.first for e in paper.experiments if e.name == spec["experiment"])
            many = f"One run each, with seed {first}." if one else _cell(text["thinned"])
            lacking = [trace.title for trace, line in over_time
                       if trace.figure == spec["name"] and not line]
            absent = f" Absent: {'; '.join(lacking)}." if lacking else ""
            out += [f"### {spec['head']}", "", f"![{spec['head']}]({name})", "",
                    f"{_cell(spec.get('about', ''))} {many}{absent}".strip(), "",
                    *_numbers(spec, paper, made)]
        else:
            undrawn.append(spec["head"])
    if undrawn:
        out += ["Not drawn, for no run of it is kept yet:", "",
                *(f"- {head}" for head in undrawn), ""]
    if left := text.get("undrawn"):
        out += [_cell(left), ""]
    return files, out


def page(paper: Paper) -> dict[str, str]:
    """The files of a paper below docs/results, by name: the page, or of one that asks questions
    that and the page of its claims, and its pictures."""
    made, listed = paper.made(), claims.load(paper.directory)
    text, eras = paper.text, other_eras(paper, listed)
    have = [era for era in eras if era.made]
    judged = {claim.id: verdict_of(claim, paper, made) for claim in listed}
    over_time = traces.found(paper)
    files, pictures = _figures(paper, made, over_time)
    out = [f"# {text['title']}{': the claims' * paper.asks}", "",
           f"Made by `make ledger` from `netns-scenarios/papers/{paper.name}`, by `make "
           f"paper-{paper.name}`, which runs what is missing.", "",
           *_state(paper, made, listed, eras), "", text["note"].strip(), "",
           "## The claims", "",
           "Measured: mean over the seeds with its 95 % interval. A claim is confirmed when the "
           "whole interval is within what is accepted, differs when all of it is outside, and is "
           "not decidable otherwise. What is accepted was in the repository at the commit that "
           "made the runs, which a test compares where the history has it."
           + " A receiver's window closes where the sweep has a small one, and behind a hole in "
           "what has arrived, until it is mended." * any(
               _held_back(one.cells) for one in judged.values())
           + f" Of those with {SEEN.strip()} some cells had run before, at an earlier commit: what "
           "is claimed was found in the text later, or what is accepted, or of which cells, was "
           "mended." * any(claim.seen for claim in listed)
           + _alone(paper, listed, made), "",
           *claims_table(paper, listed, made, have), ""]
    if differing := _differences(paper, listed, made):
        out += ["## Where it differs", "", *differing]
    if undecided := _undecided(paper, listed, made):
        out += ["## Where it is not decidable", "", *undecided, ""]
    out += [*pictures, "## Why these bounds", "", *_bounds(paper, listed), ""]
    if paper.asks:
        _, lists = then_and_now([load(name) for name in names()])
        out += [*_what_holds(listed, judged, CONFIRMED, "What holds"),
                "## What becomes of the papers' claims", "",
                "Then: the paper's own TCP, as near as Linux comes; of this page, CUBIC that is "
                "not paced.", "", *lists]
    out += [f"## What the cells{' and the figures over time' * bool(over_time)} were made with", "",
            *_made_with([*made, *(row for era in eras for row in era.made),
                         *traces.runs(over_time)]), "",
            "Each row of `results*.jsonl` and `traces.jsonl` has the command that makes its run "
            "again, to the byte, and the digest to compare."]
    if paper.asks:
        heads = {f"{paper.name}-{spec['name']}.svg": spec["head"] for spec in text["figure"]}
        files[f"{paper.name}.md"] = _one_page(
            paper, made, listed, {name: head for name, head in heads.items() if name in files})
    files[paper.claims_page] = "\n".join(out) + "\n"
    return files


def quick(paper: Paper, made: Sequence[Row]) -> str:
    """A line for each claim, of what a quick look has."""
    out = []
    for claim in claims.load(paper.directory):
        try:
            judged = verdict.judge(claim, _axes(paper), made, paper.seeds)
        except KeyError:
            continue
        if judged.value:
            out.append(f"{claim.id:<8} {_shown(claim, judged.value):>12}  accepted "
                       f"{claim.accepted()}: {claim.says}")
    return "\n".join(out)


def write(paper: Paper) -> None:
    """The page and its pictures, and what tells of all papers."""
    _put(_files([paper]))


def _files(papers: Iterable[Paper]) -> dict[str, str]:
    files = of_all()
    for paper in papers:
        if f"{paper.name}.md" not in files:
            files |= page(paper)
    return files


def _put(files: Mapping[str, str]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (RESULTS / name).write_text(text)
    for name in _no_more(files):
        (RESULTS / name).unlink()


def _no_more(files: Mapping[str, str]) -> list[str]:
    """Pictures in docs/results that the pages among these had and have no more."""
    return [path.name for name in files if name.endswith(".md")
            for path in sorted(RESULTS.glob(f"{name.removesuffix('.md')}-*.svg"))
            if path.name not in files]


def stale(files: Mapping[str, str]) -> list[str]:
    """Those that are not in docs/results as they are here, or should not be there."""
    return [*(name for name, text in files.items()
              if not (RESULTS / name).exists() or (RESULTS / name).read_text() != text),
            *_no_more(files)]


def _tally(judged: Iterable[Judged]) -> dict[str, int]:
    found = Counter(one.verdict for one in judged)
    return {one: found[one] for one in (CONFIRMED, DIFFERS, UNDECIDED)}


def _cost(paper: Paper) -> str:
    """Of 10 000 cells like those of a paper that have run: a line of a table."""
    if not (made := paper.made()):
        return f"| {paper.name} | none has run | | | |"
    each = 60 * _minutes(made) / len({row["cell"] for row in made})
    alone, job = (10_000 * (each + more) / 3600 for more in (SETUP_S, SETUP_S + JOB_S))
    return (f"| {paper.name} ({paper.text.get('like', '')}) | {each:.1f} | {alone:.1f} | {job:.1f} "
            f"| {60 * job / CPUS:.0f} min |")


def index(papers: Sequence[Paper]) -> str:
    """docs/results/README.md."""
    out = ["# The papers, replayed", "",
           "What the papers behind these disciplines claim, beside what we measure on the real "
           "kernel: one page for each paper, with its figures and a verdict for each claim.", "",
           "| paper | claims | confirmed | differ | not decidable | without all cells | cells | of "
           "| CPU min |", "|---" * 9 + "|"]
    for paper in papers:
        made, listed = paper.made(), claims.load(paper.directory)
        judged = [verdict_of(claim, paper, made) for claim in listed]
        short = sum(one.seeds < claim.least(paper.seeds)
                    for one, claim in zip(judged, listed, strict=True))
        have, asked = _ran(paper, made)
        out.append(f"| [{_cell(paper.text['title'])}]({paper.name}.md) | {len(listed)} | "
                   + " | ".join(map(str, _tally(judged).values()))
                   + f" | {short} | {have} | {asked} | {_minutes(made):.0f} |")
    out += ["", "Not decidable: fewer than three seeds have all its cells, the 95 % interval lies "
            "across a bound, or there is no ratio, for a seed has 0. `make paper-NAME` runs what "
            "is absent; how a claim is written and judged is in [scenarios.md](../scenarios.md). "
            "What becomes of the claims with the TCP of today, and which discipline to take "
            "where, is in [today.md](today.md).",
            "", "## What 10 000 cells cost", "",
            "CPU hours, from the CPU seconds of the rows, of the papers' own TCP; to them come, "
            f"for each cell, {SETUP_S} s for the run's own set-up and figures, and on a cluster "
            f"{JOB_S} s more ([cluster.md](../cluster.md)).", "",
            "| 10 000 cells like those of | CPU s a cell | one machine, CPU h | Slurm, CPU h | on "
            f"{CPUS} CPUs |", "|---" * 5 + "|", *map(_cost, papers)]
    return "\n".join(out) + "\n"


#: What became of a claim: its verdict then, its verdict in the other era, and a column's head.
FATES = ((CONFIRMED, DIFFERS, "holds no more"), (DIFFERS, CONFIRMED, "holds now"),
         (CONFIRMED, CONFIRMED, "still holds"), (DIFFERS, DIFFERS, "differs in both"))


def then_and_now(papers: Sequence[Paper]) -> tuple[list[str], list[str]]:
    """What still holds of the papers' claims in other eras, and what does not: a table of how many,
    and lists of which; Markdown."""
    table = ["| paper | TCP | " + " | ".join(fate for *_, fate in FATES)
             + " | not decided in one of them |", "|---" * (3 + len(FATES)) + "|"]
    lists: list[str] = []
    for paper in papers:
        listed, made = claims.load(paper.directory), paper.made()
        then = {claim.id: verdict_of(claim, paper, made) for claim in listed}
        for era in other_eras(paper, listed):
            if not era.made:
                table.append(f"| [{paper.name}]({paper.claims_page}) | {era.head} | "
                             + "has not run | " + " | " * len(FATES) + "|")
                continue
            fates = {fate: [c for c in listed if (before, after) == (
                then[c.id].verdict, era.verdicts[c.id].verdict)] for before, after, fate in FATES}
            decided = sum(map(len, fates.values()))
            table.append(f"| [{paper.name}]({paper.claims_page}) | {era.head} | "
                         + " | ".join(str(len(found)) for found in fates.values())
                         + f" | {len(listed) - decided} |")
            if not decided:
                continue
            lists += [f"### {paper.name}, {era.head}", "", f"With {era.about}.", "",
                      f"| | what the paper says | accepted | then | {era.head} | |",
                      "|---" * 6 + "|"]
            lists += ["| " + " | ".join(map(_cell, (
                c.id, c.says, c.accepted(), _shown(c, then[c.id].value),
                _shown(c, era.verdicts[c.id].value), fate))) + " |"
                for *_, fate in FATES[:-1] for c in fates[fate]]
            lists.append("")
    return table, lists


def of_all() -> dict[str, str]:
    """What tells of all papers, as page() gives a paper's files."""
    papers = [load(name) for name in names()]
    files = {"README.md": index(papers)}
    for paper in papers:
        if paper.asks:
            files |= page(paper)
    return files


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 with --check when a file is not what it would be."""
    parser = argparse.ArgumentParser(prog="ledger", description="Write docs/results from the rows "
                                     "and claims of the papers; runs nothing.")
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs")
    args = parser.parse_args(argv)
    files = _files(load(name) for name in names())
    wrong = stale(files) if args.check else []
    if not args.check:
        _put(files)
    for name in wrong:
        print(f"ledger: docs/results/{name} is not what the rows and claims give: make ledger",
              file=sys.stderr)
    return 1 if wrong else 0


