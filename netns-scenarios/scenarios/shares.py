# SPDX-License-Identifier: GPL-2.0
"""What is fair: max-min shares of the bottleneck, over time, from what each group asks for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .scenario import Facts, GroupFacts, Phase


@dataclass(frozen=True)
class Part:
    """A group of flows as a claim on the bottleneck.

    demand_bps: what one of its flows would take at most, headers included; inf: anything
    payload: share of its packets' length that is payload, 0..1
    elastic, from_s, to_s: see GroupFacts
    apart: it does not cross the bottleneck that is measured, but its mirror image
    """

    name: str
    flows: int
    rtt_ms: float
    demand_bps: float
    payload: float
    elastic: bool = True
    from_s: float | None = None
    to_s: float | None = None
    apart: bool = False


def max_min(rate_bps: float, demands: Sequence[tuple[int, float]]) -> list[float]:
    """Max-min fair rate of one flow of each (flows, demand_bps): nobody gets more than it asks
    for, and what is left is shared equally among those who would take it."""
    shares = [0.0] * len(demands)
    left, waiting = rate_bps, sum(flows for flows, _ in demands)
    for i in sorted(range(len(demands)), key=lambda i: demands[i][1]):
        flows, demand_bps = demands[i]
        if not flows:
            continue
        shares[i] = min(demand_bps, left / waiting)
        left -= shares[i] * flows
        waiting -= flows
    return shares


def _active(part: Part, from_s: float, to_s: float) -> bool:
    starts = part.from_s is None or part.from_s <= from_s + 1e-9
    return starts and (part.to_s is None or part.to_s >= to_s - 1e-9)


def _stepped(at: float | None, step_s: float) -> float | None:
    return None if at is None else round(round(at / step_s) * step_s, 6)


def facts(rate_bps: float, begin_s: float, end_s: float, parts: Sequence[Part],
          step_s: float) -> Facts:
    """Facts of a run that is measured from begin_s to end_s. A group's fair share is the
    mean over the phases in which it sends, the run's that over its elastic flows and their time.
    Starts and stops are taken to be at multiples of step_s, where flows are read."""
    parts = [replace(p, from_s=_stepped(p.from_s, step_s), to_s=_stepped(p.to_s, step_s))
             for p in parts]
    edges = {begin_s, end_s}
    for part in parts:
        edges |= {at for at in (part.from_s, part.to_s)
                  if at is not None and begin_s < at < end_s}
    instants = sorted(edges)
    fair = {p.name: 0.0 for p in parts}
    seconds = {p.name: 0.0 for p in parts}
    phases = []
    for from_s, to_s in itertools.pairwise(instants):
        active = [p for p in parts if _active(p, from_s, to_s)]
        share_of: dict[str, float] = {}
        for side in ([p for p in active if not p.apart], [p for p in active if p.apart]):
            shares = max_min(rate_bps, [(p.flows, p.demand_bps) for p in side])
            share_of |= {p.name: s * p.payload for p, s in zip(side, shares, strict=True)}
        for part in active:
            fair[part.name] += share_of[part.name] * (to_s - from_s)
            seconds[part.name] += to_s - from_s
        elastic = [p for p in active if p.elastic]
        flows = sum(p.flows for p in elastic)
        total = sum(p.flows * share_of[p.name] for p in elastic)
        phases.append(Phase("+".join(p.name for p in active) or "nobody", from_s, to_s,
                            total / flows if flows else 0.0))
    groups = {
        p.name: GroupFacts(p.flows, p.rtt_ms,
                           fair[p.name] / seconds[p.name] if seconds[p.name] else 0.0,
                           p.elastic, p.from_s, p.to_s)
        for p in parts
    }
    elastic = [p for p in parts if p.elastic]
    time = math.fsum(p.flows * seconds[p.name] for p in elastic)
    total = math.fsum(p.flows * fair[p.name] for p in elastic)
    return Facts(rate_bps, begin_s, end_s, total / time if time else 0.0, groups, tuple(phases))
