# SPDX-License-Identifier: GPL-2.0
"""A solution of exercise 1: TCP flows to a close server, and to a server ten times as far."""

from aqmlab.run import flows
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, access, with_defaults


def groups(settings, rng):
    count = settings.count("flows")
    near = flows.bulk(settings, rng, "near", count, 10)  # round-trip time, ms
    far = flows.bulk(settings, rng, "far", count, 100)
    return [*near, *far]


SCENARIO = Scenario(
    "unfair",
    "flows with short and with long round trips",
    (
        Param("flows", 4, "flows", "TCP sources in each group", 1, 100),
        access(100.0),
        *with_defaults(BOTTLENECK, rate=20.0),
        *with_defaults(TCP, tcp_profile="today", cc="reno"),
        *with_defaults(TIME, warmup=5.0, duration=15.0, probe="on"),
    ),
    groups,
)
