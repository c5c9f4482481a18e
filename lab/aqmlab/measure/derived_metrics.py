# SPDX-License-Identifier: GPL-2.0
"""Look up a metric of a cell in its row, or derive it from other metrics."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from typing import Any

HEADERS = 42  # bytes of the Ethernet, IPv4 and UDP headers

Metrics = Mapping[str, Any]


class Absent(Exception):
    """A cell or metric that was asked for is missing. The message names it."""


def metric_of(metrics: Metrics, path: str) -> float:
    """Return the value of a metric.

    path: keys joined by dots for a stored metric, such as `groups.far.share_of_fair`;
        GROUP:NAME or PHASE:NAME for a metric in DERIVED, such as `udp:link_share`
    Raises Absent if the cell does not have the metric.
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
    """Return the median queue length of a phase, in packets of 1514 bytes."""
    delay_ms = metrics["phases"][int(phase)]["queue_delay_ms"]["p50"]
    return float(delay_ms * metrics["rate_bps"] / (1514 * 8 * 1e3))


def _group_bps(metrics: Metrics, group: str) -> float:
    of_group = metrics["groups"][group]
    return float(of_group["goodput_bps"]["mean"] * of_group["flows"])


def _wait_ms(metrics: Metrics, group: str) -> float:
    """Return the mean queueing delay of a UDP group: one-way delay minus propagation delay."""
    of_group = metrics["groups"][group]
    if "delay_ms" not in of_group:
        raise Absent(f"no packet of {group} arrived")
    return float(of_group["delay_ms"]["mean"] - of_group["rtt_ms"] / 2)


def _waiting(metrics: Metrics, group: str) -> float:
    """Return the mean number of a UDP group's packets in the queue.

    By Little's law this is the rate times the mean queueing delay.
    """
    rate_bps = _group_bps(metrics, group)
    if not rate_bps:
        return 0.0
    return _wait_ms(metrics, group) / 1e3 * rate_bps / float(8 * metrics["payload"][group])


def _most_waiting(metrics: Metrics, group: str) -> float:
    """Return the number of a UDP group's packets in the queue at its longest queueing delay."""
    of_group = metrics["groups"][group]
    if "delay_ms" not in of_group:
        raise Absent(f"no packet of {group} arrived")
    longest_ms = of_group["delay_ms"]["max"] - of_group["rtt_ms"] / 2
    return float(longest_ms / 1e3 * _group_bps(metrics, group) / (8 * metrics["payload"][group]))


def _kept(metrics: Metrics, phase: int) -> float:
    """Return TCP's goodput in a phase divided by its goodput in the first phase."""
    first, this = (metrics["phases"][i]["groups"]["tcp"]["mean"] for i in (0, phase))
    return float(this / first)


def _hit(phase: Metrics) -> float:
    """Return the share of a phase's packets that were dropped or marked."""
    return float((phase["dropped"] + phase["marked"]) / (phase["dropped"] + phase["sent"]))


def _drop_rate(metrics: Metrics, _: str) -> float:
    """Return the share of the bottleneck's packets that were dropped."""
    summary = metrics["summary"]
    return float(summary["dropped"] / (summary["dropped"] + summary["sent"]))


def choke_theory(offered: float, draws: int = 1) -> float:
    """Return the share of the link that CHOKe leaves to an unresponsive flow.

    offered: the flow's rate as a multiple of the link's
    draws: packets that are drawn for each arrival
    This is the fluid model of Tang, Wang and Low (INFOCOM 2003), in which many TCP flows share the
    link with the unresponsive one. It fills a part h of the queue. An arrival enters with the
    probability (1 - h)^m and removes m h packets, so the share s is X ((1 - h)^m - m h), where X is
    the offered rate. On the way through the queue its rate falls from X (1 - h)^m to s, at each
    place by m X times its part there: (1 - s) ln(X (1 - h)^m / s) = m X (1 - h).
    """
    if not offered:
        return 0.0
    from scipy.optimize import brentq  # importing scipy takes longer than a short run

    def difference(share: float) -> float:
        part = brentq(lambda h: offered * ((1 - h) ** draws - draws * h) - share, 0.0, 1.0)
        enters = offered * (1 - part) ** draws
        return float((1 - share) * math.log(enters / share) - draws * offered * (1 - part))

    return float(brentq(difference, 1e-300, min(1.0, offered)))


def choke_bound(draws: int) -> float:
    """Return the largest share that choke_theory() allows at any rate; 1 / (1 + e) for one draw."""
    from scipy.optimize import minimize_scalar

    return -float(
        minimize_scalar(
            lambda offered: -choke_theory(offered, draws), bounds=(0.01, 3.0), method="bounded"
        ).fun
    )


def _own_drops(metrics: Metrics, group: str) -> float:
    """Return the share r of packets that CHOKe's RED drops, without the drops by matches.

    A match drops two packets. So TCP loses 2h + r - 2hr, where h is one flow's share of the queue
    (Tang, Wang and Low).
    """
    tcp, packets = metrics["groups"]["tcp"], float(metrics["summary"]["queue_packets"]["mean"])
    if not packets:
        raise Absent("no packet in the queue")
    twice = 2 * (1 - _waiting(metrics, group) / packets) / tcp["flows"]
    return float(max(0.0, (tcp["loss"] - twice) / (1 - twice)))


