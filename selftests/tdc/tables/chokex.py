# SPDX-License-Identifier: GPL-2.0
"""The cases of chokex."""

import fifo
from table import HOLDING, MARKING, SEED, Conflict, Kind, Option, changed, flag, on_gate

KIND = Kind(
    "chokex",
    options=[
        fifo.LIMIT_OF_A_TABLE,
        *fifo.MIN_MAX,
        fifo.PROBABILITY,
        fifo.WEIGHT,
        *fifo.LINK,
        Option("candidates", "1", "1 to 64 packets", {"64": 64, "3": 3}, bad="0 65"),
        Option("adaptive", "auto", "1 to 32 regions", {"5": 5, "32": 32}, bad="0 33"),
        flag("gentle"),
        *MARKING,
        SEED,
        *HOLDING,
    ],
    alone=["adaptive"],
    conflicts=[
        Conflict(
            "candidates 2 adaptive 2",
            "candidates and adaptive exclude each other: give one of them",
        ),
        Conflict("min 200 max 200", "min must be below max"),
        Conflict("limit 300 min 300", "min must be below max"),
        fifo.NODROP,
        fifo.SLOW,
    ],
    idle={
        **fifo.RED_IDLE,
        "candidates": 0,
        "min_th": 2222,
        "max_th": 4444,
    },
    special=[
        changed(
            "Changing chokex's candidates ends adaptive",
            "chokex adaptive 5",
            "chokex candidates 3",
            r"refcnt 2 candidates 3 auto ",
        ),
        fifo.no_early_drops("chokex", "limit 5 min 5 max 9"),
        fifo.overflow("chokex", "limit 4 min 100 max 200", drawn=0),
        fifo.shrunk("chokex"),
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
)
