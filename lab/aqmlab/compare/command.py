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
from typing import Any

from aqmlab.exceptions import UserError, unknown
from aqmlab.qdiscs import names
from aqmlab.qdiscs.metadata import all_metadata
from aqmlab.report.comparison import BETTER, INDISTINCT, WORSE, candidates
from aqmlab.report.intervals import Column, align, column_of, deep
from aqmlab.report.load_runs import Section
from aqmlab.run.objects import Interface
from aqmlab.run.queues import queue
from aqmlab.run.render import qdisc_lines
from labkit import engines, outside, trees
from labkit.errors import LabError
from labkit.paths import OUT
from labkit.request import Request

from . import demo, regression, sweep, variants, workload_sets
from .demo_workloads import TODAY, WORKLOADS, Discipline, Workload, fields

#: Exit status with --worse-than.
WORSE_THAN = 3
MARKS = {BETTER: "+", WORSE: "-", INDISTINCT: " "}


#: A workload without one of the groups has no such metric. The probe is a sparse flow of UDP.
METRICS = (
    *(
        column_of(title)
        for title in ("goodput", "sd", "probe delay p50", "probe delay p99", "probe loss")
    ),
    Column(
        "tagged UDP loss, %",
        "loss of tagged UDP",
        lambda result: deep(result, "groups.tagged.loss"),
        scale=100,
        digits=2,
        better=-1,
        floor=0.001,
        top=1.0,
    ),
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
            yield from (
                Verdict(section, column, one, other, found[one].against(found[other]))
                for one in mine
                if one in found
                for other in found
                if other not in mine
            )


def table(section: Section, found: Sequence[Verdict], mine: Sequence[str]) -> str:
    """Return one workload as text. If one discipline is compared, marks say how it fares."""
    marks = {
        (one.column.title, one.other): MARKS[one.word]
        for one in found
        if one.section is section and len(mine) == 1
    }
    rows = sorted(section.rows, key=lambda row: row.name not in mine)
    shown = [column for column in METRICS if any(row.cell(column) for row in rows)]
    cells = [["", *(column.title for column in shown)]]
    for row in rows:
        means = [(column, row.cell(column)) for column in shown]
        cells.append(
            [
                row.name,
                *(
                    f"{one.text(column.scale, column.digits) if one else ''} "
                    f"{marks.get((column.title, row.name), ' ')}"
                    for column, one in means
                ),
            ]
        )
    return "\n".join(
        [
            f"{section.about['title']}: {section.any['scenario']}, buffer {section.buffer} packets",
            *align(cells),
            "",
        ]
    )


def counts(found: Sequence[Verdict]) -> str:
    """Return a table of how many verdicts each other discipline has, as text."""
    many = len({one.mine for one in found}) > 1
    by_pair: dict[tuple[str, str], Counter[str]] = {}
    for one in found:
        by_pair.setdefault((one.mine, one.other), Counter())[one.word] += 1
    words = (BETTER, WORSE, INDISTINCT)
    return "\n".join(
        align(
            [
                [f"{found[0].mine} is" if not many else "", *words],
                *(
                    [
                        f"than {other}" if not many else f"{mine} than {other}",
                        *(str(by_word[word]) for word in words),
                    ]
                    for (mine, other), by_word in by_pair.items()
                ),
            ]
        )
    )


def write_csv(path: Path, found: Sequence[Verdict]) -> None:
    """Write all verdicts with means and half-widths of 95 % intervals, one per row."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "scenario",
                "buffer",
                "metric",
                "mine",
                "mean",
                "ci95",
                "other",
                "other_mean",
                "other_ci95",
                "verdict",
            ]
        )
        for one in found:
            rows = {row.name: row for row in one.section.rows}
            scale = one.column.scale
            numbers = [
                [name, mean.value * scale, mean.half * scale]
                for name in (one.mine, one.other)
                if (mean := rows[name].cell(one.column))
            ]
            writer.writerow(
                [
                    one.section.any["scenario"],
                    one.section.buffer,
                    one.column.title,
                    *itertools.chain(*numbers),
                    one.word,
                ]
            )


def known_kind(option: str, kind: str, modules: Sequence[Path]) -> None:
    """Raise UserError if neither the lab's kernel nor a module has a kind."""
    outer = [name for path in modules for name in outside.names(path, "sch_")]
    if kind not in (known := {*names.ours(), *names.mainline(), *outer}):
        raise unknown(f"qdisc for {option}", kind, known)


def others_in(workload: Workload, against: Sequence[str]) -> list[Discipline]:
    """Return the disciplines that mine is compared with; without `against` mainline's."""
    mainline = {
        kind: one for one in workload.rivals if (kind := one.name.split()[0]) not in all_metadata()
    }
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


def on_kernels(
    args: Any, workloads: Mapping[str, Workload], line: str, words: Sequence[str]
) -> tuple[dict[str, sweep.Job], list[str]]:
    """Return the runs of one qdisc on several kernels, and its name on the first of them."""
    kind = line.split()[0]
    called = {kernel: f"{args.name or kind} on {trees.label(kernel)}" for kernel in args.kernel}
    if len({*called.values()}) < len(args.kernel):
        raise UserError("--kernel: two of them are the same")
    jobs: dict[str, sweep.Job] = {}
    for key, workload in workloads.items():
        one = workload.line(*line.split(" ", 1)) if " " in line else workload.line(line, "")
        for kernel, name in called.items():
            jobs |= demo.jobs_of(
                key,
                workload,
                [replace(one, name=name)],
                range(1, args.seeds + 1),
                [*words, "--kernel", kernel],
            )
    return jobs, [called[args.kernel[0]]]


def check_options(
    lines: Sequence[str], modules: Sequence[Path], kernels: Sequence[str] = ("",)
) -> None:
    """Boot each kernel and add each qdisc to a device. Raises UserError with tc's complaint."""
    script = ["exec 2>&1"]
    for line in dict.fromkeys(lines):
        commands = [f"tc {one}" for one in qdisc_lines(queue(Interface("", "lo"), "root", line))]
        script += [f"{one} || {{ echo {shlex.quote(one)}; exit 1; }}" for one in commands]
        script += ["tc qdisc del dev lo root"]
    for kernel in kernels:
        request = Request(["sh", "-c", "\n".join(script)], modules=modules, kernel=kernel)
        try:
            booted = engines.run(request, capture=True)
        except LabError as error:
            raise UserError(str(error)) from error
        if booted.status:
            raise UserError(
                f"{booted.stdout.decode(errors='replace').strip()}\n"
                "nothing was run" + (f"; {booted.reason}" if booted.reason else "")
            )


def wanted_workloads(args: Any) -> dict[str, Workload]:
    """Return the workloads by name. Raises UserError."""
    known = workload_sets.load(args.workloads) if args.workloads else WORKLOADS
    for name in args.workload:
        if name not in known:
            raise unknown("workload", name, known)
    return {
        name: workload_sets.with_trace(one, args.trace) if args.trace else one
        for name, one in known.items()
        if name in (args.workload or known)
    }


def wanted_runs(
    args: Any, workloads: Mapping[str, Workload]
) -> tuple[dict[str, sweep.Job], list[str]]:
    """Return all runs, and the names of the disciplines that are compared.

    A name of --set is a placeholder of the line, or else a parameter of the runs.
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
    known = {*fields(1), "rate"}
    for line in against:
        known_kind("--against", line.split()[0], ())
        if word := next((w for w in variants.placeholders(line) if w not in known), None):
            raise unknown("placeholder in --against", word, known)
    given = variants.choices(args.set)
    wanted = variants.placeholders(args.mine)
    of_line = {name: values for name, values in given.items() if name in wanted}
    of_runs = {name: values for name, values in given.items() if name not in wanted}
    if of_runs and (against or args.base or of_line):
        raise UserError(
            f"--set {next(iter(of_runs))}: compares the first value with the others, "
            "so leave out --against, --base, and values for placeholders"
        )
    lines = variants.lines(args.mine, of_line, args.name or f"{kind} (yours)")
    if len(args.kernel) > 1 and (against or args.base or given):
        raise UserError(
            "--kernel: several are compared with each other, so leave out --against, "
            "--base and --set"
        )
    kernel = ["--kernel", *args.kernel] if len(args.kernel) == 1 else []
    words = [word for path in args.module for word in ("--module", str(path.resolve()))]
    if len(args.kernel) > 1:
        return on_kernels(args, workloads, args.mine, words)
    words += kernel
    jobs: dict[str, sweep.Job] = {}
    mine = [*lines]
    for key, workload in workloads.items():
        seeds = range(1, args.seeds + 1)
        settings = variants.workloads(workload, of_runs, mine[0], args.module)
        for name, one in settings.items():
            disciplines = [
                replace(
                    one.line(*line.split(" ", 1)) if " " in line else one.line(line, ""),
                    name=name if of_runs else called,
                )
                for called, line in lines.items()
            ]
            made = demo.jobs_of(key, one, disciplines, seeds, words)
            jobs |= {job: replace(made[job], varied=[*of_runs]) for job in made}
        if of_runs:
            mine = [*settings][:1]
        elif against or not args.base:
            jobs |= demo.jobs_of(key, workload, others_in(workload, against), seeds, kernel)
    if args.base and len(mine) > 1:
        raise UserError(f"--base: {len(mine)} variants given, needs one")
    return jobs, mine


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed, 2 when it was asked wrongly, 3 if a metric is worse than
    --worse-than allows, 130 interrupted."""
    parser = sweep.parser(
        "compare",
        "Compare a qdisc with mainline's in the demo's workloads.",
        OUT / "compare",
        resume=False,
    )
    parser.add_argument(
        "--mine",
        required=True,
        metavar="'KIND OPTIONS'",
        help="the qdisc as tc calls it; {buffer}, {bytes}, {rate} and others "
        "stand for what a workload gives: docs/your-own.md",
    )
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="build and load the modules of a directory, see run --help",
    )
    parser.add_argument(
        "--kernel",
        action="append",
        default=[],
        type=trees.named,
        metavar="NAME|DIR",
        help="run on this kernel, or compare two or more with each other: docs/your-kernel.md",
    )
    parser.add_argument(
        "--against",
        default="",
        metavar="KIND,...",
        help="qdiscs to compare with, by kind or as whole lines (mainline's)",
    )
    parser.add_argument("--name", default="", help="how tables and plots call the qdisc")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="compare a variant for each value of {NAME} in --mine; of a parameter "
        "of the runs, such as cc, the first value with the others",
    )
    parser.add_argument(
        "--base",
        type=Path,
        metavar="DIR",
        help="compare with an earlier comparison of another version, which has --out DIR",
    )
    parser.add_argument(
        "--worse-than",
        metavar="PERCENT",
        help="exit with status 3 if a metric is worse by more, as in 20%%; writes junit.xml",
    )
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--workload",
        action="append",
        default=[],
        metavar="NAME",
        help=f"only this one of {', '.join(WORKLOADS)}; may be given again",
    )
    parser.add_argument(
        "--workloads",
        default="",
        metavar="SET",
        help="take another set of workloads: rfc7928, or a TOML file like it",
    )
    parser.add_argument(
        "--trace",
        default="",
        metavar="FILE",
        help="let the bottleneck's rate and delay follow a trace",
    )
    args = parser.parse_args(argv)
    began = time.monotonic()
    try:
        if args.seeds < 2:
            raise UserError(f"--seeds: {args.seeds} given, an interval needs 2 or more")
        workloads = wanted_workloads(args)
        jobs, mine = wanted_runs(args, workloads)
        most = regression.threshold(args.worse_than) if args.worse_than else 0.0
        old = (
            regression.base_runs(
                args.base, [name for name, job in jobs.items() if job.name == mine[0]]
            )
            if args.base
            else {}
        )
        check_options([job.words[2] for job in jobs.values()], args.module, args.kernel or [""])
    except UserError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    sections = demo.run_and_report(
        args,
        "compare",
        jobs,
        {name: {**one.about(), "advice": ""} for name, one in workloads.items()},
    )
    try:
        regression.add_base(sections, old, mine[0])
    except UserError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    found = [*verdicts(sections, mine)]
    write_csv(args.out / "verdicts.csv", found)
    print()
    for section in sections:
        print(table(section, found, mine))
    if len(mine) == 1:
        print(f"+ {mine[0]} is better than this one, - it is worse, else not distinguishable\n")
    if found:
        print(counts(found))
    judged = [*regression.judge(sections, METRICS, mine, most)] if most else []
    if most:
        regression.write_junit(args.out / "junit.xml", judged, most)
    for one in judged:
        if one.worse or one.perhaps:
            print(f"compare: {one.said(most)}", file=sys.stderr)
    print(
        f"\ncompare: {args.out / 'report.html'}, {args.out / 'verdicts.csv'}, "
        f"{time.monotonic() - began:.0f} s in all"
    )
    return WORSE_THAN if any(one.worse for one in judged) else 0
