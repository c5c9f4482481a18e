# SPDX-License-Identifier: GPL-2.0
"""Compare one qdisc with others in each workload of the demo.

A verdict is about one metric in one workload. It is taken seed by seed, as `comparison` does.
"""

from __future__ import annotations

import csv
import itertools
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter
from typing import Any

from labkit import engines, outside
from labkit.errors import LabError
from labkit.request import Request

from aqmlab import ROOT
from aqmlab.exceptions import UserError, unknown
from aqmlab.qdiscs import names
from aqmlab.qdiscs.metadata import all_metadata
from aqmlab.report.comparison import BETTER, INDISTINCT, WORSE, candidates
from aqmlab.report.intervals import Column, align, column_of, deep
from aqmlab.report.load_runs import Section
from aqmlab.run.wires import queue_commands

from . import demo, sweep, workload_sets
from .demo_workloads import TODAY, WORKLOADS, Discipline, Workload, fields

MARKS = {BETTER: "+", WORSE: "-", INDISTINCT: " "}


#: A workload without one of the groups has no such metric. The probe is a sparse flow of UDP.
METRICS = (
    *(column_of(title) for title in ("goodput", "sd", "probe delay p50", "probe delay p99",
                                     "probe loss")),
    Column("tagged UDP loss, %", "loss of tagged UDP",
           lambda result: deep(result, "groups.tagged.loss"),
           scale=100, digits=2, better=-1, floor=0.001, top=1.0),
    column_of("request mean"),
)


@dataclass(frozen=True)
class Verdict:
    """What a metric says of `mine` beside `other`: BETTER, WORSE or INDISTINCT."""

    section: Section
    column: Column
    mine: str
    other: str
    word: str


def verdicts(sections: Sequence[Section], mine: Sequence[str]) -> Iterator[Verdict]:
    """Compare each discipline of `mine` with each other one, by all metrics that both have."""
    for section in sections:
        for column in METRICS:
            found = {one.name: one for one in candidates(section.rows, column)}
            yield from (Verdict(section, column, one, other, found[one].against(found[other]))
                        for one in mine if one in found
                        for other in found if other not in mine)


def table(section: Section, found: Sequence[Verdict], mine: Sequence[str]) -> str:
    """Return one workload as text. If one discipline is compared, marks say how it fares."""
    marks = {(one.column.title, one.other): MARKS[one.word] for one in found
             if one.section is section and len(mine) == 1}
    rows = sorted(section.rows, key=lambda row: row.name not in mine)
    shown = [column for column in METRICS if any(row.cell(column) for row in rows)]
    cells = [["", *(column.title for column in shown)]]
    for row in rows:
        means = [(column, row.cell(column)) for column in shown]
        cells.append([row.name, *(
            f"{one.text(column.scale, column.digits) if one else ''} "
            f"{marks.get((column.title, row.name), ' ')}" for column, one in means)])
    return "\n".join([f"{section.about['title']}: {section.any['scenario']}, buffer "
                      f"{section.buffer} packets",
                      *align(cells), ""])


def counts(found: Sequence[Verdict]) -> str:
    """Return a table of how many verdicts each other discipline has, as text."""
    many = len({one.mine for one in found}) > 1
    by_pair: dict[tuple[str, str], Counter[str]] = {}
    for one in found:
        by_pair.setdefault((one.mine, one.other), Counter())[one.word] += 1
    words = (BETTER, WORSE, INDISTINCT)
    return "\n".join(align([
        [f"{found[0].mine} is" if not many else "", *words],
        *([f"than {other}" if not many else f"{mine} than {other}",
           *(str(by_word[word]) for word in words)]
          for (mine, other), by_word in by_pair.items())]))


