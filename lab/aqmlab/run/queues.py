# SPDX-License-Identifier: GPL-2.0
"""Qdiscs of a run: shapers with the queue below them, delays, and access links."""

from __future__ import annotations

import math

from aqmlab.exceptions import UserError

from .links import Direction, two_states
from .objects import Interface, Qdisc
from .packets import frame_bytes
from .trace import constant

#: Deep enough never to drop, packets.
DELAY_LIMIT = 1_000_000

# The guest's virtual clock has steps of 256 ns, so a packet leaves up to that much late; with room
# for it in the bucket the next one makes up for it, and the rate is exact in the mean.
CLOCK_S = 1e-6

# Deep enough never to drop: a source holds at most its send buffer.
ACCESS_LIMIT = 1_000_000  # packets
# fq drops packets that must leave later than this. Its default of 10 s is too short, because
# BBR can send less than one packet in 10 s. The field has 32 bits of microseconds, at most 4294 s.
ACCESS_HORIZON_S = 4000

#: Qdiscs that limit the rate of a device, and their class if they have one. Each has a class 1:1.
SHAPERS = {
    "tbf": ("tbf rate {rate:.0f}bit burst {burst} limit {burst}", ""),
    "htb": (
        "htb default 1",
        "parent 1: classid 1:1 htb rate {rate:.0f}bit ceil {rate:.0f}bit "
        "burst {burst} cburst {burst}",
    ),
    "hfsc": (
        "hfsc default 1",
        "parent 1: classid 1:1 hfsc ls rate {rate:.0f}bit ul rate {rate:.0f}bit",
    ),
}


def queue(at: Interface, parent: str, qdisc: str) -> Qdisc:
    """Return a qdisc with the classes and filters that follow it after semicolons.

    parent: `root` or `parent 1:1`
    Raises UserError if a part after a semicolon has one word only.
    """
    first, *more = (part.strip() for part in qdisc.split(";"))
    if bad := [part for part in more if " " not in part]:
        raise UserError(f'--qdisc: "{bad[0]}" after a ";", needs "class ..." or "filter ..."')
    parts = (part.split(" ", 1) for part in more)
    return Qdisc(at, first, parent, "2:", tuple((f"{what} add", rest) for what, rest in parts))


def shaper(
    at: Interface, direction: Direction, qdisc: str, burst: int, kind: str = "tbf"
) -> list[Qdisc]:
    """Return the qdisc that limits a device to the rate of a direction, and the queue below it.

    qdisc: queues if the direction has no qdisc
    burst: bytes of the bucket
    kind: key of SHAPERS
    Raises UserError if the direction follows a trace or sends packets together, and `kind` cannot.
    """
    follows = direction.trace
    if direction.aggregate > 1:
        follows = follows or constant(direction.rate_bps)
    if follows and kind != "tbf":
        what = "follow a trace" if direction.trace else "send packets together"
        raise UserError(f"shaper={kind} cannot {what}: leave it out")
    return [
        follows.without_delay().qdisc(at, direction.aggregate)
        if follows
        else _limit(at, kind, direction.rate_bps, burst),
        queue(at, "parent 1:1", direction.qdisc or qdisc),
    ]


def _limit(at: Interface, kind: str, rate_bps: float, burst: int) -> Qdisc:
    bucket = burst + math.ceil(rate_bps * CLOCK_S / 8)
    text, of_class = (line.format(rate=rate_bps, burst=bucket) for line in SHAPERS[kind])
    more = (("class add", of_class),) if of_class else ()
    return Qdisc(at, text, handle="1:", more=more)


def delay(at: Interface, direction: Direction) -> Qdisc:
    """Return the qdisc with the delay, jitter and loss of a direction."""
    loss = f"{direction.loss:g}%"
    if direction.loss_burst:
        # From a state without losses into one in which each packet is lost, and back.
        enter, leave = two_states(direction.loss / 100, direction.loss_burst)
        loss = f"gemodel {100 * enter:g}% {100 * leave:g}%"
    return Qdisc(
        at,
        f"netem delay {direction.delay_ms:g}ms {direction.jitter_ms:g}ms "
        f"loss {loss} limit {DELAY_LIMIT}",
    )


def round_trip(at: Interface, rtt_ms: float) -> Qdisc:
    """Return the qdisc with the round-trip time of a group, which is all on the way back."""
    return Qdisc(at, f"netem delay {rtt_ms:g}ms limit {DELAY_LIMIT}")


def access_links(at: Interface, rate_bps: float, mtu: int, *, timed: bool) -> Qdisc:
    """Return the qdisc that is the access link of each source behind a device.

    rate_bps: of one link; 0: no limit
    timed: whether the sources give their packets departure times
    """
    words = ["fq"]
    if rate_bps:
        words.append(f"maxrate {rate_bps:.0f}bit low_rate_threshold {2 * rate_bps:.0f}bit")
    if timed:
        words.append("timer_slack 0")
    frame = frame_bytes(mtu)
    words.append(
        f"quantum {frame} initial_quantum {frame} "
        f"flow_limit {ACCESS_LIMIT} limit {ACCESS_LIMIT} horizon {ACCESS_HORIZON_S}s"
    )
    return Qdisc(at, " ".join(words))


def changes(text: str, end_s: float) -> tuple[tuple[int, str], ...]:
    """Return times in ns and options of "5 bandwidth 20mbit; 9 limit 100", which are in s.

    Raises UserError if a part is something else, or is not before the run's end.
    """
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        time, _, options = part.partition(" ")
        try:
            at_s = float(time)
        except ValueError:
            at_s = math.nan
        if not options.strip() or not 0 <= at_s < end_s:
            raise UserError(
                f'change: "{part}" given, needs a time before {end_s:g} s and options '
                'of the discipline, such as "5 bandwidth 20mbit"'
            )
        found.append((round(at_s * 1e9), options.strip()))
    return tuple(found)
