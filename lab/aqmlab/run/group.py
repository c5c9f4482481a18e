# SPDX-License-Identifier: GPL-2.0
"""Groups of flows, from which scenarios are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Group:
    """Flows with the same round-trip time and access rate, and their demand at the bottleneck.

    start_ns: when each flow starts, after the epoch; its length is the number of flows
    access_bps: bit/s of each source's own link, 0 for no limit
    flow: more keys for flowgen's flow file
    each: such keys that differ from flow to flow
    timed: the sources give their packets departure times, which `fq` must keep
    reverse: the group sends in the other direction, over a bottleneck that is not measured
    enters, leaves: nodes of the network with its sources and its sinks; "": the first and the last
    counted_in: another group to which the metrics add these flows; "": none
    demand_bps: most that one flow would send, including headers; inf: no limit
    payload: share of payload in its packets, 0..1
    elastic: see fair_shares.GroupFacts; None: if it crosses the link that is measured
    from_s, to_s: see fair_shares.GroupFacts
    settled_s: end of the phase that begins with its start; None if no phase ends
    """

    name: str
    start_ns: Sequence[int]
    rtt_ms: float
    access_bps: float
    congestion_control: str
    flow: dict[str, int | str] = field(default_factory=dict)
    each: Sequence[dict[str, int | str]] = ()
    timed: bool = False
    reverse: bool = False
    enters: str = ""
    leaves: str = ""
    counted_in: str = ""
    demand_bps: float = math.inf
    payload: float = 1.0
    elastic: bool | None = None
    from_s: float | None = None
    to_s: float | None = None
    settled_s: float | None = None
