# SPDX-License-Identifier: GPL-2.0
"""Groups of flows, from which scenarios are made."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from aqmlab.exceptions import UserError

#: A word of flowgen's flow file, and part of the name of a namespace.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,30}")


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
    Raises UserError if its name or a number of it is wrong.
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

    def __post_init__(self) -> None:
        """Check what a scenario gives."""
        for wrong, why in (
            (
                not NAME.fullmatch(self.name),
                "a name has 1 to 31 letters, digits, dots, - and _ without an accent",
            ),
            (min(self.start_ns, default=0) < 0, "a flow starts before the run"),
            (not 0 <= self.rtt_ms < math.inf, f"a round-trip time of {self.rtt_ms} ms given"),
            (not 0 <= self.access_bps < math.inf, f"access of {self.access_bps} bit/s given"),
            (not self.demand_bps > 0, f"a demand of {self.demand_bps} bit/s given"),
            (not 0 < self.payload <= 1, f"{self.payload} of a packet is payload"),
            (
                self.to_s is not None and self.to_s <= (self.from_s or 0),
                f"from_s: {self.from_s} and to_s: {self.to_s} given, needs from_s < to_s",
            ),
        ):
            if wrong:
                raise UserError(f"group {self.name}: {why}")
