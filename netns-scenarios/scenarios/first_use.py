# SPDX-License-Identifier: GPL-2.0
"""A download and a ping, through a discipline with its defaults.

This is what users get after `tc qdisc add dev X root KIND`. The probe has packets as small as a
ping's: its `delay_ms` is the delay that the queue adds, and its `loss` the share of lost pings.
"""

from __future__ import annotations

import random

from aqmlab.run import flows
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

PARAMS = (
    Param("flows", 1, "flows", "bulk TCP sources", 1, 10000),
    Param("rtt", 20.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    access(0.0),
    Param(
        "offloads",
        "off",
        "",
        "on: use TSO, GSO and GRO; the bottleneck gets packets of up to "
        "64 KiB, and its bucket holds one of them",
        choices=("off", "on"),
    ),
)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return one group, the download."""
    return flows.bulk(settings, rng, "bulk", settings.count("flows"), settings.number("rtt"))


SCENARIO = Scenario(
    "first-use",
    "one bulk TCP flow and a ping-like probe (what a discipline's defaults do)",
    (
        *PARAMS,
        *with_defaults(BOTTLENECK, rate=100.0),
        *with_defaults(TCP, tcp_profile="today", window=64000),
        *with_defaults(TIME_FLOWGEN, warmup=5.0, duration=20.0, probe="on", probe_size=100),
    ),
    groups,
)
