# SPDX-License-Identifier: GPL-2.0
"""What each kind does with its defaults, at 1 Mb/s to 10 Gb/s, and with split-gso and without.

The first-use scenario: one bulk flow and a probe. `pfifo` has the limit of a device's queue, 1000
packets. The tables are Markdown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab import ROOT
from aqmlab.compare import sweep, sweep_job
from aqmlab.qdiscs.metadata import all_metadata

PFIFO = "pfifo limit 1000"
# With the rate given: studies/links.py compares this with no option.
KINDS = tuple(f"{kind} bandwidth {{rate}}mbit" for kind in all_metadata())
SPLIT = ("split_gso", "nosplit_gso")
CAKE = tuple(f"cake unlimited besteffort {word}" for word in ("split-gso", "no-split-gso"))

UTILIZATION = 0.95  # of pfifo's, at least
QUEUE_MS = 100  # of queue, at most
LOSS = 0.05  # of the probe, at most, unless pfifo loses more

#: A cell with a run that is no result, because the receiver's window limited the flow.
FAILED = "\u2013"


@dataclass(frozen=True)
class Rate:
    """A column: Mb/s, round-trip time in ms, seeds, and what the scenario gets beside."""

    mbps: int
    rtt_ms: float
    seeds: int
    more: dict[str, float | str]

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.mbps // 1000} Gb/s" if self.mbps >= 1000 else f"{self.mbps} Mb/s"


# As long as the window needs to saw a few times after the first slow start; at 10 Gb/s that takes
# a round-trip time of a machine room, or millions of packets.
RATES = (
    Rate(1, 20, 3, {"warmup": 10, "duration": 60}),
    Rate(100, 20, 3, {"warmup": 5, "duration": 20}),
    Rate(1000, 20, 1, {"warmup": 5, "duration": 30}),
    Rate(10000, 1, 1, {"warmup": 1, "duration": 3, "spread": 0, "interval": 100}),
)
GSO_RATES = (
    Rate(10, 20, 1, {"warmup": 5, "duration": 20, "offloads": "on"}),
    Rate(100, 20, 1, {"warmup": 5, "duration": 20, "offloads": "on"}),
    Rate(1000, 20, 1, {"warmup": 5, "duration": 20, "offloads": "on"}),
)


@dataclass(frozen=True)
class DefaultMetrics:
    """Of one run: share of the link, ms of the probe's and of the whole queue, seconds of CPU."""

    utilization: float
    probe_ms: float
    queue_ms: float
    loss: float
    cpu_s: float


def name_of(qdisc: str, rate: Rate, seed: int) -> str:
    """A run's directory."""
    offloads = "-gso" if "offloads" in rate.more else ""
    return f"{qdisc.format(rate=rate.mbps)}-{rate.mbps}{offloads}-{seed}".replace(" ", "_")


def jobs(qdiscs: Iterable[str], rates: Sequence[Rate]) -> dict[str, sweep_job.Job]:
    """The runs of these at these, by the name of their directory."""
    made = {}
    for qdisc in qdiscs:
        for rate in rates:
            given = qdisc.format(rate=rate.mbps)
            words = sweep_job.settings({"rate": rate.mbps, "rtt": rate.rtt_ms, **rate.more})
            for seed in range(1, rate.seeds + 1):
                made[name_of(qdisc, rate, seed)] = sweep_job.Job(
                    ["first-use", "--qdisc", given, *words, "--seed", str(seed)], given
                )
    return made


