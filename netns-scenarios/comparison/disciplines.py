# SPDX-License-Identifier: GPL-2.0
"""What the demo compares: one line per discipline.

A line gives the name in tables and pictures, and the discipline for a buffer of a given number
of full packets. Fair queues get 65536 queues (sfq: 1024 slots behind 65536 hash values), so that
what is compared is the discipline and not its hash: the papers give every flow its own queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .cards import cards

FRAME = 1514  # bytes of a full packet in the kernel's count
PACKET_MEMORY = 340  # bytes that the kernel needs for a full packet beside its own length
RED_WLOG = 10  # w_q = 2^-10, the nearest power of two to the paper's 0.001

#: For who reads the report.
NOTE = (
    "Fair queues have 65536 queues here (sfq 1024 slots), so that collisions of the hash play no "
    "part. red has table 1 of Kantawala and Turner: max_p 0.01, w_q 1/1024, min 20 % and max 100 % "
    "of the buffer; mainline's drops every arrival while the average is above max."
)


@dataclass(frozen=True)
class Discipline:
    """name: for people; qdisc: buffer in packets to what tc calls the discipline."""

    name: str
    qdisc: Callable[[int], str]


def red_burst(min_packets: int, wlog: int) -> int:
    """The `burst` from which tc derives an averaging weight of 2^-wlog.

    tc takes the first w = 2^-W, W = 1, 2, ..., with burst + 1 - min / avpkt <= (1 - (1 - w)^burst)
    / w (Floyd and Jacobson 1993, section 4: a burst of that many packets may pass). Of the bursts
    that give W, this is the middle one.
    """

    def derived(burst: int) -> int:
        for w in range(1, 32):
            weight = 2.0**-w
            if burst + 1 - min_packets <= -math.expm1(burst * math.log1p(-weight)) / weight:
                return w
        return 32

    candidates = [b for b in range(min_packets, 50 * (min_packets + 1) + 2000)
                  if derived(b) == wlog]
    if not candidates:
        raise ValueError(f"no burst gives W={wlog} with min {min_packets} packets")
    return candidates[len(candidates) // 2]


def red(buffer: int) -> str:
    """Kantawala and Turner, table 1: max_p 0.01, w_q 0.001, min 20 % of the buffer, max all of it.

    Mainline's red counts bytes and drops everything while the average is at max or above.
    """
    minimum = buffer // 5
    return (
        f"red limit {buffer * FRAME} min {minimum * FRAME} max {buffer * FRAME} avpkt {FRAME} "
        f"burst {red_burst(minimum, RED_WLOG)} probability 0.01 bandwidth 500mbit"
    )


def fields(buffer: int, frame: int = FRAME) -> dict[str, int]:
    """What the DEMO line of a card may name, for a buffer of so many packets of `frame` bytes."""
    return {
        "buffer": buffer,  # packets
        "bytes": buffer * frame,
        "fifth": buffer // 5,  # packets: table 1's min
        "fifth_bytes": buffer // 5 * frame,
        "most": buffer * 9 // 10,  # packets
        "frame": frame,  # bytes of a packet
        "memory": buffer * (frame + PACKET_MEMORY),  # bytes
    }


def ours(kind: str, demo: str) -> Discipline:
    """A discipline of this project, as its card has it."""
    return Discipline(kind, lambda buffer: f"{kind} {demo.format(**fields(buffer))}")


#: What ours are set beside: mainline's, and plain deficit round robin.
BASELINES = (
    Discipline("pfifo", lambda n: f"pfifo limit {n}"),
    Discipline("red", red),
    Discipline("sfq", lambda n: f"sfq limit {n} depth 127 flows 1024 divisor 65536"),
    Discipline("fq_codel", lambda n: f"fq_codel limit {n} flows 65536"),
    Discipline("qsdrr nohysteresis", lambda n: f"qsdrr limit {n} flows 65536 nohysteresis"),
)
DISCIPLINES = (*BASELINES, *(ours(kind, card["DEMO"]) for kind, card in cards().items()))
