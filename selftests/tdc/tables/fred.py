# SPDX-License-Identifier: GPL-2.0
"""The cases of fred."""

import fifo
from table import HOLDING, MARKING, SEED, Conflict, Kind, Option, changed, flag, on_gate, stats

KIND = Kind(
    "fred",
    options=[
        fifo.LIMIT_OF_A_TABLE,
        *fifo.MIN_MAX,
        Option("minq", "auto", fifo.TO_INT_MAX, {"3": 3, "1": 1}, bad="0 -1"),
        fifo.PROBABILITY,
        fifo.WEIGHT,
        fifo.time("rtt", "100ms", "50ms", 50000),
        *fifo.LINK,
        flag("two_packet", default=True),
        *MARKING,
        SEED,
        *HOLDING,
    ],
    conflicts=[
        Conflict("min 200 max 200", "min must be below max"),
        Conflict("limit 300 min 75 max 75", "min must be below max"),
        fifo.NODROP,
        Conflict(
            "bandwidth 8bit avpkt 9", "avpkt takes more than 8 s at this bandwidth: raise bandwidth"
        ),
    ],
    idle={
        **fifo.RED_IDLE,
        "avgcq": 1,
        "active": 0,
        "struck": 0,
        "maxq": 1666,
        "min_th": 1666,
        "max_th": 3332,
        "minq": 4,
        "ptime": 4000,
    },
    special=[
        stats(
            "fred on a slow link has 8 packets, and a flow 2",
            "fred bandwidth 500kbit",
            limit=8,
            min_th=2,
            max_th=4,
            maxq=2,
            minq=2,
        ),
        stats(
            "fred's min is a round trip's packets at most",
            "fred limit 1000 bandwidth 8mbit rtt 30ms",
            min_th=30,
            max_th=60,
        ),
        changed(
            "fred shows what was given before what follows",
            "fred limit 100",
            "fred minq 3",
            r"refcnt 2 limit 100p minq 3p auto ",
        ),
        fifo.overflow("fred", "limit 4 min 100", maxq_drop=0, active=1),
        on_gate(
            "fred: a flow has min packets at most, and two flows have two",
            "fred min 3 max 100",
            "$BURST -m 3 g0 5",
            then=[
                "$TC filter add dev g0 parent 1: handle 3 fw classid 1:3",
                "$TC filter add dev g0 parent 1: handle 4 fw classid 1:4",
                "$BURST -m 4 g0 2",
            ],
            json=[
                {"kind": "fred", "qlen": 5, "drops": 2, "maxq_drop": 2, "active": 2, "struck": 1}
            ],
        ),
        on_gate(
            "fred: from max on a flow has two packets",
            "fred min 3 max 4 weight 1",
            "$BURST -m 4 g0 5",
            then=[
                "$TC filter add dev g0 parent 1: handle 3 fw classid 1:3",
                "$TC filter add dev g0 parent 1: handle 4 fw classid 1:4",
                "$BURST -m 3 g0 3",
            ],
            json=[{"kind": "fred", "qlen": 5, "drops": 3, "maxq_drop": 3, "maxq": 2}],
        ),
        on_gate(
            "fred: what a change to less counts, and whose packets stay",
            "fred",
            "$TC qdisc change dev g0 handle 1: root fred limit 3",
            then=["$BURST g0 4"],
            json=[
                {
                    "kind": "fred",
                    "drops": 1,
                    "qlen": 3,
                    "drop_change": 1,
                    "drop_limit": 0,
                    "active": 1,
                }
            ],
        ),
    ],
)
