# SPDX-License-Identifier: GPL-2.0
"""What who types `tc qdisc add dev X root KIND` has then: one download, and a ping beside it.

One bulk TCP flow, and a probe: small UDP datagrams, each of which leaves at a seeded random
instant of its slot. The probe has no propagation delay of its own, hence its `delay_ms` is what the
queue adds, and its `loss` is what a ping would miss.
"""

from __future__ import annotations

import random

from netns import flows
from netns.params import Param
from netns.scenario import Scenario
from netns.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults
from netns.topology import Group

PARAMS = (
    Param("flows", 1, "flows", "bulk TCP sources", 1, 10000),
    Param("rtt", 20.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    access(0.0),
    Param("probe_gap", 20.0, "ms", "between two datagrams of the probe, in the mean", 1.0, 10e3),
    Param("probe_size", 100, "bytes", "of its packets, IP header included", 100, 1500),
    Param("offloads", "off", "", "on: TSO, GSO and GRO on every device, packets of up to 64 KiB at "
          "the bottleneck, whose bucket then holds one", choices=("off", "on")),
)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """The download and the probe."""
    probe = flows.Cbr.every(settings.number("probe_gap") / 1e3, settings.count("probe_size"),
                            jitter=1.0)
    return [
        *flows.bulk(settings, rng, "bulk", settings.count("flows"), settings.number("rtt")),
        *flows.udp(settings, rng, "probe", 1, 0.0, probe),
    ]


SCENARIO = Scenario(
    "first-use",
    "one bulk TCP flow and a ping-like probe (what a discipline's defaults do)",
    (*PARAMS, *with_defaults(BOTTLENECK, rate=100.0),
     *with_defaults(TCP, era="today", window=64000),
     *with_defaults(TIME_FLOWGEN, warmup=5.0, duration=20.0)),
    groups,
)
