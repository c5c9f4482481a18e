# SPDX-License-Identifier: GPL-2.0
"""TCP shares a link with a sender that does not slow down: BBR, UDP, or any congestion control.

Group `bully` is this sender, and `rest` has the others. How much does the queue leave to them?
"""

from __future__ import annotations

import random

from aqmlab.run import flows
from aqmlab.run.flows import Cbr
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

UDP = (("bully", ("udp",)),)
PARAMS = (
    Param("flows", 8, "flows", "TCP sources that share the link with the bully", 1, 10000),
    Param("rtt", 40.0, "ms", "round-trip time of all flows without queueing", 0.0, 10e3),
    access(100.0),
    Param("bully", "bbr", "", "congestion control of the bully, or udp"),
    Param("bully_flows", 1, "flows", "number of bullies", 0, 1000),
    Param(
        "bully_rate",
        50.0,
        "Mb/s",
        "rate of a UDP bully, with Ethernet headers",
        0.001,
        100e3,
        needs=UDP,
    ),
    Param(
        "bully_size",
        1500,
        "bytes",
        "packet size of a UDP bully, with IP header",
        100,
        9000,
        needs=UDP,
    ),
)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the groups `rest` and `bully`."""
    rtt_ms, count = settings.number("rtt"), settings.count("bully_flows")
    rest = flows.bulk(settings, rng, "rest", settings.count("flows"), rtt_ms)
    if settings.text("bully") == "udp":
        cbr = Cbr(settings.number("bully_rate") * 1e6, settings.count("bully_size"), jitter=1.0)
        return rest + flows.udp(settings, rng, "bully", count, rtt_ms, cbr)
    return rest + flows.bulk(settings, rng, "bully", count, rtt_ms, cc=settings.text("bully"))


SCENARIO = Scenario(
    "bully",
    "TCP beside a sender that does not slow down, BBR or UDP",
    (
        *PARAMS,
        *with_defaults(BOTTLENECK, rate=50.0),
        *with_defaults(TCP, tcp_profile="today"),
        *with_defaults(TIME_FLOWGEN, warmup=5.0, duration=15.0),
    ),
    groups,
)
