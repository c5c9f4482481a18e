# SPDX-License-Identifier: GPL-2.0
"""Compare each kind's defaults with the right `bandwidth`, on links of any rate.

The disciplines are below a shaper and do not know its rate. The first table has steady links. The
second has links whose rate changes by a factor of ten, from two seconds after the change. The third
has the first second on a new link. The tables are Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from aqmlab import ROOT
from aqmlab.compare import sweep, sweep_job
from aqmlab.qdiscs.metadata import all_metadata

FLOWS = (1, 100)
STEPS = ((10, 1), (1, 10), (200, 20), (20, 200), (1000, 100), (100, 1000))  # Mb/s
STEP_S = 5  # a link changes its rate so long after the start
SETTLED_S = 2  # and is measured from so long after that
LONGER_S = 5  # than a run: so long is a trace, which would start again
#: With default options the p99 of the queue delay may be this many times that with the right
#: bandwidth, and at most QUEUE_MS from 10 Mb/s on. The link is used USE times as much, at least.
RATIO, QUEUE_MS, USE = 1.5, 120, 0.99


@dataclass(frozen=True)
class LinkCase:
    """A line: name, Mb/s at the end, the scenario's settings, and Mb/s at the start if others."""

    name: str
    mbps: float
    settings: Mapping[str, float | str] = field(default_factory=dict)
    before: float = 0

    def run(self, kind: str, *, given: bool) -> tuple[str, dict[str, float | str]]:
        """Return the qdisc and the settings of a run. given: `bandwidth` is always the rate."""
        if not given:
            return kind, dict(self.settings)
        change = {"change": f"{STEP_S} bandwidth {self.mbps:g}mbit"} if self.before else {}
        return f"{kind} bandwidth {self.before or self.mbps:g}mbit", {**self.settings, **change}


def seconds(mbps: float) -> float:
    """Return how long to measure: a few hundred packets at 1 Mb/s, 4 s at 1 Gb/s."""
    return 40 if mbps < 10 else 20 if mbps < 100 else 8 if mbps < 1000 else 4


def seeds(kind: str, link: LinkCase) -> range:
    """Return the seeds. One flow under blue or ared uses some % more or less of a slow link."""
    varies = kind in ("blue", "ared") and link.settings["flows"] == 1 and link.mbps <= 20
    return range(1, 4 if varies else 2)


def steady(
    rates: Iterable[float], shapers: Iterable[str], numbers: Sequence[int] = FLOWS
) -> Iterator[LinkCase]:
    """Yield links with a fixed rate, for each number of flows."""
    for mbps in rates:
        for shaper in shapers:
            for flows in numbers:
                name = f"{mbps:g} Mb/s, {shaper}, {flows} flow" + ("s" if flows > 1 else "")
                yield LinkCase(
                    name,
                    mbps,
                    {
                        "rate": mbps,
                        "shaper": shaper,
                        "flows": flows,
                        "spread": 1,
                        "warmup": 3 if mbps > 10 else 10,
                        "duration": seconds(mbps),
                    },
                )


def changing(traces: Path, pairs: Iterable[tuple[float, float]]) -> Iterator[LinkCase]:
    """Yield links whose rate changes once. Their traces are written to a directory."""
    traces.mkdir(parents=True, exist_ok=True)
    for before, after in pairs:
        trace = traces / f"{before:g}-{after:g}.csv"
        end = STEP_S + SETTLED_S + seconds(after) + LONGER_S
        trace.write_text(f"time_s,rate_mbps\n0,{before:g}\n{STEP_S},{after:g}\n{end},{after:g}\n")
        for flows in FLOWS:
            name = f"{before:g} to {after:g} Mb/s, {flows} flow" + ("s" if flows > 1 else "")
            yield LinkCase(
                name,
                after,
                {
                    "trace": str(trace),
                    "flows": flows,
                    "warmup": STEP_S + SETTLED_S,
                    "duration": seconds(after),
                },
                before,
            )


def starting(rates: Iterable[float]) -> Iterator[LinkCase]:
    """Yield the first second of links, with flows that start within 0.1 s."""
    for mbps in rates:
        for flows in FLOWS:
            name = f"{mbps:g} Mb/s, {flows} flow" + ("s" if flows > 1 else "")
            yield LinkCase(
                name,
                mbps,
                {
                    "rate": mbps,
                    "flows": flows,
                    "warmup": 0,
                    "duration": 1,
                    "spread": 0.1 if flows > 1 else 0,
                },
            )


def directory(kind: str, link: LinkCase, given: bool, seed: int) -> str:
    """Return the name of a run's directory."""
    words = (
        kind,
        *link.name.replace(",", "").replace("/", "").split(),
        "given" if given else "default",
        str(seed),
    )
    return "-".join(words)


