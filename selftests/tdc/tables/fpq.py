# SPDX-License-Identifier: GPL-2.0
"""The cases of fpq."""

import fifo
from table import HOLDING, MARKING, SEED, Kind, Option, changed, flag, stats

KIND = Kind(
    "fpq",
    options=[
        fifo.LIMIT,
        fifo.time("rtt", "100ms", "50ms", 50000),
        Option("min", "5p", "1 to 11 packets", {"7": 7, "1": 1, "11": 11}, bad="0 12"),
        Option(
            "vector",
            "5000",
            "64 to 1048576 bits",
            {"1000": 1000, "64": 64, "1048576": 1 << 20},
            bad="63 1048577",
        ),
        Option(
            "clear",
            "4s",
            "1ms to 10s",
            {"2s": 2000000, "1ms": 1000, "10s": 10000000},
            bad="0 999us 11s",
        ),
        fifo.WEIGHT,
        *fifo.LINK,
        flag("gentle", default=True),
        flag("wait", default=True),
        *MARKING,
        SEED,
        *HOLDING,
    ],
    conflicts=[fifo.NODROP, fifo.SLOW],
    # One flow at 1 Gb/s and 100 ms: P is 12500 packets of 1000 bytes, and the target P.
    idle={
        **fifo.RED_IDLE,
        "flows": 0,
        "target": 12500,
        "max_th": 25000,
        "pipe": 12500,
        "min_th": 5,
        "vector": 5000,
    },
    special=[
        stats(
            "fpq's queue is six packets of one flow at least",
            "fpq bandwidth 8mbit rtt 2ms",
            pipe=2,
            target=6,
            max_th=12,
        ),
        changed(
            "fpq shows what was given before what follows",
            "fpq limit 100",
            "fpq rtt 30ms",
            r"refcnt 2 limit 100p rtt 30ms auto ",
        ),
        fifo.no_early_drops("fpq", "bandwidth 1gbit limit 5"),
        fifo.overflow("fpq", "limit 4 min 4", early_drop=0, flows=1),
        fifo.shrunk("fpq"),
    ],
)
