# SPDX-License-Identifier: GPL-2.0
"""Make groups of flows: bulk TCP, and UDP at a constant rate. web_traffic.py makes web clients."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from aqmlab.exceptions import UserError

from .group import Group
from .packets import ETHERNET_HEADER, IP_HEADER
from .settings import Settings

UDP_HEADER = 8  # bytes
DATAGRAM_HEADER = 16  # bytes of payload that flowgen needs
#: The two bits of the IP header: without ECN, ECT(0), ECT(1).
ECN = {"off": 0, "ect1": 1, "ect0": 2}
DELAYS_PER_S = 200  # logged of each flow, at most

# A sink is woken per 64 KiB, a source when half of this is sent: few system calls, and little
# memory between them. The send buffer as such is beyond any window and never binds: the kernel
# counts up to 2304 bytes of it for a packet with 1448 of payload.
LOWAT_BYTES = 65536
NOTSENT_BYTES = 131072
SNDBUF_BYTES = 8_000_000


def tcp_keys(settings: Settings) -> dict[str, int | str]:
    """Keys of flowgen's flow file that all flows of TCP share, bytes."""
    # The kernel doubles what SO_RCVBUF and SO_SNDBUF ask for, to account for overhead.
    buffer = settings.count("window") * 1000 // 2
    return {
        "rcvbuf": buffer,
        "sndbuf": max(SNDBUF_BYTES, 4 * buffer),
        "notsent": NOTSENT_BYTES,
        "lowat": min(LOWAT_BYTES, buffer // 4),
    }


def bulk(
    settings: Settings,
    rng: random.Random,
    name: str,
    flows: int,
    rtt_ms: float,
    *,
    from_s: float | None = None,
    to_s: float | None = None,
    reverse: bool = False,
    cc: str = "",
) -> list[Group]:
    """Return a group of bulk TCP flows, in a list; an empty list if `flows` is 0.

    Each flow has an access link with the rate `access`. It starts at a random instant within
    `spread` seconds after from_s.

    from_s, to_s: s after the start of the run, at which the warm-up begins; None: the start and
        the end of the run. Metrics then have a separate phase before and after each of these times
    reverse: the data goes in the other direction, over a mirror image of the bottleneck
    cc: congestion control; "": the parameter `cc`
    """
    begin_ns, spread_s = round((from_s or 0) * 1e9), settings.number("spread")
    access_bps = settings.number("access") * 1e6
    return (
        [
            Group(
                name=name,
                start_ns=[begin_ns + int(rng.random() * spread_s * 1e9) for _ in range(flows)],
                rtt_ms=rtt_ms,
                access_bps=access_bps,
                congestion_control=cc or settings.congestion_control,
                flow={**tcp_keys(settings), **({"stop_ns": round(to_s * 1e9)} if to_s else {})},
                reverse=reverse,
                demand_bps=access_bps or math.inf,
                payload=settings.payload,
                elastic=False if reverse else None,
                from_s=from_s,
                to_s=to_s,
            )
        ]
        if flows
        else []
    )


@dataclass(frozen=True)
class Cbr:
    """One source: bit/s with Ethernet headers, bytes of an IP packet, DSCP, jitter in gaps between
    datagrams (0..1), when it sends (None: from the start, to the end), and a key of ECN."""

    rate_bps: float
    size: int
    dscp: int = 0
    jitter: float = 0.0
    start_s: float | None = None
    stop_s: float | None = None
    ecn: str = "off"

    @classmethod
    def every(
        cls,
        gap_s: float,
        size: int,
        start_s: float | None = None,
        jitter: float = 0.0,
        ecn: str = "off",
    ) -> Cbr:
        """A packet of `size` bytes every gap_s; without jitter, evenly."""
        rate_bps = (size + ETHERNET_HEADER) * 8 / gap_s
        return cls(rate_bps, size, jitter=jitter, start_s=start_s, ecn=ecn)

    @property
    def gap_ns(self) -> int:
        """Time between two datagrams."""
        return max(1, round((self.size + ETHERNET_HEADER) * 8e9 / self.rate_bps))


def interval(settings: Settings, start: str, stop: str) -> tuple[float | None, float | None]:
    """When a group sends, from two parameters; None for the ends of the run."""
    end_s = settings.end_ms / 1000
    start_s, stop_s = settings.number(start), settings.number(stop) or end_s
    if not start_s < stop_s <= end_s:
        raise UserError(
            f"{start}: {start_s:g} s and {stop}: {stop_s:g} s given, needs start < "
            f"stop, and both within the run's {end_s:g} s"
        )
    return start_s or None, stop_s if stop_s < end_s else None


def udp(
    settings: Settings, rng: random.Random, name: str, flows: int, rtt_ms: float, cbr: Cbr
) -> list[Group]:
    """UDP flows; none is no group. Half of the round-trip time is on their way to the bottleneck,
    so that their one-way delay has it; each starts at a seeded instant within its first gap."""
    if not flows:
        return []
    if cbr.size > settings.count("mtu"):
        raise UserError(
            f"{name}: packets of {cbr.size} bytes are larger than mtu, {settings.count('mtu')}"
        )
    least = IP_HEADER[settings.ip] + UDP_HEADER + DATAGRAM_HEADER
    for wrong, why in (
        (cbr.size < least, f"packets of {cbr.size} bytes given, needs {least} or more"),
        (not 0 < cbr.rate_bps < math.inf, f"{cbr.rate_bps} bit/s given, needs more than 0"),
        (not 0 <= cbr.jitter <= 1, f"jitter of {cbr.jitter} gaps given, allowed: 0 to 1"),
        (not 0 <= cbr.dscp <= 63, f"DSCP {cbr.dscp} given, allowed: 0 to 63"),
        (cbr.ecn not in ECN, f"ecn {cbr.ecn} given, allowed: {', '.join(ECN)}"),
    ):
        if wrong:
            raise UserError(f"{name}: {why}")
    gap_ns = cbr.gap_ns
    start_ns = round((cbr.start_s or 0) * 1e9)
    payload_bytes = cbr.size - IP_HEADER[settings.ip] - UDP_HEADER
    return [
        Group(
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
                "size": payload_bytes,
                "tos": cbr.dscp << 2 | ECN[cbr.ecn],
                "delay_ns": round(rtt_ms * 5e5),
                "stop_ns": round((cbr.stop_s or 0) * 1e9),
                "log_every": max(1, round(1e9 / gap_ns / DELAYS_PER_S)),
            },
            each=[{"seed": rng.getrandbits(32)} for _ in range(flows)],
            demand_bps=cbr.rate_bps,
            payload=payload_bytes / (cbr.size + ETHERNET_HEADER),
            elastic=False,
            from_s=cbr.start_s,
            to_s=cbr.stop_s,
        )
    ]


def probe(settings: Settings, rng: random.Random) -> list[Group]:
    """The probe, if there is to be one: each datagram at a seeded random instant of its slot, and
    no propagation delay, so that its delay is what the queues add."""
    if not settings.on("probe"):
        return []
    return udp(
        settings,
        rng,
        "probe",
        1,
        0.0,
        Cbr.every(
            settings.number("probe_gap") / 1e3,
            settings.count("probe_size"),
            jitter=1.0,
            ecn=settings.text("probe_ecn") if "probe_ecn" in settings.values else "off",
        ),
    )
