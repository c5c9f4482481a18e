# SPDX-License-Identifier: GPL-2.0
"""The cases of qsdrr."""

import flow_buffer
from table import Kind, flag, on_gate

KIND = Kind(
    "qsdrr",
    options=[*flow_buffer.OPTIONS, flag("hysteresis", default=True)],
    idle={**flow_buffer.IDLE, "q": 0, "q_chosen": 0},
    special=[
        *flow_buffer.special("qsdrr"),
        on_gate(
            "Class of qsdrr: a queue that holds packets",
            "qsdrr flows 10",
            "$BURST -l 1000 g0 3",
            "$TC -s class show dev g0",
            then=["$TC filter add dev g0 parent 1: matchall classid 1:7"],
            pattern=r"class qsdrr 1:7 parent 1: \n.*backlog 3000b 3p.*\n +queue 7 deficit 1514b$",
        ),
        on_gate(
            "Class of qsdrr: Q is marked",
            "qsdrr flows 10 limit 3",
            "$BURST -p 0x10007 g0 5",
            "$TC -s class show dev g0",
            pattern="queue 7 is_q deficit 1514b$",
        ),
    ],
)
