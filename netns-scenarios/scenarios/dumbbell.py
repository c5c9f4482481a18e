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
    common.access(10.0),
    Param("rtt", 50.0, "ms", "round-trip time without queueing", 0.0, 10e3),
)


def plan(request: Request) -> tuple[Plan, Facts]:
    """The run, and what its analysis must know."""
    rng = random.Random(request.seed)
    groups = [
        common.bulk_group(request, rng, "all", request.count("flows"), request.number("rtt"))
    ]
    parts = [common.bulk_part(request, group) for group in groups]
    return common.plan_of(request, groups), common.facts_of(request, parts)


SCENARIO = Scenario(
    "dumbbell",
    "N TCP sources over one bottleneck (Kantawala and Turner 2001, figure 2)",
    (*PARAMS, *common.BOTTLENECK, *common.TCP, *common.TIME),
    plan,
)
