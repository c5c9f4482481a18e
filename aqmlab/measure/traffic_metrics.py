# SPDX-License-Identifier: GPL-2.0
"""Compute the metrics of UDP and web traffic, from the logs that flowgen writes for them.

All are of what was sent, or asked for, from `from_s` to `to_s`: a datagram counts where it was
sent, a request where it began, whenever they ended.

- Loss: datagrams that did not arrive / datagrams sent. flowgen waits after the run for what is
  still queued, so what did not arrive is lost.
- Delay: from the instant a datagram was sent to its arrival, propagation included, of a regular
  sample of those that arrived.
- Completion: from the client's connect() to the last byte. Mean and sd are of requests that
  completed; what did not is longer than all that did, so a percentile that falls among these is
  not known.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Percentiles that a distribution is drawn by.
PERCENTS = (0, 1, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 100)
SIZES_KB = (10, 20, 50, 100, 200)  # edges of the classes of `by_size`, kB
#: One more class, for files of 90 kB: their mean, by a Pareto distribution with an exponent of 1.3.
ABOUT_90_KB = (75, 110)


def of_flows(table: Array, flows: Array, from_s: float, to_s: float) -> Array:
    """The rows of a log, whose first columns are time and flow, that belong to these flows and
    times; the last instant is not included."""
    mine = np.isin(table[:, 1], flows)
    return table[mine & (table[:, 0] >= from_s - 1e-9) & (table[:, 0] < to_s - 1e-9)]


def loss(datagrams: Array) -> float | None:
    """Share of datagrams lost, 0..1; None when none was sent."""
    sent = float(np.sum(datagrams[:, 2]))
    return 1 - float(np.sum(datagrams[:, 3])) / sent if sent else None


def spread(x: Array) -> dict[str, float] | None:
    """Mean, sd, percentiles and largest of x, in its unit; None when there is none."""
    if not len(x):
        return None
    return {
        "mean": float(np.mean(x)),
        "sd": float(np.std(x)),
        **{f"p{p}": float(np.percentile(x, p)) for p in (50, 95, 99)},
        "max": float(np.max(x)),
    }


def percentiles(x: Array) -> list[float]:
    """x at PERCENTS, in its unit; none of nothing."""
    return [float(value) for value in np.percentile(x, PERCENTS)] if len(x) else []


def _known(seconds: Array, p: float) -> float | None:
    """A percentile of completion times; what never completed is NaN, and longer than all."""
    place = p / 100 * (len(seconds) - 1)
    done = np.sort(seconds[~np.isnan(seconds)])
    return float(np.interp(place, np.arange(len(done)), done)) if place <= len(done) - 1 else None


def completion(requests: Array) -> dict[str, Any] | None:
    """Of all requests, and of each class of size (`10-20 kB` holds 10 kB and not 20 kB), and of the
    class `75-110 kB`, which overlaps two of them; with the number that completed and that did not.
    None when there was no request."""
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
                "completed": len(whole), "unfinished": len(mine) - len(whole),
                "mean": float(np.mean(whole)), "sd": float(np.std(whole)),
            }
    return {
        **(spread(seconds[done]) or {}),
        **{name: _known(seconds, p)
           for name, p in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100))},
        "completed": int(np.sum(done)),
        "unfinished": int(np.sum(~done)),
        "by_size": by_size,
    }
