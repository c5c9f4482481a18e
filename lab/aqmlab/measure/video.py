# SPDX-License-Identifier: GPL-2.0
"""What a viewer of adaptive video sees: rates, stalls and switches, from the log of requests.

A player starts with its first segment, and stalls when it has played all that has come, until the
next segment has come. The time before the first segment is no stall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KIND = "video"


def segments(recipe: Mapping[str, Any]) -> dict[int, float]:
    """Return the length in s of a segment of each flow that is a video."""
    return {
        int(flow["id"]): flow["segment_ns"] / 1e9
        for flow in recipe["flows"]
        if flow.get("kind") == KIND
    }


def stalls(came_s: Array, segment_s: float, end_s: float) -> list[tuple[float, float]]:
    """Return begin and end of each stall, until end_s.

    came_s: when each segment was complete, rising
    """
    found = []
    held_s = 0.0
    for before, now in pairwise([*came_s, end_s]):
        held_s += segment_s
        if now > before + held_s:
            found.append((float(before + held_s), float(now)))
        held_s = max(0.0, held_s - (now - before))
    return found


def _of_flow(rows: Array, segment_s: float, from_s: float, to_s: float) -> dict[str, Any]:
    """Return the metrics of one player. rows: its rows of requests.csv, of the whole run."""
    done = rows[~np.isnan(rows[:, 4])]
    came_s = done[:, 0] + done[:, 4]
    inside = [
        (max(begin, from_s), min(end, to_s))
        for begin, end in stalls(came_s, segment_s, to_s)
        if end > from_s and begin < to_s
    ]
    shown = done[(came_s >= from_s) & (came_s < to_s)]
    rates = shown[:, 3] * 8 / segment_s
    return {
        "rates": rates,
        "stalled_s": sum(end - begin for begin, end in inside),
        "stalls": len(inside),
        "switches": int(np.count_nonzero(np.diff(rates))),
        "startup_s": float(came_s[0] - rows[0, 0]) if len(came_s) else None,
    }


def metrics(
    requests: Array, flows: Sequence[int], lengths: Mapping[int, float], from_s: float, to_s: float
) -> dict[str, Any] | None:
    """Return the metrics of a group of players; None if its flows are no video.

    requests: all rows of requests.csv
    lengths: see segments()
    rate_bps: mean over the segments that came between from_s and to_s; None without one
    stalled_s, stalls, switches: means over the players, in this time
    startup_s: mean time from asking for the first segment to its arrival, whenever that was; None
        if a player never got one
    """
    if not flows or flows[0] not in lengths:
        return None
    players = [
        _of_flow(requests[requests[:, 1] == flow], lengths[flow], from_s, to_s) for flow in flows
    ]
    rates = np.concatenate([player["rates"] for player in players])
    startups = [player["startup_s"] for player in players]
    return {
        "rate_bps": float(np.mean(rates)) if len(rates) else None,
        **{
            name: float(np.mean([player[name] for player in players]))
            for name in ("stalled_s", "stalls", "switches")
        },
        "startup_s": None if None in startups else float(np.mean(startups)),
    }
