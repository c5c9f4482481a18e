# SPDX-License-Identifier: GPL-2.0
"""The demo: every discipline of demo_workloads.py on its ground, under some seeds, and a report."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

from aqmlab import ROOT
from aqmlab.report import html_report, load_runs, static_plots
from aqmlab.report.intervals import text_table
from aqmlab.run import run_directory

from . import sweep
from .demo_workloads import GROUNDS, Discipline, Ground

SEEDS = (1, 2, 3)


def jobs_of(workload: Ground, disciplines: Iterable[Discipline], seeds: Iterable[int],
            words: Sequence[str] = ()) -> dict[str, sweep.Job]:
    """Return the runs of some disciplines in a workload, by the name of their directory.

    words: further words for `run`
    """
    seeds = [*seeds]
    return {
        "-".join([workload.scenario, *re.findall(r"[\w.=%]+", one.name), str(buffer), str(seed)]):
        sweep.Job(
            [workload.scenario, "--qdisc", one.qdisc(buffer), "--seed", str(seed),
             *sweep.settings(workload.settings), *words],
            one.name, buffer)
        for one in disciplines for buffer in workload.buffers for seed in seeds
    }


def jobs() -> dict[str, sweep.Job]:
    """All runs, by the name of their directory."""
    return {name: job for ground in GROUNDS.values()
            for name, job in jobs_of(ground, (*ground.rivals, *ground.disciplines), SEEDS).items()}


def notes(workloads: Iterable[Ground]) -> str:
    """Return what readers of the report should know of some workloads."""
    return " ".join(one.note for one in workloads if one.note)


def made(args: argparse.Namespace, prog: str, wanted: Mapping[str, sweep.Job],
         note: str) -> list[load_runs.Section]:
    """Make the runs that are missing, and write their report. Return them as sections.

    Raises SystemExit with a message if a run failed, and with 130 if it was interrupted.
    """
    try:
        done = sweep.run(args, wanted, note)
    except KeyboardInterrupt:
        print(f"{prog}: interrupted; `{prog} --resume` keeps the finished runs", file=sys.stderr)
        raise SystemExit(130) from None
    if failed := [name for name in wanted if name not in done]:
        raise SystemExit(
            f"{prog}: {len(failed)} runs failed, {failed[0]} first; see {args.out / sweep.LOG}, "
            f"and {run_directory.working(args.out / failed[0])} if it began")
    found = load_runs.collect([args.out])
    html_report.write(args.out / "report.html", found)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed, 130 interrupted."""
    args = sweep.parser("demo", "Compare queue disciplines, each where it is at home.",
                        ROOT / "out" / "demo", resume=False).parse_args(argv)
    began = time.monotonic()
    found = made(args, "demo", jobs(), notes(GROUNDS.values()))
    rows = [row for section in found for row in section.rows]
    (args.out / "summary.json").write_text(
        json.dumps([row.as_json() for row in rows], indent=1) + "\n")
    for section in found:
        if section.any["scenario"] == "dumbbell":
            picture = args.out / f"goodput-{section.buffer}.png"
            picture.write_bytes(static_plots.goodput_picture(section))
    print()
    for section in found:
        print(f"{section.any['scenario']}, {text_table(section.rows)}")
    print(f"demo: {args.out / 'report.html'}, {time.monotonic() - began:.0f} s in all")
    return 0
