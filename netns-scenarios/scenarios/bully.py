# SPDX-License-Identifier: GPL-2.0
"""TCP beside a sender that does not give way: BBR, UDP, or what congestion control one names.

Group `bully` is that sender, `rest` are the others; what the queue leaves to them is the question.
"""

from __future__ import annotations

import random

from aqmlab.run import flows
from aqmlab.run.flows import Cbr
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults
from aqmlab.run.topology import Group

PARAMS = (
    Param("flows", 8, "flows", "TCP sources that share the link with the bully", 1, 10000),
    Param("rtt", 40.0, "ms", "round-trip time of all flows without queueing", 0.0, 10e3),
    access(100.0),
    Param("bully", "bbr", "", "its congestion control; udp: it has none"),
    Param("bully_flows", 1, "flows", "how many of it there are", 0, 1000),
    Param("bully_rate", 50.0, "Mb/s", "of each if it is UDP, Ethernet headers included", 0.001,
          100e3),
    Param("bully_size", 1500, "bytes", "its packets if it is UDP, IP header included", 100, 9000),
)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """The rest and the bully."""
    rtt_ms, count = settings.number("rtt"), settings.count("bully_flows")
    rest = flows.bulk(settings, rng, "rest", settings.count("flows"), rtt_ms)
    if settings.text("bully") == "udp":
        cbr = Cbr(settings.number("bully_rate") * 1e6, settings.count("bully_size"), jitter=1.0)
        return rest + flows.udp(settings, rng, "bully", count, rtt_ms, cbr)
    return rest + flows.bulk(settings, rng, "bully", count, rtt_ms, cc=settings.text("bully"))


SCENARIO = Scenario(
    "bully",
    "TCP beside a sender that does not give way, BBR or UDP",
    (*PARAMS, *with_defaults(BOTTLENECK, rate=50.0), *with_defaults(TCP, era="today"),
     *with_defaults(TIME_FLOWGEN, warmup=5.0, duration=15.0)),
    groups,
)
