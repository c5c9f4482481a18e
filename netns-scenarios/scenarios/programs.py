# SPDX-License-Identifier: GPL-2.0
"""Only programs of --exec send, over one bottleneck."""

from __future__ import annotations

import random

from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, with_defaults

#: Parameters of flows. A program decides when it starts and how it uses its sockets.
NO_EFFECT = ("window", "pacing", "spread")
PARAMS = (Param("rtt", 40.0, "ms", "round-trip time without queueing", 0.0, 10e3),)


def groups(_settings: Settings, _rng: random.Random) -> list[Group]:
    """Return no flows: --exec adds its own."""
    return []


SCENARIO = Scenario(
    "programs",
    "your own programs and a probe over one bottleneck; needs --exec",
    (
        *PARAMS,
        *with_defaults(
            [p for p in (*BOTTLENECK, *TCP, *TIME_FLOWGEN) if p.name not in NO_EFFECT],
            rate=50.0,
            tcp_profile="today",
            warmup=0.0,
            duration=10.0,
            probe="on",
            interval=100,
        ),
    ),
    groups,
)
