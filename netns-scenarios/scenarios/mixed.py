# SPDX-License-Identifier: GPL-2.0
"""TCP flows with different congestion controls share a link, one way or both ways.

There is a group for each congestion control, so a result says which share of the link each gets
(`share_of_fair`).
"""

from __future__ import annotations

import random
import re
from dataclasses import replace

from aqmlab.exceptions import UserError
from aqmlab.run import flows, round_trips
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

RTT_STEPS = 4  # each costs a namespace per congestion control and direction

PARAMS = (
    Param("flows", 60, "flows", "TCP sources that send forward", 2, 10000),
    Param(
        "mix",
        "cubic,reno,bbr",
        "",
        "CONTROL[:PARTS],...: their congestion controls, and how many parts of the flows each has",
    ),
    Param("back_flows", 0, "flows", "the same, through an equal bottleneck back", 0, 10000),
    Param(
        "rtt",
        "40-40",
        "ms",
        f"LOW-HIGH: round-trip times without queueing, split evenly into {RTT_STEPS} values for "
        "each congestion control",
    ),
    access(100.0),
)


def parts(settings: Settings) -> dict[str, int]:
    """Return how many parts of the flows each congestion control has."""
    found: dict[str, int] = {}
    for word in settings.text("mix").split(","):
        match = re.fullmatch(r"([a-z]\w*)(?::([1-9]\d*))?", word)
        if not match:
            raise UserError(f'mix: "{word}" given, needs CONTROL or CONTROL:PARTS, as in bbr:2')
        if match[1] in found:
            raise UserError(f"mix: {match[1]} given twice; use {match[1]}:PARTS")
        found[match[1]] = int(match[2] or 1)
    return found


def shares(count: int, of: dict[str, int]) -> dict[str, int]:
    """Split `count` flows among the congestion controls."""
    ends, whole = [0], sum(of.values())
    for weight in of.values():
        ends.append(ends[-1] + weight)
    return {
        name: ends[i + 1] * count // whole - ends[i] * count // whole for i, name in enumerate(of)
    }


def one_way(settings: Settings, rng: random.Random, count: int, *, back: bool) -> list[Group]:
    """Return a group for each congestion control and round-trip time.

    The metrics have one for each congestion control: its name, or `back-` and its name.
    """
    low_ms, high_ms = round_trips.parse(settings.text("rtt"))
    steps = RTT_STEPS if low_ms < high_ms else 1
    made = []
    for cc, share in shares(count, parts(settings)).items():
        if not share:
            raise UserError(f"mix: {count} flows leave none for {cc}; give more flows")
        name = f"back-{cc}" if back else cc
        for part, (own, rtt_ms) in enumerate(round_trips.split(share, low_ms, high_ms, steps)):
            made += [
                replace(group, counted_in=name)
                for group in flows.bulk(
                    settings, rng, f"{name}-{part}", own, rtt_ms, cc=cc, reverse=back
                )
            ]
    return made


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the groups of both directions."""
    back = settings.count("back_flows")
    return [
        *one_way(settings, rng, settings.count("flows"), back=False),
        *(one_way(settings, rng, back, back=True) if back else ()),
    ]


SCENARIO = Scenario(
    "mixed",
    "flows with different congestion controls, one way or both, with a range of round-trip times",
    (
        *PARAMS,
        *with_defaults(BOTTLENECK, rate=200.0),
        *(p for p in with_defaults(TCP, tcp_profile="today") if p.name != "cc"),
        *with_defaults(TIME_FLOWGEN, warmup=5.0, duration=15.0),
    ),
    groups,
)
