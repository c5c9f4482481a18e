# SPDX-License-Identifier: GPL-2.0
"""Web clients, each with a separate server. A client thinks, asks, and waits for the response.

Flows whose transfers restart are the same, with a transfer before the first thought.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

from aqmlab.exceptions import UserError

from . import round_trips
from .flows import tcp_keys
from .group import Group
from .params import Param
from .settings import Settings

DISTRIBUTIONS = ("exponential", "pareto", "lognormal", "uniform", "fixed")
SHAPED = ("pareto", "lognormal")
MAX_DRAWS = 1_000_000

SESSIONS = (
    Param("size", 10.0, "kB", "mean size of a response", 0.1, 1e6),
    Param("size_dist", "pareto", "", "distribution of the size", choices=DISTRIBUTIONS),
    Param(
        "size_shape",
        1.3,
        "",
        "Pareto's exponent, or sigma of the lognormal",
        0.01,
        100.0,
        needs=(("size_dist", SHAPED),),
    ),
    Param("think", 50.0, "s", "mean time between a response and the next request", 0.01, 36000.0),
    Param(
        "think_dist",
        "exponential",
        "",
        "distribution of this time; uniform: from 0 to twice the mean",
        choices=DISTRIBUTIONS,
    ),
    Param(
        "think_shape",
        1.5,
        "",
        "Pareto's exponent, or sigma of the lognormal",
        0.01,
        100.0,
        needs=(("think_dist", SHAPED),),
    ),
)
PARAMS = (
    Param("clients", 800, "clients", "web clients, each with its own server", 0, 10000),
    Param("web_start", 20.0, "s", "when web clients begin to think, and CBR to send", 0.0, 36000.0),
    *SESSIONS,
    Param(
        "keep",
        "off",
        "",
        "on: a client keeps one connection for all its requests",
        choices=("off", "on"),
    ),
    Param("rtt_low", 16.0, "ms", "shortest round-trip time of a client", 0.0, 10e3),
    Param("rtt_high", 240.0, "ms", "longest round-trip time of a client", 0.0, 10e3),
    Param(
        "rtt_steps",
        8,
        "values",
        "number of round-trip times: the middles of as many equal parts of rtt_low..rtt_high",
        1,
        32,
    ),
)


def drawing(
    rng: random.Random, what: str, dist: str, mean: float, shape: float
) -> Callable[[], float]:
    """A function that draws from a distribution with this mean."""
    if dist == "fixed":
        return lambda: mean
    if dist == "uniform":
        return lambda: rng.uniform(0, 2 * mean)
    if dist == "exponential":
        return lambda: rng.expovariate(1 / mean)
    if dist == "lognormal":
        mu = math.log(mean) - shape * shape / 2
        return lambda: rng.lognormvariate(mu, shape)
    if shape <= 1:
        raise UserError(
            f"{what}_shape: {shape:g} given: a Pareto distribution has a mean only above 1"
        )
    least = mean * (shape - 1) / shape
    return lambda: least * rng.paretovariate(shape)


def requests(
    settings: Settings,
    rng: random.Random,
    clients: int,
    start_s: float,
    *,
    thinks_first: bool = True,
) -> list[str]:
    """flowgen's `requests` of each client: enough to think about until the run ends, however
    fast the responses come."""
    seconds = settings.end_ms / 1000 - start_s
    if clients * seconds / settings.number("think") > MAX_DRAWS:
        raise UserError(
            f"clients, think: these can make more than {MAX_DRAWS} requests; use fewer "
            "clients or a longer think"
        )
    size, think = (
        drawing(
            rng,
            name,
            settings.text(f"{name}_dist"),
            settings.number(name),
            settings.number(f"{name}_shape"),
        )
        for name in ("size", "think")
    )
    texts = []
    for _ in range(clients):
        left = seconds
        words: list[str] = []
        while left > 0:
            thought = think() if words or thinks_first else 0.0
            left -= thought
            words.append(f"{round(thought * 1e9)}:{max(1, round(size() * 1000))}")
        texts.append(",".join(words))
    return texts


def web(settings: Settings, rng: random.Random) -> list[Group]:
    """The clients, a group of the topology for each round-trip time; one, `web`, in the metrics."""
    low_ms, high_ms = settings.number("rtt_low"), settings.number("rtt_high")
    if low_ms > high_ms:
        raise UserError(f"rtt_low: {low_ms:g} given, above rtt_high, {high_ms:g} ms")
    start_s, payload = settings.number("web_start"), settings.payload
    parts = round_trips.split(
        settings.count("clients"), low_ms, high_ms, settings.count("rtt_steps")
    )
    return [
        Group(
            name=f"web{i}",
            counted_in="web",
            start_ns=[round(start_s * 1e9)] * count,
            rtt_ms=rtt_ms,
            access_bps=settings.number("access") * 1e6,
            congestion_control=settings.congestion_control,
            # A response fits the socket: TCP has it at once.
            flow={
                **tcp_keys(settings),
                "notsent": 0,
                "kind": "web",
                "source_port": 80,
                "keep": int(settings.on("keep")),
            },
            each=[{"requests": words} for words in requests(settings, rng, count, start_s)],
            # What a client asks for when its responses take no time.
            demand_bps=settings.number("size") * 8e3 / settings.number("think") / payload,
            payload=payload,
            elastic=False,
            from_s=start_s or None,
        )
        for i, (count, rtt_ms) in enumerate(parts)
    ]


def restarting(settings: Settings, rng: random.Random, group: Group) -> Group:
    """The same flows of bulk TCP, but a transfer ends, and after a pause the next begins."""
    count, start_s = len(group.start_ns), group.from_s or 0.0
    return replace(
        group,
        elastic=False,
        flow={**group.flow, "kind": "web", "source_port": 80},
        each=[
            {"requests": words}
            for words in requests(settings, rng, count, start_s, thinks_first=False)
        ],
    )
