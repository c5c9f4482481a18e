# SPDX-License-Identifier: GPL-2.0
"""Compute the metrics of the queue and of TCP in one run, and collect all metrics.

traffic_metrics.py computes the metrics of UDP and web traffic. Both are in result.json.
derived_metrics.py derives further ones from these, for claims.

Unless the list says otherwise, a metric covers the measured time: from the end of the warm-up to
the end of the run.

- Goodput: bytes that reached the sink in order, per flow and time. If a group sends only during a
  part of the measured time, its goodput covers that part.
- Fair share (facts.fair_share_bps, from the scenario): bottleneck rate / flows, or the access
  link's rate if that is lower, times payload / length of a full packet. Lengths include the
  Ethernet header, as in the kernel.
- sd: standard deviation over the run's flows, as a population (divided by N).
- Jain's index: (sum x)^2 / (N sum x^2). 1 means equal; 1/N means that one flow has everything.
- Utilization: bytes that left the discipline * 8 / (rate * time). It can exceed 1 by up to one
  packet, which the shaper still holds at the end.
- Queue delay: backlog in bytes * 8 / rate, at each sample. In a FIFO each arrival waits this long.
  In a fair queue this is an average over the queued bytes, and a flow with a short queue waits
  less.
- dropped, marked, sent: packets of the discipline. marked is None if the statistics of the kind
  do not count marks, see `xstats`.
- loss of a TCP group: retransmitted bytes / sent bytes, over the whole run. The sender counts them,
  so needless retransmissions are included. For UDP and web traffic see `traffic_metrics`.
- dropped of a TCP group: segments with payload that did not reach the sink / segments sent, over
  the whole run. Packets that are still queued at the end count as neither.
- window_limited of a TCP group: share of the busy time of its senders in which the receiver's
  window stopped them, over the whole run. A sender is busy while it has data to send or waits for
  an ACK. The kernel measures both times.
- sojourn_ms of a group, with --sojourn: time of each packet with data from its arrival in the
  bottleneck's node until it leaves there. It is exact in a fair queue, too.
- tcp of a group, with --tcp-state: window, RTT and pacing rate over its flows and samples.
- page_s of the group pages, if a page has several connections: time until the last part has come.
- video of a group of players, see `video`: rates, stalls and switches.
- Phase: a part of the measured time in which the same groups send.

In the summary and in a phase, goodput, sd and Jain's index cover only the elastic flows: bulk TCP
through the measured bottleneck. Nobody expects UDP at a fixed rate and web sessions to be equal.

A metric that does not exist is None: the fair share, goodput, sd and Jain's index without elastic
flows, Jain's index if all flows got nothing, and the loss of a group that sent nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.qdiscs import xstats
from aqmlab.run.readings import SLACK

from . import tcp_metrics, traffic_metrics, video
from .logs import BadLog, FlowProgress, Logs, Queue

Array = NDArray[np.float64]


def jain(x: Array) -> float | None:
    """Return Jain's fairness index of x; None if x is empty or all zeros."""
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares else None


def window(time_s: Array, from_s: float, to_s: float) -> tuple[int, int]:
    """Return the indices of the samples nearest to from_s and to_s.

    With a wall clock samples are a little late. Both may be off by SLACK of the window.
    """
    slack = SLACK * (to_s - from_s)
    first, last = (int(np.argmin(np.abs(time_s - at))) for at in (from_s, to_s))
    if last <= first or abs(time_s[first] - from_s) > slack or abs(time_s[last] - to_s) > slack:
        raise BadLog(f"the samples do not cover {from_s:g} s to {to_s:g} s")
    return first, last


def goodput_bps(progress: FlowProgress, from_s: float, to_s: float) -> Array:
    """Return the goodput of each flow, in the order of progress.flows."""
    first, last = window(progress.time_s, from_s, to_s)
    seconds = progress.time_s[last] - progress.time_s[first]
    goodput: Array = (progress.bytes[last] - progress.bytes[first]) * 8 / seconds
    return goodput


def queue_delay_ms(queue: Queue, rate_bps: float, from_s: float, to_s: float) -> Array:
    """Return for each sample the time that the backlog takes to drain, in ms."""
    first, last = window(queue["time_s"], from_s, to_s)
    return queue["bytes"][first : last + 1] * 8e3 / rate_bps


def _counted(queue: Queue, name: str, first: int, last: int) -> float:
    return float(queue[name][last] - queue[name][first])


def marked(logs: Logs, first: int, last: int) -> int | None:
    """Return the number of packets marked between two samples; None if it is unknown."""
    before, after = (
        xstats.marked(logs.run["qdisc"], logs.queue.xstats[at], logs.own_statistics)
        for at in (first, last)
    )
    return None if before is None or after is None else after - before


def _spread(x: Array) -> dict[str, float]:
    return {"mean": float(np.mean(x)), "sd": float(np.std(x))}


def _names(logs: Logs) -> NDArray[np.str_]:
    """Return the group of each flow, in the order of progress.flows."""
    name_of = {int(row["flow"]): row["group"] for row in logs.ends}
    return np.array([name_of[int(flow)] for flow in logs.progress.flows])


