# SPDX-License-Identifier: GPL-2.0
"""Draw the plots of a report that need no script.

interactive_plots.py draws most of them for browsers that run scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import interactive_plots, png_plots
from .intervals import column_of, ranked
from .load_runs import Run, Section
from .sentences import delay_sentence, fairness_sentence, queue_sentence


def _goodput_panels(section: Section) -> list[png_plots.Panel]:
    """Of the first seed; none where there is no elastic flow."""
    panels = []
    for name, run in section.first:
        goodput = run.drawn.goodput_bps
        if not len(goodput):
            return []
        panels.append(png_plots.Panel(name, np.arange(1, len(goodput) + 1, dtype=float),
                                  goodput / 1e6))
    return panels


def goodput_picture(section: Section) -> bytes:
    """Each flow's goodput, a panel for each discipline, as PNG."""
    fair = section.any["summary"]["fair_share_bps"]
    return png_plots.goodputs(_goodput_panels(section), fair / 1e6 if fair else None)


def _queue_panel(name: str, run: Run) -> png_plots.Panel:
    return png_plots.Panel(name, run.drawn.time_s, run.drawn.packets)


def _delay_panel(name: str, shown: Mapping[str, Any]) -> list[png_plots.Panel]:
    """Of the queue, and of each group's datagrams, if any; shown: interactive_plots.of_run."""
    part = interactive_plots.QUANTILES / 100
    return [png_plots.Panel(name, np.array(ms), part, of) for of, ms in shown["delays"].items()]


def _loss_panel(name: str, shown: Mapping[str, Any]) -> list[png_plots.Panel]:
    time = np.array(shown["time"])
    return [png_plots.Panel(name, time, np.array(shown[of], dtype=float), of)
            for of in ("dropped", "marked") if shown[of]]


def _still(heading: str, image: bytes, *caption: str, moves: bool = False) -> dict[str, Any]:
    """`moves`: interactive_plots.py draws the same for who can run scripts."""
    return {"heading": heading, "what": heading, "image": png_plots.data_url(image), "moves": moves,
            "caption": " ".join(c for c in caption if c)}


def of_section(section: Section) -> list[dict[str, Any]]:
    """All of a section's, with headings and captions."""
    rows, several = section.rows, len(section.runs) > 1
    fairness = fairness_sentence(rows)
    if fairness and any(len(row.results) > 1 for row in rows):
        fairness = f"Over all seeds: {fairness}"
    made = []
    if several:
        wanted = [column for title in ("utilization", "sd", "queue delay p50")
                  if ranked(rows, column := column_of(title))]
        made.append(_still("The same as a picture", png_plots.intervals(rows, wanted),
                           delay_sentence(rows)))
    seed = section.first[0][1].result["seed"]
    if _goodput_panels(section):
        made.append(_still(
            "Goodput of each flow", goodput_picture(section),
            f"A dot is a flow, the red line the fair share; seed {seed}.",
            fairness, moves=True))
    panels = [_queue_panel(*named) for named in section.first]
    p, buffer = section.any["parameters"], section.buffer
    made.append(_still(
        "The queue over time", png_plots.queues(panels, buffer, p["warmup"]),
        f"Packets in the queue every {p['sample']} ms, {'the red line the buffer, ' * bool(buffer)}"
        f"the warm-up grey; seed {seed}.",
        queue_sentence(section.first, buffer) if buffer and several else "", moves=True))
    shown = [(name, run.drawn.explored) for name, run in section.first]
    made += [
        _still("How long packets wait", png_plots.curves(
            [_delay_panel(*one) for one in shown], "delay, ms", "part that waits no longer"),
            f"Of what is queued at each instant, and of datagrams one way; seed {seed}.",
            moves=True),
        _still("Losses and marks", png_plots.curves(
            [_loss_panel(*one) for one in shown], "time, s", "packets since the start"),
            f"Dropped and marked by the discipline; seed {seed}.", moves=True)]
    return made
