# SPDX-License-Identifier: GPL-2.0
"""The cases of tdrr."""

import flow_buffer
from table import Kind, Option, flag, on_gate

KIND = Kind(
    "tdrr",
    options=[
        *flow_buffer.OPTIONS,
        Option(
            "time_constant",
            "100ms",
            "1ms to 100s",
            {"1.5s": 1500000, "1ms": 1000, "100s": 100000000},
            bad="999us 100001ms 1h fast",
        ),
        flag("sparse"),
        Option(
            "target",
            "0us",
            "0us to 1s",
            {"5ms": 5000, "1us": 1, "1s": 1000000},
            bad="1000001us 1h short",
        ),
        flag("ecn"),
        Option("drop_cut", "0", "0 to 1", {"0.3": 0.3, "1": 1, "0": 0}, bad="-1 2 x"),
        flag("follow_rtt"),
    ],
    idle={
        **flow_buffer.IDLE,
        "top": 0,
        "top_throughput": 0,
        "rate": 0,
        "expected_delay": 0,
        "records": 0,
    },
    special=[
        *flow_buffer.special("tdrr"),
        on_gate(
            "Class of tdrr: a queue that holds packets, the next to be discarded from",
            "tdrr flows 10",
            "$BURST -l 1000 g0 3",
            "$TC -s class show dev g0",
            then=["$TC filter add dev g0 parent 1: matchall classid 1:7"],
            pattern=r"class tdrr 1:7 parent 1: \n.*backlog 3000b 3p.*\n"
            r" +throughput 0bit queue 7 is_top deficit 1514b$",
        ),
    ],
)
