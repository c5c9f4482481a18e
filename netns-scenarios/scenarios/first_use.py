# SPDX-License-Identifier: GPL-2.0
"""What who types `tc qdisc add dev X root KIND` has then: one download, and a ping beside it.

One bulk TCP flow, and a probe: small UDP datagrams, each of which leaves at a seeded random
instant of its slot. The probe has no propagation delay of its own, hence its `delay_ms` is what the
queue adds, and its `loss` is what a ping would miss.
"""

from __future__ import annotations

import random

from . import common, datagrams
from .datagrams import Cbr
from .params import Param
from .plan import Plan
from .scenario import Facts, Request, Scenario

PARAMS = (
    Param("flows", 1, "flows", "bulk TCP sources", 1, 10000),
    Param("rtt", 20.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    common.access(0.0),
    Param("probe_gap", 20.0, "ms", "between two datagrams of the probe, in the mean", 1.0, 10e3),
    Param("probe_size", 100, "bytes", "of its packets, IP header included", 100, 1500),
    Param("offloads", "off", "", "on: TSO, GSO and GRO on every device, packets of up to 64 KiB at "
          "the bottleneck, whose bucket then holds one", choices=("off", "on")),
)


def plan(request: Request) -> tuple[Plan, Facts]:
    """The run, and what its analysis must know."""
    rng = random.Random(request.seed)
    bulk = common.bulk_group(request, rng, "bulk", request.count("flows"), request.number("rtt"))
    gap_s, size = request.number("probe_gap") / 1e3, request.count("probe_size")
    probe = Cbr.every(gap_s, size, jitter=1.0)
    groups = [bulk, datagrams.group(request, rng, "probe", 1, 0.0, probe)]
    parts = [common.bulk_part(request, bulk), datagrams.part(request, "probe", 1, 0.0, probe)]
    offloads = request.text("offloads") == "on"
    return common.plan_of(request, groups, offloads=offloads), common.facts_of(request, parts)


SCENARIO = Scenario(
    "first-use",
    "one bulk TCP flow and a ping-like probe (what a discipline's defaults do)",
    (*PARAMS, *common.with_defaults(common.BOTTLENECK, rate=100.0),
     *common.with_defaults(common.TCP, era="today", window=64000),
     *common.with_defaults(common.TIME_FLOWGEN, warmup=5.0, duration=20.0)),
    plan,
)
