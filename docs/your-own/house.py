# SPDX-License-Identifier: GPL-2.0
"""Uploads from a house, through a provider, to servers on two continents."""

from dataclasses import replace

from aqmlab.run import flows
from aqmlab.run.network import Network
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, access, with_defaults


def network(settings):
    made = Network()
    made.link("house", "provider", rate=settings.number("rate"), both=True)
    made.link("provider", "core", rate=100, qdisc="fq_codel", delay=2)
    made.link("core", "europe", delay=8)
    made.link("core", "asia", delay=80, jitter=1, loss=0.1)
    return made


def groups(settings, rng):
    return [
        replace(group, leaves=name)
        for name in ("europe", "asia")
        for group in flows.bulk(settings, rng, name, settings.count("flows"), 0)
    ]


SCENARIO = Scenario(
    "house",
    "uploads from a house to servers on two continents",
    (
        Param("flows", 4, "flows", "TCP sources per continent", 1, 100),
        access(0.0),
        *with_defaults(BOTTLENECK, rate=20.0),
        *with_defaults(TCP, tcp_profile="today"),
        *TIME,
    ),
    groups,
    network=network,
)
