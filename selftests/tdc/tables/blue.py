# SPDX-License-Identifier: GPL-2.0
"""The cases of blue."""

import fifo
from table import HOLDING, MARKING, SEED, Kind, Option, changed, on_gate, stats

KIND = Kind(
    "blue",
    options=[
        fifo.LIMIT,
        Option("threshold", "auto", fifo.UP_TO_ALL, {"20": 20, "1": 1}, bad="0 -1 x"),
        Option("increment", "0.0025", "above 0 to 1", {"0.5": 0.5, "1": 1}, bad="0 1.1 -1"),
        Option("decrement", "0.00025", "above 0 to 1", {"0.25": 0.25, "1": 1}, bad="0 1.1 -1"),
        fifo.time("freeze_time", "100ms", "10ms", 10000),
        fifo.BANDWIDTH,
        *MARKING,
        SEED,
        *HOLDING,
    ],
    conflicts=[fifo.NODROP],
    idle={
        **fifo.IDLE,
        "threshold": 6666,
        "probability": 0,
        "segments": 0,
    },
    special=[
        stats("blue on a slow link has 8 packets", "blue bandwidth 500kbit", limit=8, threshold=8),
        stats("blue's limit fits into the memory", "blue memory_limit 1mb", limit=455),
        changed(
            "blue shows what was given before what follows",
            "blue limit 100",
            "blue threshold 50",
            r"refcnt 2 limit 100p threshold 50p auto ",
        ),
        fifo.warns(
            "blue",
            "warns of a threshold that no queue can pass",
            "bandwidth 1gbit limit 5 threshold 6",
            "threshold is above limit: only a full queue raises the probability",
        ),
        on_gate(
            "blue: what an overflow counts, and that it raises p once",
            "blue limit 4",
            "$BURST -l 1000 g0 10",
            smoke=True,
            json=[
                {
                    "kind": "blue",
                    "drops": 6,
                    "qlen": 4,
                    "drop_limit": 6,
                    "early_drop": 0,
                    "dropped_bytes": 6000,
                    "rises": 1,
                    "segments": 4,
                }
            ],
        ),
        on_gate(
            "blue: above the threshold p rises, and decides",
            "blue limit 100 threshold 2 increment 1",
            "$BURST g0 10",
            json=[
                {
                    "kind": "blue",
                    "drops": 8,
                    "qlen": 2,
                    "early_drop": 8,
                    "rises": 1,
                    "probability": 1,
                }
            ],
        ),
        fifo.shrunk("blue"),
    ],
)
