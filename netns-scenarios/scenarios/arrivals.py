# SPDX-License-Identifier: GPL-2.0
"""Flows arrive by a timetable, in one or both directions, with a range of round-trip times.

A flow either never ends, or makes transfer after transfer with pauses. Wang (2001) uses such
workloads in all simulations. In the third one, the sizes of transfers are lognormal.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace

from aqmlab.exceptions import UserError
from aqmlab.run import flows, round_trips, web_traffic
from aqmlab.run.group import Group
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

ENDLESS = "endless"
RTT_STEPS = 8  # each costs a namespace per entry of a timetable

PARAMS = (
    Param(
        "forward",
        "20@0-1",
        "flows",
        "FLOWS@FROM-TO,...: start FLOWS flows at seeded random times between FROM and TO, s; "
        "FLOWS@FROM-TO/END: and stop them at END",
        may_be_empty=True,
    ),
    Param("back", "", "flows", "the same in the other direction, through an equal bottleneck"),
    Param(
        "rtt",
        "60-140",
        "ms",
        f"LOW-HIGH: round-trip times without queueing, split evenly into {RTT_STEPS} values",
    ),
    Param(
        "size_dist",
        ENDLESS,
        "",
        "distribution of the size of a transfer, or endless",
        choices=(ENDLESS, *web_traffic.DISTRIBUTIONS),
    ),
    *(
        replace(p, needs=(("size_dist", web_traffic.DISTRIBUTIONS), *p.needs))
        for p in with_defaults(web_traffic.SESSIONS, think_dist="uniform")
        if p.name != "size_dist"
    ),
    Param(
        "settle",
        0.0,
        "s",
        "start another phase this long after the TO of an entry; 0: phases start only with entries",
        0.0,
        1000.0,
    ),
    access(0.0),
)


def timetable(settings: Settings, name: str) -> list[tuple[int, float, float, float | None]]:
    """Return (flows, from, to, end) for each entry of the parameter `name`; end: None without."""
    text, entries = settings.text(name), []
    for word in text.split(",") if text else ():
        number = round_trips.NUMBER
        found = re.fullmatch(rf"(\d+)@{number}-{number}(?:/{number})?", word)
        if not found:
            raise UserError(
                f'{name}: "{word}" given, needs FLOWS@FROM-TO, as in 20@0-1, or FLOWS@FROM-TO/END'
            )
        count, from_s, to_s = int(found[1]), float(found[2]), float(found[3])
        end_s = float(found[4]) if found[4] else None
        if end_s is not None and not to_s < end_s < settings.end_ms / 1000:
            raise UserError(
                f"{name}: {word} given, needs an end after {to_s:g} s and before that of the run"
            )
        if not from_s < to_s <= settings.end_ms / 1000:
            raise UserError(
                f"{name}: {word} given, needs from < to, and both within the run's "
                f"{settings.end_ms / 1000:g} s"
            )
        entries.append((count, from_s, to_s, end_s))
    return entries


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return one group per entry and round-trip time. Results have one group per entry."""
    low_ms, high_ms = round_trips.parse(settings.text("rtt"))
    made = []
    for direction in ("forward", "back"):
        for number, (count, from_s, to_s, end_s) in enumerate(timetable(settings, direction)):
            name = f"{direction}{number}"
            mine = replace(settings, values={**settings.values, "spread": to_s - from_s})
            parts = []
            for part, (share, rtt_ms) in enumerate(
                round_trips.split(count, low_ms, high_ms, RTT_STEPS)
            ):
                parts += flows.bulk(
                    mine,
                    rng,
                    f"{name}-{part}",
                    share,
                    rtt_ms,
                    from_s=from_s or None,
                    to_s=end_s,
                    reverse=direction == "back",
                )
            settle_s = settings.number("settle")
            made += [
                replace(part, counted_in=name, settled_s=to_s + settle_s if settle_s else None)
                for part in parts
            ]
    if settings.text("size_dist") == ENDLESS:
        return made
    return [web_traffic.restarting(settings, rng, group) for group in made]


SCENARIO = Scenario(
    "arrivals",
    "TCP flows arrive by a timetable, one way or both, and may restart (as all of Wang 2001)",
    (
        *PARAMS,
        *with_defaults(BOTTLENECK, rate=155.0),
        *TCP,
        *(p for p in TIME_FLOWGEN if p.name != "spread"),
    ),
    groups,
)
