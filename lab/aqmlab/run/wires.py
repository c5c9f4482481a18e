# SPDX-License-Identifier: GPL-2.0
"""Links between two nodes of a network, and their lines for tc."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from aqmlab.exceptions import UserError

from .trace import Trace

#: Deep enough never to drop, packets.
DELAY_LIMIT = 1_000_000

# The guest's virtual clock has steps of 256 ns, so a packet leaves up to that much late; with room
# for it in the bucket the next one makes up for it, and the rate is exact in the mean.
CLOCK_S = 1e-6


@dataclass(frozen=True)
class Way:
    """One direction of a link.

    rate_bps: bit/s with Ethernet headers; 0: no limit
    qdisc: queues for this rate; None: the qdisc that the run studies
    loss: % of the packets
    """

    rate_bps: float = 0.0
    qdisc: str | None = None
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    trace: Trace | None = None

    @property
    def netem(self) -> str:
        """Options of netem; empty if the direction needs none."""
        if not (self.delay_ms or self.jitter_ms or self.loss):
            return ""
        return (
            f"delay {self.delay_ms:g}ms {self.jitter_ms:g}ms "
            f"loss {self.loss:g}% limit {DELAY_LIMIT}"
        )

    def averaged(self, from_s: float, to_s: float) -> Way:
        """Return the same with a trace's mean rate between two times."""
        return replace(self, rate_bps=self.trace.mean_bps(from_s, to_s)) if self.trace else self


@dataclass(frozen=True)
class Wire:
    """A link between two nodes: `there` from near to far, and `back`; see `Network.link`."""

    near: str
    far: str
    there: Way
    back: Way

    def way(self, *, forward: bool) -> Way:
        """Return one direction."""
        return self.there if forward else self.back


def queue_commands(dev: str, parent: str, qdisc: str) -> list[str]:
    """Return lines for tc that add a qdisc, with the filters that follow it, to a device.

    parent: `root` or `parent 1:1`
    """
    first, *more = (part.strip() for part in qdisc.split(";"))
    if bad := [part for part in more if " " not in part]:
        raise UserError(f'--qdisc: "{bad[0]}" after a ";", needs "class ..." or "filter ..."')
    return [
        f"qdisc add dev {dev} {parent} handle 2: {first}",
        *(f"{what} add dev {dev} {rest}" for what, rest in (part.split(" ", 1) for part in more)),
    ]


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


def change_command(dev: str, qdisc: str, options: str) -> str:
    """Return the line for tc that changes options of a qdisc below a shaper."""
    return f"qdisc change dev {dev} parent 1:1 handle 2: {qdisc.split()[0]} {options}"


#: Lines for `tc -batch` with which a qdisc limits the rate of a device. Each has a class 1:1.
SHAPERS = {
    "tbf": (
        "qdisc add dev {dev} root handle 1: tbf rate {rate:.0f}bit burst {burst} limit {burst}",
    ),
    "htb": (
        "qdisc add dev {dev} root handle 1: htb default 1",
        "class add dev {dev} parent 1: classid 1:1 htb rate {rate:.0f}bit ceil {rate:.0f}bit "
        "burst {burst} cburst {burst}",
    ),
    "hfsc": (
        "qdisc add dev {dev} root handle 1: hfsc default 1",
        "class add dev {dev} parent 1: classid 1:1 hfsc ls rate {rate:.0f}bit "
        "ul rate {rate:.0f}bit",
    ),
}


def shaper(dev: str, way: Way, qdisc: str, burst: int, kind: str = "tbf") -> list[str]:
    """Return lines for `tc -batch` that limit a device to the rate of a direction, and queue.

    qdisc: queues if the direction has no qdisc
    burst: bytes of the bucket
    kind: key of SHAPERS
    Raises UserError if the direction follows a trace, and `kind` cannot.
    """
    if way.trace and kind != "tbf":
        raise UserError(f"shaper={kind} cannot follow a trace: leave out shaper or trace")
    bucket = burst + math.ceil(way.rate_bps * CLOCK_S / 8)
    limited = (
        way.trace.without_delay().commands(dev)
        if way.trace
        else [line.format(dev=dev, rate=way.rate_bps, burst=bucket) for line in SHAPERS[kind]]
    )
    return [*limited, *queue_commands(dev, "parent 1:1", way.qdisc or qdisc)]
