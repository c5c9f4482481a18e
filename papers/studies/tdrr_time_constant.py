# SPDX-License-Identifier: GPL-2.0
"""Sweep tdrr's time constant over buffers and round-trip times; print the tables as Markdown.

The multi-rtt scenario at a fifth of the paper's size (Kantawala and Turner 2001, section 4.2:
500 Mb/s, 50 flows at each of two round-trip times): the same share of the link and of the buffer
for each flow.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import product
from statistics import mean
from typing import Any

from aqmlab import ROOT
from aqmlab.compare import sweep, sweep_job
from aqmlab.report import intervals

TIME_CONSTANTS_MS = (30, 100, 300, 1000, 10000)
BUFFERS = (20, 40, 200)  # packets; the paper's 100, 200, 1000
RTTS_MS = ((40, 200), (10, 50))
SETTINGS = {"near_flows": 10, "far_flows": 10, "rate": 100, "warmup": 10, "duration": 20}
# Compared at the paper's round-trip times, the first; qsdrr without hysteresis is its plain DRR.
RIVALS = ("sfq limit {0}", "fq_codel limit {0}", "qsdrr limit {0} nohysteresis", "qsdrr limit {0}")

Rtts = tuple[int, int]
Results = Mapping[str, Mapping[str, Any]]


def name_of(qdisc: str, rtts: Rtts, seed: int) -> str:
    """A run's directory."""
    return f"{qdisc} {rtts[0]}-{rtts[1]}ms seed {seed}".replace(" ", "_")


def job(qdisc: str, rtts: Rtts, seed: int) -> sweep_job.Job:
    """One run."""
    values = {**SETTINGS, "near_rtt": rtts[0], "far_rtt": rtts[1]}
    return sweep_job.Job(
        ["multi-rtt", "--qdisc", qdisc, *sweep_job.settings(values), "--seed", str(seed)], qdisc
    )


def cell(results: list[Mapping[str, Any]]) -> str:
    """Share of the fair share that the far flows got, and utilization of the link."""
    far = intervals.mean([r["groups"]["far"]["share_of_fair"] for r in results])
    return f"{far.text(100, 0)} ({100 * mean(r['summary']['utilization'] for r in results):.1f})"


def table(done: Results, rows: Iterable[str], rtts: Rtts, seeds: Iterable[int]) -> str:
    """One line for each discipline of ``rows``, one column for each buffer."""
    lines = [
        f"| {rtts[0]} and {rtts[1]} ms | " + " | ".join(f"{b} packets" for b in BUFFERS) + " |",
        "|---" * (1 + len(BUFFERS)) + "|",
    ]
    for row in rows:
        cells = [
            cell([done[name_of(row.format(buffer), rtts, seed)] for seed in seeds])
            for buffer in BUFFERS
        ]
        lines.append(f"| {row.replace(' limit {0}', '')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, then print."""
    parser = sweep.parser(
        "lab/python -m studies.tdrr_time_constant",
        __doc__.partition("\n")[0],
        ROOT / "out/tdrr-time-constant",
        resume=True,
    )
    parser.add_argument("--seeds", type=int, default=3, help="runs of each setting (default 3)")
    arguments = parser.parse_args()
    seeds = range(1, arguments.seeds + 1)
    rows = [f"tdrr limit {{0}} time_constant {ms}ms" for ms in TIME_CONSTANTS_MS]
    asked = {rtts: (*rows, *RIVALS) if rtts == RTTS_MS[0] else rows for rtts in RTTS_MS}
    jobs = {
        name_of(kind.format(buffer), rtts, seed): job(kind.format(buffer), rtts, seed)
        for seed, (rtts, kinds), buffer in product(seeds, asked.items(), BUFFERS)
        for kind in kinds
    }
    done = sweep.run(arguments, jobs)
    if missing := [name for name in jobs if name not in done]:
        sys.exit(f"{len(missing)} runs failed, {missing[0]} first: see {arguments.out}")
    print("\n\n".join(table(done, asked[rtts], rtts, seeds) for rtts in RTTS_MS))


if __name__ == "__main__":
    main()
