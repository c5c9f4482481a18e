# SPDX-License-Identifier: GPL-2.0
"""TCP shares a link with UDP that does not react to drops, as in the papers of CBT and CHOKe.

Tagged flows are the modest multimedia of CBT's paper (Parris, Jeffay and Smith). A DSCP tags them.
"""

from __future__ import annotations

import random

from aqmlab.run import flows
from aqmlab.run.flows import Cbr
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

PARAMS = (
    Param("flows", 32, "flows", "TCP sources", 0, 10000),
    Param("rtt", 50.0, "ms", "round-trip time of all flows without queueing", 0.0, 10e3),
    access(100.0),
    Param("udp_flows", 1, "flows", "unresponsive UDP sources", 0, 4000),
    Param("udp_rate", 10.0, "Mb/s", "rate of each of them, with Ethernet headers", 0.001, 100e3),
    Param("udp_size", 1000, "bytes", "size of their packets, with IP header", 100, 9000),
    Param(
        "udp_jitter",
        1.0,
        "gaps",
        "each datagram leaves at a seeded random time in this part "
        "of the gap to the next; 0: evenly spaced",
        0.0,
        1.0,
    ),
    Param("udp_start", 0.0, "s", "time after the start of the run when they start", 0.0, 36000.0),
    Param("udp_stop", 0.0, "s", "time when they stop; 0: at the end", 0.0, 36000.0),
    Param("udp_dscp", 0, "", "their DSCP", 0, 63),
    Param("tagged_flows", 0, "flows", "modest UDP sources, during the whole run", 0, 1000),
    Param(
        "tagged_rate",
        0.21,
        "Mb/s",
        "rate of each of them, with Ethernet headers",
        0.001,
        10e3,
        of="tagged_flows",
    ),
    Param(
        "tagged_size",
        800,
        "bytes",
        "size of their packets, with IP header",
        100,
        9000,
        of="tagged_flows",
    ),
    Param("tagged_dscp", 46, "", "their DSCP", 0, 63, of="tagged_flows"),
)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the groups `tcp`, `tagged` and `udp`."""
    rtt_ms, jitter = settings.number("rtt"), settings.number("udp_jitter")
    span = flows.interval(settings, "udp_start", "udp_stop")
    found = flows.bulk(settings, rng, "tcp", settings.count("flows"), rtt_ms)
    for name, times in (("tagged", (None, None)), ("udp", span)):
        cbr = Cbr(
            settings.number(f"{name}_rate") * 1e6,
            settings.count(f"{name}_size"),
            settings.count(f"{name}_dscp"),
            jitter,
            *times,
        )
        found += flows.udp(settings, rng, name, settings.count(f"{name}_flows"), rtt_ms, cbr)
    return found


SCENARIO = Scenario(
    "udp-blast",
    "TCP sources against unresponsive UDP, tagged and untagged (as in the papers of CBT and CHOKe)",
    (*PARAMS, *with_defaults(BOTTLENECK, rate=10.0), *TCP, *TIME_FLOWGEN),
    groups,
)
