# SPDX-License-Identifier: GPL-2.0
"""The cases of ared."""

from table import (
    HOLDING,
    MARKING,
    SEED,
    Case,
    Conflict,
    Kind,
    Option,
    changed,
    flag,
    on_gate,
    stats,
)

UP_TO_ALL = "1 to 4294967295 packets"
TO_INT_MAX = "1 to 2147483647 packets"
ABOVE_0 = "above 0 to 1"

KIND = Kind(
    "ared",
    options=[
        Option("limit", "auto", UP_TO_ALL, {"150": 150, "1": 1, "4294967295": 4294967295},
               bad="0 -1 4294967296 ten"),
        Option("target", "5ms", "1us to 10s", {"10ms": 10000, "1us": 1, "10s": 10000000},
               bad="0 11s", raw=[0, 10000001]),
        Option("min", "auto", TO_INT_MAX, {"20": 20, "30": 30}, bad="0 -1", raw=[1 << 31]),
        Option("max", "auto", TO_INT_MAX, {"90": 90, "80": 80}, bad="0 x", raw=[1 << 31]),
        Option("probability", "0.1", ABOVE_0, {"0.25": 0.25, "1": 1}, bad="0 1.1 -1", raw=[0]),
        Option("bottom", "0.01", ABOVE_0, {"0.02": 0.02, "0.001": 0.001}, bad="0 1.1 -1", raw=[0]),
        Option("top", "0.5", ABOVE_0, {"0.75": 0.75, "1": 1}, bad="0 1.1 -1", raw=[0]),
        Option("weight", "auto", ABOVE_0, {"0.25": 0.25, "1": 1}, bad="0 -1"),
        Option(
            "bandwidth", "auto", "8bit to 8.796Tbit",
            {"100mbit": 12500000, "100gbit": 12500000000}, bad="fast 9tbit",
            raw=[(1 << 40) + 1],
        ),
        Option("avpkt", "1000b", "1b to 4Gb", {"1500": 1500, "64": 64}, bad="0", raw=[0]),
        flag("adaptive", default=True), flag("gentle", default=True), flag("wait", default=True),
        *MARKING, SEED, *HOLDING,
    ],
    conflicts=[
        Conflict("min 200 max 200", "min must be below max"),
        Conflict("min 20 max 10", "min must be below max"),
        Conflict("bottom 0.5 top 0.4", "bottom must not be above top"),
        Conflict("bottom 0.0000001", "bottom must be at least 0.000001"),
        Conflict("nodrop", "nodrop needs ecn"),
        Conflict("bandwidth 8bit avpkt 5",
                 "avpkt takes more than 4 s at this bandwidth: raise bandwidth"),
    ],
    idle={
        "bandwidth": 125000000, "limit": 6666, "memory_limit": 32 << 20, "memory_used": 0,
        "avg": 0, "max_p": 0.10000000011641533, "probability": 0, "early_drop": 0, "early_mark": 0,
        "forced_drop": 0, "forced_mark": 0, "segments": 0, "min_th": 312, "max_th": 936,
        "ptime": 8000, "count": 0, "marked": 0, "spared": 0, "drop_limit": 0, "drop_memory": 0,
        "drop_change": 0, "dropped_bytes": 0, "delay": 0, "delay_avg": 0, "delay_max": 0,
    },
    special=[
        stats("ared on a slow link has room for the slope to 2 max", "ared bandwidth 2mbit",
              limit=13, min_th=2, max_th=6),
        stats("ared's min is 5 where the limit has room", "ared bandwidth 8mbit limit 30",
              min_th=5, max_th=15),
        stats("ared's thresholds follow the target", "ared bandwidth 8mbit limit 300 target 40ms",
              min_th=20, max_th=60),
        changed(
            "ared shows what was given before what follows", "ared limit 100", "ared target 1ms",
            r"refcnt 2 limit 100p target 1ms auto ",
        ),
        Case(
            "ared warns of a min that no queue can pass",
            "$TC qdisc add dev $DUMMY handle 1: root ared bandwidth 1gbit limit 5 min 6",
            "$TC qdisc change dev $DUMMY handle 1: root ared 2>&1",
            pattern="Warning: .*limit is not above min: no early drops",
        ),
        on_gate(
            "ared: what an overflow counts", "ared limit 4 min 100", "$BURST -l 1000 g0 10",
            smoke=True,
            json=[{"kind": "ared", "drops": 6, "qlen": 4, "drop_limit": 6, "early_drop": 0,
                   "dropped_bytes": 6000}],
        ),
        on_gate(
            "ared: from max on, and not gentle, nothing is queued",
            "ared min 1 max 2 weight 1 nogentle", "$BURST g0 10",
            json=[{"kind": "ared", "drops": 7, "qlen": 3, "forced_drop": 7}],
        ),
        on_gate(
            "ared: what a change to less counts", "ared",
            "$TC qdisc change dev g0 handle 1: root ared limit 3", then=["$BURST g0 4"],
            json=[{"kind": "ared", "drops": 1, "qlen": 3, "drop_change": 1, "drop_limit": 0}],
        ),
    ],
)  # fmt: skip
