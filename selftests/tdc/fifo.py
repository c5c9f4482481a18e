# SPDX-License-Identifier: GPL-2.0
"""Options and cases that several FIFOs share."""

from __future__ import annotations

from table import Case, Conflict, Option, Shown, on_gate

UP_TO_ALL = "1 to 4294967295 packets"
TO_INT_MAX = "1 to 2147483647 packets"
ABOVE_0 = "above 0 to 1"

LIMIT = Option(
    "limit",
    "auto",
    UP_TO_ALL,
    {"150": 150, "1": 1, "4294967295": 4294967295},
    bad="0 -1 4294967296 ten",
)
LIMIT_OF_A_TABLE = Option(
    "limit",
    "auto",
    "1 to 1048576 packets",
    {"150": 150, "1": 1, "1048576": 1 << 20},
    bad="0 1048577 ten",
)
MIN_MAX = (
    Option("min", "auto", TO_INT_MAX, {"20": 20, "30": 30}, bad="0 -1"),
    Option(
        "max",
        "auto",
        "2 to 2147483647 packets",
        {"90": 90, "80": 80},
        bad="0 1 x",
    ),
)
PROBABILITY = Option("probability", "0.02", "0 to 1", {"0.5": 0.5, "1": 1, "0": 0}, bad="1.1 -1")
WEIGHT = Option("weight", "auto", ABOVE_0, {"0.25": 0.25, "1": 1}, bad="0 -1")
BANDWIDTH = Option(
    "bandwidth",
    "auto",
    "8bit to 8.796Tbit",
    {"100mbit": 12500000, "100gbit": 12500000000},
    bad="fast 9tbit",
)
AVPKT = Option("avpkt", "1000b", "1b to 4294967295b", {"1500": 1500, "64": 64}, bad="0")
LINK = (BANDWIDTH, AVPKT)

NODROP = Conflict("nodrop", "nodrop needs ecn")
SLOW = Conflict(
    "bandwidth 8bit avpkt 5", "avpkt takes more than 4 s at this bandwidth: raise bandwidth"
)

# Statistics of an empty queue without options, on a link with unknown speed.
IDLE = {
    "bandwidth": 125000000,
    "limit": 6666,
    "memory_limit": 32 << 20,
    "memory_used": 0,
    "dropped_bytes": 0,
    "delay": 0,
    "delay_avg": 0,
    "delay_max": 0,
}
RED_IDLE = {
    **IDLE,
    "avg": 0,
    "probability": 0,
    "segments": 0,
    "count": 0,
    "ptime": 8000,
}


def time(name: str, default: str, good: str, us: int) -> Option:
    """Return an option for a time of up to 10 s."""
    return Option(
        name,
        default,
        "1us to 10s",
        {good: us, "1us": 1, "10s": 10000000},
        bad="0 11s",
    )


def warns(kind: str, name: str, options: str, text: str) -> Case:
    """Return a case in which a change of nothing warns."""
    return Case(
        f"{kind} {name}",
        f"$TC qdisc add dev $DUMMY handle 1: root {kind} {options}".rstrip(),
        f"$TC qdisc change dev $DUMMY handle 1: root {kind} 2>&1",
        pattern=f"Warning: .*{text}",
    )


def no_early_drops(kind: str, options: str) -> Case:
    """Return a case in which the limit is not above min."""
    return warns(
        kind,
        "warns of a min that no queue can pass",
        options,
        "limit is not above min: no early drops",
    )


def overflow(kind: str, options: str, **fields: Shown) -> Case:
    """Return a case in which 10 packets of 1000 bytes arrive at a queue for four."""
    return on_gate(
        f"{kind}: what an overflow counts",
        f"{kind} {options}",
        "$BURST -l 1000 g0 10",
        smoke=True,
        json=[
            {"kind": kind, "drops": 6, "qlen": 4, "drop_limit": 6, "dropped_bytes": 6000, **fields}
        ],
    )


def shrunk(kind: str) -> Case:
    """Return a case in which the limit falls from above to below the queue's length."""
    return on_gate(
        f"{kind}: what a change to less counts",
        kind,
        f"$TC qdisc change dev g0 handle 1: root {kind} limit 3",
        then=["$BURST g0 4"],
        json=[{"kind": kind, "drops": 1, "qlen": 3, "drop_change": 1, "drop_limit": 0}],
    )