def write_csv(path: Path, found: Sequence[Verdict]) -> None:
    """Write all verdicts with means and half-widths of 95 % intervals, one per row."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["scenario", "buffer", "metric", "mine", "mean", "ci95", "other",
                         "other_mean", "other_ci95", "verdict"])
        for one in found:
            rows = {row.name: row for row in one.section.rows}
            scale = one.column.scale
            numbers = [[name, mean.value * scale, mean.half * scale] for name in
                       (one.mine, one.other)
                       if (mean := rows[name].cell(one.column))]
            writer.writerow([one.section.any["scenario"], one.section.buffer, one.column.title,
                             *itertools.chain(*numbers), one.word])


def variants(template: str, settings: Sequence[str], name: str) -> dict[str, str]:
    """Return each line that a template stands for, by its name.

    settings: NAME=VALUE,VALUE,... where {NAME} is in the template; all combinations are made
    Raises UserError.
    """
    choices: dict[str, list[str]] = {}
    wanted = placeholders(template)
    for setting in settings:
        key, _, listed = setting.partition("=")
        if not listed:
            raise UserError(f'--set "{setting}": needs NAME=VALUE,VALUE,...')
        if key not in wanted:
            raise UserError(f'--set {key}: --mine has no {{{key}}}, so nothing would change')
        choices[key] = listed.split(",")
    known = {*fields(1), "rate", *choices}
    for word in wanted:
        if word not in known:
            raise unknown("placeholder in --mine", word, known)
    lines = {}
    for values in itertools.product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        line = template
        for key, value in chosen.items():
            line = line.replace(f"{{{key}}}", value)
        lines[" ".join([name, *(f"{key}={value}" for key, value in chosen.items())])] = line
    return lines


def placeholders(template: str) -> list[str]:
    """Return the names in braces. Raises UserError if the braces do not match."""
    try:
        return [word for _, word, _, _ in Formatter().parse(template) if word is not None]
    except ValueError as error:
        raise UserError(f'"{template}": {error}; a placeholder is written {{buffer}}') from error


def known_kind(option: str, kind: str, modules: Sequence[Path]) -> None:
    """Raise UserError if neither the lab's kernel nor a module has a kind."""
    outer = [name for path in modules for name in outside.names(path, "sch_")]
    if kind not in (known := {*names.ours(), *names.mainline(), *outer}):
        raise unknown(f"qdisc for {option}", kind, known)


def others_in(workload: Workload, against: Sequence[str]) -> list[Discipline]:
    """Return the disciplines that mine is compared with; without `against` mainline's."""
    mainline = {kind: one for one in workload.rivals
                if (kind := one.name.split()[0]) not in all_metadata()}
    if not against:
        return [*mainline.values()]
    options = TODAY | {kind: card["DEMO"] for kind, card in all_metadata().items()}
    found = []
    for line in against:
        kind, _, rest = line.partition(" ")
        if rest:
            found.append(replace(workload.line(kind, rest), name=line))
        elif kind in mainline:
            found.append(mainline[kind])
        else:
            found.append(workload.line(kind, options.get(kind, "")))
    return found


def check_options(lines: Sequence[str], modules: Sequence[Path]) -> None:
    """Boot once and add each qdisc to a device. Raises UserError with tc's complaint."""
    script = ["exec 2>&1"]
    for line in dict.fromkeys(lines):
        commands = [f"tc {command}" for command in queue_commands("lo", "root", line)]
        script += [f"{one} || {{ echo {shlex.quote(one)}; exit 1; }}" for one in commands]
        script += ["tc qdisc del dev lo root"]
    try:
        booted = engines.run(Request(["sh", "-c", "\n".join(script)], modules=modules),
                             capture=True)
    except LabError as error:
        raise UserError(str(error)) from error
    if booted.status:
        raise UserError(f"{booted.stdout.decode(errors='replace').strip()}\n"
                        "nothing was run" + (f"; {booted.reason}" if booted.reason else ""))


def wanted_workloads(args: Any) -> dict[str, Workload]:
    """Return the workloads by name. Raises UserError."""
    known = workload_sets.load(args.workloads) if args.workloads else WORKLOADS
    for name in args.workload:
        if name not in known:
            raise unknown("workload", name, known)
    return {name: workload_sets.with_trace(one, args.trace) if args.trace else one
            for name, one in known.items() if name in (args.workload or known)}


