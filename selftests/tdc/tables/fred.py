# SPDX-License-Identifier: GPL-2.0
"""The cases of fred."""

from table import HOLDING, MARKING, SEED, Conflict, Kind, Option, changed, flag, on_gate, stats

TO_INT_MAX = "1 to 2147483647 packets"

KIND = Kind(
    "fred",
    options=[
        Option(
            "limit", "auto", "1 to 1048576 packets", {"150": 150, "1": 1, "1048576": 1 << 20},
            bad="0 1048577 ten", raw=[1 << 20 | 1],
        ),
        Option("min", "auto", TO_INT_MAX, {"20": 20, "30": 30}, bad="0 -1", raw=[1 << 31]),
        Option("max", "auto", TO_INT_MAX, {"90": 90, "80": 80}, bad="0 x", raw=[1 << 31]),
        Option("minq", "auto", TO_INT_MAX, {"3": 3, "1": 1}, bad="0 -1", raw=[1 << 31]),
        Option("probability", "0.02", "0 to 1", {"0.5": 0.5, "1": 1, "0": 0}, bad="1.1 -1"),
        Option("weight", "auto", "above 0 to 1", {"0.25": 0.25, "1": 1}, bad="0 -1"),
        Option("rtt", "100ms", "1us to 10s", {"50ms": 50000, "1us": 1, "10s": 10000000},
               bad="0 11s", raw=[0, 10000001]),
        Option(
            "bandwidth", "auto", "8bit to 8.796Tbit",
            {"100mbit": 12500000, "100gbit": 12500000000}, bad="fast 9tbit",
            raw=[(1 << 40) + 1],
        ),
        Option("avpkt", "1000b", "1b to 4Gb", {"1500": 1500, "64": 64}, bad="0", raw=[0]),
        flag("two_packet", default=True), *MARKING, SEED, *HOLDING,
    ],
    conflicts=[
        Conflict("min 200 max 200", "min must be below max"),
        Conflict("limit 300 min 75 max 75", "min must be below max"),
        Conflict("nodrop", "nodrop needs ecn"),
        Conflict("bandwidth 8bit avpkt 9",
                 "avpkt takes more than 8 s at this bandwidth: raise bandwidth"),
    ],
    idle={
        "bandwidth": 125000000, "limit": 6666, "memory_limit": 32 << 20, "memory_used": 0,
        "avg": 0, "avgcq": 1, "active": 0, "struck": 0, "maxq": 1666, "maxq_drop": 0,
        "twice_drop": 0, "avgcq_drop": 0, "early_drop": 0, "early_mark": 0, "forced_drop": 0,
        "forced_mark": 0, "segments": 0, "probability": 0, "min_th": 1666, "max_th": 3332,
        "minq": 4, "ptime": 4000, "count": 0, "drop_filter": 0, "marked": 0, "spared": 0,
        "drop_limit": 0, "drop_memory": 0, "drop_change": 0, "dropped_bytes": 0,
        "delay": 0, "delay_avg": 0, "delay_max": 0,
    },
    special=[
        stats("fred on a slow link has 8 packets, and a flow 2", "fred bandwidth 500kbit",
              limit=8, min_th=2, max_th=4, maxq=2, minq=2),
        stats("fred's min is a round trip's packets at most",
              "fred limit 1000 bandwidth 8mbit rtt 30ms", min_th=30, max_th=60),
        changed(
            "fred shows what was given before what follows", "fred limit 100", "fred minq 3",
            r"refcnt 2 limit 100p minq 3p auto ",
        ),
        on_gate(
            "fred: what an overflow counts", "fred limit 4 min 100",
            "$BURST -l 1000 g0 10", smoke=True,
            json=[{"kind": "fred", "drops": 6, "qlen": 4, "drop_limit": 6, "maxq_drop": 0,
                   "active": 1, "dropped_bytes": 6000}],
        ),
        on_gate(
            "fred: a flow has min packets at most, and two flows have two", "fred min 3 max 100",
            "$BURST -m 3 g0 5",
            then=[
                "$TC filter add dev g0 parent 1: handle 3 fw classid 1:3",
                "$TC filter add dev g0 parent 1: handle 4 fw classid 1:4",
                "$BURST -m 4 g0 2",
            ],
            json=[{"kind": "fred", "qlen": 5, "drops": 2, "maxq_drop": 2, "active": 2,
                   "struck": 1}],
        ),
        on_gate(
            "fred: from max on a flow has two packets", "fred min 3 max 4 weight 1",
            "$BURST -m 4 g0 5",
            then=[
                "$TC filter add dev g0 parent 1: handle 3 fw classid 1:3",
                "$TC filter add dev g0 parent 1: handle 4 fw classid 1:4",
                "$BURST -m 3 g0 3",
            ],
            json=[{"kind": "fred", "qlen": 5, "drops": 3, "maxq_drop": 3, "maxq": 2}],
        ),
        on_gate(
            "fred: what a change to less counts, and whose packets stay", "fred",
            "$TC qdisc change dev g0 handle 1: root fred limit 3", then=["$BURST g0 4"],
            json=[{"kind": "fred", "drops": 1, "qlen": 3, "drop_change": 1, "drop_limit": 0,
                   "active": 1}],
        ),
    ],
)  # fmt: skip
