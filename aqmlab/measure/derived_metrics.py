# SPDX-License-Identifier: GPL-2.0
"""Metrics of one cell that claims and contests are about, by their paths: what its row has, and
what follows from that."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from typing import Any

HEADERS = 42  # bytes of Ethernet, IPv4 and UDP

Metrics = Mapping[str, Any]


class Absent(Exception):
    """A cell, or a metric of it, that a claim needs; the message names it."""


def metric_of(metrics: Metrics, path: str) -> float:
    """Return a metric by its path.

    path: such as `groups.far.share_of_fair`; or one of DERIVED with its group or phase before it,
        such as `udp:link_share`
    Raises Absent.
    """
    group, colon, name = path.partition(":")
    try:
        if colon:
            return DERIVED[name](metrics, group)
        value: Any = metrics
        for key in path.split("."):
            value = value[int(key) if isinstance(value, list) else key]
        return float(value)
    except (KeyError, IndexError, TypeError, ZeroDivisionError):
        raise Absent(f"no {path}") from None


def _median_queue_packets(metrics: Metrics, phase: str) -> float:
    """At most so many full packets are in the queue for half of a phase."""
    delay_ms = metrics["phases"][int(phase)]["queue_delay_ms"]["p50"]
    return float(delay_ms * metrics["rate_bps"] / (1514 * 8 * 1e3))


def _group_bps(metrics: Metrics, group: str) -> float:
    one = metrics["groups"][group]
    return float(one["goodput_bps"]["mean"] * one["flows"])


def _wait_ms(metrics: Metrics, group: str) -> float:
    """Of UDP in the queue, mean. Half of the round-trip time is not in the queue."""
    one = metrics["groups"][group]
    if "delay_ms" not in one:
        raise Absent(f"no packet of {group} that arrived")
    return float(one["delay_ms"]["mean"] - one["rtt_ms"] / 2)


def _waiting(metrics: Metrics, group: str) -> float:
    """Packets of UDP in the queue, by Little's law: their rate times their mean wait."""
    rate_bps = _group_bps(metrics, group)
    if not rate_bps:
        return 0.0
    return _wait_ms(metrics, group) / 1e3 * rate_bps / (8 * metrics["payload"][group])


def _most_waiting(metrics: Metrics, group: str) -> float:
    """Packets of UDP in the queue when a datagram waits longest, by Little's law."""
    one = metrics["groups"][group]
    if "delay_ms" not in one:
        raise Absent(f"no packet of {group} that arrived")
    longest_ms = one["delay_ms"]["max"] - one["rtt_ms"] / 2
    return float(longest_ms / 1e3 * _group_bps(metrics, group) / (8 * metrics["payload"][group]))


def _kept(metrics: Metrics, phase: int) -> float:
    """TCP's goodput in a phase over that in the first."""
    first, this = (metrics["phases"][i]["groups"]["tcp"]["mean"] for i in (0, phase))
    return float(this / first)


def _hit(phase: Metrics) -> float:
    """Share of the packets that were dropped, or marked instead."""
    return float((phase["dropped"] + phase["marked"]) / (phase["dropped"] + phase["sent"]))


def choke_theory(offered: float) -> float:
    """Share of the link that CHOKe leaves to an unresponsive flow of `offered` times the link's
    rate, beside many that respond: the fluid model of Tang, Wang and Low (INFOCOM 2003).

    With s the share and X what is offered, (1 - s) ln((X + s) / 2s) = (X + s) / 2. The left side
    less the right falls with s.
    """
    if not offered:
        return 0.0

    def more(share: float) -> float:
        return (1 - share) * math.log((offered + share) / (2 * share)) - (offered + share) / 2

    from scipy.optimize import brentq  # takes longer than a short run

    return float(brentq(more, 1e-300, min(1.0, offered)))


def _own_drops(metrics: Metrics, group: str) -> float:
    """Share of the packets that RED drops by itself, r. TCP loses 2h + r - 2hr, where h is the part
    of the queue that one flow has, for a match of its packets drops two (Tang, Wang and Low)."""
    tcp, packets = metrics["groups"]["tcp"], float(metrics["summary"]["queue_packets"]["mean"])
    if not packets:
        raise Absent("no packet in the queue")
    twice = 2 * (1 - _waiting(metrics, group) / packets) / tcp["flows"]
    return float(max(0.0, (tcp["loss"] - twice) / (1 - twice)))