def _theory(metrics: Metrics, group: str) -> float:
    """Return choke_theory() for the traffic that RED's own drops, equal for all flows, leave."""
    offered = metrics["offered_bps"][group] / metrics["rate_bps"]
    return choke_theory(offered * (1 - _own_drops(metrics, group)))


def _theory_at_work(metrics: Metrics, group: str) -> float:
    """Return _theory(), unless the link was idle."""
    if not metrics["summary"]["utilization"]:
        raise Absent("the link carried nothing")
    return _theory(metrics, group)


def _wire_share(metrics: Metrics, group: str) -> float:
    """Return a UDP group's share of the link's rate, headers included."""
    payload = float(metrics["payload"][group])
    return (_group_bps(metrics, group) * (payload + HEADERS) / payload) / float(metrics["rate_bps"])


def _goodput_use(metrics: Metrics, phase: Metrics) -> float:
    """Return the goodput from A to B in a phase, relative to the goodput of a full link."""
    bps = [
        of_group["mean"] * metrics["groups"][name]["flows"]
        for name, of_group in phase["groups"].items()
        if name.startswith("forward")
    ]
    if not bps:
        raise Absent("no flow from A to B")
    return float(sum(bps) / (metrics["rate_bps"] * 1460 / 1514))


def _phases(metrics: Metrics, numbers: str) -> list[Metrics]:
    """Return the phases that are listed as `0+2+4`."""
    return [metrics["phases"][int(number)] for number in numbers.split("+")]


def _off_equal_part(metrics: Metrics, group: str) -> float:
    """Return how far a UDP group's share of the queue is from an equal share for each flow."""
    flows = {name: of_group["flows"] for name, of_group in metrics["groups"].items()}
    packets = float(metrics["summary"]["queue_packets"]["mean"])
    if not packets:
        raise Absent("no packet in the queue")
    share = float(flows[group] / sum(flows.values()))
    return abs(_waiting(metrics, group) / packets - share)


def _unevenness(metrics: Metrics, group: str) -> float:
    goodput = metrics["groups"][group]["goodput_bps"]
    return float(goodput["sd"] / goodput["mean"])


def _least_share(metrics: Metrics, groups: str) -> float:
    """Return the smallest share of the fair share that one of the groups, as `cubic+bbr`, has."""
    return min(float(metrics["groups"][group]["share_of_fair"]) for group in groups.split("+"))


def _over_product(metrics: Metrics, criterion: str) -> float:
    """Smallest buffer that meets a criterion of a search, over the bandwidth-delay product."""
    product = metrics["rate_bps"] * metrics["groups"]["all"]["rtt_ms"] / 1e3 / (1514 * 8)
    return float(metrics["smallest"][criterion] / product)


#: Functions of a cell's metrics and of the word before the colon: a group, a phase, a criterion, a
#: list of groups, or a list of phases over which the mean is taken, as in `0+2+4:use`.
DERIVED: dict[str, Callable[[Metrics, str], float]] = {
    "mbps": lambda f, group: _group_bps(f, group) / 1e6,
    "kbyte_s": lambda f, group: _group_bps(f, group) / 8e3,
    "link_share": _wire_share,
    "variance": lambda f, _: f["summary"]["sd_over_fair_share"] ** 2,
    "mean_over_fair": lambda f, _: (
        f["summary"]["goodput_bps"]["mean"] / f["summary"]["fair_share_bps"]
    ),
    "short_of_fair": lambda f, _: (
        1 - (f["summary"]["goodput_bps"]["mean"] / f["summary"]["fair_share_bps"])
    ),
    "above_fair": lambda f, _: statistics.fmean(
        bps > f["summary"]["fair_share_bps"] for bps in f["flows_bps"]
    ),
    "wait_ms": _wait_ms,
    "waiting": _waiting,
    "most_waiting": _most_waiting,
    "waiting_share": lambda f, group: _waiting(f, group) / f["summary"]["queue_packets"]["mean"],
    "off_equal_part": _off_equal_part,
    "unevenness": _unevenness,
    "over_product": _over_product,
    "least_share": _least_share,
    "mbps_kept": lambda f, group: _wire_share(f, group) * f["rate_bps"] / f["offered_bps"][group],
    "median_queue_packets": _median_queue_packets,
    "use": lambda f, numbers: statistics.fmean(
        phase["utilization"] for phase in _phases(f, numbers)
    ),
    "goodput_use": lambda f, numbers: statistics.fmean(
        _goodput_use(f, phase) for phase in _phases(f, numbers)
    ),
    "deviation": lambda f, numbers: statistics.fmean(
        phase["goodput_bps"]["sd"] / phase["goodput_bps"]["mean"] for phase in _phases(f, numbers)
    ),
    "hit": lambda f, numbers: statistics.fmean(map(_hit, _phases(f, numbers))),
    "dropped_0": lambda f, _: _hit(f["phases"][0]),
    "dropped_1": lambda f, _: _hit(f["phases"][1]),
    "kept_1": lambda f, _: _kept(f, 1),
    "kept_2": lambda f, _: _kept(f, 2),
    "drop_rate": _drop_rate,
    "choke_theory": _theory_at_work,
    "over_theory": lambda f, group: _wire_share(f, group) / _theory(f, group),
}
