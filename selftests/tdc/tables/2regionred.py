# SPDX-License-Identifier: GPL-2.0
"""The cases of 2regionred."""

from table import (
    Case,
    Conflict,
    Kind,
    Option,
    choice,
    ecn,
    flag,
    long_number,
    number,
    on_gate,
    stats,
)

U32 = 4294967295
PACKETS = (1 << 24) - 1


def packets(name: str, good: str, *others: str, unit: str = "packets") -> Option:
    """A length that follows from the others if it is not given."""
    return number(
        name, None,
        {typed: int(typed) for typed in (good, *others)},
        f"0 to {PACKETS} {unit}", bad=f"{PACKETS + 1} -1 x", raw=[PACKETS + 1],
    )  # fmt: skip


NODROP = flag("nodrop")

KIND = Kind(
    "2regionred",
    text="bandwidth 1Gbit rtt 100ms avpkt 1500b flows 10 estimator absmin gentle noliteral "
    "noecn nonodrop noharddrop seed 0",
    options=[
        long_number(
            "bandwidth", 125000000, {"10mbit": 1250000, "100gbit": 12500000000},
            "8bit to 1099511627776bit", bad="0", raw=[0, (1 << 37) + 1],
        ),
        number("rtt", 100000, {"50ms": 50000, "40000us": 40000}, "1ms to 10s",
               bad="999us 11s", raw=[999, 10000001]),
        number("avpkt", 1500, {"500": 500, "400": 400}, "64b to 65535b", bad="63 65536",
               raw=[63, 65536]),
        number("flows", 10, {"5": 5, "1": 1}, "1 to 65535 flows", bad="0 65536",
               raw=[0, 65536]),
        packets("limit", "90", "1", str(PACKETS)),
        packets("bmin", "4", "5"), packets("bflat", "15", "16"), packets("target", "22", "21"),
        packets("bmax", "35", "36"), packets("n_1dpr", "8", "9", unit="flows"),
        choice("estimator", "absmin ewma ewma-drain"),
        flag("gentle", default=True), flag("literal"), ecn(NODROP), NODROP,
        flag("harddrop"),
        number("seed", 0, {"9": 9, str(U32): U32}, f"0 to {U32}", bad=str(U32 + 1)),
    ],
    conflicts=[
        Conflict("bandwidth 1mbit rtt 10ms", r"bandwidth \* rtt is below 10 packets of avpkt"),
        Conflict(
            "bandwidth 100gbit rtt 10s avpkt 64",
            r"bandwidth \* rtt is 2\^23 packets of avpkt or more"),
        Conflict("bmin 687 bflat 687", "bflat must be above bmin"),
        Conflict("target 686", "target must not be below bflat"),
        Conflict("bmax 687", "bmax must be above target"),
        Conflict("nodrop", "nodrop needs ecn"),
    ],
    idle={
        "q_est": 0, "phase": 1, "ppd": 0, "window": 0, "updates": 0, "entered_low": 0,
        "dropped_low": 0, "dropped_limit": 0, "marked_low": 0, "spared": 0,
    },
    special=[
        *(
            stats(f"2regionred at {rate} has the thresholds of table 6.1",
                  f"2regionred bandwidth {rate}", **of_the_table)
            for rate, of_the_table in {
                "155mbit": {"bmin": 89, "n_1dpr": 29, "bflat": 134, "target": 134, "bmax": 645,
                            "limit": 1937},
                "622mbit": {"bmin": 357, "n_1dpr": 58, "bflat": 446, "target": 446, "bmax": 2591,
                            "limit": 7775},
                "1gbit": {"bmin": 575, "n_1dpr": 74, "bflat": 687, "target": 687, "bmax": 4166,
                          "limit": 12500},
            }.items()
        ),
        Case(
            "0 makes 2regionred derive again",
            "$TC qdisc change dev $DUMMY handle 1: root 2regionred limit 0 bmin 0 bflat 0 "
            "target 0 bmax 0 n_1dpr 0",
            "$TC -s -j qdisc show dev $DUMMY",
            json=[{"kind": "2regionred", "limit": 1937, "bmin": 89, "bflat": 134, "target": 134,
                   "bmax": 645, "n_1dpr": 29}],
            setup=("$TC qdisc add dev $DUMMY handle 1: root 2regionred bandwidth 155mbit "
                   "limit 90 bmin 4 bflat 15 target 22 bmax 35 n_1dpr 8",),
        ),
        Case(
            "2regionred warns of more flows than one drop per round trip can hold",
            "$TC qdisc add dev $DUMMY handle 1: root 2regionred flows 100",
            "$TC qdisc change dev $DUMMY handle 1: root 2regionred flows 100 2>&1",
            pattern="Warning: .*flows need over 1 drop per rtt",
        ),
        on_gate(
            "2regionred: what an overflow counts", "2regionred limit 4", "$BURST -l 1000 g0 10",
            smoke=True, json=[{"kind": "2regionred", "drops": 6, "qlen": 4, "dropped_limit": 6}],
        ),
        on_gate(
            "2regionred: what a change to less counts", "2regionred",
            "$TC qdisc change dev g0 handle 1: root 2regionred limit 3", then=["$BURST g0 4"],
            json=[{"kind": "2regionred", "drops": 1, "qlen": 3, "dropped_change": 1}],
        ),
    ],
)  # fmt: skip
