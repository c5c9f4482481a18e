# SPDX-License-Identifier: GPL-2.0
"""The cases of redtail."""

import fifo
from table import HOLDING, MARKING, SEED, Case, Conflict, Kind, Option, choice, flag, on_gate, stats

U32 = 4294967295
PART = "0 to 1"
SOME = "above 0 to 1"


def length(name: str, good: int, other: int) -> Option:
    """Return an option for a queue length, which is derived from the bandwidth by default."""
    return Option(
        name,
        "auto",
        "1b to 1Gb, or with bandwidth a time",
        {f"{good}b": good, str(other): other},
        bad="0 2gb x",
    )


KIND = Kind(
    "redtail",
    options=[
        Option(
            "bandwidth",
            "auto",
            "8bit to 8.796Tbit",
            {"100mbit": 12500000, "1gbit": 125000000},
            bad="0 9tbit",
        ),
        length("limit", 200000, 250000),
        *HOLDING,
        length("min1", 3000, 500),
        length("max1", 40000, 60000),
        length("min2", 25000, 9000),
        length("max2", 90000, 100000),
        Option("share_min", "auto", SOME, {"0.1": 0.1, "0.2": 0.2}, bad="0 -1"),
        Option("share_max", "0.8", SOME, {"0.6": 0.6, "1": 1}, bad="0 1.1"),
        Option(
            "avpkt",
            "1000b",
            "64b to 65535b",
            {"1500": 1500, "64": 64},
            bad="63 65536",
        ),
        Option("weight", "auto", SOME, {"0.002": 0.002, "1": 1}, bad="0 -1"),
        Option("probability", "0.02", SOME, {"0.05": 0.05, "1": 1}, bad="0"),
        flag("adaptive", default=True),
        *MARKING,
        Option("packets", "128p", f"0 to {U32} packets", {"50p": 50, "0": 0}, bad="-1"),
        Option("age", "0us", "0us to 4294967295us", {"100ms": 100000, "1s": 1000000}, bad="x"),
        Option("tau", "5s", "1us to 4294967295us", {"2s": 2000000, "1us": 1}, bad="0"),
        Option(
            "flows",
            "1024",
            "1 to 1048576 slots",
            {"1000": 1000, "1": 1, "1048576": 1 << 20},
            bad="0 1048577",
        ),
        choice("key", "addresses flow"),
        flag("dynamic"),
        Option("low", "0.01", PART, {"0.02": 0.02, "0": 0}, bad="-1"),
        Option("high", "0.02", PART, {"0.04": 0.04, "1": 1}, bad="2"),
        Option("gamma", "0.02", SOME, {"0.05": 0.05, "0.5": 0.5}, bad="0"),
        SEED,
    ],
    conflicts=[
        Conflict("min1 5000 max1 5000", "min1 must be below max1"),
        Conflict("limit 160000 min2 80000", "min2 must be below max2"),
        Conflict("share_min 0.9", "share_min must not be above share_max"),
        Conflict("low 0.02", "low must be below high"),
        fifo.NODROP,
    ],
    idle={
        "bandwidth": 125000000,
        "limit": 12500000,
        "min1": 156250,
        "max1": 2343750,
        "min2": 1562500,
        "max2": 6250000,
        "memory_limit": 32 << 20,
        "memory_used": 0,
        "delay_avg": 0,
        "share_max": 0.8,
        "qlen_short": 0,
        "sent_short": 0,
        "qlen_long": 0,
        "sent_long": 0,
        "avg": 0,
        "max_p": 85899346 / U32,
        "dropped_bytes": 0,
    },
    special=[
        stats(
            "What redtail derives follows the bandwidth",
            "redtail bandwidth 30mbit",
            limit=375000,
            min1=4687,
            max1=70312,
            min2=46875,
            max2=187500,
        ),
        stats(
            "The setting of redtail's paper",
            "redtail bandwidth 3mbit limit 160000",
            limit=160000,
            min1=2000,
            max1=30000,
            min2=20000,
            max2=80000,
        ),
        stats(
            "What redtail derives follows the limit",
            "redtail bandwidth 30mbit limit 80000",
            limit=80000,
            min1=1000,
            max1=15000,
            min2=10000,
            max2=40000,
        ),
        stats(
            "redtail's derived limit is half of its memory at most",
            "redtail bandwidth 100gbit",
            limit=16 << 20,
            min1=209715,
        ),
        stats(
            "redtail's derived limit stops shrinking at 1mbit",
            "redtail bandwidth 8kbit",
            limit=12500,
        ),
        stats(
            "redtail with the least limit",
            "redtail limit 1",
            limit=1,
            min1=1,
            max1=2,
            min2=1,
            max2=2,
        ),
        Case(
            "Lengths of redtail as times, and one in bytes",
            "$TC qdisc add dev $DUMMY handle 1: root redtail limit 100ms min1 1ms max1 100kb "
            "min2 5ms max2 30ms bandwidth 100mbit",
            "$TC -j qdisc show dev $DUMMY",
            json=[
                {
                    "kind": "redtail",
                    "options": {
                        "limit": 1250000,
                        "min1": 12500,
                        "max1": 102400,
                        "min2": 62500,
                        "max2": 375000,
                    },
                }
            ],
            status=0,
        ),
        Case(
            "A length of redtail as a time needs the bandwidth",
            "$TC qdisc add dev $DUMMY handle 1: root redtail max1 10ms",
            "$TC qdisc add dev $DUMMY handle 1: root redtail max1 10ms 2>&1",
            pattern='^redtail: "max1 10ms" is a time: give the bandwidth too$',
            status=1,
        ),
        Case(
            "The classes of redtail",
            "$TC qdisc add dev $DUMMY handle 1: root redtail limit 160000",
            "$TC -s class show dev $DUMMY",
            pattern=r"class redtail 1:1 parent 1: .* min 2000b max 30000b .*"
            r"class redtail 1:2 parent 1: .* min 20000b max 80000b ",
        ),
        on_gate(
            "UDP waits in redtail's short queue",
            "redtail",
            "$BURST -l 1000 g0 3",
            json=[
                {
                    "kind": "redtail",
                    "qlen_short": 3,
                    "backlog_short": 3000,
                    "qlen_long": 0,
                    "flows_new": 0,
                }
            ],
        ),
        on_gate(
            "skb->priority names redtail's queue",
            "redtail",
            "$BURST -l 1000 -p 0x10002 g0 3",
            json=[{"kind": "redtail", "qlen_short": 0, "qlen_long": 3, "backlog_long": 3000}],
        ),
        on_gate(
            "A filter names redtail's queue",
            "redtail",
            "$BURST -m 3 g0 3",
            then=["$TC filter add dev g0 parent 1: handle 3 fw classid 1:2", "$BURST -m 4 g0 2"],
            smoke=True,
            json=[{"kind": "redtail", "qlen_short": 2, "qlen_long": 3}],
        ),
        on_gate(
            "A filter that names no queue leaves the choice to redtail",
            "redtail",
            "$BURST -m 3 g0 3",
            then=["$TC filter add dev g0 parent 1: handle 3 fw classid 1:7"],
            json=[{"kind": "redtail", "qlen_short": 3, "qlen_long": 0, "drops": 0}],
        ),
        on_gate(
            "redtail: what an overflow counts",
            "redtail limit 3500",
            "$BURST -l 1000 g0 5",
            json=[{"kind": "redtail", "qlen_short": 3, "overflow_short": 2, "drops": 2}],
        ),
        on_gate(
            "redtail: what a change to less counts",
            "redtail",
            "$TC qdisc change dev g0 handle 1: root redtail limit 1500",
            then=["$BURST -l 1000 g0 3"],
            json=[{"kind": "redtail", "qlen_short": 1, "drop_change": 2, "drops": 2}],
        ),
    ],
)
