# SPDX-License-Identifier: GPL-2.0
"""Metrics of the state of TCP connections over time, from tcp.csv, which --tcp-state writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import traffic_metrics

#: Columns of tcp.csv that have a distribution.
COLUMNS = ("cwnd", "srtt_ms", "pacing_mbps")


def of_flows(
    tcp: Mapping[str, NDArray[np.float64]], flows: Sequence[int], from_s: float, to_s: float
) -> dict[str, Any] | None:
    """Return the distribution of each column over the samples of flows between from_s and to_s.

    None without samples. An RTT of 0 is none: the connection has not measured one yet.
    """
    if not tcp:
        return None
    inside = (tcp["time_s"] >= from_s - 1e-9) & (tcp["time_s"] < to_s - 1e-9)
    mine = np.isin(tcp["flow"], flows) & inside & (tcp["srtt_ms"] > 0)
    if not mine.any():
        return None
    return {column: traffic_metrics.spread(tcp[column][mine]) for column in COLUMNS}
