# SPDX-License-Identifier: GPL-2.0
"""What the lists in the uapi headers say of options and statistics, for tdc's cases."""

from __future__ import annotations

from table import Kind, Shown

from aqmlab.qdiscs import interface

BYTES = {"FLAG": 1, "CHOICE": 1, "RATE": 8, "CODEPOINTS": 8, "MASKED": 8}  # of others: 4


def width(listed: interface.Option) -> int:
    """Return the size of a netlink attribute, bytes."""
    return BYTES.get(listed.type, 4)


def out_of_range(listed: interface.Option) -> list[int]:
    """Return values just beyond an option's range. 0 stands for auto where that is allowed."""
    values = [listed.least - 1] if listed.least > (listed.default is None) else []
    return values + [listed.greatest + 1] * (listed.greatest + 1 < 1 << 8 * width(listed))


def idle(kind: Kind) -> dict[str, Shown]:
    """Return statistics of an empty queue without options."""
    listed = interface.read(kind.name).qdisc
    return {s.name: 0 for s in listed if s.show == "EVENTS"} | dict(kind.idle)