@dataclass(frozen=True)
class DefaultRuns:
    """result.json of the runs that worked, by their directory's name."""

    done: Mapping[str, Mapping[str, Any]]

    def figures(self, qdisc: str, rate: Rate, seed: int) -> DefaultMetrics | None:
        """Of one run; None if it failed, as its log says."""
        if not (result := self.done.get(name_of(qdisc, rate, seed))):
            return None
        summary, probe = result["summary"], result["groups"]["probe"]
        return DefaultMetrics(
            summary["utilization"],
            probe["delay_ms"]["p99"],
            summary["queue_delay_ms"]["p99"],
            probe["loss"],
            result["cpu_seconds"],
        )

    def worst(self, qdisc: str, rate: Rate) -> DefaultMetrics | None:
        """The worst of each figure over the seeds; None if a run failed."""
        seeds = range(1, rate.seeds + 1)
        all_ = [seen for seed in seeds if (seen := self.figures(qdisc, rate, seed))]
        if len(all_) < rate.seeds:
            return None
        return DefaultMetrics(
            min(f.utilization for f in all_),
            *(
                max(getattr(f, name) for f in all_)
                for name in ("probe_ms", "queue_ms", "loss", "cpu_s")
            ),
        )


def ms(value: float) -> str:
    """Milliseconds with two figures, or what there is before the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def shown(figures: DefaultMetrics) -> str:
    """A cell, without a verdict."""
    lost = f", {100 * figures.loss:.1f} % lost" if figures.loss >= 0.001 else ""
    return (
        f"{100 * figures.utilization:.1f} %, {ms(figures.probe_ms)}, "
        f"{ms(figures.queue_ms)} ms{lost}"
    )


def harm(mine: DefaultMetrics, pfifo: DefaultMetrics) -> str:
    """What is wrong with a cell, or nothing."""
    wrong = []
    if mine.utilization < UTILIZATION * pfifo.utilization:
        wrong.append("idle")
    if max(mine.probe_ms, mine.queue_ms) > QUEUE_MS:
        wrong.append("queue")
    if mine.loss > max(LOSS, pfifo.loss):
        wrong.append("loss")
    return " and ".join(wrong)


def defaults_table(runs: DefaultRuns, kinds: Iterable[str]) -> str:
    """A line for each kind, a column for each rate."""
    lines = [
        "| | " + " | ".join(rate.name for rate in RATES) + " |",
        "|---" * (1 + len(RATES)) + "|",
    ]
    for kind in (PFIFO, *kinds):
        cells = []
        for rate in RATES:
            mine, pfifo = runs.worst(kind, rate), runs.worst(PFIFO, rate)
            wrong = harm(mine, pfifo) if mine and pfifo and kind != PFIFO else ""
            cells.append((shown(mine) if mine else FAILED) + (f" **{wrong}**" if wrong else ""))
        lines.append(f"| {kind.split()[0]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def gso_lines(kinds: Iterable[str]) -> list[str]:
    """The disciplines of the second table."""
    return [PFIFO, *CAKE, *(f"{kind} {split}" for kind in kinds for split in SPLIT)]


def gso_table(runs: DefaultRuns, kinds: Iterable[str]) -> str:
    """Two lines for each kind, a column for each rate."""
    lines = [
        "| | " + " | ".join(rate.name for rate in GSO_RATES) + " |",
        "|---" * (1 + len(GSO_RATES)) + "|",
    ]
    for qdisc in gso_lines(kinds):
        cells = []
        for rate in GSO_RATES:
            mine = runs.worst(qdisc, rate)
            cells.append(f"{shown(mine)}, {mine.cpu_s:.1f} s" if mine else FAILED)
        words = qdisc.split()
        lines.append(
            f"| {words[0]} {words[-1] if qdisc != PFIFO else ''} | ".replace("  ", " ")
            + " | ".join(cells)
            + " |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, then print."""
    parser = sweep.parser(
        "lab/python -m studies.defaults",
        __doc__.partition("\n")[0],
        ROOT / "out/defaults",
        resume=True,
    )
    parser.add_argument("--kinds", nargs="+", metavar="KIND", help="only these")
    arguments = parser.parse_args()
    kinds = [k for k in KINDS if not arguments.kinds or k.split()[0] in arguments.kinds]
    wanted = jobs((PFIFO, *kinds), RATES) | jobs(gso_lines(kinds), GSO_RATES)
    runs = DefaultRuns(sweep.run(arguments, wanted))
    print(f"{defaults_table(runs, kinds)}\n\n{gso_table(runs, kinds)}")


if __name__ == "__main__":
    main()
