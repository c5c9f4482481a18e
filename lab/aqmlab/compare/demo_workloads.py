# SPDX-License-Identifier: GPL-2.0
"""The demo's workloads: each discipline in the workloads that it is made for, beside mainline.

A workload is a scenario with its settings and a probe, and the disciplines that one would use
there. A Discipline has the name for tables and plots, and tc's words for a buffer of a given
number of packets. On the dumbbell, fair queues get 65536 queues (sfq: 1024 slots behind 65536 hash
values), because the papers give every flow its own queue.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

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

    candidates = [
        b for b in range(min_packets, 50 * (min_packets + 1) + 2000) if derived(b) == wlog
    ]
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
    """Return options of mainline's Adaptive RED: min 20 % of the buffer, max three times as much
    (Floyd, Gummadi and Shenker 2001), and tc's default weight."""
    low = buffer // 5 * frame
    return (
        f"red limit {buffer * frame} min {low} max {3 * low} avpkt {frame} "
        f"probability 0.1 bandwidth {rate}mbit adaptive"
    )


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


#: Mainline's disciplines, where flows are few: with their own defaults except the limit.
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
#: Mainline's disciplines, where flows are many: as many queues as they can have.
MANY_QUEUES = TODAY | {
    "sfq": "limit {buffer} depth 127 flows 1024 divisor 65536",
    "fq_codel": "limit {buffer} flows 65536",
    "fq_pie": "limit {buffer} flows 65536",
}


@dataclass(frozen=True)
class Workload:
    """A setting in which disciplines are compared.

    scenario, settings: what runs
    buffers: sizes in packets
    frame: bytes of a full packet in the kernel's count
    rate: of the link, Mb/s
    rivals: mainline's disciplines, and variants of ours
    title, note: for readers of the report
    use, advice: disciplines that a person recommends here, and why; the demo checks that each of
        them is as good as the best
    """

    scenario: str
    settings: Mapping[str, float | str]
    buffers: tuple[int, ...]
    frame: int
    rate: int
    rivals: tuple[Discipline, ...]
    note: str = ""
    title: str = ""
    use: tuple[str, ...] = ()
    advice: str = ""
    disciplines: list[Discipline] = field(default_factory=list)

    def line(self, kind: str, options: str) -> Discipline:
        """Return a discipline; `options` may name what `fields` has."""

        def qdisc(buffer: int) -> str:
            known = fields(buffer, self.frame) | {"rate": self.rate}
            return f"{kind} {options.format(**known)}".strip()

        return Discipline(kind, qdisc)

    def about(self) -> dict[str, str]:
        """Return the texts for readers of the report."""
        return {"title": self.title or self.scenario, "advice": self.advice, "note": self.note}


def workload(
    scenario: str,
    settings: Mapping[str, float | str],
    buffer: int,
    rate: int,
    rivals: Sequence[str],
    *,
    frame: int = FRAME,
    probe_gap: int | None = None,
    options: Mapping[str, str] = MappingProxyType(TODAY),
    **texts: Any,
) -> Workload:
    """Return a workload with a probe. `red` is Adaptive RED, `lqd` is qsdrr without hysteresis."""
    probe = {"probe": "on"} | ({"probe_gap": probe_gap} if probe_gap else {})
    bare = Workload(scenario, {**settings, **probe}, (buffer,), frame, rate, (), **texts)
    special = {
        "red": Discipline("red adaptive", lambda n: adaptive_red(n, frame, rate)),
        "red 2001": Discipline("red", lambda n: red(n, rate)),
        "lqd": Discipline(
            "qsdrr nohysteresis", lambda n: f"qsdrr limit {n} flows 65536 nohysteresis"
        ),
    }
    return replace(
        bare,
        rivals=tuple(
            special[kind]
            if kind in special
            else bare.line(*kind.split(" ", 1))
            if " " in kind
            else bare.line(kind, options[kind])
            for kind in rivals
        ),
    )


WORKLOADS = {
    # Half of docs/results/buffers.md: 256 flows, 500 Mb/s and 64 packets.
    "small-buffer": workload(
        "dumbbell",
        {
            "flows": 128,
            "rate": 250,
            "access": 100,
            "tcp_profile": "today",
            "warmup": 5,
            "duration": 8,
        },
        32,
        250,
        (
            "pfifo",
            "red",
            "fred limit {buffer}",
            "sfq",
            "fq_codel",
            "fq_pie",
            "cake",
            "dualpi2",
            "lqd",
        ),
        options=MANY_QUEUES,
        title="More flows than packets of buffer",
        use=("tdrr",),
        advice="Use tdrr. If most queues are empty, their lengths do not show which flow sends "
        "most. tdrr remembers it.",
    ),
    "dumbbell": workload(
        "dumbbell",
        {"flows": 50, "rate": 250, "warmup": 8, "duration": 10},
        500,
        250,
        ("pfifo", "red 2001", "sfq", "fq_codel", "cake", "dualpi2", "lqd"),
        options=MANY_QUEUES,
        title="Ten packets of buffer per flow",
        use=("fq_codel",),
        advice="Use fq_codel: flows get equal shares, and a sparse flow hardly waits. The link is "
        "2 to 3 % less busy than under most others.",
        note="The dumbbell is half of Kantawala and Turner's in flows, rate and buffer, so a "
        "flow's share and the time that a buffer takes to drain are theirs. Fair queues have "
        "65536 queues (sfq 1024 slots, cake its 1024), so collisions of the hash hardly matter. "
        "red has their table 1: max_p 0.01, w_q 1/1024, min 20 % and max 100 % of the buffer. "
        "Mainline's red drops every arrival while the average is above max.",
    ),
    # A datagram every 100 ms: with the default of 20 ms the probe would take 1 % of the link.
    "udp-blast": workload(
        "udp-blast",
        {"warmup": 5, "duration": 20, "tagged_flows": 6},
        100,
        10,
        ("pfifo", "red", "choke", "codel", "pie", "dualpi2", "sfq", "fq_codel", "cake"),
        probe_gap=100,
        title="One sender that ignores losses",
        use=("cake", "fred"),
        advice="Use cake: it protects TCP as well as sfq does, and a sparse flow hardly waits. If "
        "it must be a FIFO, use fred.",
        note="In udp-blast, choke has min 20 % and max 90 % of the buffer.",
    ),
    "step-load": workload(
        "step-load",
        {"warmup": 5, "rate": 50, "steps": 2, "step_every": 5},
        200,
        50,
        ("pfifo", "red", "codel", "pie", "dualpi2", "fq_codel", "cake"),
        title="Flows that come and go",
        use=("cake",),
        advice="Use cake: a sparse flow hardly waits, even while many others start.",
    ),
    # The queue is read every 30 ms, which no sender's interval divides.
    "web-mix": workload(
        "web-mix",
        {"duration": 80, "sample": 30},
        160,
        3,
        ("pfifo", "red", "codel", "pie", "dualpi2", "fq_codel", "cake"),
        frame=1014,
        probe_gap=100,
        title="Web pages beside downloads",
        use=("fq_codel", "redtail"),
        advice="Use fq_codel: pages are fast, and a call waits little. Pages are as fast under "
        "redtail, but a call waits 0.2 s.",
    ),
}
for _kind, _metadata in all_metadata().items():
    for _one in WORKLOADS.values():
        if _one.scenario == _metadata["SCENARIO"]:
            _one.disciplines.append(_one.line(_kind, _metadata["DEMO"]))
