# SPDX-License-Identifier: GPL-2.0
"""The cases of blue."""

from table import HOLDING, MARKING, SEED, Case, Conflict, Kind, Option, changed, on_gate, stats

UP_TO_ALL = "1 to 4294967295 packets"

KIND = Kind(
    "blue",
    options=[
        Option("limit", "auto", UP_TO_ALL, {"150": 150, "1": 1, "4294967295": 4294967295},
               bad="0 -1 4294967296 ten"),
        Option("threshold", "auto", UP_TO_ALL, {"20": 20, "1": 1}, bad="0 -1 x"),
        Option("increment", "0.0025", "above 0 to 1", {"0.5": 0.5, "1": 1}, bad="0 1.1 -1",
               raw=[0]),
        Option("decrement", "0.00025", "above 0 to 1", {"0.25": 0.25, "1": 1}, bad="0 1.1 -1",
               raw=[0]),
        Option("freeze_time", "100ms", "1us to 10s", {"10ms": 10000, "1us": 1, "10s": 10000000},
               bad="0 11s", raw=[0, 10000001]),
        Option(
            "bandwidth", "auto", "8bit to 8.796Tbit",
            {"100mbit": 12500000, "100gbit": 12500000000}, bad="fast 9tbit",
            raw=[(1 << 40) + 1],
        ),
        *MARKING, SEED, *HOLDING,
    ],
    conflicts=[Conflict("nodrop", "nodrop needs ecn")],
    idle={
        "bandwidth": 125000000, "limit": 6666, "threshold": 6666, "memory_limit": 32 << 20,
        "memory_used": 0, "probability": 0, "segments": 0, "rises": 0, "falls": 0, "marked": 0,
        "spared": 0, "early_drop": 0, "drop_limit": 0, "drop_memory": 0, "drop_change": 0,
        "dropped_bytes": 0, "delay": 0, "delay_avg": 0, "delay_max": 0,
    },
    special=[
        stats("blue on a slow link has 8 packets", "blue bandwidth 500kbit", limit=8, threshold=8),
        stats("blue's limit fits into the memory", "blue memory_limit 1mb", limit=455),
        changed(
            "blue shows what was given before what follows", "blue limit 100", "blue threshold 50",
            r"refcnt 2 limit 100p threshold 50p auto ",
        ),
        Case(
            "blue says that it guesses the bandwidth",
            "$TC qdisc add dev $DUMMY handle 1: root blue",
            "$TC qdisc change dev $DUMMY handle 1: root blue 2>&1",
            pattern="Warning: .*bandwidth is 1Gbit",
        ),
        Case(
            "blue warns of a threshold that no queue can pass",
            "$TC qdisc add dev $DUMMY handle 1: root blue bandwidth 1gbit limit 5 threshold 6",
            "$TC qdisc change dev $DUMMY handle 1: root blue 2>&1",
            pattern="Warning: .*threshold is above limit: only a full queue raises the probability",
        ),
        on_gate(
            "blue: what an overflow counts, and that it raises p once", "blue limit 4",
            "$BURST -l 1000 g0 10", smoke=True,
            json=[{"kind": "blue", "drops": 6, "qlen": 4, "drop_limit": 6, "early_drop": 0,
                   "dropped_bytes": 6000, "rises": 1, "segments": 4}],
        ),
        on_gate(
            "blue: above the threshold p rises, and decides",
            "blue limit 100 threshold 2 increment 1", "$BURST g0 10",
            json=[{"kind": "blue", "drops": 8, "qlen": 2, "early_drop": 8, "rises": 1,
                   "probability": 1}],
        ),
        on_gate(
            "blue: what a change to less counts", "blue",
            "$TC qdisc change dev g0 handle 1: root blue limit 3", then=["$BURST g0 4"],
            json=[{"kind": "blue", "drops": 1, "qlen": 3, "drop_change": 1, "drop_limit": 0}],
        ),
    ],
)  # fmt: skip
