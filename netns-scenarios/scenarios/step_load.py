# SPDX-License-Identifier: GPL-2.0
"""Flows join in steps, and leave in steps with `leave=on`.

This shows how fast a discipline adapts to a new load.
"""

from __future__ import annotations

import random

from aqmlab.run import flows
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

PARAMS = (
    Param("base_flows", 20, "flows", "TCP sources from the start to the end", 1, 10000),
    Param("step_flows", 20, "flows", "TCP sources that join with each step", 1, 10000),
    Param("steps", 3, "steps", "number of steps", 1, 20),
    Param(
        "step_every",
        15.0,
        "s",
        "time between two steps, and from the warm-up to the first",
        1.0,
        3600.0,
    ),
    Param(
        "leave", "on", "", "on: flows leave in steps, too, in reverse order", choices=("off", "on")
    ),
    Param("rtt", 50.0, "ms", "round-trip time of all flows without queueing", 0.0, 10e3),
    access(100.0),
)


def periods(settings: Settings) -> int:
    """Return the length of the measured time in units of `step_every`."""
    return 1 + settings.count("steps") * (2 if settings.on("leave") else 1)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return a group that stays, and one for each step."""
    begin_s, every_s = settings.number("warmup"), settings.number("step_every")
    found = []
    for step in range(settings.count("steps") + 1):
        stop = periods(settings) - step if settings.on("leave") else None
        found += flows.bulk(
            settings,
            rng,
            f"step{step}",
            settings.count("step_flows" if step else "base_flows"),
            settings.number("rtt"),
            from_s=begin_s + step * every_s if step else None,
            to_s=begin_s + stop * every_s if step and stop else None,
        )
    return found


SCENARIO = Scenario(
    "step-load",
    "TCP flows join and leave in steps",
    (
        *PARAMS,
        *with_defaults(BOTTLENECK, rate=100.0),
        *TCP,
        *(p for p in TIME_FLOWGEN if p.name != "duration"),
    ),
    groups,
    lambda settings: periods(settings) * settings.number("step_every"),
)
