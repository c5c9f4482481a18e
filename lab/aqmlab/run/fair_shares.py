# SPDX-License-Identifier: GPL-2.0
"""What is fair: max-min shares of the bottleneck, over time, from what each group asks for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aqmlab.exceptions import UserError

from .group import Group
from .network import Crossing, Network
from .topology import default_network


@dataclass(frozen=True)
class GroupFacts:
    """A group of flows as the analysis needs it. fair_share_bps: payload bit/s of one flow.
    elastic: its flows take what they get, and count in metrics of fairness. from_s, to_s:
    when it sends, after the epoch; None: from the start, to the end."""

    flows: int
    rtt_ms: float
    fair_share_bps: float
    elastic: bool = True
    from_s: float | None = None
    to_s: float | None = None


@dataclass(frozen=True)
class Phase:
    """A part of the measured time in which the same groups send, and in which none settles.
    fair_share_bps: payload bit/s of one of its elastic flows."""

    name: str
    from_s: float
    to_s: float
    fair_share_bps: float


@dataclass(frozen=True)
class Facts:
    """What the analysis must know besides the logs. Times in seconds after the epoch."""

    rate_bps: float
    warmup_s: float
    end_s: float
    fair_share_bps: float
    groups: dict[str, GroupFacts]
    phases: tuple[Phase, ...] = ()


@dataclass(frozen=True)
class _Demand:
    """The flows of one group of the metrics: how many, their mean round-trip time, and what holds
    for all of them, by the first of the groups that they come from."""

    name: str
    flows: int
    rtt_ms: float
    group: Group
    from_s: float | None
    to_s: float | None
    settled_s: float | None


def _demands(groups: Sequence[Group], step_s: float) -> list[_Demand]:
    together: dict[str, list[Group]] = {}
    for group in groups:
        together.setdefault(group.counted_in or group.name, []).append(group)
    demands = []
    for name, parts in together.items():
        flows = sum(len(g.start_ns) for g in parts)
        rtt_ms = (
            parts[0].rtt_ms
            if len(parts) == 1
            else sum(g.rtt_ms * len(g.start_ns) for g in parts) / flows
        )
        first = parts[0]
        demands.append(
            _Demand(
                name=name,
                flows=flows,
                rtt_ms=rtt_ms,
                group=first,
                from_s=_stepped(first.from_s, step_s),
                to_s=_stepped(first.to_s, step_s),
                settled_s=_stepped(first.settled_s, step_s),
            )
        )
    return demands


def max_min(
    rate_bps: float | Mapping[Any, float],
    demands: Sequence[tuple[int, float]],
    ways: Sequence[Collection[Any]] | None = None,
) -> list[float]:
    """Return the max-min fair rate of one flow of each (flows, demand_bps).

    No flow gets more than it asks for, and the rest is shared equally among those that would take
    it.

    rate_bps: of each hop, or of every hop
    ways: the hops that each crosses; without them there is one hop
    """
    ways = ways or [(0,)] * len(demands)
    shares = [0.0] * len(demands)
    hops = dict.fromkeys(hop for way in ways for hop in way)
    left = {hop: rate_bps[hop] if isinstance(rate_bps, Mapping) else rate_bps for hop in hops}
    waiting = {i for i, (flows, _) in enumerate(demands) if flows}
    while waiting:
        counts = {hop: sum(demands[i][0] for i in waiting if hop in ways[i]) for hop in hops}
        # The next flow to be settled gets its demand, or the equal share of a hop.
        hop_share = {hop: left[hop] / count for hop, count in counts.items() if count}
        bound = {i: min(hop_share[hop] for hop in ways[i]) for i in waiting}
        least = min(min(bound[i], demands[i][1]) for i in waiting)
        for i in [i for i in waiting if min(bound[i], demands[i][1]) <= least]:
            shares[i] = min(bound[i], demands[i][1])
            waiting.remove(i)
            for hop in ways[i]:
                left[hop] -= shares[i] * demands[i][0]
    return shares


def _way(network: Network, group: Group) -> list[Crossing]:
    """Return the links with a rate that a group's data crosses. Raises UserError without one."""
    data = [
        replace(crossing, forward=crossing.forward != group.reverse)
        for crossing in network.path(group.enters, group.leaves)
    ]
    way = [crossing for crossing in data if network.direction(crossing).rate_bps]
    if not way:
        ends = (group.enters or network.nodes[0], group.leaves or network.nodes[-1])
        raise UserError(
            f"group {group.name}: no link from {ends[0]} to {ends[1]} has a rate; give one a rate, "
            "or let the group enter and leave elsewhere"
        )
    return way


