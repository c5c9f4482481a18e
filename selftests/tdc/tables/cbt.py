# SPDX-License-Identifier: GPL-2.0
"""The cases of cbt."""

import fifo
from table import (
    HOLDING,
    MARKING,
    SEED,
    Case,
    Conflict,
    Kind,
    Option,
    changed,
    choice,
    flag,
    on_gate,
)

U32 = 4294967295
PART = "0 to 1"
SOME = "above 0 to 1"


def share(name: str, default: str, good: float) -> Option:
    """Return an option for a share of the link."""
    return Option(name, default, PART, {str(good): good, "0.05": 0.05}, bad="-1 1.5")


def packet(name: str, default: str) -> Option:
    """Return an option for a mean packet size."""
    return Option(name, default, "1b to 1Mb", {"500": 500, "64": 64}, bad="0 2mb")


def threshold(name: str, good: str, other: str) -> Option:
    """Return an option for an average queue length."""
    return Option(
        name,
        "auto",
        "above 0 to 1048576 packets",
        {good: float(good), other: float(other)},
        bad="0 -1",
    )


KIND = Kind(
    "cbt",
    options=[
        Option(
            "limit",
            "auto",
            "1 to 1048576 packets",
            {"500": 500, "1": 1, "1048576": 1 << 20},
            bad="0 1048577",
        ),
        fifo.BANDWIDTH,
        Option("latency", "auto", "1us to 4294967295us", {"20ms": 20000, "1us": 1}, bad="fast 0"),
        share("share_tcp", "0.75", 0.5),
        share("share_tagged", "0.15", 0.25),
        share("share_other", "0.1", 0.2),
        packet("packet_tcp", "1500b"),
        packet("packet_tagged", "800b"),
        packet("packet_other", "1000b"),
        threshold("min", "20", "30"),
        threshold("max", "70.5", "80"),
        threshold("threshold_tagged", "7.25", "9"),
        threshold("threshold_other", "3", "4"),
        choice("red", "tcp all"),
        Option("probability", "0.1", PART, {"0.5": 0.5, "1": 1}, bad="1.5"),
        Option("weight", "auto", SOME, {"0.5": 0.5, "1": 1}, bad="0 -1"),
        Option("class_weight", "0.25", SOME, {"0.5": 0.5, "1": 1}, bad="0"),
        # tdc cannot compare JSON lists of numbers, so a case below compares text.
        Option(
            "dscp",
            "none",
            "none, or names (ef, af41, cs1) and numbers from 0 to 63 with commas between",
            {"46,34,0": {}, "none": {}},
            bad="64 1, eff",
        ),
        Option(
            "mark",
            "0/0",
            "VALUE or VALUE/MASK, each 0 to 0xffffffff, no bit of the value outside the mask",
            {"0x10/0xf0": {"mark": 16, "mark_mask": 240}, "7": {"mark": 7, "mark_mask": U32}},
            bad="x 1/ 0x100/0xf0",
        ),
        flag("gentle"),
        *MARKING,
        SEED,
        Option(
            "victim",
            "arrival",
            "random | arrival",
            {"random": "random", "arrival": "arrival"},
            bad="nonsense",
        ),
        *HOLDING,
    ],
    conflicts=[
        Conflict("share_tcp 0.9", "the three shares add up to more than 1"),
        Conflict("bandwidth 10mbit min 70", "min must be below max"),
        fifo.NODROP,
        Conflict("bandwidth 800bit", "the longest packet takes too long: raise bandwidth"),
    ],
    idle={
        "avg": 0,
        "avg_tcp": 0,
        "avg_tagged": 0,
        "avg_other": 0,
        "probability": 0,
        "tcp": 0,
        "tagged": 0,
        "other": 0,
        "bandwidth": 125000000,
        "limit": 7875,
        "min_th": 2250,
        "max_th": 2750,
        "latency": 40000,
        "memory_limit": 1 << 25,
        "dropped_bytes": 0,
    },
    special=[
        changed(
            "dscp of cbt, in the order of the codepoints",
            "cbt",
            "cbt dscp 46,34,0",
            "dscp cs0,af41,ef ",
        ),
        changed("dscp none of cbt", "cbt dscp 46", "cbt dscp none", "dscp none "),
        Case(
            "The classes of cbt",
            "$TC qdisc add dev $DUMMY handle 1: root cbt",
            "$TC -s class show dev $DUMMY",
            pattern="class cbt 1:[123]",
            count=3,
        ),
        on_gate(
            "A filter names a class of cbt",
            "cbt",
            "$BURST -m 3 g0 3",
            then=["$TC filter add dev g0 parent 1: handle 3 fw classid 1:2", "$BURST -m 4 g0 2"],
            smoke=True,
            json=[{"kind": "cbt", "qlen": 5, "tagged": 3, "other": 2, "tcp": 0}],
        ),
        on_gate(
            "skb->priority names a class of cbt",
            "cbt",
            "$BURST -p 0x10001 g0 3",
            json=[{"kind": "cbt", "qlen": 3, "tcp": 3, "other": 0}],
        ),
        on_gate(
            "cbt: what an overflow counts",
            "cbt limit 4 bandwidth 100gbit min 10 max 20 threshold_other 100",
            "$BURST g0 10",
            json=[{"kind": "cbt", "drops": 6, "qlen": 4, "drop_limit": 6, "other_drop": 0}],
        ),
    ],
)