def wanted_runs(args: Any, workloads: Mapping[str, Workload]) -> tuple[
        dict[str, sweep.Job], list[str]]:
    """Return all runs, and the names of the disciplines that are compared.

    Raises UserError.
    """
    for path in args.module:
        try:
            outside.check(path)
        except LabError as error:
            raise UserError(str(error)) from error
    if not args.mine.split():
        raise UserError('--mine: needs a kind, as in --mine "pfifo limit {buffer}"')
    kind = args.mine.split()[0]
    known_kind("--mine", kind, args.module)
    against = [word.strip() for word in args.against.split(",") if word.strip()]
    for line in against:
        known_kind("--against", line.split()[0], ())
        if word := next((w for w in placeholders(line) if w not in {*fields(1), "rate"}), None):
            raise unknown("placeholder in --against", word, {*fields(1), "rate"})
    lines = variants(args.mine, args.set, args.name or f"{kind} (yours)")
    words = [word for path in args.module for word in ("--module", str(path.resolve()))]
    jobs: dict[str, sweep.Job] = {}
    for key, workload in workloads.items():
        mine = [replace(workload.line(*line.split(" ", 1)) if " " in line else
                        workload.line(line, ""), name=name) for name, line in lines.items()]
        seeds = range(1, args.seeds + 1)
        jobs |= demo.jobs_of(key, workload, mine, seeds, words)
        jobs |= demo.jobs_of(key, workload, others_in(workload, against), seeds)
    return jobs, [*lines]


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed, 2 when it was asked wrongly, 130 interrupted."""
    parser = sweep.parser("compare", "Compare a qdisc with mainline's in the demo's workloads.",
                          ROOT / "out" / "compare", resume=False)
    parser.add_argument("--mine", required=True, metavar="'KIND OPTIONS'",
                        help="the qdisc as tc calls it; {buffer}, {bytes}, {rate} and others "
                             "stand for what a workload gives: docs/your-own.md")
    parser.add_argument("--module", action="append", default=[], type=Path, metavar="DIR",
                        help="build and load the modules of a directory, see run --help")
    parser.add_argument("--against", default="", metavar="KIND,...",
                        help="qdiscs to compare with, by kind or as whole lines (mainline's)")
    parser.add_argument("--name", default="", help="how tables and plots call the qdisc")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE,...",
                        help="compare a variant for each value of {NAME} in --mine")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="(%(default)s)")
    parser.add_argument("--workload", action="append", default=[], metavar="NAME",
                        help=f"only this one of {', '.join(WORKLOADS)}; may be given again")
    parser.add_argument("--workloads", default="", metavar="SET",
                        help="take another set of workloads: rfc7928, or a TOML file like it")
    parser.add_argument("--trace", default="", metavar="FILE",
                        help="let the bottleneck's rate and delay follow a trace")
    args = parser.parse_args(argv)
    began = time.monotonic()
    try:
        if args.seeds < 2:
            raise UserError(f"--seeds: {args.seeds} given, an interval needs 2 or more")
        workloads = wanted_workloads(args)
        jobs, mine = wanted_runs(args, workloads)
        check_options([job.words[2] for job in jobs.values()], args.module)
    except UserError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    sections = demo.run_and_report(args, "compare", jobs, {
        name: {**one.about(), "advice": ""} for name, one in workloads.items()})
    found = [*verdicts(sections, mine)]
    write_csv(args.out / "verdicts.csv", found)
    print()
    for section in sections:
        print(table(section, found, mine))
    if len(mine) == 1:
        print(f"+ {mine[0]} is better than this one, - it is worse, else not distinguishable\n")
    print(counts(found))
    print(f"\ncompare: {args.out / 'report.html'}, {args.out / 'verdicts.csv'}, "
          f"{time.monotonic() - began:.0f} s in all")
    return 0
