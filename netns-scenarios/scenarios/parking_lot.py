# SPDX-License-Identifier: GPL-2.0
"""Flows cross several bottlenecks, each with cross traffic (Kantawala and Turner, figure 4).

All bottlenecks have the same rate and discipline. The summary describes the first one. So it covers
the end-to-end flows and the first cross traffic, `cross1`.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

from aqmlab.run import flows
from aqmlab.run.group import Group
from aqmlab.run.network import Network
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, Settings, access, with_defaults

PARAMS = (
    Param("hops", 3, "bottlenecks", "number of bottlenecks in a row", 1, 8),
    Param("end_flows", 50, "flows", "TCP sources that cross all bottlenecks", 1, 10000),
    Param("end_rtt", 150.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    Param("cross_flows", 50, "flows", "further TCP sources at each bottleneck", 1, 10000),
    Param("cross_rtt", 50.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    Param("other_qdisc", "", "", "discipline of all bottlenecks but the first, as for --qdisc"),
    access(10.0),
)


def nodes(settings: Settings) -> list[str]:
    """Return the routers, and the host behind the last one."""
    return ["rtr", *(f"rtr{hop}" for hop in range(2, settings.count("hops") + 1)), "dst"]


def network(settings: Settings) -> Network:
    """Return the bottlenecks in a row."""
    groups = Network()
    for hop, (near, far) in enumerate(pairwise(nodes(settings))):
        groups.link(
            near,
            far,
            rate=settings.number("rate"),
            rate_back=settings.number("rate_back") or None,
            qdisc=(settings.text("other_qdisc") or None) if hop else None,
        )
    return groups


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the group `end`, and a group of cross traffic for each bottleneck."""
    groups = flows.bulk(
        settings, rng, "end", settings.count("end_flows"), settings.number("end_rtt")
    )
    for hop, (near, far) in enumerate(pairwise(nodes(settings))):
        groups += [
            replace(group, enters=near, leaves=far, elastic=hop == 0)
            for group in flows.bulk(
                settings,
                rng,
                f"cross{hop + 1}",
                settings.count("cross_flows"),
                settings.number("cross_rtt"),
            )
        ]
    return groups


SCENARIO = Scenario(
    "parking-lot",
    "TCP over three bottlenecks, each with cross traffic (Kantawala and Turner 2001, figure 4)",
    # The warm-up is 20 s for the same reason as in multi_rtt.py.
    (*PARAMS, *BOTTLENECK, *TCP, *with_defaults(TIME, warmup=20.0)),
    groups,
    network=network,
)
