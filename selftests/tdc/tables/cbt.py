# SPDX-License-Identifier: GPL-2.0
"""The cases of cbt."""

from table import (
    Case,
    Conflict,
    Kind,
    Option,
    changed,
    choice,
    ecn,
    flag,
    long_number,
    number,
    on_gate,
)

U32 = 4294967295


def share(name: str, default: float, good: float) -> Option:
    """A part of the link's bytes."""
    return number(
        name, default, {str(good): good, "0.05": 0.05}, "2e-10 to 1", bad="0 1.5", raw=[0]
    )


def packet(name: str, default: int) -> Option:
    """A mean size of packets."""
    return number(name, default, {"500": 500, "64": 64}, "1b to 4294967295b", bad="0", raw=[0])


def threshold(name: str, attr: str, default: float, good: str, other: str) -> Option:
    """A length of an average queue."""
    return number(
        name, default, {good: float(good), other: float(other)}, "0 to 1048576 packets",
        bad="-1", raw=[(1 << 28) + 1], attr=attr,
    )  # fmt: skip


NODROP = flag("drop", default=True)

KIND = Kind(
    "cbt",
    text="limit 200p bandwidth 10Mbit latency 100ms share_tcp 0.75 share_tagged 0.15 "
    "share_other 0.1 packet_tcp 1500b packet_tagged 800b packet_other 1000b min 50 max 62.5 "
    "threshold_tagged 23.438 threshold_other 12.5 red tcp probability 0.1 weight 0.001953125 "
    "class_weight 0.25 nogentle noecn noharddrop drop victim random seed 0 dscp none mark 0/0",
    options=[
        number(
            "limit", 200, {"500": 500, "1": 1, "1048576": 1 << 20}, "1 to 1048576 packets",
            bad="0 1048577", raw=[0, 1 << 20 | 1],
        ),
        long_number(
            "bandwidth", 1250000, {"100mbit": 12500000, "100gbit": 12500000000},
            "8bit to 18446744073709551608bit", bad="fast", raw=[0],
        ),
        number("latency", 100000, {"20ms": 20000, "1us": 1}, "1us to 4294967295us", bad="fast",
               raw=[0]),
        share("share_tcp", 0.75, 0.5),
        share("share_tagged", 0.15, 0.25),
        share("share_other", 0.1, 0.2),
        packet("packet_tcp", 1500), packet("packet_tagged", 800), packet("packet_other", 1000),
        threshold("min", "MIN_TH", 50.0, "20", "30"),
        threshold("max", "MAX_TH", 62.5, "70.5", "80"),
        threshold("threshold_tagged", "TAGGED_TH", 23.4375, "7.25", "9"),
        threshold("threshold_other", "OTHER_TH", 12.5, "3", "4"),
        choice("red", "tcp all"),
        number("probability", 0.1, {"0.5": 0.5, "1": 1}, "0 to 1", bad="1.5"),
        number("weight", 0.00195313, {"0.5": 0.5, "1": 1}, "2e-10 to 1", bad="0", raw=[0]),
        number("class_weight", 0.25, {"0.5": 0.5, "1": 1}, "2e-10 to 1", bad="0", raw=[0]),
        flag("gentle"), ecn(NODROP), flag("harddrop"), NODROP,
        choice("victim", "random arrival"),
        number("seed", 0, {"9": 9, str(U32): U32}, f"0 to {U32}", bad="-1"),
        # tdc cannot compare JSON lists of numbers: what is shown is compared as text, below.
        Option(
            "dscp", 8, None, {"46,34,0": {}, "none": {}},
            "none, or numbers from 0 to 63 with commas between", bad="64 1,",
        ),
        number(
            "mark", 0, {"0x10/0xf0": {"mark": 16, "mark_mask": 240},
                        "7": {"mark": 7, "mark_mask": U32}},
            "VALUE or VALUE/MASK, each 0 to 0xffffffff", bad="x 1/",
        ),
    ],
    conflicts=[
        Conflict("share_tcp 0.9", "the shares are more than 1 together"),
        Conflict("min 70", "min must be below max"),
        Conflict("nodrop", "nodrop needs ecn"),
        Conflict("mark 0x100/0xf0", "the mark has bits that its mask has not"),
        Conflict("bandwidth 800bit", "a packet takes too long at this bandwidth"),
    ],
    idle={
        "avg": 0, "avg_tcp": 0, "avg_tagged": 0, "avg_other": 0, "probability": 0, "tcp": 0,
        "tagged": 0, "other": 0, "tagged_drop": 0, "other_drop": 0, "early_drop": 0,
        "early_mark": 0, "forced_drop": 0, "forced_mark": 0, "spared": 0, "full_drop": 0,
        "victims": 0, "drop_change": 0, "dropped_bytes": 0,
    },
    special=[
        Case(
            "cbt's share law",
            "$TC qdisc add dev $DUMMY handle 1: root cbt bandwidth 100mbit latency 20ms "
            "share_tcp 0.5 share_tagged 0.25 share_other 0.25 packet_tcp 1000 packet_tagged 500 "
            "packet_other 1250",
            "$TC qdisc show dev $DUMMY",
            pattern="min 100 max 125 threshold_tagged 125 threshold_other 50 ",
        ),
        changed(
            "Thresholds of cbt that are not given follow the latency", "cbt", "cbt latency 200ms",
            "min 100 max 125 threshold_tagged 46.875 threshold_other 25 ",
        ),
        changed(
            "dscp of cbt, in the order of the codepoints", "cbt", "cbt dscp 46,34,0",
            "dscp 0,34,46 ",
        ),
        changed("dscp none of cbt", "cbt dscp 46", "cbt dscp none", "dscp none "),
        Case(
            "The classes of cbt", "$TC qdisc add dev $DUMMY handle 1: root cbt",
            "$TC -s class show dev $DUMMY", pattern="class cbt 1:[123]", count=3,
        ),
        on_gate(
            "A filter names a class of cbt", "cbt", "$BURST -m 3 g0 3",
            then=["$TC filter add dev g0 parent 1: handle 3 fw classid 1:2", "$BURST -m 4 g0 2"],
            smoke=True, json=[{"kind": "cbt", "qlen": 5, "tagged": 3, "other": 2, "tcp": 0}],
        ),
        on_gate(
            "skb->priority names a class of cbt", "cbt", "$BURST -p 0x10001 g0 3",
            json=[{"kind": "cbt", "qlen": 3, "tcp": 3, "other": 0}],
        ),
        on_gate(
            "cbt: what an overflow counts", "cbt limit 4 bandwidth 100gbit min 10 max 20 "
            "threshold_other 100", "$BURST g0 10",
            json=[{"kind": "cbt", "drops": 6, "qlen": 4, "full_drop": 6, "other_drop": 0}],
        ),
    ],
)  # fmt: skip