def _theory(metrics: Metrics, group: str) -> float:
    """Offered is what RED's own drops leave, which are alike of all."""
    offered = metrics["offered_bps"][group] / metrics["rate_bps"]
    return choke_theory(offered * (1 - _own_drops(metrics, group)))


def _theory_at_work(metrics: Metrics, group: str) -> float:
    """Of a queue that stands still there is none."""
    if not metrics["summary"]["utilization"]:
        raise Absent("nothing passed")
    return _theory(metrics, group)


def _wire_share(metrics: Metrics, group: str) -> float:
    """Share of the link's bits, headers included."""
    payload = metrics["payload"][group]
    return (_group_bps(metrics, group) * (payload + HEADERS) / payload) / float(
        metrics["rate_bps"])


def _goodput_use(metrics: Metrics, phase: Metrics) -> float:
    """Goodput of a phase's flows from A to B over what full packets of 1500 bytes can have of the
    link."""
    bps = [one["mean"] * metrics["groups"][name]["flows"]
           for name, one in phase["groups"].items() if name.startswith("forward")]
    if not bps:
        raise Absent("no flow from A to B")
    return float(sum(bps) / (metrics["rate_bps"] * 1460 / 1514))


def _phases(metrics: Metrics, numbers: str) -> list[Metrics]:
    """Those of `0+2+4`."""
    return [metrics["phases"][int(number)] for number in numbers.split("+")]


def _off_equal_part(metrics: Metrics, group: str) -> float:
    """How far UDP's part of the queue is from what it would have if each flow had as much, as a
    share of the queue."""
    flows = {name: one["flows"] for name, one in metrics["groups"].items()}
    packets = float(metrics["summary"]["queue_packets"]["mean"])
    if not packets:
        raise Absent("no packet in the queue")
    return abs(_waiting(metrics, group) / packets - flows[group] / sum(flows.values()))


def _unevenness(metrics: Metrics, group: str) -> float:
    goodput = metrics["groups"][group]["goodput_bps"]
    return float(goodput["sd"] / goodput["mean"])


#: Of a group, of a phase, or the mean over several phases, `0+2+4:use`.
DERIVED: dict[str, Callable[[Metrics, str], float]] = {
    "mbps": lambda f, group: _group_bps(f, group) / 1e6,
    "kbyte_s": lambda f, group: _group_bps(f, group) / 8e3,
    "link_share": _wire_share,
    "variance": lambda f, _: f["summary"]["sd_over_fair_share"] ** 2,
    "mean_over_fair": lambda f, _: (f["summary"]["goodput_bps"]["mean"]
                                    / f["summary"]["fair_share_bps"]),
    "short_of_fair": lambda f, _: 1 - (f["summary"]["goodput_bps"]["mean"]
                                       / f["summary"]["fair_share_bps"]),
    "above_fair": lambda f, _: statistics.fmean(
        bps > f["summary"]["fair_share_bps"] for bps in f["flows_bps"]),
    "wait_ms": _wait_ms,
    "waiting": _waiting,
    "most_waiting": _most_waiting,
    "waiting_share": lambda f, group: _waiting(f, group) / f["summary"]["queue_packets"]["mean"],
    "off_equal_part": _off_equal_part,
    "unevenness": _unevenness,
    "mbps_kept": lambda f, group: (_wire_share(f, group) * f["rate_bps"]
                                   / f["offered_bps"][group]),
    "median_queue_packets": _median_queue_packets,
    "use": lambda f, numbers: statistics.fmean(
        phase["utilization"] for phase in _phases(f, numbers)),
    "goodput_use": lambda f, numbers: statistics.fmean(
        _goodput_use(f, phase) for phase in _phases(f, numbers)),
    "hit": lambda f, numbers: statistics.fmean(map(_hit, _phases(f, numbers))),
    "dropped_0": lambda f, _: _hit(f["phases"][0]),
    "dropped_1": lambda f, _: _hit(f["phases"][1]),
    "kept_1": lambda f, _: _kept(f, 1),
    "kept_2": lambda f, _: _kept(f, 2),
    "choke_theory": _theory_at_work,
    "over_theory": lambda f, group: _wire_share(f, group) / _theory(f, group),
}
