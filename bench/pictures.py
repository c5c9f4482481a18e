# SPDX-License-Identifier: GPL-2.0
"""Draw the plots of docs/performance.md. Equal costs give equal bytes."""

from __future__ import annotations

from itertools import cycle

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from aqmlab.qdiscs.metadata import all_metadata
from bench.figures import TOP, Figures, costs, short
from bench.instructions import Costs

FOLDER = TOP / "docs"
#: Mainline's kinds for comparison, and their shade of gray.
BESIDE = {"pfifo": "0.75", "red": "0.6", "choke": "0.5", "sfq": "0.35", "fq_codel": "0"}
OURS = ("C0", "C1", "C2", "C3", "C4", "C5", "C6", "C8", "C9", "navy", "darkgreen")  # no grey


def growth(axes: Axes, found: Costs, regime: str) -> None:
    """Plot cost against the number of flows, with a line per kind and its name at the end."""
    ends = []
    ticks: set[int] = set()
    colours = {**BESIDE, **dict(zip(all_metadata(), cycle(OURS)))}
    for kind, colour in colours.items():
        points = sorted((cell.flows, cost) for cell, cost in found.items()
                        if (cell.qdisc, cell.regime) == (kind, regime))  # fmt: skip
        if not points:
            continue
        flows, here = zip(*points, strict=True)
        dashes = "--" if kind in BESIDE else "-"
        axes.plot(flows, here, dashes, color=colour, linewidth=1.3, marker=".", markersize=4)
        ends.append((here[-1], kind, colour))
        ticks.update(flows)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sorted(ticks), [short(flow) for flow in sorted(ticks)])
    axes.minorticks_off()
    costs_shown = (100, 200, 500, 1000, 2000, 5000)
    axes.set_yticks(costs_shown, [str(cost) for cost in costs_shown])
    axes.set_title(regime, loc="left")
    axes.set_xlabel("flows")
    axes.grid(alpha=0.3)
    name_ends(axes, ends, max(ticks))


def name_ends(axes: Axes, ends: list[tuple[float, str, str]], right: float) -> None:
    """Write the name of each line at its right end, without overlaps."""
    low = 0.0
    for cost, kind, colour in sorted(ends):
        low = max(cost, low * 1.12)
        axes.annotate(kind, (right, low), xytext=(16, 0), textcoords="offset points", color=colour,
                      va="center", fontsize=8, annotation_clip=False)  # fmt: skip


def draw(figures: Figures) -> None:
    """Draw all pictures."""
    found = costs(figures)
    with mpl.rc_context({"svg.hashsalt": "bench", "svg.fonttype": "none", "font.size": 9}):
        picture, both = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
        for axes, regime in zip(both, ("standing", "overload"), strict=True):
            growth(axes, found, regime)
        both[0].set_ylabel("instructions per offered packet")
        picture.subplots_adjust(left=0.07, right=0.91, bottom=0.12, top=0.92, wspace=0.28)
        picture.savefig(FOLDER / "packet-cost.svg", metadata={"Date": None})
        plt.close(picture)
