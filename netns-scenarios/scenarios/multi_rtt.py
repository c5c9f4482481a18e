# SPDX-License-Identifier: GPL-2.0
"""Sources with two round-trip times share one bottleneck (Kantawala and Turner, figure 3)."""

from __future__ import annotations

import random

from aqmlab.run import flows
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, Settings, access, with_defaults

PARAMS = (
    Param("near_flows", 50, "flows", "TCP sources with the shorter RTT", 1, 10000),
    Param("near_rtt", 40.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    Param("far_flows", 50, "flows", "TCP sources with the longer RTT", 1, 10000),
    Param("far_rtt", 200.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    access(10.0),
)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the groups `near` and `far`."""
    return [
        group
        for name in ("near", "far")
        for group in flows.bulk(
            settings, rng, name, settings.count(f"{name}_flows"), settings.number(f"{name}_rtt")
        )
    ]


SCENARIO = Scenario(
    "multi-rtt",
    "near and far TCP sources over one bottleneck (Kantawala and Turner 2001, figure 3)",
    # Far flows need this long to recover from slow start, at one lost packet per round trip.
    (*PARAMS, *BOTTLENECK, *TCP, *with_defaults(TIME, warmup=20.0)),
    groups,
)
