# SPDX-License-Identifier: GPL-2.0
"""The figures of one run, computed here and nowhere else.

All cover the measured time: from the end of the warm-up to the end of the run.

- Goodput: bytes that reached the sink in order, per flow, over the measured time.
- Fair share (facts.fair_share_bps, made by the scenario): bottleneck rate / flows, or the access
  link's rate where that is less, times payload / length of a full packet. Lengths include the
  Ethernet header, as the kernel counts them.
- sd: over all flows of the run, which are the population (divided by N).
- Jain's index: (sum x)^2 / (N sum x^2); 1 is equal, 1/N is one flow with everything.
- Utilization: bytes that left the discipline * 8 / (rate * time). The last packet that is in the
  shaper's hands can carry it above 1 by less than one packet in the whole measured time.
- Queue delay: backlog in bytes * 8 / rate, read every sample interval: how long what is queued
  takes to leave. An arrival waits just that long in a FIFO; under a fair queue it is the wait
  averaged over the queued bytes, and a flow with a short queue waits less.
- dropped, marked, sent: packets of the discipline during the measured time.
- loss of a group: retransmitted bytes / sent bytes of its flows, over the whole run (the
  sender's counters, which include needless retransmissions).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .logs import BadLog, Logs, Progress, Queue

Array = NDArray[np.float64]


def jain(x: Array) -> float:
    """Jain's fairness index of x (any unit); 0 when all are 0."""
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares else 0.0


def window(time_s: Array, from_s: float, to_s: float) -> tuple[int, int]:
    """Indices of the first sample at or after from_s and the last one at or before to_s.

    A wall clock's samples come a little late, so the last one may be up to 5 % of the window
    after its end.
    """
    slack = 0.05 * (to_s - from_s)
    first = int(np.searchsorted(time_s, from_s - 1e-9))
    last = int(np.searchsorted(time_s, to_s + slack, side="right")) - 1
    if last <= first or time_s[first] > from_s + slack or time_s[last] < to_s - slack:
        raise BadLog(f"the samples do not cover {from_s:g} s to {to_s:g} s")
    return first, last


def goodput_bps(progress: Progress, from_s: float, to_s: float) -> Array:
    """Payload bit/s of each flow, (flows,), in the order of progress.flows."""
    first, last = window(progress.time_s, from_s, to_s)
    seconds = progress.time_s[last] - progress.time_s[first]
    return (progress.bytes[last] - progress.bytes[first]) * 8 / seconds


def queue_delay_ms(queue: Queue, rate_bps: float, from_s: float, to_s: float) -> Array:
    """Time that the backlog takes to drain, (samples,), ms."""
    first, last = window(queue["time_s"], from_s, to_s)
    return queue["bytes"][first : last + 1] * 8e3 / rate_bps


def _counted(queue: Queue, name: str, first: int, last: int) -> float:
    return float(queue[name][last] - queue[name][first])


def _spread(x: Array) -> dict[str, float]:
    return {"mean": float(np.mean(x)), "sd": float(np.std(x))}


def _groups(logs: Logs, goodput: Array) -> dict[str, Any]:
    facts = logs.run["facts"]
    name_of = {int(row["flow"]): row["group"] for row in logs.ends}
    names = np.array([name_of[int(flow)] for flow in logs.progress.flows])
    groups: dict[str, Any] = {}
    for name, group in facts["groups"].items():
        mine = goodput[names == name]
        if len(mine) != group["flows"]:
            raise BadLog(f"group {name}: {group['flows']} flows were asked for, {len(mine)} ran")
        rows = [row for row in logs.ends if row["group"] == name]
        sent = sum(int(row["bytes_sent"]) for row in rows)
        again = sum(int(row["bytes_retransmitted"]) for row in rows)
        groups[name] = {
            "flows": len(mine),
            "rtt_ms": group["rtt_ms"],
            "goodput_bps": _spread(mine),
            "share_of_fair": float(np.mean(mine)) / group["fair_share_bps"],
            "loss": again / sent if sent else 0.0,
            "delay_ms": None,
            "completion_s": None,
        }
    return groups


def summarize(logs: Logs) -> tuple[dict[str, Any], dict[str, Any]]:
    """(summary, groups) as in result.json."""
    facts = logs.run["facts"]
    from_s, to_s, rate_bps = facts["warmup_s"], facts["end_s"], facts["rate_bps"]
    goodput = goodput_bps(logs.progress, from_s, to_s)
    queue = logs.queue
    first, last = window(queue["time_s"], from_s, to_s)
    seconds = queue["time_s"][last] - queue["time_s"][first]
    delay = queue_delay_ms(queue, rate_bps, from_s, to_s)
    packets = queue["packets"][first : last + 1]
    fair = facts["fair_share_bps"]
    summary = {
        "utilization": _counted(queue, "sent_bytes", first, last) * 8 / (rate_bps * seconds),
        "fair_share_bps": fair,
        "goodput_bps": {
            **_spread(goodput),
            "min": float(np.min(goodput)),
            "max": float(np.max(goodput)),
        },
        "sd_over_fair_share": float(np.std(goodput)) / fair,
        "jain": jain(goodput),
        "queue_delay_ms": {
            "mean": float(np.mean(delay)),
            **{f"p{p}": float(np.percentile(delay, p)) for p in (50, 95, 99)},
        },
        "queue_packets": {"mean": float(np.mean(packets)), "max": int(np.max(packets))},
        "dropped": int(_counted(queue, "dropped", first, last)),
        "marked": (
            int(_counted(queue, "x_marked", first, last)) if "x_marked" in queue.columns else 0
        ),
        "sent": int(_counted(queue, "sent_packets", first, last)),
    }
    return summary, _groups(logs, goodput)
