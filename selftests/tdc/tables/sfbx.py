# SPDX-License-Identifier: GPL-2.0
"""The cases of sfbx."""

import fifo
from table import HOLDING, MARKING, SEED, Kind, Option, changed, choice, on_gate, stats


def fraction(name: str, default: str) -> Option:
    """Return an option for a part above 0."""
    return Option(name, default, fifo.ABOVE_0, {"0.5": 0.5, "1": 1}, bad="0 1.1 -1")


KIND = Kind(
    "sfbx",
    options=[
        fifo.LIMIT,
        Option("bins", "23", "1 to 4096 bins", {"5": 5, "1": 1, "4096": 4096}, bad="0 4097 x"),
        Option("levels", "2", "1 to 8 levels", {"3": 3, "1": 1, "8": 8}, bad="0 9 x"),
        Option("bin_size", "auto", fifo.UP_TO_ALL, {"20": 20, "1": 1}, bad="0 -1 x"),
        choice("bin_drop", "all any none"),
        fraction("increment", "0.005"),
        fraction("decrement", "0.001"),
        Option(
            "freeze_time",
            "1ms",
            "0us to 10s",
            {"10ms": 10000, "0": 0, "10s": 10000000},
            bad="11s x",
        ),
        Option(
            "box_time",
            "auto",
            "1us to 10s",
            {"20ms": 20000, "1us": 1, "10s": 10000000},
            bad="0 11s",
        ),
        Option("box_random", "0.5", "0 to 1", {"0.25": 0.25, "0": 0, "1": 1}, bad="1.1 -1"),
        Option(
            "rehash",
            "5s",
            "0us to 4294967295us",
            {"1s": 1000000, "0": 0, "4000s": 4000000000},
            bad="5000s x",
        ),
        *fifo.LINK,
        *MARKING,
        SEED,
        *HOLDING,
    ],
    conflicts=[fifo.NODROP],
    idle={
        **fifo.IDLE,
        "segments": 0,
        "bin_size": 434,
        "box_time": 50,
        "used": 0,
        "polluted": 0,
        "warmed": 0,
        "highest": 0,
        "false_alarm": 0,
    },
    special=[
        stats(
            "sfbx has the paper's bins and Boxtime on the paper's link",
            "sfbx bandwidth 1mbit limit 150",
            bin_size=9,
            box_time=50000,
        ),
        stats(
            "sfbx on a slow link has 8 packets, and 4 in a bin",
            "sfbx bandwidth 500kbit",
            limit=8,
            bin_size=4,
            box_time=100000,
        ),
        changed(
            "sfbx shows what was given before what follows",
            "sfbx limit 100",
            "sfbx bins 5",
            r"refcnt 2 limit 100p bins 5 auto ",
        ),
        fifo.warns(
            "sfbx",
            "warns of a bin that no queue can fill",
            "limit 5 bin_size 6",
            "bin_size is above limit: no bin becomes overfull",
        ),
        fifo.overflow("sfbx", "limit 4 bin_size 9", bin_drop=0, rises=0, used=2),
        on_gate(
            "sfbx: overfull bins drop, and their probability rises",
            "sfbx limit 100 bin_size 3 increment 1",
            "$BURST g0 10",
            json=[
                {
                    "kind": "sfbx",
                    "drops": 6,
                    "qlen": 4,
                    "bin_drop": 6,
                    # Two bins of the flow, and its two bins of the next hash functions.
                    "rises": 4,
                    "warmed": 2,
                    "polluted": 2,
                    "highest": 1,
                }
            ],
        ),
        on_gate(
            "sfbx: a flow with probability 1 has one packet per Boxtime",
            "sfbx limit 100 bin_size 3 increment 1 bin_drop none box_time 10s",
            "$BURST g0 10",
            json=[{"kind": "sfbx", "drops": 5, "qlen": 5, "box_drop": 5, "box_passed": 1}],
        ),
        on_gate(
            "sfbx: a change of the bins keeps what they hold",
            "sfbx limit 100 bin_size 3",
            "$TC qdisc change dev g0 handle 1: root sfbx bins 2 levels 3",
            then=["$BURST g0 4"],
            json=[{"kind": "sfbx", "qlen": 4, "used": 3}],
        ),
        fifo.shrunk("sfbx"),
    ],
)
