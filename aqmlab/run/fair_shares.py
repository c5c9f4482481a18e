# SPDX-License-Identifier: GPL-2.0
"""What is fair: max-min shares of the bottleneck, over time, from what each group asks for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from .topology import Group, bottlenecks


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
        rtt_ms = (parts[0].rtt_ms if len(parts) == 1 else
                  sum(g.rtt_ms * len(g.start_ns) for g in parts) / flows)
        first = parts[0]
        claims.append(_Claim(name, flows, rtt_ms, first, _stepped(first.from_s, step_s),
                             _stepped(first.to_s, step_s), _stepped(first.settled_s, step_s)))
    return claims


def max_min(rate_bps: float, demands: Sequence[tuple[int, float]],
            ways: Sequence[range] | None = None) -> list[float]:
    """Max-min fair rate of one flow of each (flows, demand_bps): nobody gets more than it asks
    for, and what is left is shared equally among those who would take it. ways: the bottlenecks
    that each crosses, all of rate_bps; without them there is one."""
    ways = ways or [range(1)] * len(demands)
    shares = [0.0] * len(demands)
    left = [rate_bps] * max((way.stop for way in ways), default=0)
    waiting = {i for i, (flows, _) in enumerate(demands) if flows}
    while waiting:
        counts = [sum(demands[i][0] for i in waiting if hop in ways[i])
                  for hop in range(len(left))]
        # What the next to be done gets: by its own demand, or the equal share of a hop.
        hop_share = {hop: left[hop] / count for hop, count in enumerate(counts) if count}
        bound = {i: min(hop_share[hop] for hop in ways[i]) for i in waiting}
        least = min(min(bound[i], demands[i][1]) for i in waiting)
        for i in [i for i in waiting if min(bound[i], demands[i][1]) <= least]:
            shares[i] = min(bound[i], demands[i][1])
            waiting.remove(i)
            for hop in ways[i]:
                left[hop] -= shares[i] * demands[i][0]
    return shares


def _active(claim: _Claim, from_s: float, to_s: float) -> bool:
    starts = claim.from_s is None or claim.from_s <= from_s + 1e-9
    return starts and (claim.to_s is None or claim.to_s >= to_s - 1e-9)


def _stepped(at: float | None, step_s: float) -> float | None:
    return None if at is None else round(round(at / step_s) * step_s, 6)


def facts(rate_bps: float, begin_s: float, end_s: float, groups: Sequence[Group],
          step_s: float) -> Facts:
    """Facts of a run that is measured from begin_s to end_s. A group's fair share is the
    mean over the phases in which it sends, the run's that over its elastic flows and their time.
    Starts and stops are taken to be at multiples of step_s, where flows are read."""
    claims = _claims(groups, step_s)
    hops = bottlenecks(groups)
    edges = {begin_s, end_s}
    for claim in claims:
        edges |= {at for at in (claim.from_s, claim.settled_s, claim.to_s)
                  if at is not None and begin_s < at < end_s}
    fair = {c.name: 0.0 for c in claims}
    seconds = {c.name: 0.0 for c in claims}
    phases = []
    for from_s, to_s in itertools.pairwise(sorted(edges)):
        active = [c for c in claims if _active(c, from_s, to_s)]
        share_of: dict[str, float] = {}
        for reverse in (False, True):
            side = [c for c in active if c.of.reverse == reverse]
            shares = max_min(rate_bps, [(c.flows, c.of.demand_bps) for c in side],
                             [range(c.of.enters, c.of.leaves or hops) for c in side])
            share_of |= {c.name: s * c.of.payload for c, s in zip(side, shares, strict=True)}
        for claim in active:
            fair[claim.name] += share_of[claim.name] * (to_s - from_s)
            seconds[claim.name] += to_s - from_s
        elastic = [c for c in active if c.of.elastic]
        flows = sum(c.flows for c in elastic)
        total = sum(c.flows * share_of[c.name] for c in elastic)
        phases.append(Phase("+".join(c.name for c in active) or "nobody", from_s, to_s,
                            total / flows if flows else 0.0))
    elastic = [c for c in claims if c.of.elastic]
    time = math.fsum(c.flows * seconds[c.name] for c in elastic)
    total = math.fsum(c.flows * fair[c.name] for c in elastic)
    return Facts(rate_bps, begin_s, end_s, total / time if time else 0.0, {
        c.name: GroupFacts(c.flows, c.rtt_ms,
                           fair[c.name] / seconds[c.name] if seconds[c.name] else 0.0,
                           c.of.elastic, c.from_s, c.to_s)
        for c in claims
    }, tuple(phases))
