# SPDX-License-Identifier: GPL-2.0
"""FPQ-RED in plain Python, in floating point.

R. Morris, "Scalable TCP Congestion Control", 1999, as described by K. Wang, MIT-LCS-TR-829,
equations 3.4 and 3.5 and section 3.3.3. The number of flows is an argument, because a model cannot
know the discipline's secret hash. Lengths are in wire packets, times in ns.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.ared.model import RedQueue

INTERVAL = 7_500_000  # ns


def target_queue(pipe: int, flows: int) -> int:
    """Equation 3.4, in whole packets."""
    return max(pipe // (2 * flows - 1), 6 * flows)


def target_loss(pipe: int, flows: int) -> float:
    """Equation 3.5."""
    return min((0.87 / ((target_queue(pipe, flows) + pipe) / flows + 1)) ** 2, 0.021)


@dataclass
class Fpq(RedQueue):
    """RED with max and max_p derived from the number of flows."""

    pipe: int = 1
    target: int = 0
    adjust_at: int = 0

    def adjust(self, flows: int, now: int) -> None:
        """Set Bmax and Pmax for this number of flows."""
        flows = max(1, flows)
        self.target = target_queue(self.pipe, flows)
        self.red.max_th = 2 * self.target
        self.red.max_p = target_loss(self.pipe, flows)
        self.adjust_at = now + INTERVAL

    def arrival(self, packet: int, tos: int, segments: int, flows: int, now: int) -> None:
        """Enqueue a packet, mark it or drop it. flows: number of flows, including its own"""
        if now >= self.adjust_at:
            self.adjust(flows, now)
        self.enqueue(packet, tos, segments, now)
