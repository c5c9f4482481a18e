# SPDX-License-Identifier: GPL-2.0
"""Kantawala and Turner, figure 2: N sources, their access links, one bottleneck, one RTT."""

from __future__ import annotations

import random

from . import common
from .params import Param
from .plan import Plan
from .scenario import Facts, Request, Scenario

PARAMS = (
    Param("flows", 100, "flows", "TCP sources", 1, 10000),
    common.ACCESS,
    Param("rtt", 50.0, "ms", "round-trip time without queueing", 0.0, 10e3),
)


def plan(request: Request) -> tuple[Plan, Facts]:
    """The run, and what its analysis must know."""
    rng = random.Random(request.seed)
    groups = [
        common.bulk_group(request, rng, "all", request.count("flows"), request.number("rtt"))
    ]
    return common.plan_of(request, groups), common.equal_share(request, groups)


SCENARIO = Scenario(
    "dumbbell",
    "N TCP sources over one bottleneck (Kantawala and Turner 2001, figure 2)",
    (*PARAMS, *common.BOTTLENECK, *common.TCP, *common.TIME),
    plan,
)
