# SPDX-License-Identifier: GPL-2.0
"""Parameters and steps that every scenario over one bottleneck has."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .era import ERAS, Era
from .errors import UserError
from .params import Param, Value
from .plan import Plan
from .scenario import Facts, Request
from .shares import Part, facts
from .topology import Bottleneck, Group, build, frame_bytes, gso_packets, payload_share

BOTTLENECK = (
    Param("rate", 500.0, "Mb/s", "rate of the bottleneck, Ethernet headers included", 0.1, 100e3),
    Param("mtu", 1500, "bytes", "largest packet, IP header included", 576, 9000),
    Param("burst", 0, "packets", "bucket of the bottleneck's tbf; 0: 1 in virtual time, on the "
          "wall clock what passes in 0.5 ms, at least 2", 0, 1000),
)
TCP = (
    Param("era", "2001", "", "2001: Reno as in the papers; today: the kernel's defaults",
          choices=tuple(ERAS)),
    Param("cc", "auto", "", "congestion control that the kernel has; auto: the era's"),
    Param("ecn", "off", "", "on: TCP negotiates ECN", choices=("off", "on")),
    Param("ip", 4, "", "version of IP, 4 or 6", 4, 6),
    Param("window", 2000, "kB", "receive buffer; what it advertises at most is half", 8, 100000),
)
TIME = (
    Param("warmup", 10.0, "s", "left out of every figure", 0.0, 3600.0),
    Param("duration", 50.0, "s", "measured time, after the warm-up", 0.1, 36000.0),
    Param("spread", 1.0, "s", "flows start at seeded random instants in 0..spread", 0.0, 600.0),
    Param("interval", 500, "ms", "between two readings of every flow's bytes", 1, 60000),
    Param("sample", 10, "ms", "between two readings of the queue", 1, 60000),
    Param("generator", "flowgen", "", "iperf3: on the wall clock only; starts all flows at once",
          choices=("flowgen", "iperf3")),
)
# iperf3 knows neither start and stop times nor groups that differ.
TIME_FLOWGEN = tuple(p for p in TIME if p.name != "generator")



def access(rate: float) -> Param:
    """The parameter `access`, with its default in Mb/s."""
    return Param("access", rate, "Mb/s", "rate of each TCP source's own link; 0: no limit",
                 0.0, 10e3)


# A sink is woken per 64 KiB, a source when half of this is sent: few system calls, and little
# memory between them. The send buffer as such is beyond any window and never binds: the kernel
# counts up to 2304 bytes of it for a packet with 1448 of payload.
LOWAT_BYTES = 65536
NOTSENT_BYTES = 131072
SNDBUF_BYTES = 8_000_000


def era_of(request: Request) -> Era:
    """The TCP that was asked for."""
    return ERAS[request.text("era")]


def cc_of(request: Request) -> str:
    """Name of the congestion control."""
    cc = request.text("cc")
    return era_of(request).congestion_control if cc == "auto" else cc


def ip_of(request: Request) -> int:
    """4 or 6."""
    if request.count("ip") not in (4, 6):
        raise UserError(f"ip: {request.count('ip')} given, allowed: 4 or 6")
    return request.count("ip")


def bottleneck_of(request: Request, *, offloads: bool = False) -> Bottleneck:
    """The bottleneck with the burst that the clock allows. With offloads, one large packet must
    fit, or tbf would segment it before the discipline sees it."""
    rate_bps = request.number("rate") * 1e6
    burst = request.count("burst")
    if not burst:
        half_ms = rate_bps * 0.0005 / 8 / frame_bytes(request.count("mtu"))
        burst = 1 if request.clock == "virtual" else max(2, round(half_ms))
        if offloads:
            burst = max(burst, gso_packets(request.count("mtu")))
    return Bottleneck(rate_bps, request.qdisc, burst)


def payload_of(request: Request) -> float:
    """Share of the bottleneck's bits that are payload when all packets are full, 0..1."""
    return payload_share(request.count("mtu"), ip_of(request), era_of(request))


def starts(rng: random.Random, flows: int, spread_s: float) -> list[int]:
    """A start instant per flow, ns, uniform in 0..spread."""
    return [int(rng.random() * spread_s * 1e9) for _ in range(flows)]


def flow_keys(request: Request) -> dict[str, int | str]:
    """Keys of flowgen's flow file that all flows share, bytes."""
    # The kernel doubles what SO_RCVBUF and SO_SNDBUF ask for, to account for overhead.
    buffer = request.count("window") * 1000 // 2
    return {"rcvbuf": buffer, "sndbuf": max(SNDBUF_BYTES, 4 * buffer), "notsent": NOTSENT_BYTES,
            "lowat": min(LOWAT_BYTES, buffer // 4)}


def with_generator(plan: Plan, request: Request) -> Plan:
    """The plan with the generator that was asked for, if the clock allows it."""
    if "generator" not in request.values:
        return plan
    generator = request.text("generator")
    if generator == "iperf3" and request.clock == "virtual":
        raise UserError(
            "generator=iperf3 makes some 50 system calls a packet: give --clock wall, "
            "and a rate that the machine can carry"
        )
    return replace(plan, generator=generator)


def end_ms(request: Request) -> int:
    """Length of the run, warm-up included, ms."""
    return round((request.number("warmup") + request.number("duration")) * 1000)


def bulk_group(
    request: Request, rng: random.Random, name: str, flows: int, rtt_ms: float
) -> Group:
    """Flows of bulk TCP that start within the spread, behind links of the `access` rate."""
    return Group(
        name=name,
        start_ns=starts(rng, flows, request.number("spread")),
        rtt_ms=rtt_ms,
        access_bps=request.number("access") * 1e6,
        congestion_control=cc_of(request),
        flow=flow_keys(request),
    )


def plan_of(request: Request, groups: Sequence[Group], *, offloads: bool = False) -> Plan:
    """The run with these groups before the bottleneck."""
    made = build(
        groups,
        bottleneck_of(request, offloads=offloads),
        era_of(request),
        ecn=request.text("ecn") == "on",
        ip=ip_of(request),
        mtu=request.count("mtu"),
        duration_ms=end_ms(request),
        interval_ms=request.count("interval"),
        sample_ms=request.count("sample"),
        offloads=offloads,
    )
    return with_generator(made, request)


def bulk_part(request: Request, group: Group, **more: Any) -> Part:
    """A group made by bulk_group, as a claim on the bottleneck; `more` are fields of Part."""
    demand_bps = group.access_bps or math.inf
    return Part(group.name, len(group.start_ns), group.rtt_ms, demand_bps, payload_of(request),
                **more)


def facts_of(request: Request, parts: Sequence[Part]) -> Facts:
    """What the analysis must know of a run in which these claim the bottleneck."""
    return facts(bottleneck_of(request).rate_bps, request.number("warmup"),
                 end_ms(request) / 1000, parts, request.count("interval") / 1000)


def with_defaults(params: Sequence[Param], **defaults: Value) -> tuple[Param, ...]:
    """The same parameters, some with other defaults."""
    return tuple(replace(p, default=defaults.get(p.name, p.default)) for p in params)
