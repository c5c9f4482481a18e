# SPDX-License-Identifier: GPL-2.0
"""Compare the kernel in the lab with theory: run the cells of docs/results/calibration.md."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aqmlab import ROOT
from aqmlab.compare import sweep
from aqmlab.measure.derived_metrics import choke_bound, choke_theory
from aqmlab.report import intervals

from .markdown import as_number
from .paper import PAPERS
from .prediction import Prediction, Result
from .predictions import CELLS, LAWS

STORED = PAPERS / "calibration.json"
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class CalibrationLine:
    """A line of the page: theory and measurement, means over the seeds."""

    law: Prediction
    theory: float
    measured: intervals.Mean

    @property
    def error(self) -> float:
        """Relative error of the measurement; 0 if it respects a bound."""
        return self.law.error(self.theory, self.measured.value)


def numbers(cell: str, result: Result) -> list[list[float]]:
    """Return theory's value and the measured one of each law of a cell."""
    return [
        [float(f"{x:.6g}") for x in (law.theory(result), law.measured(result))]
        for law in LAWS
        if law.cell == cell
    ]


def lines() -> list[CalibrationLine]:
    """Return the page's lines from the stored numbers: by cell, seed and law of the cell."""
    stored = json.loads(STORED.read_text())
    found = []
    for law in LAWS:
        at = [one for one in LAWS if one.cell == law.cell].index(law)
        values = [seed[at] for seed in stored[law.cell]]
        theory, measured = ([pair[which] for pair in values] for which in (0, 1))
        found.append(CalibrationLine(law, statistics.fmean(theory), intervals.mean(measured)))
    return found


#: Cells of ahammed2010 beside CHOKe's fluid model: draws, flows, experiment, discipline and point.
CHOKE = (
    *((1, 32, "theory", "choke-300", {"udp_rate": rate}) for rate in (1.0, 1.25, 2.0, 4.0, 8.0)),
    (2, 32, "intervals-32", "a-choke-k", {"intervals": 1, "udp_rate": 2.0}),
    (1, 10, "candidates", "m-choke", {"candidates": 1, "udp_rate": 2.0}),
    (2, 10, "candidates", "m-choke", {"candidates": 2, "udp_rate": 2.0}),
)


@dataclass(frozen=True)
class ChokeLine:
    """A line about CHOKe: UDP's share of the link in percent, in theory and measured.

    rate: UDP's rate over the link's
    bound: the largest share at any rate
    """

    draws: int
    flows: int
    rate: float
    theory: float
    bound: float
    measured: float


def choke_lines(number: Callable[..., str]) -> list[ChokeLine]:
    """Return the lines about CHOKe. number: PageModel.number of ahammed2010"""
    return [
        ChokeLine(
            draws,
            flows,
            at["udp_rate"],
            100 * choke_theory(at["udp_rate"], draws),
            100 * choke_bound(draws),
            as_number(number(experiment, discipline, "udp:link_share", scale=100, digits=2, **at)),
        )
        for draws, flows, experiment, discipline, at in CHOKE
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 1 if a run failed."""
    parser = sweep.parser(
        "calibrate",
        "Run the cells of docs/results/calibration.md, and store "
        "theory's values and the measured ones.",
        ROOT / "out" / "calibration",
        resume=False,
        example="--jobs 2",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=tuple(CELLS),
        metavar="CELL",
        help="run this cell, and keep the numbers of the others; may be repeated",
    )
    args = parser.parse_args(argv)
    cells = {name: cell for name, cell in CELLS.items() if name in (args.only or CELLS)}
    jobs = {f"{name}-{seed}": cell.job(seed) for name, cell in cells.items() for seed in SEEDS}
    done = sweep.run(args, jobs)
    if failed := [name for name in jobs if name not in done]:
        print(
            f"calibrate: {len(failed)} runs failed, {failed[0]} first: see {args.out}",
            file=sys.stderr,
        )
        return 1
    at = args.out.resolve()
    stored = json.loads(STORED.read_text()) if args.only else {}
    for name, cell in cells.items():
        stored[name] = [numbers(name, cell.result(at / f"{name}-{seed}")) for seed in SEEDS]
    STORED.write_text(json.dumps(stored, indent=1) + "\n")
    print("calibrate: now run make ledger")
    return 0
