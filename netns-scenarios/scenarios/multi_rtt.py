# SPDX-License-Identifier: GPL-2.0
"""Kantawala and Turner, figure 3: near and far sources share one bottleneck."""

from __future__ import annotations

import random

from . import common
from .params import Param
from .plan import Plan
from .scenario import Facts, Request, Scenario

PARAMS = (
    Param("near_flows", 50, "flows", "TCP sources with the shorter RTT", 1, 10000),
    Param("near_rtt", 40.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    Param("far_flows", 50, "flows", "TCP sources with the longer RTT", 1, 10000),
    Param("far_rtt", 200.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    common.access(10.0),
)


def plan(request: Request) -> tuple[Plan, Facts]:
    """The run, and what its analysis must know."""
    rng = random.Random(request.seed)
    groups = [
        common.bulk_group(request, rng, name, request.count(f"{name}_flows"),
                          request.number(f"{name}_rtt"))
        for name in ("near", "far")
    ]
    parts = [common.bulk_part(request, group) for group in groups]
    return common.plan_of(request, groups), common.facts_of(request, parts)


SCENARIO = Scenario(
    "multi-rtt",
    "near and far TCP sources over one bottleneck (Kantawala and Turner 2001, figure 3)",
    # Far flows take that long to repair what slow start lost, a packet a round trip.
    (*PARAMS, *common.BOTTLENECK, *common.TCP, *common.with_defaults(common.TIME, warmup=20.0)),
    plan,
)
