# SPDX-License-Identifier: GPL-2.0
"""The cases of chokex."""

from table import MARKING, SEED, Case, Conflict, Kind, Option, changed, flag, on_gate

TO_INT_MAX = "1 to 2147483647 packets"

KIND = Kind(
    "chokex",
    options=[
        Option(
            "limit", "auto", "1 to 1048576 packets", {"150": 150, "1": 1, "1048576": 1 << 20},
            bad="0 1048577 ten", raw=[1 << 20 | 1],
        ),
        Option("min", "auto", TO_INT_MAX, {"20": 20, "30": 30}, bad="0 -1", raw=[1 << 31]),
        Option("max", "auto", TO_INT_MAX, {"90": 90, "80": 80}, bad="0 x", raw=[1 << 31]),
        Option("probability", "0.02", "0 to 1", {"0.5": 0.5, "1": 1, "0": 0}, bad="1.1 -1"),
        Option("weight", "auto", "above 0 to 1", {"0.25": 0.25, "1": 1}, bad="0 -1"),
        Option(
            "bandwidth", "auto", "8bit to 8.796Tbit",
            {"100mbit": 12500000, "100gbit": 12500000000}, bad="fast 9tbit",
            raw=[(1 << 40) + 1],
        ),
        Option("avpkt", "1000b", "1b to 4Gb", {"1500": 1500, "64": 64}, bad="0", raw=[0]),
        Option("candidates", "1", "1 to 64 packets", {"64": 64, "3": 3}, bad="0 65", raw=[0, 65]),
        Option("adaptive", "auto", "1 to 32 regions", {"5": 5, "32": 32}, bad="0 33", raw=[33]),
        flag("gentle"), *MARKING, SEED,
        Option("memory_limit", "auto", "1b to 4Gb", {"1000000b": 1000000, "4096": 4096}, bad="0 x"),
        flag("split_gso", default=True),
    ],
    alone=["adaptive"],
    conflicts=[
        Conflict("candidates 2 adaptive 2",
                 "candidates and adaptive exclude each other: give one of them"),
        Conflict("min 200 max 200", "min must be below max"),
        Conflict("limit 300 min 300", "min must be below max"),
        Conflict("nodrop", "nodrop needs ecn"),
        Conflict("bandwidth 8bit avpkt 5",
                 "avpkt takes more than 4 s at this bandwidth: raise bandwidth"),
    ],
    idle={
        "avg": 0, "probability": 0, "candidates": 0, "count": 0, "ptime": 8000, "limit": 6666,
        "bandwidth": 125000000, "min_th": 2222,
        "max_th": 4444, "memory_limit": 1 << 25, "memory_used": 0, "drop_memory": 0, "marked": 0,
        "drawn": 0,
        "matched": 0, "victims": 0, "early_drop": 0, "early_mark": 0, "forced_drop": 0,
        "forced_mark": 0, "spared": 0, "drop_limit": 0, "drop_change": 0, "dropped_bytes": 0,
        "drop_filter": 0,
    },
    special=[
        changed(
            "Changing chokex's candidates ends adaptive", "chokex adaptive 5",
            "chokex candidates 3", r"refcnt 2 candidates 3 auto ",
        ),
        Case(
            "chokex warns of a min that no queue can pass",
            "$TC qdisc add dev $DUMMY handle 1: root chokex limit 5 min 5 max 9",
            "$TC qdisc change dev $DUMMY handle 1: root chokex 2>&1",
            pattern="Warning: .*limit is not above min: no early drops",
        ),
        on_gate(
            "chokex: what an overflow counts", "chokex limit 4 min 100 max 200",
            "$BURST -l 1000 g0 10", smoke=True,
            json=[{"kind": "chokex", "drops": 6, "qlen": 4, "drop_limit": 6, "drawn": 0,
                   "dropped_bytes": 6000}],
        ),
        on_gate(
            "chokex: what a change to less counts", "chokex",
            "$TC qdisc change dev g0 handle 1: root chokex limit 3", then=["$BURST g0 4"],
            json=[{"kind": "chokex", "drops": 1, "qlen": 3, "drop_change": 1, "drop_limit": 0}],
        ),
        on_gate(
            "chokex: packets of one flow match, of two flows that filters name they do not",
            "chokex min 1 max 200 weight 1 probability 0 candidates 64",
            "$BURST -m 3 g0 3",
            then=[
                "$TC filter add dev g0 parent 1: handle 3 fw classid 1:3",
                "$TC filter add dev g0 parent 1: handle 4 fw classid 1:4",
                "$BURST -m 4 g0 2",
            ],
            json=[{"kind": "chokex", "qlen": 3, "matched": 1, "victims": 1, "drops": 2}],
        ),
    ],
)  # fmt: skip
