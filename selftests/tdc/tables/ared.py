# SPDX-License-Identifier: GPL-2.0
"""The cases of ared."""

import fifo
from fifo import ABOVE_0
from table import HOLDING, MARKING, SEED, Conflict, Kind, Option, changed, flag, on_gate, stats

KIND = Kind(
    "ared",
    options=[
        fifo.LIMIT,
        fifo.time("target", "5ms", "10ms", 10000),
        *fifo.MIN_MAX,
        Option("probability", "0.1", ABOVE_0, {"0.25": 0.25, "1": 1}, bad="0 1.1 -1"),
        Option("bottom", "0.01", ABOVE_0, {"0.02": 0.02, "0.001": 0.001}, bad="0 1.1 -1"),
        Option("top", "0.5", ABOVE_0, {"0.75": 0.75, "1": 1}, bad="0 1.1 -1"),
        fifo.WEIGHT,
        *fifo.LINK,
        flag("adaptive", default=True),
        flag("gentle", default=True),
        flag("wait", default=True),
        *MARKING,
        SEED,
        *HOLDING,
    ],
    conflicts=[
        Conflict("min 200 max 200", "min must be below max"),
        Conflict("min 20 max 10", "min must be below max"),
        Conflict("bottom 0.5 top 0.4", "bottom must not be above top"),
        Conflict("bottom 0.0000001", "bottom must be at least 0.000001"),
        fifo.NODROP,
        fifo.SLOW,
    ],
    idle={**fifo.RED_IDLE, "max_p": 0.10000000011641533, "min_th": 312, "max_th": 936},
    special=[
        stats(
            "ared on a slow link has room for the slope to 2 max",
            "ared bandwidth 2mbit",
            limit=13,
            min_th=2,
            max_th=6,
        ),
        stats(
            "ared's min is 5 where the limit has room",
            "ared bandwidth 8mbit limit 30",
            min_th=5,
            max_th=15,
        ),
        stats(
            "ared's thresholds follow the target",
            "ared bandwidth 8mbit limit 300 target 40ms",
            min_th=20,
            max_th=60,
        ),
        changed(
            "ared shows what was given before what follows",
            "ared limit 100",
            "ared target 1ms",
            r"refcnt 2 limit 100p target 1ms auto ",
        ),
        fifo.no_early_drops("ared", "bandwidth 1gbit limit 5 min 6"),
        fifo.overflow("ared", "limit 4 min 100", early_drop=0),
        on_gate(
            "ared: from max on, and not gentle, nothing is queued",
            "ared min 1 max 2 weight 1 nogentle",
            "$BURST g0 10",
            json=[{"kind": "ared", "drops": 7, "qlen": 3, "forced_drop": 7}],
        ),
        fifo.shrunk("ared"),
    ],
)
