# SPDX-License-Identifier: GPL-2.0
"""How long the network can be silent although a datagram is still on its way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from .links import Direction
from .packets import frame_bytes
from .places import GroupPlace
from .topology import Built
from .trace import Trace

#: More than a processor that is late, or an aggregate, makes of it.
LEAST_MS = 1000.0


def _outage_ms(trace: Trace) -> float:
    """Return the longest time in which a trace carries nothing. It may last over its end."""
    longest = silent = 0.0
    for piece in itertools.chain(trace.pieces, trace.pieces):
        silent = 0.0 if piece.bytes else silent + piece.us / 1000
        longest = max(longest, silent)
    return longest


def _silent_ms(direction: Direction, mtu: int) -> float:
    """Return how long a link can deliver nothing while a packet is in it."""
    own = direction.delay_ms + direction.jitter_ms
    if direction.rate_bps:
        own += 8e3 * frame_bytes(mtu) / direction.rate_bps
    return own + (_outage_ms(direction.trace) if direction.trace else 0.0)


def after_end_ms(built: Built, places: Sequence[GroupPlace], mtu: int) -> int:
    """Return how long nothing may arrive, after the end, until missing datagrams are lost.

    places: of the groups whose packets are made by flowgen
    0 without UDP, whose datagrams are the only ones that are waited for.
    """
    network = built.network
    waits = [
        float(group.flow.get("delay_ns", 0)) / 1e6
        + sum(
            _silent_ms(
                network.links[crossing.number].direction(forward=crossing.forward != group.reverse),
                mtu,
            )
            for crossing in network.path(group.enters, group.leaves)
        )
        for group in (place.group for place in places)
        if group.flow.get("kind") == "udp"
    ]
    return math.ceil(LEAST_MS + max(waits)) if waits else 0
