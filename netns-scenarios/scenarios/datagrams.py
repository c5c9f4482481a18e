# SPDX-License-Identifier: GPL-2.0
"""Constant-rate UDP as flows of a plan, and as a claim on the bottleneck."""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import common
from .errors import UserError
from .scenario import Request
from .shares import Part
from .topology import ETHERNET_HEADER, IP_HEADER, Group

UDP_HEADER = 8  # bytes
DELAYS_PER_S = 200  # logged of each flow, at most


@dataclass(frozen=True)
class Cbr:
    """One source: bit/s with Ethernet headers, bytes of an IP packet, DSCP, jitter in gaps between
    datagrams (0..1), and when it sends (None: from the start, to the end)."""

    rate_bps: float
    size: int
    dscp: int = 0
    jitter: float = 0.0
    start_s: float | None = None
    stop_s: float | None = None

    @classmethod
    def every(cls, gap_s: float, size: int, start_s: float | None = None,
              jitter: float = 0.0) -> Cbr:
        """A packet of `size` bytes every gap_s; without jitter, evenly."""
        return cls((size + ETHERNET_HEADER) * 8 / gap_s, size, jitter=jitter, start_s=start_s)

    @property
    def gap_ns(self) -> int:
        """Time between two datagrams."""
        return max(1, round((self.size + ETHERNET_HEADER) * 8e9 / self.rate_bps))


def interval(request: Request, start: str, stop: str) -> tuple[float | None, float | None]:
    """When a group sends, from two parameters; None for the ends of the run."""
    end_s = common.end_ms(request) / 1000
    start_s, stop_s = request.number(start), request.number(stop) or end_s
    if not start_s < stop_s <= end_s:
        raise UserError(f"{start}: {start_s:g} s and {stop}: {stop_s:g} s given, needs start < "
                        f"stop, and both within the run's {end_s:g} s")
    return start_s or None, stop_s if stop_s < end_s else None


def group(request: Request, rng: random.Random, name: str, flows: int, rtt_ms: float,
          cbr: Cbr) -> Group:
    """UDP flows. Half of the round-trip time is on their way to the bottleneck, so that their
    one-way delay has it; each starts at a seeded instant within its first gap."""
    if cbr.size > request.count("mtu"):
        raise UserError(f"{name}: packets of {cbr.size} bytes are larger than mtu, "
                        f"{request.count('mtu')}")
    gap_ns = cbr.gap_ns
    start_ns = round((cbr.start_s or 0) * 1e9)
    return Group(
        name=name,
        start_ns=[start_ns + int(rng.random() * gap_ns) for _ in range(flows)],
        rtt_ms=rtt_ms,
        access_bps=0,
        congestion_control="",
        timed=True,
        flow={
            "kind": "udp",
            "gap_ns": gap_ns,
            "jitter_ns": round(cbr.jitter * gap_ns),
            "size": cbr.size - IP_HEADER[common.ip_of(request)] - UDP_HEADER,
            "tos": cbr.dscp << 2,
            "delay_ns": round(rtt_ms * 5e5),
            "stop_ns": round((cbr.stop_s or 0) * 1e9),
            "log_every": max(1, round(1e9 / gap_ns / DELAYS_PER_S)),
        },
        each=[{"seed": rng.getrandbits(32)} for _ in range(flows)],
    )


def part(request: Request, name: str, flows: int, rtt_ms: float, cbr: Cbr) -> Part:
    """The same flows as a claim on the bottleneck."""
    payload = (cbr.size - IP_HEADER[common.ip_of(request)] - UDP_HEADER) / (
        cbr.size + ETHERNET_HEADER)
    return Part(name, flows, rtt_ms, cbr.rate_bps, payload, elastic=False,
                from_s=cbr.start_s, to_s=cbr.stop_s)
