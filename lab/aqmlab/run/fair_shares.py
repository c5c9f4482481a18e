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
class _Claim:
    """The flows of one group of the metrics: how many, their mean round-trip time, and what holds
    for all of them, by the first of the groups that they come from."""

    name: str
    flows: int
    rtt_ms: float
    of: Group
    from_s: float | None
    to_s: float | None
    settled_s: float | None


def _claims(groups: Sequence[Group], step_s: float) -> list[_Claim]:
    together: dict[str, list[Group]] = {}
    for group in groups:
        together.setdefault(group.counted_in or group.name, []).append(group)
    claims = []
    for name, parts in together.items():
        flows = sum(len(g.start_ns) for g in parts)
        rtt_ms = (
            parts[0].rtt_ms
            if len(parts) == 1
            else sum(g.rtt_ms * len(g.start_ns) for g in parts) / flows
        )
        first = parts[0]
        claims.append(
            _Claim(
                name,
                flows,
                rtt_ms,
                first,
                _stepped(first.from_s, step_s),
                _stepped(first.to_s, step_s),
                _stepped(first.settled_s, step_s),
            )
        )
    return claims


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
        replace(one, forward=one.forward != group.reverse)
        for one in network.path(group.enters, group.leaves)
    ]
    way = [one for one in data if network.direction(one).rate_bps]
    if not way:
        raise UserError(f"group {group.name}: no link on its way has a rate; give one a rate")
    return way


def _active(claim: _Claim, from_s: float, to_s: float) -> bool:
    starts = claim.from_s is None or claim.from_s <= from_s + 1e-9
    return starts and (claim.to_s is None or claim.to_s >= to_s - 1e-9)


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
    claims = _claims(groups, step_s)
    network = network or default_network(rate_bps, groups)
    ways = {claim.name: _way(network, claim.of) for claim in claims}
    rates = {hop: network.direction(hop).rate_bps for way in ways.values() for hop in way}
    edges = {begin_s, end_s}
    for claim in claims:
        edges |= {
            at
            for at in (claim.from_s, claim.settled_s, claim.to_s)
            if at is not None and begin_s < at < end_s
        }
    fair = {c.name: 0.0 for c in claims}
    seconds = {c.name: 0.0 for c in claims}
    phases = []
    for from_s, to_s in itertools.pairwise(sorted(edges)):
        active = [c for c in claims if _active(c, from_s, to_s)]
        shares = max_min(
            rates, [(c.flows, c.of.demand_bps) for c in active], [ways[c.name] for c in active]
        )
        share_of = {c.name: s * c.of.payload for c, s in zip(active, shares, strict=True)}
        for claim in active:
            fair[claim.name] += share_of[claim.name] * (to_s - from_s)
            seconds[claim.name] += to_s - from_s
        elastic = [c for c in active if c.of.elastic]
        flows = sum(c.flows for c in elastic)
        total = sum(c.flows * share_of[c.name] for c in elastic)
        phases.append(
            Phase(
                "+".join(c.name for c in active) or "nobody",
                from_s,
                to_s,
                total / flows if flows else 0.0,
            )
        )
    elastic = [c for c in claims if c.of.elastic]
    time = math.fsum(c.flows * seconds[c.name] for c in elastic)
    total = math.fsum(c.flows * fair[c.name] for c in elastic)
    return Facts(
        rate_bps,
        begin_s,
        end_s,
        total / time if time else 0.0,
        {
            c.name: GroupFacts(
                c.flows,
                c.rtt_ms,
                fair[c.name] / seconds[c.name] if seconds[c.name] else 0.0,
                c.of.elastic,
                c.from_s,
                c.to_s,
            )
            for c in claims
        },
        tuple(phases),
    )
