# SPDX-License-Identifier: GPL-2.0
"""TCP and a call over a link through the air, such as Wi-Fi or LTE.

Both directions have their own random rate, fades, losses and packets that are sent together. They
are drawn from the seed before the run, so every discipline meets the same link.
"""

from __future__ import annotations

import random

from aqmlab.exceptions import UserError
from aqmlab.run import flows
from aqmlab.run.group import Group
from aqmlab.run.network import Network
from aqmlab.run.params import Param
from aqmlab.run.radio import Radio
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

PARAMS = (
    Param("down", 4, "flows", "TCP flows through the measured bottleneck", 0, 1000),
    Param("up", 0, "flows", "TCP flows the other way", 0, 1000),
    Param("rtt", 40.0, "ms", "round-trip time without queueing and jitter", 0.0, 10e3),
    Param(
        "swing", 2.0, "", "the rate walks between 1/swing and swing times its middle", 1.0, 100.0
    ),
    Param("fades", 2.0, "%", "share of the time in which the link carries nothing", 0.0, 50.0),
    Param("fade_time", 60.0, "ms", "mean length of a fade", 20.0, 60e3),
    Param(
        "jitter", 10.0, "ms", "largest additional delay of a round trip; order is kept", 0.0, 1e3
    ),
    Param("loss", 0.02, "%", "packets that are lost on the air, each way", 0.0, 50.0),
    Param("loss_burst", 3.0, "packets", "mean number of packets lost in a row", 1.0, 1e3),
    Param("aggregate", 8, "packets", "packets that are sent together, at most", 1, 256),
    access(0.0),
)
#: Parameters of links that do not vary, and RATE_BACK, which needs another range.
NO_EFFECT = ("burst", "shaper", "trace", "trace_back", "rate_back")
RATE_BACK = Param("rate_back", 20.0, "Mb/s", "rate of the other direction", 0.1, 100e3)


def _check(settings: Settings) -> None:
    """Raise UserError if a changed parameter describes losses or fades, and there are none."""
    for name, share in (("loss_burst", "loss"), ("fade_time", "fades")):
        default = next(p.default for p in PARAMS if p.name == name)
        if settings.values[name] != default and not settings.number(share):
            raise UserError(
                f"{name}: {settings.values[name]} given, has an effect only with {share} above 0, "
                f"and {share} is 0"
            )


def network(settings: Settings) -> Network:
    """Return one link over the air. Its directions vary independently of each other."""
    _check(settings)
    number = settings.number
    seconds = settings.end_ms / 1000
    rng = random.Random(f"air {settings.seed}")
    there = Radio(number("swing"), number("fades") / 100, number("fade_time"), number("jitter"))
    back = Radio(there.swing, there.fades, there.fade_ms)
    made = Network()
    made.link(
        "rtr",
        "dst",
        trace=there.trace(rng, number("rate") * 1e6, seconds),
        trace_back=back.trace(rng, number("rate_back") * 1e6, seconds),
        loss=number("loss"),
        loss_burst=number("loss_burst") if number("loss") else 0.0,
        aggregate=settings.count("aggregate"),
    )
    return made


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the groups `down` and `up`."""
    rtt_ms = settings.number("rtt")
    return [
        *flows.bulk(settings, rng, "down", settings.count("down"), rtt_ms),
        *flows.bulk(settings, rng, "up", settings.count("up"), rtt_ms, reverse=True),
    ]


SCENARIO = Scenario(
    "wireless",
    "TCP and a call over a link through the air: rate, fades, jitter, bursts of losses",
    (
        *PARAMS,
        *with_defaults([p for p in BOTTLENECK if p.name not in NO_EFFECT], rate=40.0),
        RATE_BACK,
        *with_defaults(TCP, tcp_profile="today"),
        *with_defaults(TIME_FLOWGEN, warmup=2.0, duration=18.0, probe="on"),
    ),
    groups,
    network=network,
)
