# SPDX-License-Identifier: GPL-2.0
"""Draw the plots of docs/performance.md. Equal costs give equal bytes."""

from __future__ import annotations

from aqmlab.qdiscs.metadata import all_metadata
from aqmlab.report import svg_plots
from bench.figures import TOP, Figures, costs
from bench.instructions import Costs

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


def draw(figures: Figures) -> None:
    """Draw all pictures."""
    found = costs(figures)
    (FOLDER / "packet-cost.svg").write_text(
        svg_plots.picture([growth(found, regime) for regime in ("standing", "overload")])
    )
