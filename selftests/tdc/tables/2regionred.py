# SPDX-License-Identifier: GPL-2.0
"""The cases of 2regionred."""

import fifo
from table import HOLDING, MARKING, SEED, Case, Conflict, Kind, Option, choice, flag, on_gate, stats

PACKETS = (1 << 24) - 1


def packets(name: str, good: str, *others: str, unit: str = "packets") -> Option:
    """Return an option for a length, which is derived from other options by default."""
    return Option(
        name,
        "auto",
        f"1 to {PACKETS} {unit}",
        {typed: int(typed) for typed in (good, *others)},
        bad=f"{PACKETS + 1} 0 -1 x",
    )


KIND = Kind(
    "2regionred",
    options=[
        Option(
            "bandwidth",
            "auto",
            "8bit to 8.796Tbit",
            {"10mbit": 1250000, "100gbit": 12500000000},
            bad="0 9tbit",
        ),
        Option(
            "rtt",
            "100ms",
            "1ms to 10s",
            {"50ms": 50000, "40000us": 40000},
            bad="999us 11s",
        ),
        Option(
            "avpkt",
            "1500b",
            "64b to 65535b",
            {"500": 500, "400": 400},
            bad="63 65536",
        ),
        Option("flows", "auto", "1 to 65535 flows", {"5": 5, "1": 1}, bad="0 65536"),
        packets("limit", "90", "1", str(PACKETS)),
        packets("bmin", "4", "5"),
        packets("bflat", "15", "16"),
        packets("target", "22", "21"),
        packets("bmax", "35", "36"),
        packets("n_1dpr", "8", "9", unit="flows"),
        choice("estimator", "absmin ewma ewma-drain"),
        flag("gentle", default=True),
        flag("literal"),
        *HOLDING,
        *MARKING,
        SEED,
    ],
    conflicts=[
        Conflict(
            "bandwidth 100gbit rtt 10s avpkt 64",
            r"bandwidth \* rtt is 2\^23 packets of avpkt or more: lower rtt",
        ),
        Conflict("bmin 687 bflat 687", "bflat must be above bmin"),
        Conflict("target 686", "target must not be below bflat"),
        Conflict("bmax 687", "bmax must be above target"),
        fifo.NODROP,
    ],
    idle={
        "bandwidth": 125000000,
        "limit": 8333,
        "memory_limit": 32 << 20,
        "memory_used": 0,
        "delay_avg": 0,
        "dropped_bytes": 0,
        "q_est": 0,
        "phase": "quiet",
        "ppd": 0,
        "window": 0,
    },
    special=[
        *(
            stats(
                f"2regionred at {rate} has the thresholds of table 6.1",
                f"2regionred bandwidth {rate}",
                **of_the_table,
            )
            for rate, of_the_table in {
                "155mbit": {
                    "bmin": 89,
                    "n_1dpr": 29,
                    "bflat": 134,
                    "target": 173,
                    "bmax": 1129,
                    "limit": 1291,
                },
                "622mbit": {
                    "bmin": 357,
                    "n_1dpr": 58,
                    "bflat": 446,
                    "target": 525,
                    "bmax": 4535,
                    "limit": 5183,
                },
                "1gbit": {
                    "bmin": 575,
                    "n_1dpr": 74,
                    "bflat": 687,
                    "target": 787,
                    "bmax": 7291,
                    "limit": 8333,
                },
            }.items()
        ),
        stats(
            "2regionred with Bmax and limit of table 6.4",
            "2regionred bandwidth 1gbit bmax 8333 limit 8333",
            bmin=575,
            bflat=687,
            target=787,
            bmax=8333,
            limit=8333,
        ),
        stats(
            "2regionred on a slow link has 8 packets and four phases",
            "2regionred bandwidth 500kbit",
            bmin=2,
            bflat=3,
            target=4,
            bmax=7,
            limit=8,
        ),
        Case(
            "2regionred warns of more flows than one drop per round trip can hold",
            "$TC qdisc add dev $DUMMY handle 1: root 2regionred flows 100",
            "$TC qdisc change dev $DUMMY handle 1: root 2regionred flows 100 2>&1",
            pattern="Warning: .*flows need more than 1 drop per rtt",
        ),
        on_gate(
            "2regionred: what an overflow counts",
            "2regionred limit 4",
            "$BURST -l 1000 g0 10",
            smoke=True,
            json=[{"kind": "2regionred", "drops": 6, "qlen": 4, "drop_limit": 6}],
        ),
        on_gate(
            "2regionred: what a change to less counts",
            "2regionred",
            "$TC qdisc change dev g0 handle 1: root 2regionred limit 3",
            then=["$BURST g0 4"],
            json=[{"kind": "2regionred", "drops": 1, "qlen": 3, "drop_change": 1}],
        ),
    ],
)
