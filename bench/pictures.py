# SPDX-License-Identifier: GPL-2.0
"""Draw the plots of docs/performance.md. Equal costs give equal bytes."""

from __future__ import annotations

from aqmlab.qdiscs.metadata import all_metadata
from aqmlab.report import svg_plots
from bench.figures import TOP, Figures, costs
from bench.instructions import Costs
from bench.times import TARGETS, Times, ratio

FOLDER = TOP / "docs"
#: Mainline's kinds for comparison.
BESIDE = ("pfifo", "red", "choke", "sfq", "fq_codel")


def growth(found: Costs, regime: str) -> svg_plots.Panel:
    """Plot cost against the number of flows, with a line for each kind."""
    lines = [
        svg_plots.Line(
            kind,
            sorted(
                (float(cell.flows), float(cost), 0.0)
                for cell, cost in found.items()
                if (cell.qdisc, cell.regime) == (kind, regime)
            ),
        )
        for kind in (*all_metadata(), *BESIDE)
    ]
    return svg_plots.Panel(
        regime,
        "flows",
        "instructions per offered packet",
        [line for line in lines if line.points],
        x_log=True,
        y_log=True,
    )


def ratios(found: Times, regime: str) -> svg_plots.Panel:
    """Plot our times as ratios to mainline's nearest kind against the number of flows."""
    lines = []
    for kind in TARGETS:
        cells = {cell for cell in found.get(kind, {}) if cell.rpartition(" ")[0] == regime}
        flows = sorted(int(cell.rpartition(" ")[2]) for cell in cells)
        by = [(n, ratio(found, kind, (regime, n))) for n in flows]
        lines.append(svg_plots.Line(kind, [(float(n), r, 0.0) for n, r in by if r is not None]))
    return svg_plots.Panel(
        regime,
        "flows",
        "ns / ns of mainline's nearest kind",
        [line for line in lines if line.points],
        x_log=True,
        y_log=True,
        at_y=1.0,
    )


def draw(figures: Figures) -> None:
    """Draw all pictures."""
    if figures["time"]:
        (FOLDER / "packet-time.svg").write_text(
            svg_plots.picture([ratios(figures["time"], r) for r in ("standing", "overload")])
        )
    found = costs(figures)
    (FOLDER / "packet-cost.svg").write_text(
        svg_plots.picture([growth(found, regime) for regime in ("standing", "overload")])
    )
