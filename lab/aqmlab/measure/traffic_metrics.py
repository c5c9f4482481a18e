# SPDX-License-Identifier: GPL-2.0
"""Compute the metrics of UDP and web traffic from flowgen's logs.

They cover the datagrams sent, and the requests started, between `from_s` and `to_s`.

- Loss: datagrams that did not arrive / datagrams sent. flowgen waits for queued datagrams at the
  end of the run, so a datagram that did not arrive is lost.
- Delay: from sending a datagram to its arrival, propagation delay included, for a regular sample
  of the datagrams that arrived.
- Completion time: from the client's connect() to the last byte. Mean and sd cover only completed
  requests. Percentiles count unfinished requests as longer than all others, so a percentile that
  falls among them is unknown.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Percentiles with which a plot draws a distribution.
PERCENTS = (0, 1, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 100)
SIZES_KB = (10, 20, 50, 100, 200)  # bounds between the size classes of `by_size`, kB
#: One more class. With a Pareto distribution of exponent 1.3, the mean size in it is 90 kB.
ABOUT_90_KB = (75, 110)


def of_flows(table: Array, flows: Array, from_s: float, to_s: float) -> Array:
    """Select rows of a log by flow and time, from_s <= time < to_s.

    The first two columns of the log are time and flow.
    """
    mine = np.isin(table[:, 1], flows)
    return table[mine & (table[:, 0] >= from_s - 1e-9) & (table[:, 0] < to_s - 1e-9)]


def loss(datagrams: Array) -> float | None:
    """Return the share of datagrams lost, 0 to 1; None if none was sent."""
    sent = float(np.sum(datagrams[:, 2]))
    return 1 - float(np.sum(datagrams[:, 3])) / sent if sent else None


def spread(x: Array) -> dict[str, float] | None:
    """Return mean, sd, percentiles and maximum of x; None if x is empty."""
    if not len(x):
        return None
    return {
        "mean": float(np.mean(x)),
        "sd": float(np.std(x)),
        **{f"p{p}": float(np.percentile(x, p)) for p in (50, 95, 99)},
        "max": float(np.max(x)),
    }


def percentiles(x: Array) -> list[float]:
    """Return the percentiles PERCENTS of x; an empty list if x is empty."""
    return [float(value) for value in np.percentile(x, PERCENTS)] if len(x) else []


def pages(requests: Array, flows: Array, connections: int) -> dict[str, Any] | None:
    """Summarize the load times of pages whose parts come over several connections.

    flows: the connections, in the order of the hosts
    A page takes from its time until its last part has come. If a part is missing, the page is
    unfinished. None without a page.
    """
    hosts = {int(flow): number // connections for number, flow in enumerate(flows)}
    found: dict[tuple[int, int], list[NDArray[np.float64]]] = {}
    for row in requests:
        found.setdefault((hosts[int(row[1])], int(row[2])), []).append(row)
    rows = [
        [rows[0][0], host, number, sum(row[3] for row in rows), max(row[4] for row in rows)]
        if len(rows) == connections and not any(np.isnan(row[4]) for row in rows)
        else [rows[0][0], host, number, sum(row[3] for row in rows), np.nan]
        for (host, number), rows in found.items()
    ]
    return completion(np.array(rows).reshape(-1, 5))


def _known(seconds: Array, p: float) -> float | None:
    """Return a percentile of completion times, where NaN is longer than any number.

    None if the percentile falls among the NaNs.
    """
    place = p / 100 * (len(seconds) - 1)
    done = np.sort(seconds[~np.isnan(seconds)])
    return float(np.interp(place, np.arange(len(done)), done)) if place <= len(done) - 1 else None


def completion(requests: Array) -> dict[str, Any] | None:
    """Summarize the completion times of requests, in s; None if there was no request.

    `by_size` has the same for classes of size. `10-20 kB` includes 10 kB and excludes 20 kB. The
    class `75-110 kB` overlaps two others.
    """
    if not len(requests):
        return None
    seconds = requests[:, 4]
    done = ~np.isnan(seconds)
    kilobytes = requests[:, 3] / 1000
    edges = (0, *SIZES_KB, np.inf)
    by_size = {}
    for low, high in (*itertools.pairwise(edges), ABOUT_90_KB):
        mine = seconds[(kilobytes >= low) & (kilobytes < high)]
        whole = mine[~np.isnan(mine)]
        if len(whole):
            by_size[f"{low}-{high if np.isfinite(high) else 'up'} kB"] = {
                "completed": len(whole),
                "unfinished": len(mine) - len(whole),
                "mean": float(np.mean(whole)),
                "sd": float(np.std(whole)),
            }
    return {
        **(spread(seconds[done]) or {}),
        **{
            name: _known(seconds, p)
            for name, p in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100))
        },
        "completed": int(np.sum(done)),
        "unfinished": int(np.sum(~done)),
        "by_size": by_size,
    }