def _span(group: dict[str, Any], from_s: float, to_s: float) -> tuple[float, float]:
    """Return the part of from_s to to_s in which a group sends."""
    begin, end = group.get("from_s"), group.get("to_s")
    return (
        max(from_s, from_s if begin is None else begin),
        min(to_s, to_s if end is None else end),
    )


def _elastic(facts: dict[str, Any], names: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return for each flow whether it is elastic."""
    return np.isin(names, [n for n, g in facts["groups"].items() if g.get("elastic", True)])


def own_goodput_bps(logs: Logs) -> Array:
    """Return the goodput of each flow over the part of the measured time in which it sends.

    0 if it never sends then.
    """
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
    """Return own_goodput_bps() of the elastic flows."""
    return own_goodput_bps(logs)[_elastic(logs.run["facts"], _names(logs))]


def window_limited(rows: Sequence[Mapping[str, str]]) -> float | None:
    """Return window_limited of flows. rows: from flows.csv. None if it was not logged."""
    busy = sum(float(row.get("busy_ms") or 0) for row in rows)
    return sum(float(row["rwnd_limited_ms"]) for row in rows) / busy if busy else None


def _loss(rows: Sequence[Mapping[str, str]], datagrams: Array) -> float | None:
    """Return the loss of a group.

    rows: the group's rows of flows.csv
    datagrams: the group's rows of datagrams.csv for the measured time
    """
    if any(row["kind"] == "udp" for row in rows):
        return traffic_metrics.loss(datagrams)
    if any(row["kind"] == "query" for row in rows):
        return None  # completion_s counts what is unfinished
    sent = sum(int(row["bytes_sent"]) for row in rows)
    return sum(int(row["bytes_retransmitted"]) for row in rows) / sent if sent else None


def _segments(rows: Sequence[Mapping[str, str]], column: str) -> int:
    return sum(int(row.get(column) or 0) for row in rows)


def dropped(logs: Logs, group: str) -> float | None:
    """Return the share of a group's TCP segments that was dropped; None without segments.

    We split the packets queued at the end among the groups in proportion to their segments.
    """
    rows = [row for row in logs.ends if row["group"] == group]
    sent = _segments(rows, "segs_sent")
    if not sent:
        return None
    queued = float(logs.queue["packets"][-1]) * sent / _segments(logs.ends, "segs_sent")
    return max(0.0, (sent - _segments(rows, "segs_received") - queued) / sent)


def _groups(logs: Logs, goodput: Array, lengths: Mapping[int, float]) -> dict[str, Any]:
    facts = logs.run["facts"]
    names = _names(logs)
    groups: dict[str, Any] = {}
    for name, group in facts["groups"].items():
        mine = goodput[names == name]
        if len(mine) != group["flows"]:
            raise BadLog(f"group {name}: {group['flows']} flows were requested, {len(mine)} ran")
        rows = [row for row in logs.ends if row["group"] == name]
        flows = logs.progress.flows[names == name]
        span = _span(group, facts["warmup_s"], facts["end_s"])
        datagrams, delays, requests, sojourn = (
            traffic_metrics.of_flows(table, flows, *span)
            for table in (logs.datagrams, logs.delays, logs.requests, logs.sojourn)
        )
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
            **({"sojourn_ms": traffic_metrics.spread(sojourn[:, 2])} if len(logs.sojourn) else {}),
        }
        if seen := video.metrics(logs.requests, [int(flow) for flow in flows], lengths, *span):
            groups[name]["video"] = seen
        parts = logs.run["parameters"].get("connections", 1) if name == "pages" else 1
        if parts > 1 and (loaded := traffic_metrics.pages(requests, flows, parts)):
            groups[name]["page_s"] = loaded
        if state := tcp_metrics.of_flows(logs.tcp, [int(flow) for flow in flows], *span):
            groups[name]["tcp"] = state
    return groups


def _metrics(
    logs: Logs, goodput: Array, fair_bps: float, from_s: float, to_s: float
) -> dict[str, Any]:
    """Return the metrics that summary and phases share. goodput: of the elastic flows, bit/s."""
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
        }
        if len(goodput)
        else None,
        "sd_over_fair_share": (
            float(np.std(goodput)) / fair_bps if goodput.any() and fair_bps else None
        ),
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
    active = [
        name
        for name, group in facts["groups"].items()
        if _span(group, from_s, to_s) == (from_s, to_s)
    ]
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
    """Return each phase's metrics, and the goodput in bit/s of each group that sends in it."""
    return [_phase(logs, phase) for phase in logs.run["facts"].get("phases", ())]


def summarize(
    logs: Logs, lengths: Mapping[int, float] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `summary` and `groups` of result.json. lengths: see video.segments()."""
    facts = logs.run["facts"]
    goodput = own_goodput_bps(logs)
    summary = _metrics(
        logs, elastic_goodput_bps(logs), facts["fair_share_bps"], facts["warmup_s"], facts["end_s"]
    )
    return summary, _groups(logs, goodput, lengths or {})
