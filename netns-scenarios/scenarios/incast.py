# SPDX-License-Identifier: GPL-2.0
"""Incast: many senders answer one receiver at the same time, again and again.

In each round every sender gets a request for `size`, and all answers meet at the bottleneck.
Connections open during the last `every` seconds of the warm-up, with an answer of one byte, and
stay open. The completion time of an answer starts with its round, even if the previous answer was
late.
"""

from __future__ import annotations

import random

from aqmlab.exceptions import UserError
from aqmlab.run.flows import tcp_keys
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

PARAMS = (
    Param("senders", 32, "flows", "TCP sources that answer at the same time", 1, 10000),
    Param("size", 32.0, "kB", "size of an answer", 0.001, 1e6),
    Param("rounds", 10, "rounds", "number of requests to each sender", 1, 10000),
    Param("every", 2.0, "s", "time from one round to the next", 0.01, 3600.0),
    Param(
        "skew",
        0.1,
        "ms",
        "each request comes at a seeded random time in the first `skew` of its round",
        0.0,
        10e3,
    ),
    Param("rtt", 0.2, "ms", "round-trip time without queueing", 0.0, 10e3),
    access(1000.0),
)


def requests(settings: Settings, rng: random.Random) -> str:
    """Return flowgen's `requests` for a sender: one to open the connection, one per round."""
    every_ns, skew_ns = settings.number("every") * 1e9, settings.number("skew") * 1e6
    size = max(1, round(settings.number("size") * 1000))
    return ",".join(
        [
            f"{round(rng.random() * every_ns / 2)}:1",
            *(f"{round(rng.random() * skew_ns)}:{size}" for _ in range(settings.count("rounds"))),
        ]
    )


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return one group, the senders."""
    every_s, count = settings.number("every"), settings.count("senders")
    before_s = settings.number("warmup") - every_s
    if before_s < 0:
        raise UserError(
            f"warmup: {every_s + before_s:g} s given, needs at least one round: {every_s:g} s"
        )
    return [
        Group(
            name="senders",
            start_ns=[round(before_s * 1e9)] * count,
            rtt_ms=settings.number("rtt"),
            access_bps=settings.number("access") * 1e6,
            congestion_control=settings.congestion_control,
            flow={
                **tcp_keys(settings),
                "kind": "web",
                "source_port": 80,
                "keep": 1,
                "every_ns": round(every_s * 1e9),
            },
            each=[{"requests": requests(settings, rng)} for _ in range(count)],
            demand_bps=settings.number("size") * 8e3 / every_s / settings.payload,
            payload=settings.payload,
            elastic=False,
        )
    ]


SCENARIO = Scenario(
    "incast",
    "many senders answer one receiver at the same time, round after round",
    (
        *PARAMS,
        *with_defaults(BOTTLENECK, rate=1000.0),
        *with_defaults(TCP, tcp_profile="today"),
        *with_defaults(
            [p for p in TIME_FLOWGEN if p.name not in ("duration", "spread")], warmup=2.0
        ),
    ),
    groups,
    lambda settings: settings.count("rounds") * settings.number("every"),
)