def jobs(kinds: Iterable[str], links: Iterable[LinkCase]) -> dict[str, sweep_job.Job]:
    """Return the runs of each kind on each link, with its defaults and with the rate given."""
    made = {}
    links = list(links)
    for kind in kinds:
        for link in links:
            for given in (False, True):
                qdisc, settings = link.run(kind, given=given)
                for seed in seeds(kind, link):
                    words = [
                        "first-use",
                        "--qdisc",
                        qdisc,
                        *sweep_job.settings(settings),
                        "--seed",
                        str(seed),
                    ]
                    made[directory(kind, link, given, seed)] = sweep_job.Job(words, qdisc)
    return made


@dataclass(frozen=True)
class LinkMetrics:
    """Means over the seeds: p99 of the queue in ms, use of the link 0..1, dropped packets."""

    delay_ms: float
    use: float
    dropped: float


def figures(
    done: Mapping[str, Mapping[str, Any]],
    kind: str,
    link: LinkCase,
    given: bool,
) -> LinkMetrics | None:
    """Return the figures of one kind on one link; None if a run failed."""
    results = [done.get(directory(kind, link, given, seed)) for seed in seeds(kind, link)]
    summaries = [result["summary"] for result in results if result]
    if len(summaries) < len(results):
        return None
    return LinkMetrics(
        mean(s["queue_delay_ms"]["p99"] for s in summaries),
        mean(s["utilization"] for s in summaries),
        mean(s["dropped"] for s in summaries),
    )


def wrong(link: LinkCase, mine: LinkMetrics, right: LinkMetrics) -> list[str]:
    """Return what a default does worse than it may: "queue", "idle", or nothing."""
    found = []
    if mine.delay_ms > RATIO * right.delay_ms or (link.mbps >= 10 and mine.delay_ms > QUEUE_MS):
        found.append("queue")
    if mine.use < USE * right.use:
        found.append("idle")
    return found


def ms(value: float) -> str:
    """Return milliseconds with two digits, or all before the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def table(
    done: Mapping[str, Mapping[str, Any]],
    kinds: Sequence[str],
    links: Iterable[LinkCase],
    *,
    start: bool = False,
) -> tuple[str, int]:
    """Return a line for each link with a cell for each kind, and how many cells are bad.

    A cell has the p99 of the queue in ms, with default options and with the right `bandwidth`. A
    word in bold says what is beyond the bounds.
    start: the first second, without bounds; the cell also has the dropped packets
    """
    lines = ["| link | " + " | ".join(kinds) + " |", "|---" * (1 + len(kinds)) + "|"]
    bad = 0
    for link in links:
        cells = []
        for kind in kinds:
            mine, right = (figures(done, kind, link, given) for given in (False, True))
            if not mine or not right:
                cells.append("**failed**")
                bad += 1
                continue
            cell = f"{ms(mine.delay_ms)}, {ms(right.delay_ms)}"
            if start:
                cell += f"; {mine.dropped:.0f}, {right.dropped:.0f}"
            elif words := wrong(link, mine, right):
                use = f" {100 * mine.use:.1f}, {100 * right.use:.1f} %" if "idle" in words else ""
                cell += f" **{' '.join(words)}**{use}"
                bad += 1
            cells.append(cell)
        lines.append(f"| {link.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines), bad


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = sweep.parser(
        "lab/python -m studies.links", __doc__.partition("\n")[0], ROOT / "out/links", resume=True
    )
    parser.add_argument("--kinds", nargs="+", metavar="KIND", help="only these")
    parser.add_argument("--short", action="store_true", help="one rate, one shaper, one change")
    return parser.parse_args()


def main() -> int:
    """Run what is missing, print the tables, and return 1 if a default is beyond its bounds."""
    args = arguments()
    kinds = args.kinds or list(all_metadata())
    tables = {
        "steady": list(steady((20,), ("htb",)))
        if args.short
        else [*steady((1, 20, 200, 1000), ("tbf",)), *steady((20,), ("htb", "hfsc"), (1,))],
        "changing": list(changing(args.out / "traces", ((20, 2),) if args.short else STEPS)),
        "starting": [] if args.short else list(starting((1, 20, 1000, 10_000))),
    }
    everything = [link for links in tables.values() for link in links]
    done = sweep.run(args, jobs(kinds, everything))
    beyond = 0
    for name, links in tables.items():
        if links:
            text, bad = table(done, kinds, links, start=name == "starting")
            print(text, end="\n\n")
            beyond += bad
    print(f"{beyond} cells are beyond the bounds or failed")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
