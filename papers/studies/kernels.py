# SPDX-License-Identifier: GPL-2.0
"""Run the same experiments on many releases of Linux, as Debian ships them.

QEMU boots them in virtual time (docs/kernels-study.md). The first table names the differences
between kernels that follow each other, and between the oldest and the newest. The others have a
line for each experiment and a cell for each kernel. The tables are Markdown.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab import ROOT
from aqmlab.compare import sweep, sweep_job
from aqmlab.report.intervals import Mean, mean
from labkit import records

from . import kernel_rows
from .kernel_rows import Row

CONTROLS = ("cubic", "reno", "bbr")
QDISCS = {
    "pfifo": "pfifo limit 100",
    "fq_codel": "fq_codel limit 100",
    "pie": "pie limit 100",
    "cake": "cake unlimited",
    "fq": "fq limit 100",
}
SEEDS = (1, 2, 3)

COMMON: Mapping[str, float | str] = {
    "tcp_profile": "today",
    "access": 0,
    "rate": 20,
    "probe": "on",
}
SCENARIOS: Mapping[str, tuple[str, Mapping[str, float | str]]] = {
    "dumbbell": ("dumbbell", {"flows": 10, "rtt": 40, "warmup": 2, "duration": 6}),
    "step load": (
        "step-load",
        {
            **{"base_flows": 4, "step_flows": 4, "steps": 2, "step_every": 2},
            **{"leave": "off", "rtt": 40, "warmup": 2},
        },
    ),
    "web": (
        "web-mix",
        {
            **{"long_flows": 2, "long_rtt": 40, "clients": 40, "think": 2, "cbr_flows": 0},
            **{"window": 2000, "mtu": 1500, "web_start": 1, "warmup": 2, "duration": 6},
        },
    ),
}


#: Stands for a table of differences without a line.
NONE = "No metric differs between two kernels by more than its interval and the least difference."


@dataclass(frozen=True)
class Measure:
    """A number of each run: its name, unit, factor, and the smallest difference worth naming."""

    name: str
    unit: str
    factor: float
    least: float

    def of(self, result: Mapping[str, Any]) -> float:
        """Return the number; NaN if the run has none."""
        summary = result["summary"]
        probe = result["groups"].get("probe", {}).get("delay_ms") or {}
        value = {
            "utilization": summary["utilization"],
            "queue": summary["queue_delay_ms"]["mean"],
            "probe p99": probe.get("p99", math.nan),
            "drops": summary["dropped"] / max(1, summary["dropped"] + summary["sent"]),
            "marks": summary["marked"] / max(1, summary["sent"]),
            "Jain": summary["jain"],
            "timeouts": result["timeouts"],
        }[self.name]
        return math.nan if value is None else self.factor * value


MEASURES = (
    Measure("utilization", "%", 100, 1),
    Measure("queue", "ms", 1, 1),
    Measure("probe p99", "ms", 1, 2),
    Measure("drops", "%", 100, 0.2),
    Measure("Jain", "", 1, 0.02),
    Measure("timeouts", "", 1, 5),
)


@dataclass(frozen=True)
class Experiment:
    """A scenario with a congestion control and a qdisc."""

    scenario: str
    control: str
    qdisc: str

    @property
    def name(self) -> str:
        """Return how the tables call it."""
        return f"{self.scenario}, {self.control}, {self.qdisc}"

    def directory(self, kernel: str, seed: int) -> str:
        """Return the name of a run's directory."""
        words = (self.scenario.replace(" ", "-"), self.control, self.qdisc, kernel, str(seed))
        return "-".join(words)

    def job(self, kernel: str, seed: int) -> sweep_job.Job:
        """Return one run."""
        scenario, settings = SCENARIOS[self.scenario]
        given = {**COMMON, **settings, "cc": self.control}
        words = [scenario, "--engine", "qemu", "--kernel", kernel, "--qdisc", QDISCS[self.qdisc]]
        words += [*sweep_job.settings(given), "--seed", str(seed)]
        return sweep_job.Job(words, self.qdisc)


@dataclass(frozen=True)
class Difference:
    """A metric that differs between two kernels."""

    experiment: Experiment
    measure: Measure
    before: str
    after: str
    old: Mean
    new: Mean
    difference: Mean

    @property
    def size(self) -> float:
        """Return the difference in units of the smallest that is worth naming."""
        return abs(self.difference.value) / self.measure.least

    def row(self) -> str:
        """Return a line of the table."""
        digits = 1 if self.measure.unit else 2
        numbers = (each.text(digits=digits) for each in (self.old, self.new, self.difference))
        what = f"{self.measure.name} {self.measure.unit}".strip()
        cells = (self.experiment.name, what, f"{self.before} to {self.after}", *numbers)
        return f"| {' | '.join(cells)} |"


Values = Mapping[tuple[Experiment, str], Mapping[int, Mapping[str, float]]]


def numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a run by their names."""
    return {measure.name: measure.of(result) for measure in MEASURES}


def by_kernel(rows: Iterable[Row]) -> Values:
    """Return the numbers of runs by experiment and kernel, and then by seed."""
    found: dict[tuple[Experiment, str], dict[int, Mapping[str, float]]] = {}
    for row in sorted(rows, key=lambda row: row.seed):
        experiment = Experiment(row.scenario, row.control, row.qdisc)
        found.setdefault((experiment, row.kernel), {})[row.seed] = row.numbers
    return found


def pairs_of(kernels: Sequence[str]) -> list[tuple[str, str]]:
    """Return the kernels to compare: neighbours, and the oldest with the newest."""
    return list(dict.fromkeys([*itertools.pairwise(kernels), (kernels[0], kernels[-1])]))


def differences(values: Values, kernels: Sequence[str]) -> Iterator[Difference]:
    """Yield each metric whose interval of the difference does not contain 0, seed by seed.

    values: numbers by experiment and kernel, and by seed; kernels: the oldest first. Seeds that
    only one of two kernels has are left out
    """
    for before, after in pairs_of(kernels):
        for experiment in dict.fromkeys(experiment for experiment, _ in values):
            old, new = (values.get((experiment, kernel), {}) for kernel in (before, after))
            seeds = sorted(old.keys() & new.keys())
            if len(seeds) < 2:
                continue
            for measure in MEASURES:
                pairs = [(old[seed][measure.name], new[seed][measure.name]) for seed in seeds]
                if any(math.isnan(value) for pair in pairs for value in pair):
                    continue
                found = mean([b - a for a, b in pairs])
                if abs(found.value) >= measure.least and abs(found.value) > found.half:
                    first, second = (mean(side) for side in zip(*pairs, strict=True))
                    yield Difference(experiment, measure, before, after, first, second, found)


def difference_table(found: Iterable[Difference]) -> str:
    """Return the differences as a table, the largest first."""
    head = "| experiment | metric | kernels | before | after | difference |"
    rows = [each.row() for each in sorted(found, key=lambda each: -each.size)]
    return "\n".join([head, "|---" * 6 + "|", *rows]) if rows else NONE


def table(values: Values, kernels: Sequence[str], measure: Measure) -> str:
    """Return a line for each experiment with the mean of MEASURE on each kernel."""
    head = f"| {measure.name} {measure.unit}".rstrip() + " | " + " | ".join(kernels) + " |"
    lines = [head, "|---" * (1 + len(kernels)) + "|"]
    for experiment in dict.fromkeys(experiment for experiment, _ in values):
        cells = []
        for kernel in kernels:
            runs = values.get((experiment, kernel), {})
            found = [run[measure.name] for run in runs.values()]
            digits = 1 if measure.unit else 2
            known = found and not any(map(math.isnan, found))
            cells.append(mean(found).text(digits=digits) if known else "")
        lines.append(f"| {experiment.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = sweep.parser(
        "lab/python -m studies.kernels",
        __doc__.partition("\n")[0],
        ROOT / "out/kernels",
        resume=True,
    )
    known = records.names("cloud", seldom=True)[::-1]
    for name, allowed in (
        ("kernels", known),
        ("scenarios", tuple(SCENARIOS)),
        ("controls", CONTROLS),
        ("qdiscs", tuple(QDISCS)),
    ):
        parser.add_argument(f"--{name}", nargs="+", choices=allowed, default=allowed)
    seeds = " ".join(map(str, SEEDS))
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help=f"({seeds})")
    parser.add_argument("--stored", action="store_true", help="run nothing; show committed runs")
    parser.add_argument("--store", action="store_true", help=f"add to {kernel_rows.ROWS.name}")
    return parser.parse_args()


def report(rows: Sequence[Row]) -> str:
    """Return the tables of runs."""
    values = by_kernel(rows)
    kernels = sorted({row.kernel for row in rows}, key=records.order)
    tables = [difference_table(differences(values, kernels))]
    tables += [table(values, kernels, measure) for measure in MEASURES]
    return "\n\n".join(tables) + "\n"


def main() -> int:
    """Run what is missing and print the tables. Return 1 if a run failed."""
    args = arguments()
    if args.stored:
        print(report([row for row in kernel_rows.read() if kernel_rows.is_asked(row, args)]))
        return 0
    args.seeds = args.seeds or SEEDS
    experiments = [
        Experiment(*parts)
        for parts in itertools.product(args.scenarios, args.controls, args.qdiscs)
    ]
    # Seed by seed, so that a run that is interrupted has compared all kernels.
    jobs = {
        experiment.directory(kernel, seed): experiment.job(kernel, seed)
        for seed in args.seeds
        for experiment in experiments
        for kernel in args.kernels
    }
    done = sweep.run(args, jobs)
    rows = [
        Row(
            *(experiment.scenario, experiment.control, experiment.qdisc),
            *(kernel, seed, numbers(result)),
            **kernel_rows.facts(result),
        )
        for experiment, kernel, seed in itertools.product(experiments, args.kernels, args.seeds)
        if (result := done.get(experiment.directory(kernel, seed)))
    ]
    if args.store and rows:
        kernel_rows.add(kernel_rows.ROWS, rows)
    if rows:
        print(report(rows))
    missing = len(jobs) - len(done)
    print(f"{len(done)} of {len(jobs)} runs; {missing} are missing or failed")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
