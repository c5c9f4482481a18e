# SPDX-License-Identifier: GPL-2.0
"""Options and cases that qsdrr and tdrr share, for include/aqm/flow_buffer.h."""

from __future__ import annotations

from collections.abc import Sequence

from table import GATE, Case, Option, flag, on_gate, stats

U32 = "4294967295"
BY_FILTER = "$TC filter add dev g0 parent 1: "

OPTIONS: Sequence[Option] = (
    Option(
        "limit",
        "auto",
        f"1 to {U32} packets",
        {"9p": 9, "1": 1, U32: int(U32)},
        bad="0 -1 4294967296 10.5 ten",
    ),
    Option(
        "memory_limit",
        "auto",
        "1b to 4294967295b",
        {"2Mb": 2 << 20, "1": 1, U32: int(U32)},
        bad="0 5gb 5x",
    ),
    Option(
        "flows",
        "1024",
        "1 to 65536 queues",
        {"7": 7, "8": 8},
        bad="0 65537",
        fixed="flows cannot be changed on a live qdisc: delete it and add it again",
    ),
    flag("avoid_collisions", default=True),
    Option(
        "quantum",
        "auto",
        "256b to 1Mb",
        {"300": 300, "256": 256, "1mb": 1 << 20},
        bad="255 1048577",
    ),
    Option(
        "bandwidth",
        "auto",
        "8bit to 8.796Tbit",
        {"10mbit": 1250000, "100gbit": 12500000000},
        bad="0 9tbit",
    ),
    flag("split_gso", default=True),
)


# Statistics of an empty queue without options, on a link with unknown speed.
IDLE = {
    "bandwidth": 125000000,
    "bandwidth_source": "assumed",
    "limit": 6666,
    "memory_limit": 32 << 20,
    "memory_used": 0,
    "delay": 0,
    "delay_avg": 0,
    "delay_max": 0,
    "dropped_bytes": 0,
    "active": 0,
    "flows": 1024,
    "quantum": 1514,
}


def special(kind: str) -> Sequence[Case]:
    """Return cases for overflows of the buffer, and for the choice of queues."""
    a_class = (
        "sh -c '$TC filter add dev g0 parent 1: matchall classid 1:7; "
        "$BURST -l 60 g0 2 > /dev/null; $TC -s class show dev g0'"
    )
    one_queue = f"{BY_FILTER}matchall classid 1:1"
    return (
        Case(
            f"Change {kind} to the flows it has",
            f"$TC qdisc change dev $DUMMY handle 1: root {kind} flows 10 limit 3",
            "$TC -j qdisc show dev $DUMMY",
            json=[{"kind": kind, "options": {"flows": 10, "limit": 3}}],
            setup=(f"$TC qdisc add dev $DUMMY handle 1: root {kind} flows 10",),
        ),
        Case(
            f"Replace {kind} by itself with other flows",
            f"$TC qdisc replace dev $DUMMY handle 2: root {kind} flows 20",
            "$TC -j qdisc show dev $DUMMY",
            json=[{"kind": kind, "handle": "2:", "options": {"flows": 20}}],
            setup=(f"$TC qdisc add dev $DUMMY handle 1: root {kind} flows 10",),
        ),
        *(
            Case(
                f"{kind} on a device of MTU {mtu}: quantum {quantum}",
                f"$TC qdisc add dev g0 handle 1: root {kind} flows 10",
                a_class,
                pattern=f"queue 7 (is_top )?deficit {quantum}b$",
                setup=(*GATE, f"$IP link set g0 mtu {mtu}"),
            )
            for mtu, quantum in ((9000, 9014), (68, 256))
        ),
        *(
            stats(
                f"{kind} at {rate}: the limit is 80 ms of it, and memory for four times as much",
                f"{kind} bandwidth {rate}",
                limit=limit,
                memory_limit=memory,
            )
            for rate, limit, memory in (
                ("100mbit", 666, 4_000_000),
                ("10gbit", 66666, 32 << 20),
                ("100kbit", 8, 1 << 20),
            )
        ),
        stats(f"{kind} with a limit needs no bandwidth", f"{kind} limit 20", limit=20, bandwidth=0),
        Case(
            f"{kind} does not warn of what it does not need",
            f"$TC qdisc add dev $DUMMY handle 1: root {kind} limit 9",
            f"$TC qdisc change dev $DUMMY handle 1: root {kind} quantum 3000 2>&1",
            pattern="Warning",
            count=0,
        ),
        on_gate(
            f"{kind}: what an overflow counts",
            f"{kind} limit 4 flows 1",
            "$BURST -l 1000 g0 10",
            then=[one_queue],
            smoke=True,
            json=[
                {
                    "kind": kind,
                    "drops": 6,
                    "qlen": 4,
                    "overflows": 6,
                    "dropped_bytes": 6000,
                    "drop_limit": 6,
                    "drop_memory": 0,
                    "drop_oversize": 0,
                    "drop_change": 0,
                    "active": 1,
                }
            ],
        ),
        on_gate(
            f"{kind}: what a change to less counts",
            f"{kind} limit 4 flows 1",
            f"$TC qdisc change dev g0 handle 1: root {kind} limit 1",
            then=[one_queue, "$BURST g0 4"],
            json=[
                {
                    "kind": kind,
                    "drops": 3,
                    "qlen": 1,
                    "drop_change": 3,
                    "drop_limit": 0,
                    "overflows": 0,
                }
            ],
        ),
        on_gate(
            f"{kind}: what arrivals count that never fit",
            f"{kind} memory_limit 100",
            "$BURST -l 1000 g0 5",
            then=[one_queue],
            json=[
                {
                    "kind": kind,
                    "drops": 5,
                    "qlen": 0,
                    "drop_oversize": 5,
                    "drop_memory": 0,
                    "drop_limit": 0,
                }
            ],
        ),
        on_gate(
            f"{kind} has no class for an idle queue",
            kind,
            "true",
            "$TC class show dev g0",
            pattern=f"class {kind}",
            count=0,
        ),
        on_gate(
            f"skb->priority names a queue of {kind}",
            f"{kind} flows 10",
            "$BURST -p 0x10005 g0 3",
            "$TC class show dev g0",
            pattern=f"class {kind} 1:5 ",
        ),
        on_gate(
            f"A filter names a queue of {kind}",
            f"{kind} flows 10",
            "$BURST -m 3 g0 3",
            "$TC class show dev g0",
            pattern=f"class {kind} 1:3 ",
            then=[f"{BY_FILTER}handle 3 fw classid 1:3"],
            smoke=True,
        ),
        on_gate(
            f"A filter names a queue beyond {kind}'s flows: the packet is lost",
            f"{kind} flows 10",
            "$BURST g0 3",
            then=[f"{BY_FILTER}matchall classid 1:b"],
            json=[{"kind": kind, "drops": 3, "qlen": 0}],
        ),
    )
