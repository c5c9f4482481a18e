# SPDX-License-Identifier: GPL-2.0
"""Links between two nodes of a network."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .trace import Trace


@dataclass(frozen=True)
class Direction:
    """One direction of a link.

    rate_bps: bit/s with Ethernet headers; 0: no limit
    qdisc: queues for this rate; None: the qdisc that the run studies
    loss: % of the packets
    """

    rate_bps: float = 0.0
    qdisc: str | None = None
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    trace: Trace | None = None

    @property
    def needs_netem(self) -> bool:
        """Return whether it has a delay, or loses packets."""
        return bool(self.delay_ms or self.jitter_ms or self.loss)

    def averaged(self, from_s: float, to_s: float) -> Direction:
        """Return the same with a trace's mean rate between two times."""
        return replace(self, rate_bps=self.trace.mean_bps(from_s, to_s)) if self.trace else self


@dataclass(frozen=True)
class Link:
    """A link between two nodes: `there` from near to far, and `back`; see `Network.link`."""

    near: str
    far: str
    there: Direction
    back: Direction

    def direction(self, *, forward: bool) -> Direction:
        """Return one direction."""
        return self.there if forward else self.back
