# SPDX-License-Identifier: GPL-2.0
"""Compute the metrics of one run. No other module computes them.

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
- dropped, marked, sent: packets of the discipline during the measured time. marked is None when
  the kind's statistics do not tell, see `xstats`.
- loss of a group of TCP: retransmitted bytes / sent bytes of its flows, over the whole run (the
  sender's counters, which include needless retransmissions). Of UDP, delay and completion times:
  see `traffic`.
- dropped of a group of TCP: segments with payload that did not reach the sink / segments sent, over
  the whole run. Neither count has the packets queued at the end.
- window_limited of a group of TCP: of the time in which its senders had something to send or
  waited for an ACK, the share in which the receiver's window kept them from sending. Over the whole
  run, by the kernel's own account.
- A group that sends for a part of the measured time has its goodput over that part.
- Goodput, sd and Jain's index of the summary and of a phase are of the elastic flows: bulk TCP
  through the measured bottleneck. UDP at its own rate and web sessions are not to be equal.
- A phase is a part of the measured time in which the same groups send.

What there is nothing of is None: the fair share, goodput (all of it), sd and Jain's index where no
flow is elastic, Jain's index where none of them got anything, a share of a fair share that is none,
the loss of a group that sent nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.qdiscs import xstats

from . import traffic_metrics
from .logs import BadLog, Logs, Progress, Queue

Array = NDArray[np.float64]


def jain(x: Array) -> float | None:
    """Jain's fairness index of x (any unit); None when all are 0, or there is none."""
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares else None


def window(time_s: Array, from_s: float, to_s: float) -> tuple[int, int]:
    """Indices of the samples nearest to from_s and to_s.

    A wall clock's samples come a little late: either may be off by 5 % of the window.
    """
    slack = 0.05 * (to_s - from_s)
    first, last = (int(np.argmin(np.abs(time_s - at))) for at in (from_s, to_s))
    if last <= first or abs(time_s[first] - from_s) > slack or abs(time_s[last] - to_s) > slack:
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


def marked(logs: Logs, first: int, last: int) -> int | None:
    """Packets marked between two samples; None when that is not known."""
    before, after = (xstats.marked(logs.run["qdisc"], logs.queue.xstats[at])
                     for at in (first, last))
    return None if before is None or after is None else after - before


def _spread(x: Array) -> dict[str, float]:
    return {"mean": float(np.mean(x)), "sd": float(np.std(x))}


def _names(logs: Logs) -> NDArray[np.str_]:
    """Group of each flow, (flows,), in the order of progress.flows."""
    name_of = {int(row["flow"]): row["group"] for row in logs.ends}
    return np.array([name_of[int(flow)] for flow in logs.progress.flows])


def _span(group: dict[str, Any], from_s: float, to_s: float) -> tuple[float, float]:
    """The part of from_s..to_s in which a group sends."""
    begin, end = group.get("from_s"), group.get("to_s")
    return (max(from_s, from_s if begin is None else begin),
            min(to_s, to_s if end is None else end))


