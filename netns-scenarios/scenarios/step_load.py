# SPDX-License-Identifier: GPL-2.0
"""Flows join in steps, and leave in steps if they are told to, in one direction or in both.

How a discipline finds its way to a new load: Wang's simulation 2 goes from 100 to 1000 flows,
his simulation 3 has data in both directions.
"""

from __future__ import annotations

import random
from dataclasses import replace

from . import common
from .params import Param
from .plan import Plan
from .scenario import Facts, Request, Scenario

PARAMS = (
    Param("base_flows", 20, "flows", "TCP sources from the start to the end", 1, 10000),
    Param("step_flows", 20, "flows", "TCP sources that join with each step", 1, 10000),
    Param("steps", 3, "steps", "how often flows join", 1, 20),
    Param("step_every", 15.0, "s", "between two steps; the first is this long after the warm-up",
          1.0, 3600.0),
    Param("leave", "on", "", "on: then they leave in steps, the last first", choices=("off", "on")),
    Param("directions", 1, "", "2: as many flows the other way, through the same discipline", 1,
          2),
    Param("rtt", 50.0, "ms", "round-trip time of all flows without queueing", 0.0, 10e3),
    common.access(100.0),
)


def plan(request: Request) -> tuple[Plan, Facts]:
    """The run, and what its analysis must know."""
    rng = random.Random(request.seed)
    steps, every_s = request.count("steps"), request.number("step_every")
    leave = request.text("leave") == "on"
    periods = 1 + steps * (2 if leave else 1)
    # The steps decide how long the run is.
    request = replace(request, values={**request.values, "duration": periods * every_s})
    begin_s, rtt_ms = request.number("warmup"), request.number("rtt")
    groups, parts = [], []
    for direction in range(request.count("directions")):
        for step in range(steps + 1):
            from_s = begin_s + step * every_s if step else None
            to_s = begin_s + (periods - step) * every_s if step and leave else None
            flows = request.count("step_flows" if step else "base_flows")
            name = f"{'back' if direction else 'step'}{step}"
            group = common.bulk_group(request, rng, name, flows, rtt_ms)
            later_ns = round((from_s or 0) * 1e9)
            group = replace(
                group,
                start_ns=[later_ns + at for at in group.start_ns],
                flow={**group.flow, "stop_ns": round((to_s or 0) * 1e9)},
                reverse=bool(direction),
            )
            groups.append(group)
            # What goes the other way does not cross the queue that is measured.
            parts.append(common.bulk_part(request, group, from_s=from_s, to_s=to_s,
                                          elastic=not direction, apart=bool(direction)))
    return common.plan_of(request, groups), common.facts_of(request, parts)


SCENARIO = Scenario(
    "step-load",
    "TCP flows join and leave in steps, in one direction or both (Wang 2001, simulations 2 and 3)",
    (*PARAMS, *common.with_defaults(common.BOTTLENECK, rate=100.0), *common.TCP,
     *(p for p in common.TIME_FLOWGEN if p.name != "duration")),
    plan,
)
