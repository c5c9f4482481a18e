# SPDX-License-Identifier: GPL-2.0
"""The cases of fpq."""

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

KIND = Kind(
    "fpq",
    options=[
        Option("limit", "auto", UP_TO_ALL, {"150": 150, "1": 1, "4294967295": 4294967295},
               bad="0 -1 4294967296 ten"),
        Option("rtt", "100ms", "1us to 10s", {"50ms": 50000, "1us": 1, "10s": 10000000},
               bad="0 11s", raw=[0, 10000001]),
        Option("min", "5p", "1 to 11 packets", {"7": 7, "1": 1, "11": 11}, bad="0 12", raw=[0, 12]),
        Option("vector", "5000", "64 to 1048576 bits", {"1000": 1000, "64": 64, "1048576": 1 << 20},
               bad="63 1048577", raw=[63, 1 << 20 | 1]),
        Option("clear", "4s", "1ms to 10s", {"2s": 2000000, "1ms": 1000, "10s": 10000000},
               bad="0 999us 11s", raw=[999, 10000001]),
        Option("weight", "auto", "above 0 to 1", {"0.25": 0.25, "1": 1}, bad="0 -1"),
        Option(
            "bandwidth", "auto", "8bit to 8.796Tbit",
            {"100mbit": 12500000, "100gbit": 12500000000}, bad="fast 9tbit",
            raw=[(1 << 40) + 1],
        ),
        Option("avpkt", "1000b", "1b to 4Gb", {"1500": 1500, "64": 64}, bad="0", raw=[0]),
        flag("gentle", default=True), flag("wait", default=True),
        *MARKING, SEED, *HOLDING,
    ],
    conflicts=[
        Conflict("nodrop", "nodrop needs ecn"),
        Conflict("bandwidth 8bit avpkt 5",
                 "avpkt takes more than 4 s at this bandwidth: raise bandwidth"),
    ],
    # One flow at 1 Gb/s and 100 ms: P is 12500 packets of 1000 bytes, and the target P.
    idle={
        "bandwidth": 125000000, "limit": 6666, "memory_limit": 32 << 20, "memory_used": 0,
        "avg": 0, "flows": 0, "target": 12500, "max_th": 25000, "pipe": 12500, "probability": 0,
        "early_drop": 0, "early_mark": 0, "forced_drop": 0, "forced_mark": 0, "segments": 0,
        "min_th": 5, "vector": 5000, "ptime": 8000, "count": 0, "marked": 0, "spared": 0,
        "drop_limit": 0, "drop_memory": 0, "drop_change": 0, "dropped_bytes": 0, "delay": 0,
        "delay_avg": 0, "delay_max": 0,
    },
    special=[
        stats("fpq's queue is six packets of one flow at least", "fpq bandwidth 8mbit rtt 2ms",
              pipe=2, target=6, max_th=12),
        changed(
            "fpq shows what was given before what follows", "fpq limit 100", "fpq rtt 30ms",
            r"refcnt 2 limit 100p rtt 30ms auto ",
        ),
        Case(
            "fpq warns of a min that no queue can pass",
            "$TC qdisc add dev $DUMMY handle 1: root fpq bandwidth 1gbit limit 5",
            "$TC qdisc change dev $DUMMY handle 1: root fpq 2>&1",
            pattern="Warning: .*limit is not above min: no early drops",
        ),
        on_gate(
            "fpq: what an overflow counts", "fpq limit 4 min 4", "$BURST -l 1000 g0 10",
            smoke=True,
            json=[{"kind": "fpq", "drops": 6, "qlen": 4, "drop_limit": 6, "early_drop": 0,
                   "flows": 1, "dropped_bytes": 6000}],
        ),
        on_gate(
            "fpq: what a change to less counts", "fpq",
            "$TC qdisc change dev g0 handle 1: root fpq limit 3", then=["$BURST g0 4"],
            json=[{"kind": "fpq", "drops": 1, "qlen": 3, "drop_change": 1, "drop_limit": 0}],
        ),
    ],
)  # fmt: skip
