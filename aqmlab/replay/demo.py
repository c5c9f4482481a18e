# SPDX-License-Identifier: GPL-2.0
"""The demo: every discipline of demo_workloads.py on its ground, under some seeds, and a report."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

from aqmlab import ROOT
from aqmlab.report import html_report, load_runs, static_plots
from aqmlab.report.intervals import text_table
from aqmlab.run import run_directory

from . import sweep
from .demo_workloads import GROUNDS

SEEDS = (1, 2, 3)


def jobs() -> dict[str, sweep.Job]:
    """All runs, by the name of their directory."""
    return {
        f"{ground.scenario}-{one.name.replace(' ', '-')}-{buffer}-{seed}": sweep.Job(
            [ground.scenario, "--qdisc", one.qdisc(buffer), "--seed", str(seed),
             *sweep.settings(ground.settings)],
            one.name, buffer)
        for ground in GROUNDS.values() for one in (*ground.rivals, *ground.disciplines)
        for buffer in ground.buffers for seed in SEEDS
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed, 130 interrupted."""
    args = sweep.parser("demo", "Compare queue disciplines, each where it is at home.",
                        ROOT / "out" / "demo", resume=False).parse_args(argv)
    began = time.monotonic()
    wanted = jobs()
    try:
        done = sweep.run(args, wanted, " ".join(g.note for g in GROUNDS.values() if g.note))
    except KeyboardInterrupt:
        print("demo: interrupted; `demo --resume` keeps the finished runs", file=sys.stderr)
        return 130
    if failed := [name for name in wanted if name not in done]:
        print(f"demo: {len(failed)} runs failed, {failed[0]} first; see {args.out / sweep.LOG}, "
              f"and {run_directory.working(args.out / failed[0])} if it began", file=sys.stderr)
        return 1
    found = load_runs.collect([args.out])
    html_report.write(args.out / "report.html", found)
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
