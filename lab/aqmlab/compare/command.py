# SPDX-License-Identifier: GPL-2.0
"""Compare one qdisc with others in each workload of the demo.

A verdict is about one metric in one workload. It is taken seed by seed, as `comparison` does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from aqmlab.exceptions import UserError
from labkit import trees
from labkit.paths import OUT

from . import demo, regression, sweep, verdicts
from .demo_workloads import WORKLOADS
from .wanted import check_options, wanted_runs, wanted_workloads

#: Exit status with --worse-than.
WORSE_THAN = 3


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
        help="exit with status 3 if a metric is worse by more, as in 20%%; writes junit.xml and "
        "compare.sarif",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="judge by this metric only, such as 'probe loss' or calls.loss (GROUP.METRIC of "
        "result.json); may be given again",
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
        columns = [verdicts.metric(name) for name in args.metric] or verdicts.METRICS
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
        if args.metric:
            verdicts.measured(sections, columns)
    except UserError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    found = [*verdicts.verdicts(sections, mine, columns)]
    verdicts.write_csv(args.out / "verdicts.csv", found)
    print()
    for section in sections:
        print(verdicts.table(section, found, mine, columns))
    if len(mine) == 1:
        print(f"+ {mine[0]} is better than this one, - it is worse, else not distinguishable\n")
    if found:
        print(verdicts.counts(found))
    judged = [*regression.judge(sections, columns, mine, most)] if most else []
    if most:
        regression.write_junit(args.out / "junit.xml", judged, most)
        regression.write_sarif(args.out / "compare.sarif", judged, most)
    for one in judged:
        if one.worse or one.perhaps:
            print(f"compare: {one.said(most)}", file=sys.stderr)
    print(
        f"\ncompare: {args.out / 'report.html'}, {args.out / 'verdicts.csv'}, "
        f"{time.monotonic() - began:.0f} s in all"
    )
    return WORSE_THAN if any(one.worse for one in judged) else 0
