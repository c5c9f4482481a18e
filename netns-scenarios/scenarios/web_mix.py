# SPDX-License-Identifier: GPL-2.0
"""Web sessions, a constant-rate UDP flow and long TCP flows share one bottleneck.

The defaults follow Jou and Baras (RED+Tail), sections II and IV:

- 3 Mb/s, packets of 1 KB.
- 10 FTP flows.
- 800 web clients, each with its own server, and round-trip times of 16 to 240 ms.
- File sizes with a Pareto distribution (minimum 2.3 KB, exponent 1.3, mean 10 KB).
- Think times of 50 s on average.
- One CBR flow with a packet every 50 ms.

We differ from them in four points:

- Web and CBR start at 20 s, not at 100 s.
- Round-trip times have only `rtt_steps` different values.
- Each request uses a new connection, because a server closes a connection long before 50 s.
- The window, not ssthresh, ends the first slow start at 64 KB.

Bulk flows with a second round-trip time, group `far`, are ours.
"""

from __future__ import annotations

import random

from aqmlab.exceptions import UserError
from aqmlab.run import flows, web_traffic
from aqmlab.run.flows import Cbr
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

PARAMS = (
    Param("long_flows", 10, "flows", "bulk TCP from the start to the end", 0, 10000),
    Param("long_rtt", 64.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    Param("far_flows", 0, "flows", "the same, with another round-trip time, group `far`", 0, 10000),
    Param(
        "far_rtt", 200.0, "ms", "their round-trip time without queueing", 0.0, 10e3, of="far_flows"
    ),
    *web_traffic.PARAMS,
    Param("cbr_flows", 1, "flows", "constant-rate UDP", 0, 1000),
    Param("cbr_gap", 50.0, "ms", "time between two of its packets", 0.01, 10e3),
    Param("cbr_size", 1000, "bytes", "size of its packets, with IP header", 100, 9000),
    access(10.0),
)


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the groups of long flows, web clients, constant-rate UDP and far flows."""
    start_s, end_s = settings.number("web_start"), settings.end_ms / 1000
    if start_s >= end_s:
        raise UserError(f"web_start: {start_s:g} s given, needs less than the run's {end_s:g} s")
    rtt_ms = settings.number("long_rtt")
    cbr = Cbr.every(settings.number("cbr_gap") / 1e3, settings.count("cbr_size"), start_s or None)
    return [
        *flows.bulk(settings, rng, "long", settings.count("long_flows"), rtt_ms),
        *web_traffic.web(settings, rng),
        *flows.udp(settings, rng, "cbr", settings.count("cbr_flows"), rtt_ms, cbr),
        *flows.bulk(settings, rng, "far", settings.count("far_flows"), settings.number("far_rtt")),
    ]


SCENARIO = Scenario(
    "web-mix",
    "web sessions, constant-rate UDP and long TCP flows (Jou and Baras 2003, sections II and IV)",
    (
        *PARAMS,
        *with_defaults(BOTTLENECK, rate=3.0, mtu=1000),
        *with_defaults(TCP, window=128),
        *with_defaults(TIME_FLOWGEN, warmup=30.0, duration=170.0),
    ),
    groups,
)