def _elastic(network: Network, group: Group) -> bool:
    """Return whether a group's flows count in metrics of fairness, by default if they cross the
    link that is measured."""
    if group.elastic is not None:
        return group.elastic
    path = network.path(group.enters, group.leaves)
    return network.measured in {crossing.number for crossing in path}


def _active(demand: _Demand, from_s: float, to_s: float) -> bool:
    starts = demand.from_s is None or demand.from_s <= from_s + 1e-9
    return starts and (demand.to_s is None or demand.to_s >= to_s - 1e-9)


def _stepped(at: float | None, step_s: float) -> float | None:
    return None if at is None else round(round(at / step_s) * step_s, 6)


def facts(
    rate_bps: float,
    begin_s: float,
    end_s: float,
    groups: Sequence[Group],
    step_s: float,
    network: Network | None = None,
) -> Facts:
    """Facts of a run that is measured from begin_s to end_s. A group's fair share is the
    mean over the phases in which it sends, the run's that over its elastic flows and their time.
    Starts and stops are taken to be at multiples of step_s, where flows are read."""
    demands = _demands(groups, step_s)
    network = network or default_network(rate_bps, groups)
    ways = {demand.name: _way(network, demand.group) for demand in demands}
    counted = {demand.name for demand in demands if _elastic(network, demand.group)}
    rates = {hop: network.direction(hop).rate_bps for way in ways.values() for hop in way}
    edges = {begin_s, end_s}
    for demand in demands:
        edges |= {
            at
            for at in (demand.from_s, demand.settled_s, demand.to_s)
            if at is not None and begin_s < at < end_s
        }
    fair = {d.name: 0.0 for d in demands}
    seconds = {d.name: 0.0 for d in demands}
    phases = []
    for from_s, to_s in itertools.pairwise(sorted(edges)):
        active = [d for d in demands if _active(d, from_s, to_s)]
        shares = max_min(
            rates, [(d.flows, d.group.demand_bps) for d in active], [ways[d.name] for d in active]
        )
        share_of = {d.name: s * d.group.payload for d, s in zip(active, shares, strict=True)}
        for demand in active:
            fair[demand.name] += share_of[demand.name] * (to_s - from_s)
            seconds[demand.name] += to_s - from_s
        elastic = [d for d in active if d.name in counted]
        flows = sum(d.flows for d in elastic)
        total = sum(d.flows * share_of[d.name] for d in elastic)
        phases.append(
            Phase(
                "+".join(d.name for d in active) or "nobody",
                from_s,
                to_s,
                total / flows if flows else 0.0,
            )
        )
    elastic = [d for d in demands if d.name in counted]
    time = math.fsum(d.flows * seconds[d.name] for d in elastic)
    total = math.fsum(d.flows * fair[d.name] for d in elastic)
    return Facts(
        rate_bps=rate_bps,
        warmup_s=begin_s,
        end_s=end_s,
        fair_share_bps=total / time if time else 0.0,
        groups={
            d.name: GroupFacts(
                flows=d.flows,
                rtt_ms=d.rtt_ms,
                fair_share_bps=fair[d.name] / seconds[d.name] if seconds[d.name] else 0.0,
                elastic=d.name in counted,
                from_s=d.from_s,
                to_s=d.to_s,
            )
            for d in demands
        },
        phases=tuple(phases),
    )
