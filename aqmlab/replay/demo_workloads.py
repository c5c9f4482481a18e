# SPDX-License-Identifier: GPL-2.0
"""What the demo compares, and where: each discipline on the ground that it is made for.

A ground is a scenario, its settings, and mainline's disciplines that one would use there today.
A line gives the name in tables and pictures, and the discipline for a buffer of a given number
of full packets. On the dumbbell fair queues get 65536 queues (sfq: 1024 slots behind 65536 hash
values), so that what is compared is the discipline and not its hash: the papers give every flow
its own queue.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aqmlab.qdiscs.metadata import all_metadata

FRAME = 1514  # bytes of a full packet in the kernel's count
PACKET_MEMORY = 340  # bytes that the kernel needs for a full packet beside its own length
RED_WLOG = 10  # w_q = 2^-10, the nearest power of two to the paper's 0.001

@dataclass(frozen=True)
class Discipline:
    """name: for people; qdisc: buffer in packets to what tc calls the discipline."""

    name: str
    qdisc: Callable[[int], str]


@functools.cache
def red_burst(buffer: int) -> int:
    """The `burst` from which tc derives RED's averaging weight for min 20 % of the buffer, packets.

    It is 2^-RED_WLOG, or the smallest that the kernel takes: W and the bits of max, which is the
    buffer in bytes, together below 32 (red_check_params()).

    tc takes the first w = 2^-W, W = 1, 2, ..., with burst + 1 - min / avpkt <= (1 - (1 - w)^burst)
    / w (Floyd and Jacobson 1993, section 4: a burst of that many packets may pass). Of the bursts
    that give W, this is the middle one.
    """
    min_packets = buffer // 5
    wlog = min(RED_WLOG, 31 - (buffer * FRAME).bit_length())

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


def red(buffer: int, rate: int) -> str:
    """Kantawala and Turner, table 1: max_p 0.01, w_q 0.001, min 20 % of the buffer, max all of it.

    Mainline's red counts bytes and drops everything while the average is at max or above.
    """
    minimum = buffer // 5
    return (
        f"red limit {buffer * FRAME} min {minimum * FRAME} max {buffer * FRAME} avpkt {FRAME} "
        f"burst {red_burst(buffer)} probability 0.01 bandwidth {rate}mbit"
    )


def adaptive_red(buffer: int, frame: int, rate: int) -> str:
    """Mainline's Adaptive RED: min 20 % of the buffer, max three times that (Floyd, Gummadi and
    Shenker 2001), and the averaging weight that tc takes by itself."""
    low = buffer // 5 * frame
    return (f"red limit {buffer * frame} min {low} max {3 * low} avpkt {frame} "
            f"probability 0.1 bandwidth {rate}mbit adaptive")


def fields(buffer: int, frame: int = FRAME) -> dict[str, int]:
    """Return the words of a DEMO line, for a buffer of `buffer` packets of `frame` bytes."""
    return {
        "buffer": buffer,  # packets
        "bytes": buffer * frame,
        "fifth": buffer // 5,  # packets: table 1's min
        "fifth_bytes": buffer // 5 * frame,
        "most": buffer * 9 // 10,  # packets
        "frame": frame,  # bytes of a packet
        "memory": buffer * (frame + PACKET_MEMORY),  # bytes
    }


#: Mainline's, for grounds where flows are few: with their own defaults, but for the limit.
TODAY = {
    "pfifo": "limit {buffer}",
    "choke": "limit {buffer} min {fifth} max {most} avpkt {frame} bandwidth {rate}mbit "
             "probability 0.02",
    "codel": "limit {buffer}",
    "pie": "limit {buffer}",
    "fq_codel": "limit {buffer}",
    "cake": "unlimited memlimit {memory}",
    "sfq": "limit {buffer}",
    "dualpi2": "limit {buffer}",
}


@dataclass(frozen=True)
class Ground:
    """Where disciplines are compared.

    settings: of the scenario; buffers: packets; frame: bytes of a full packet in the kernel's
    count; rivals: what ours are set beside; note: for who reads the report.
    """

    scenario: str
    settings: Mapping[str, float | str]
    buffers: tuple[int, ...]
    frame: int
    rate: int  # Mb/s
    rivals: tuple[Discipline, ...]
    note: str = ""
    disciplines: list[Discipline] = field(default_factory=list)

    def line(self, kind: str, options: str) -> Discipline:
        """A discipline whose options name what `fields` has."""

        def qdisc(buffer: int) -> str:
            known = fields(buffer, self.frame) | {"rate": self.rate}
            return f"{kind} {options.format(**known)}".strip()

        return Discipline(kind, qdisc)


def _ground(scenario: str, settings: Mapping[str, float | str], buffers: tuple[int, ...],
            frame: int, rate: int, rivals: tuple[str, ...], note: str = "") -> Ground:
    """One whose rivals are of TODAY, Adaptive RED among them."""
    bare = Ground(scenario, settings, buffers, frame, rate, ())
    made = [Discipline("red adaptive", lambda n: adaptive_red(n, frame, rate))
            if kind == "red" else bare.line(kind, TODAY[kind]) for kind in rivals]
    return Ground(scenario, settings, buffers, frame, rate, tuple(made), note)


GROUNDS = {
    "dumbbell": Ground(
        "dumbbell", {"flows": 50, "rate": 250, "warmup": 8, "duration": 10}, (100, 500), FRAME, 250,
        (Discipline("pfifo", lambda n: f"pfifo limit {n}"),
         Discipline("red", lambda n: red(n, 250)),
         Discipline("sfq", lambda n: f"sfq limit {n} depth 127 flows 1024 divisor 65536"),
         Discipline("fq_codel", lambda n: f"fq_codel limit {n} flows 65536"),
         Discipline("cake", lambda n: f"cake unlimited memlimit {fields(n)['memory']}"),
         Discipline("dualpi2", lambda n: f"dualpi2 limit {n}"),
         Discipline("qsdrr nohysteresis",
                    lambda n: f"qsdrr limit {n} flows 65536 nohysteresis")),
        "The dumbbell is half of Kantawala and Turner's in flows, rate and buffers: a flow's share "
        "and the time that a buffer takes to drain are theirs. Fair queues have 65536 queues there "
        "(sfq 1024 slots, cake its 1024), so that collisions of the hash play no part. red has "
        "their table 1: "
        "max_p 0.01, w_q 1/1024, min 20 % and max 100 % of the buffer; mainline's drops every "
        "arrival while the average is above max.",
    ),
    "udp-blast": _ground(
        "udp-blast", {"warmup": 5, "duration": 20, "tagged_flows": 6}, (100,), FRAME, 10,
        ("pfifo", "red", "choke", "codel", "pie", "dualpi2", "sfq", "fq_codel", "cake"),
        note="Against the blast, choke has min 20 % and max 90 % of the buffer."),
    # Its queue is read in step with nothing that sends.
    "web-mix": _ground("web-mix", {"duration": 80, "sample": 30}, (160,), 1014, 3,
                       ("pfifo", "red", "codel", "pie", "dualpi2", "fq_codel", "cake")),
    "step-load": _ground(
        "step-load", {"warmup": 5, "rate": 50, "steps": 2, "step_every": 5}, (200,), FRAME, 50,
        ("pfifo", "red", "codel", "pie", "dualpi2", "fq_codel", "cake")),
}
for _kind, _metadata in all_metadata().items():
    _on = GROUNDS[_metadata["SCENARIO"]]
    _on.disciplines.append(_on.line(_kind, _metadata["DEMO"]))
