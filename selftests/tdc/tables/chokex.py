# SPDX-License-Identifier: GPL-2.0
"""The cases of chokex."""

from table import Conflict, Kind, changed, ecn, flag, long_number, number, on_gate

LIMIT = "1 to 1048576 packets"
MAX = str((1 << 31) - 1)

NODROP = flag("drop", default=True)

KIND = Kind(
    "chokex",
    text="limit 300p min 100p max 200p probability 0.02 weight 0.002 bandwidth 10Mbit "
    "avpkt 1000b candidates 1 nogentle noecn noharddrop drop seed 0",
    options=[
        number(
            "limit", 300, {"150": 150, "1": 1, "1048576": 1 << 20}, LIMIT,
            bad="0 1048577 ten", raw=[0, 1 << 20 | 1],
        ),
        number("min", 100, {"20": 20, "0": 50}, f"0 to {MAX} packets", bad="-1", attr="MIN_TH"),
        number("max", 200, {"90": 90, "0": 100}, f"0 to {MAX} packets", bad="x", attr="MAX_TH"),
        number(
            "probability", 0.02, {"0.5": 0.5, "1": 1, "0": 0}, "0 to 1", bad="1.1 -1",
        ),
        number("weight", 0.002, {"0.25": 0.25, "1": 1}, "2e-10 to 1", bad="0", raw=[0]),
        long_number(
            "bandwidth", 1250000, {"100mbit": 12500000, "100gbit": 12500000000},
            "8bit to 18446744073709551608bit", bad="fast", raw=[0],
        ),
        number("avpkt", 1000, {"1500": 1500, "64": 64}, "1b to 4294967295b", bad="0", raw=[0]),
        number(
            "candidates", 1, {"64": 64, "3": 3}, "1 to 64 packets", bad="0 65",
            raw=[0, 65],
        ),
        number(
            "adaptive", None, {"5": {"adaptive": 5, "candidates": None}},
            "1 to 32 regions", bad="0 33", raw=[0, 33],
        ),
        flag("gentle"), ecn(NODROP), flag("harddrop"), NODROP,
        number("seed", 0, {"9": 9, "4294967295": 4294967295}, "0 to 4294967295", bad="-1"),
    ],
    alone=["adaptive"],
    conflicts=[
        Conflict("candidates 2 adaptive 2", "candidates and adaptive exclude each other"),
        Conflict("min 200 max 200", "min must be below max"),
        Conflict("min 201", "min must be below max"),
        Conflict("nodrop", "nodrop needs ecn"),
        Conflict("bandwidth 8bit avpkt 5", "avpkt takes more than 4 s at this bandwidth"),
    ],
    idle={
        "avg": 0, "probability": 0, "candidates": 0, "count": 0, "ptime": 800000, "drawn": 0,
        "matched": 0, "victims": 0, "early_drop": 0, "early_mark": 0, "forced_drop": 0,
        "forced_mark": 0, "spared": 0, "drop_limit": 0, "drop_change": 0, "dropped_bytes": 0,
    },
    special=[
        changed(
            "Changing chokex's candidates ends adaptive", "chokex adaptive 5",
            "chokex candidates 3", " candidates 3 nogentle ",
        ),
        changed(
            "Thresholds of chokex that are not given follow the limit", "chokex limit 900",
            "chokex limit 30", "limit 30p min 10p max 20p ",
        ),
        changed(
            "Thresholds of chokex that are given do not follow the limit",
            "chokex min 10 max 90", "chokex limit 600", "limit 600p min 10p max 90p ",
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
