# SPDX-License-Identifier: GPL-2.0
"""Web sessions, a constant-rate UDP flow and long TCP flows share one bottleneck.

The defaults are the setting of Jou and Baras (RED+Tail), sections II and IV: 3 Mb/s, packets of
1 KB, 10 FTP flows, 800 web clients with servers of their own, files of a Pareto distribution
(2.3 KB, 1.3: 10 KB in the mean), think times of 50 s in the mean, round-trip times of 16 to
240 ms, one CBR flow with a packet every 50 ms. What is not theirs: web and CBR start at 20 s and
not at 100 s; round-trip times come in `rtt_steps` values; each request has a connection of its
own, because a server closes one long before 50 s of silence are over; and the window, instead of
ssthresh, ends the first slow start at 64 KB.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from . import common, datagrams
from .datagrams import Cbr
from .errors import UserError
from .params import Param
from .plan import Plan
from .scenario import Facts, Request, Scenario
from .shares import Part
from .topology import Group

DISTRIBUTIONS = ("exponential", "pareto", "lognormal", "fixed")
MAX_DRAWS = 1_000_000

PARAMS = (
    Param("long_flows", 10, "flows", "bulk TCP from the start to the end", 0, 10000),
    Param("long_rtt", 64.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    Param("clients", 800, "clients", "web clients, each with its own server", 0, 10000),
    Param("web_start", 20.0, "s", "when web clients begin to think, and CBR to send", 0.0,
          36000.0),
    Param("size", 10.0, "kB", "of a response, mean", 0.1, 1e6),
    Param("size_dist", "pareto", "", "its distribution", choices=DISTRIBUTIONS),
    Param("size_shape", 1.3, "", "Pareto's exponent, or sigma of the lognormal", 0.01, 100.0),
    Param("think", 50.0, "s", "between a response and the next request, mean", 0.01, 36000.0),
    Param("think_dist", "exponential", "", "its distribution", choices=DISTRIBUTIONS),
    Param("think_shape", 1.5, "", "Pareto's exponent, or sigma of the lognormal", 0.01, 100.0),
    Param("keep", "off", "", "on: a client keeps one connection for all its requests",
          choices=("off", "on")),
    Param("rtt_low", 16.0, "ms", "shortest round-trip time of a client", 0.0, 10e3),
    Param("rtt_high", 240.0, "ms", "longest round-trip time of a client", 0.0, 10e3),
    Param("rtt_steps", 8, "values", "round-trip times: the middles of as many equal parts of "
          "rtt_low..rtt_high", 1, 32),
    Param("cbr_flows", 1, "flows", "constant-rate UDP", 0, 1000),
    Param("cbr_gap", 50.0, "ms", "between two of its packets", 0.01, 10e3),
    Param("cbr_size", 1000, "bytes", "of a packet, IP header included", 100, 9000),
    common.access(10.0),
)


def drawing(rng: random.Random, what: str, dist: str, mean: float,
            shape: float) -> Callable[[], float]:
    """A function that draws from a distribution with this mean."""
    if dist == "fixed":
        return lambda: mean
    if dist == "exponential":
        return lambda: rng.expovariate(1 / mean)
    if dist == "lognormal":
        mu = math.log(mean) - shape * shape / 2
        return lambda: rng.lognormvariate(mu, shape)
    if shape <= 1:
        raise UserError(f"{what}_shape: {shape:g} given: a Pareto distribution has a mean only "
                        "above 1")
    least = mean * (shape - 1) / shape
    return lambda: least * rng.paretovariate(shape)


def sessions(request: Request, rng: random.Random, clients: int) -> list[str]:
    """flowgen's `requests` of each client: enough to think about until the run ends, however
    fast the responses come."""
    seconds = common.end_ms(request) / 1000 - request.number("web_start")
    if clients * seconds / request.number("think") > MAX_DRAWS:
        raise UserError(f"clients, think: these make more than {MAX_DRAWS} requests")
    size, think = (drawing(rng, name, request.text(f"{name}_dist"), request.number(name),
                           request.number(f"{name}_shape")) for name in ("size", "think"))
    made = []
    for _ in range(clients):
        left, words = seconds, []
        while left > 0:
            thought = think()
            left -= thought
            words.append(f"{round(thought * 1e9)}:{max(1, round(size() * 1000))}")
        made.append(",".join(words))
    return made


def web_groups(request: Request, rng: random.Random) -> list[Group]:
    """The clients, in a group of the topology for each round-trip time; one in the figures."""
    low_ms, high_ms = request.number("rtt_low"), request.number("rtt_high")
    if low_ms > high_ms:
        raise UserError(f"rtt_low: {low_ms:g} given, above rtt_high, {high_ms:g} ms")
    clients, steps = request.count("clients"), request.count("rtt_steps")
    start_ns = round(request.number("web_start") * 1e9)
    keys = common.flow_keys(request)
    groups = []
    for i in range(steps):
        count = clients // steps + (i < clients % steps)
        if not count:
            continue
        groups.append(Group(
            name=f"web{i}",
            start_ns=[start_ns] * count,
            rtt_ms=round(low_ms + (i + 0.5) * (high_ms - low_ms) / steps, 3),
            access_bps=request.number("access") * 1e6,
            congestion_control=common.cc_of(request),
            flow={**keys, "kind": "web", "group": "web", "source_port": 80,
                  "keep": int(request.text("keep") == "on")},
            each=[{"requests": words} for words in sessions(request, rng, count)],
        ))
    return groups


def plan(request: Request) -> tuple[Plan, Facts]:
    """The run, and what its analysis must know."""
    rng = random.Random(request.seed)
    start_s, end_s = request.number("web_start"), common.end_ms(request) / 1000
    if start_s >= end_s:
        raise UserError(f"web_start: {start_s:g} s given, the run is over at {end_s:g} s")
    groups, parts = [], []
    if request.count("long_flows"):
        groups.append(common.bulk_group(request, rng, "long", request.count("long_flows"),
                                        request.number("long_rtt")))
        parts.append(common.bulk_part(request, groups[0]))
    if request.count("clients"):
        web = web_groups(request, rng)
        groups += web
        clients = request.count("clients")
        rtt_ms = sum(g.rtt_ms * len(g.start_ns) for g in web) / clients
        payload = common.payload_of(request)
        # What a client asks for when its responses take no time.
        demand_bps = request.number("size") * 8e3 / request.number("think") / payload
        parts.append(Part("web", clients, rtt_ms, demand_bps, payload, elastic=False,
                          from_s=start_s or None))
    if request.count("cbr_flows"):
        size, gap_s = request.count("cbr_size"), request.number("cbr_gap") / 1e3
        cbr = Cbr.every(gap_s, size, start_s or None)
        count, rtt_ms = request.count("cbr_flows"), request.number("long_rtt")
        groups.append(datagrams.group(request, rng, "cbr", count, rtt_ms, cbr))
        parts.append(datagrams.part(request, "cbr", count, rtt_ms, cbr))
    if not groups:
        raise UserError("no flows: set long_flows, clients or cbr_flows")
    return common.plan_of(request, groups), common.facts_of(request, parts)


SCENARIO = Scenario(
    "web-mix",
    "web sessions, constant-rate UDP and long TCP flows (Jou and Baras 2003, sections II and IV)",
    (*PARAMS, *common.with_defaults(common.BOTTLENECK, rate=3.0, mtu=1000),
     *common.with_defaults(common.TCP, window=128),
     *common.with_defaults(common.TIME_FLOWGEN, warmup=30.0, duration=170.0)),
    plan,
)
