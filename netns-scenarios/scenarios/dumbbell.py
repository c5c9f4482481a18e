# SPDX-License-Identifier: GPL-2.0
"""N sources with equal round-trip times share one bottleneck (Kantawala and Turner, figure 2)."""

from __future__ import annotations

import random

from aqmlab.run import flows
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, Settings, access

PARAMS = (
    Param("flows", 100, "flows", "TCP sources", 1, 20000),
    access(10.0),
    Param("rtt", 50.0, "ms", "round-trip time without queueing", 0.0, 10e3),
)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return one group with all flows."""
    return flows.bulk(settings, rng, "all", settings.count("flows"), settings.number("rtt"))


SCENARIO = Scenario(
    "dumbbell",
    "N TCP sources over one bottleneck (Kantawala and Turner 2001, figure 2)",
    (*PARAMS, *BOTTLENECK, *TCP, *TIME),
    groups,
)
