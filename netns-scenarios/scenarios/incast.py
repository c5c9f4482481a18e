# SPDX-License-Identifier: GPL-2.0
"""Many senders answer one at the same instant, again and again: incast.

Every round each sender is asked for `size`, and all answers meet at the bottleneck. Connections are
opened in the last `every` of the warm-up, by an answer of a byte, and kept. An answer's completion
time counts from when its round asked for it, also where the answer before it was late.
"""

from __future__ import annotations

import random

from aqmlab.exceptions import UserError
from aqmlab.run.flows import tcp_keys
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults
from aqmlab.run.topology import Group

PARAMS = (
    Param("senders", 32, "flows", "TCP sources that answer together", 1, 10000),
    Param("size", 32.0, "kB", "of an answer", 0.001, 1e6),
    Param("rounds", 10, "rounds", "how often they are asked", 1, 10000),
    Param("every", 2.0, "s", "from one round to the next", 0.01, 3600.0),
    Param("skew", 0.1, "ms", "a sender is asked at a seeded random instant in the first `skew` of "
          "its round", 0.0, 10e3),
    Param("rtt", 0.2, "ms", "round-trip time without queueing", 0.0, 10e3),
    access(1000.0),
)


def requests(settings: Settings, rng: random.Random) -> str:
    """flowgen's `requests` of one sender: one that opens the connection, and the rounds."""
    every_ns, skew_ns = settings.number("every") * 1e9, settings.number("skew") * 1e6
    size = max(1, round(settings.number("size") * 1000))
    return ",".join([
        f"{round(rng.random() * every_ns / 2)}:1",
        *(f"{round(rng.random() * skew_ns)}:{size}" for _ in range(settings.count("rounds"))),
    ])


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """The senders."""
    every_s, count = settings.number("every"), settings.count("senders")
    before_s = settings.number("warmup") - every_s
    if before_s < 0:
        raise UserError(f"warmup: {every_s + before_s:g} s given, needs a round: {every_s:g} s")
    return [Group(
        name="senders",
        start_ns=[round(before_s * 1e9)] * count,
        rtt_ms=settings.number("rtt"),
        access_bps=settings.number("access") * 1e6,
        congestion_control=settings.congestion_control,
        flow={**tcp_keys(settings), "kind": "web", "source_port": 80, "keep": 1,
              "every_ns": round(every_s * 1e9)},
        each=[{"requests": requests(settings, rng)} for _ in range(count)],
        demand_bps=settings.number("size") * 8e3 / every_s / settings.payload,
        payload=settings.payload,
        elastic=False,
    )]


SCENARIO = Scenario(
    "incast",
    "many senders answer one at the same instant, round after round",
    (*PARAMS, *with_defaults(BOTTLENECK, rate=1000.0), *with_defaults(TCP, era="today"),
     *with_defaults([p for p in TIME_FLOWGEN if p.name not in ("duration", "spread")],
                    warmup=2.0)),
    groups,
    lambda settings: settings.count("rounds") * settings.number("every"),
)
