# SPDX-License-Identifier: GPL-2.0
"""Compare one qdisc with others in each workload of the demo.

A verdict is about one metric in one workload. It is taken seed by seed, as `comparison` does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from aqmlab.exceptions import UserError
from aqmlab.qdiscs import names
from labkit import trees
from labkit.paths import OUT

from . import demo, module_rivals, regression, sweep, verdicts
from .demo_workloads import WORKLOADS
from .wanted import check_options, wanted_runs, wanted_workloads

#: Exit status with --worse-than.
WORSE_THAN = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed or has no --metric to judge by, 2 when it was asked
    wrongly, 3 if a metric is worse than --worse-than allows, 130 interrupted."""
    parser = sweep.parser(
        "compare",
        "Compare a qdisc with mainline's in the demo's workloads: docs/your-own.md.",
        OUT / "compare",
        resume=False,
        operands="--mine 'KIND OPTIONS'",
        example="--mine 'qsdrr limit 200' --against cake",
    )
    parser.add_argument(
        "--mine",
        required=True,
        metavar="'KIND OPTIONS'",
        help="as for tc, {rate} and others are the workload's",
    )
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="build the sch_NAME.c and tcp_NAME.c in it",
    )
    parser.add_argument(
        "--kernel",
        action="append",
        default=[],
        type=trees.named,
        metavar="NAME|DIR",
        help="run on it, or compare several: docs/your-kernel.md",
    )
    parser.add_argument(
        "--engine", default="", metavar="qemu", help="run kernels as Debian ships them"
    )
    # A sentence refuses any other clock. It is not in the help, because there is no choice.
    parser.add_argument("--clock", default="virtual", help=argparse.SUPPRESS)
    parser.add_argument(
        "--against",
        default="",
        metavar="KIND,...",
        help="the others, kinds or whole lines (mainline's)",
    )
    parser.add_argument("--name", default="", help="what tables and plots call it")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="a variant per value of {NAME} in --mine, or cc",
    )
    parser.add_argument(
        "--base",
        type=Path,
        metavar="DIR|COMMIT",
        help="compare with its --out DIR, or the module at COMMIT",
    )
    parser.add_argument(
        "--worse-than",
        metavar="PERCENT",
        help="exit with 3 if worse; junit.xml, compare.sarif",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="judge by it, as 'probe loss' or calls.loss",
    )
    parser.add_argument(
        "--seeds", type=int, default=3, metavar="N", help="per workload (%(default)s)"
    )
    parser.add_argument(
        "--workload",
        action="append",
        default=[],
        metavar="NAME",
        help=", ".join(WORKLOADS),
    )
    parser.add_argument(
        "--workloads",
        default="",
        metavar="SET",
        help="rfc7928, or a TOML file like it",
    )
    parser.add_argument(
        "--trace",
        default="",
        metavar="FILE",
        help="the bottleneck's rate and delay follow it",
    )
    args = parser.parse_args(argv)
    began = time.monotonic()
    try:
        if args.seeds < 2:
            raise UserError(f"--seeds: {args.seeds} given, an interval needs 2 or more")
        columns = [verdicts.metric(name) for name in args.metric] or verdicts.METRICS
        workloads = wanted_workloads(args)
        if args.base and not args.base.exists() and args.module:
            place = args.out.with_name(f"{args.out.name}-base")
            before = module_rivals.at_commit(args.module[0], str(args.base), place)
            args.module, args.base = [*args.module, before], None
        jobs, mine = wanted_runs(args, workloads)
        most = regression.threshold(args.worse_than) if args.worse_than else 0.0
        old = (
            regression.base_runs(
                args.base, [name for name, job in jobs.items() if job.name == mine[0]]
            )
            if args.base
            else {}
        )
        lines = [job.words[2] for job in jobs.values()]
        for folders in [*module_rivals.rivals(args.module).values()] or [args.module]:
            check_options(lines, folders, args.kernel or [""], args.engine)
    except UserError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    sections = demo.run_and_report(
        args,
        "compare",
        jobs,
        {name: {**workload.about(), "advice": ""} for name, workload in workloads.items()},
    )
    try:
        regression.add_base(sections, old, mine[0])
        if args.metric:
            verdicts.measured(sections, columns)
    except UserError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    unjudged = [*verdicts.missing(sections, columns)] if args.metric else []
    for sentence in unjudged:
        print(f"compare: {sentence}", file=sys.stderr)
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
        source = regression.source_of(args.module, names.kind(args.mine))
        regression.write_junit(args.out / "junit.xml", judged, most, source)
        regression.write_sarif(args.out / "compare.sarif", judged, most, source)
    for change in judged:
        if change.worse or change.perhaps:
            print(f"compare: {change.said(most)}", file=sys.stderr)
    print(
        f"\ncompare: {args.out / 'report.html'}, {args.out / 'verdicts.csv'}, "
        f"{time.monotonic() - began:.0f} s in all"
    )
    if any(change.worse for change in judged):
        return WORSE_THAN
    return 1 if most and unjudged else 0