def _elastic(facts: dict[str, Any], names: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Which flows are elastic, (flows,)."""
    return np.isin(names, [n for n, g in facts["groups"].items() if g.get("elastic", True)])


def own_goodput_bps(logs: Logs) -> Array:
    """Payload bit/s of each flow, (flows,), over the part of the measured time in which its
    group sends; 0 when it does not."""
    facts = logs.run["facts"]
    names = _names(logs)
    out = np.zeros(len(names))
    for name, group in facts["groups"].items():
        from_s, to_s = _span(group, facts["warmup_s"], facts["end_s"])
        if from_s < to_s:
            mine = names == name
            out[mine] = goodput_bps(logs.progress, from_s, to_s)[mine]
    return out


def elastic_goodput_bps(logs: Logs) -> Array:
    """Payload bit/s of each elastic flow, over the part of the measured time in which it sends."""
    return own_goodput_bps(logs)[_elastic(logs.run["facts"], _names(logs))]


def window_limited(rows: Sequence[Mapping[str, str]]) -> float | None:
    """Of flows' rows at their ends; None where that was not logged."""
    busy = sum(float(row.get("busy_ms") or 0) for row in rows)
    return sum(float(row["rwnd_limited_ms"]) for row in rows) / busy if busy else None


def _loss(rows: Sequence[Mapping[str, str]], datagrams: Array) -> float | None:
    """Of a group, from its flows' rows at their ends and its datagrams of the measured time."""
    if any(row["kind"] == "udp" for row in rows):
        return traffic_metrics.loss(datagrams)
    sent = sum(int(row["bytes_sent"]) for row in rows)
    return sum(int(row["bytes_retransmitted"]) for row in rows) / sent if sent else None


def _segments(rows: Sequence[Mapping[str, str]], column: str) -> int:
    return sum(int(row.get(column) or 0) for row in rows)


def dropped(logs: Logs, group: str) -> float | None:
    """Return the share of a group's TCP segments that was lost, or None if none were counted.

    The packets queued at the end are split among the groups like all segments."""
    rows = [row for row in logs.ends if row["group"] == group]
    sent = _segments(rows, "segs_sent")
    if not sent:
        return None
    queued = float(logs.queue["packets"][-1]) * sent / _segments(logs.ends, "segs_sent")
    return max(0.0, (sent - _segments(rows, "segs_received") - queued) / sent)


def _groups(logs: Logs, goodput: Array) -> dict[str, Any]:
    facts = logs.run["facts"]
    names = _names(logs)
    groups: dict[str, Any] = {}
    for name, group in facts["groups"].items():
        mine = goodput[names == name]
        if len(mine) != group["flows"]:
            raise BadLog(f"group {name}: {group['flows']} flows were asked for, {len(mine)} ran")
        rows = [row for row in logs.ends if row["group"] == name]
        flows = logs.progress.flows[names == name]
        span = _span(group, facts["warmup_s"], facts["end_s"])
        datagrams, delays, requests = (traffic_metrics.of_flows(table, flows, *span) for table in
                                       (logs.datagrams, logs.delays, logs.requests))
        fair = group["fair_share_bps"]
        groups[name] = {
            "flows": len(mine),
            "rtt_ms": group["rtt_ms"],
            "goodput_bps": _spread(mine),
            "share_of_fair": float(np.mean(mine)) / fair if fair else None,
            "loss": _loss(rows, datagrams),
            "dropped": dropped(logs, name),
            "window_limited": window_limited(rows),
            "delay_ms": traffic_metrics.spread(delays[:, 2]),
            "completion_s": traffic_metrics.completion(requests),
        }
    return groups


def _metrics(logs: Logs, goodput: Array, fair_bps: float, from_s: float,
             to_s: float) -> dict[str, Any]:
    """What summary and phase have in common; goodput is that of the elastic flows, (flows,)."""
    queue, rate_bps = logs.queue, logs.run["facts"]["rate_bps"]
    first, last = window(queue["time_s"], from_s, to_s)
    seconds = queue["time_s"][last] - queue["time_s"][first]
    delay = queue_delay_ms(queue, rate_bps, from_s, to_s)
    packets = queue["packets"][first : last + 1]
    return {
        "utilization": _counted(queue, "sent_bytes", first, last) * 8 / (rate_bps * seconds),
        "fair_share_bps": fair_bps or None,
        "goodput_bps": {
            **_spread(goodput),
            "min": float(np.min(goodput)),
            "max": float(np.max(goodput)),
        } if len(goodput) else None,
        "sd_over_fair_share": (float(np.std(goodput)) / fair_bps if len(goodput) and fair_bps
                               else None),
        "jain": jain(goodput),
        "queue_delay_ms": {
            "mean": float(np.mean(delay)),
            **{f"p{p}": float(np.percentile(delay, p)) for p in (50, 95, 99)},
        },
        "queue_packets": {"mean": float(np.mean(packets)), "max": int(np.max(packets))},
        "dropped": int(_counted(queue, "dropped", first, last)),
        "marked": marked(logs, first, last),
        "sent": int(_counted(queue, "sent_packets", first, last)),
    }


def _phase(logs: Logs, phase: dict[str, Any]) -> dict[str, Any]:
    facts = logs.run["facts"]
    from_s, to_s = phase["from_s"], phase["to_s"]
    names = _names(logs)
    active = [name for name, group in facts["groups"].items()
              if _span(group, from_s, to_s) == (from_s, to_s)]
    goodput = goodput_bps(logs.progress, from_s, to_s)
    elastic = _elastic(facts, names) & np.isin(names, active)
    return {
        "name": phase["name"],
        "from_s": from_s,
        "to_s": to_s,
        **_metrics(logs, goodput[elastic], phase["fair_share_bps"], from_s, to_s),
        "groups": {name: _spread(goodput[names == name]) for name in active},
    }


def phases(logs: Logs) -> list[dict[str, Any]]:
    """Return the metrics of each phase, with the goodput in bit/s of the groups that send in it."""
    return [_phase(logs, phase) for phase in logs.run["facts"].get("phases", ())]


def summarize(logs: Logs) -> tuple[dict[str, Any], dict[str, Any]]:
    """(summary, groups) as in result.json."""
    facts = logs.run["facts"]
    goodput = own_goodput_bps(logs)
    summary = _metrics(logs, elastic_goodput_bps(logs), facts["fair_share_bps"],
                       facts["warmup_s"], facts["end_s"])
    return summary, _groups(logs, goodput)
