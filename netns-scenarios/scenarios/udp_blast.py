# SPDX-License-Identifier: GPL-2.0
"""TCP flows against unresponsive UDP, some of it tagged by its DSCP.

The situation of CBT (Parris, Jeffay and Smith) and of CHOKe: one link, TCP, and a UDP blast that
takes what it can get. Tagged flows are the well-behaved multimedia of CBT's paper.
"""

from __future__ import annotations

import random

from . import common, datagrams
from .datagrams import Cbr
from .errors import UserError
from .params import Param
from .plan import Plan
from .scenario import Facts, Request, Scenario

PARAMS = (
    Param("flows", 32, "flows", "TCP sources", 0, 10000),
    Param("rtt", 50.0, "ms", "round-trip time of all flows without queueing", 0.0, 10e3),
    common.access(100.0),
    Param("udp_flows", 1, "flows", "unresponsive UDP sources", 0, 1000),
    Param("udp_rate", 10.0, "Mb/s", "of each of them, Ethernet headers included", 0.001, 100e3),
    Param("udp_size", 1000, "bytes", "their packets, IP header included", 100, 9000),
    Param("udp_jitter", 1.0, "gaps", "a datagram leaves at a seeded random instant in the first "
          "udp_jitter of the gap to the next; 0: evenly spaced", 0.0, 1.0),
    Param("udp_start", 0.0, "s", "when they start, after the run's start", 0.0, 36000.0),
    Param("udp_stop", 0.0, "s", "when they stop; 0: at the end", 0.0, 36000.0),
    Param("udp_dscp", 0, "", "their DSCP", 0, 63),
    Param("tagged_flows", 0, "flows", "well-behaved UDP sources, from start to end", 0, 1000),
    Param("tagged_rate", 0.21, "Mb/s", "of each of them, Ethernet headers included", 0.001, 10e3),
    Param("tagged_size", 800, "bytes", "their packets, IP header included", 100, 9000),
    Param("tagged_dscp", 46, "", "their DSCP", 0, 63),
)


def plan(request: Request) -> tuple[Plan, Facts]:
    """The run, and what its analysis must know."""
    rng = random.Random(request.seed)
    rtt_ms = request.number("rtt")
    start_s, stop_s = datagrams.interval(request, "udp_start", "udp_stop")
    groups, parts = [], []
    if request.count("flows"):
        groups.append(common.bulk_group(request, rng, "tcp", request.count("flows"), rtt_ms))
        parts.append(common.bulk_part(request, groups[0]))
    tagged = Cbr(request.number("tagged_rate") * 1e6, request.count("tagged_size"),
                 request.count("tagged_dscp"), jitter=request.number("udp_jitter"))
    udp = Cbr(request.number("udp_rate") * 1e6, request.count("udp_size"),
              request.count("udp_dscp"), request.number("udp_jitter"), start_s, stop_s)
    for name, count, cbr in (("tagged", request.count("tagged_flows"), tagged),
                             ("udp", request.count("udp_flows"), udp)):
        if count:
            groups.append(datagrams.group(request, rng, name, count, rtt_ms, cbr))
            parts.append(datagrams.part(request, name, count, rtt_ms, cbr))
    if not groups:
        raise UserError("no flows: set flows, udp_flows or tagged_flows")
    return common.plan_of(request, groups), common.facts_of(request, parts)


SCENARIO = Scenario(
    "udp-blast",
    "TCP sources against unresponsive UDP, tagged and untagged (as in the papers of CBT and CHOKe)",
    (*PARAMS, *common.with_defaults(common.BOTTLENECK, rate=10.0), *common.TCP,
     *common.TIME_FLOWGEN),
    plan,
)
