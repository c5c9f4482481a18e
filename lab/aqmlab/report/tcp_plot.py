# SPDX-License-Identifier: GPL-2.0
"""The report's lines of TCP's state over time: of each group, and of its first flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.measure import logs

from .rounding import short

Array = NDArray[np.float64]

STRETCHES = 60  # of time in a line
FIRST_FLOWS = 4  # of a group that have a line each
BAND = (10, 50, 90)  # percentiles over the flows of a group
#: Columns of tcp.csv, as a reader chooses them.
CHOICES = {
    "cwnd": "congestion window, segments",
    "ssthresh": "slow start threshold, segments",
    "srtt_ms": "smoothed RTT, ms",
    "pacing_mbps": "pacing rate, Mb/s",
    "unacked": "segments in flight",
    "delivered_ce": "segments delivered with CE since the start",
    "retransmits": "segments sent again since the start",
}


def _lines(tcp: Mapping[str, Array], mine: NDArray[np.bool_], edges: Array) -> dict[str, Any]:
    """Return the percentiles BAND of each statistic in each stretch of time."""
    stretch = np.digitize(tcp["time_s"][mine], edges[1:-1])
    found = {}
    for column, title in CHOICES.items():
        values = tcp[column][mine]
        parts = [values[stretch == at] for at in range(len(edges) - 1)]
        parts = [part[~np.isnan(part)] for part in parts]
        if any(len(part) for part in parts):
            found[title] = [
                short(np.percentile(part, q) if len(part) else None for part in parts) for q in BAND
            ]
    return found


def of_run(read: logs.Logs) -> dict[str, Any] | None:
    """Return the lines of one run, by groups and flows; None without --tcp-state."""
    tcp = read.tcp
    if not tcp or not len(tcp["time_s"]):
        return None
    last_s = float(tcp["time_s"].max())
    edges = np.linspace(0, last_s, 1 + min(STRETCHES, len(np.unique(tcp["time_s"]))))
    flows: dict[str, list[int]] = {}
    for row in read.ends:
        flows.setdefault(row["group"], []).append(int(row["flow"]))
    lines = {}
    for group, members in flows.items():
        if found := _lines(tcp, np.isin(tcp["flow"], members), edges):
            lines[group] = found
    for group, members in flows.items():
        for flow in members[:FIRST_FLOWS] if group in lines and len(members) > 1 else ():
            if found := _lines(tcp, tcp["flow"] == flow, edges):
                lines[f"{group}, flow {flow + 1}"] = found
    return {"time": short((edges[1:] + edges[:-1]) / 2), "of": lines}
