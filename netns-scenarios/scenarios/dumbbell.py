# SPDX-License-Identifier: GPL-2.0
"""Kantawala and Turner, figure 2: N sources, their access links, one bottleneck, one RTT."""

from __future__ import annotations

import random

from . import common
from .params import Param
from .plan import Plan
from .scenario import Facts, GroupFacts, Request, Scenario
from .topology import Group, build

PARAMS = (
    Param("flows", 100, "flows", "TCP sources", 1, 10000),
    Param("access", 10.0, "Mb/s", "rate of each source's own link; 0: no limit", 0.0, 10e3),
    Param("rtt", 50.0, "ms", "round-trip time without queueing", 0.0, 10e3),
)


def plan(request: Request) -> tuple[Plan, Facts]:
    """The run, and what its analysis must know."""
    rng = random.Random(request.seed)
    flows = request.count("flows")
    bottleneck = common.bottleneck_of(request)
    access_bps = request.number("access") * 1e6
    group = Group(
        name="all",
        start_ns=common.starts(rng, flows, request.number("spread")),
        rtt_ms=request.number("rtt"),
        access_bps=access_bps,
        congestion_control=common.cc_of(request),
        flow=common.flow_keys(request),
    )
    made = build(
        [group],
        bottleneck,
        common.era_of(request),
        ecn=request.text("ecn") == "on",
        ip=common.ip_of(request),
        mtu=request.count("mtu"),
        duration_ms=common.end_ms(request),
        interval_ms=request.count("interval"),
        sample_ms=request.count("sample"),
    )
    # A source's share of the bottleneck, or its own link where that is less, in payload.
    share_bps = bottleneck.rate_bps / flows
    if access_bps:
        share_bps = min(share_bps, access_bps)
    fair_bps = share_bps * common.payload_of(request)
    facts = Facts(
        rate_bps=bottleneck.rate_bps,
        warmup_s=request.number("warmup"),
        end_s=common.end_ms(request) / 1000,
        fair_share_bps=fair_bps,
        groups={"all": GroupFacts(flows, group.rtt_ms, fair_bps)},
    )
    return common.with_generator(made, request), facts


SCENARIO = Scenario(
    "dumbbell",
    "N TCP sources over one bottleneck (Kantawala and Turner 2001, figure 2)",
    (*PARAMS, *common.BOTTLENECK, *common.TCP, *common.TIME),
    plan,
)
