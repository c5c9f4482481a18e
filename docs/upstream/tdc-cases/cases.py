#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make tdc cases for mainline's pie, fq_pie, drr, skbprio and choke from the tables below.

Usage:

    cases.py           print them
    cases.py TREE      append them to the files of a kernel tree
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ("pie", "fq_pie", "drr", "skbprio", "choke")
SHOW = "$TC qdisc show dev $DUMMY"
CLASSES = "$TC -s class show dev $DUMMY"
UP = ["$IP link set dev $DUMMY up || true", "$IP addr add 10.10.11.10/24 dev $DUMMY || true"]

#: Needed always: choke has no defaults for these.
ALWAYS = {"choke": "limit 1000 bandwidth 10000"}

#: Options as typed, and the text that tc shows for them.
CREATED = {
    "pie": [
        ("limit 500", "limit 500p target"),
        ("target 20ms", "target 20ms"),
        ("tupdate 30ms", "tupdate 30ms"),
        ("alpha 4", "alpha 4 beta 20"),
        ("beta 25", "alpha 2 beta 25"),
        ("ecn", "beta 20 ecn"),
        ("bytemode", "bytemode"),
        ("dq_rate_estimator", "dq_rate_estimator"),
    ],
    "fq_pie": [
        ("limit 500", "limit 500p flows 1024"),
        ("flows 512", "flows 512 target"),
        ("target 20ms", "target 20ms"),
        ("quantum 3000", "quantum 3000b"),
        ("memory_limit 1Mb", "memory_limit 1Mb"),
        ("ecn_prob 20", "ecn_prob 20"),
        ("ecn", "ecn_prob 10 ecn"),
    ],
    "skbprio": [("limit 500", "limit 500"), ("limit 0", "limit 0 ")],
    "choke": [("probability 0.5", "limit 1000p min 83p max 250p")],
}

#: What is refused, and with which status.
REFUSED = {
    "pie": [("alpha 33", 1), ("beta 33", 1), ("limit abc", 1)],
    "fq_pie": [("flows 65537", 2), ("ecn_prob 101", 1), ("alpha 33", 1)],
    "skbprio": [("limit abc", 1), ("nonsense 1", 1)],
    "choke": [("min 300 max 200", 1), ("limit 0", 1), ("limit 131072", 2), ("nonsense 1", 1)],
}

#: Set up, then changed; what is shown then.
CHANGED = {
    "pie": ("target 20ms", "limit 500", "limit 500p target 20ms"),
    "fq_pie": ("target 20ms", "limit 500", "limit 500p flows 1024 target 20ms"),
    "skbprio": ("limit 500", "limit 5", "limit 5 "),
    "choke": ("min 100", "max 300", "limit 1000p min 100p max 300p"),
}

#: Room for three packets.
FULL = {
    "pie": "limit 3",
    "fq_pie": "limit 3",
    "skbprio": "limit 3",
    "choke": "limit 3 bandwidth 10000 min 1 max 2 burst 2 probability 0.0001 ecn",
}


def flood(count: int, priority: int = 0) -> str:
    """Send packets that need no answer, with a priority and ECT(0)."""
    return (
        f'python3 -c "import socket; s = socket.socket(2, 2); s.setsockopt(0, 1, 2); '
        f"s.setsockopt(1, 12, {priority}); "
        f"[s.sendto(bytes(900), ('10.10.11.1', 9)) for i in range({count})]\""
    )


def case(
    kind: str,
    name: str,
    command: str,
    pattern: str,
    *,
    setup: list[str] | None = None,
    show: str = SHOW,
    count: int = 1,
    status: int = 0,
) -> dict[str, Any]:
    """A case in tdc's words; its id is a hash of its name."""
    return {
        "id": hashlib.blake2s(name.encode(), digest_size=2).hexdigest(),
        "name": name,
        "category": ["qdisc", kind],
        "plugins": {"requires": "nsPlugin"},
        "setup": setup or [],
        "cmdUnderTest": command,
        "expExitCode": str(status),
        "verifyCmd": show,
        "matchPattern": pattern,
        "matchCount": str(count),
        "teardown": ["$TC qdisc del dev $DUMMY handle 1: root || true"],
    }


def common(kind: str) -> Iterator[dict[str, Any]]:
    """Options, changes, the end, and a full queue."""
    name, always = kind.upper(), f"{kind} {ALWAYS.get(kind, '')}".strip()
    shown = f"qdisc {kind} 1: root refcnt [0-9]+ "
    add = f"$TC qdisc add dev $DUMMY handle 1: root {always}"
    for words, seen in CREATED.get(kind, []):
        yield case(kind, f"Create {name} with {words}", f"{add} {words}", f"{shown}.*{seen}")
    for words, status in REFUSED.get(kind, []):
        yield case(
            kind,
            f"Reject {name} with {words}",
            f"{add} {words}",
            f"qdisc {kind}",
            count=0,
            status=status,
        )
    if kind in CHANGED:
        before, after, seen = CHANGED[kind]
        # choke takes what is not given as its default.
        both = f"{before} {after}" if kind == "choke" else after
        yield case(
            kind,
            f"Change {name} with {after}",
            f"$TC qdisc change dev $DUMMY handle 1: root {always} {both}",
            f"{shown}.*{seen}",
            setup=[f"{add} {before}"],
        )
    if kind in {"pie", "fq_pie", "skbprio"}:
        yield case(
            kind,
            f"Delete {name}",
            "$TC qdisc del dev $DUMMY handle 1: root",
            f"qdisc {kind}",
            count=0,
            setup=[add],
        )
    if kind in FULL:
        yield case(
            kind,
            f"{name} holds no more packets than its limit",
            flood(20),
            f"qdisc {kind} 2: parent 1:1 .*\\n.*\\(dropped [1-9].*\\n backlog [0-9]+b 3p",
            show="$TC -s qdisc show dev $DUMMY",
            setup=[*UP, *slow(f"{kind} {FULL[kind]}")],
        )


def slow(words: str) -> list[str]:
    """A discipline below a shaper that lets one packet pass."""
    return [
        "$TC qdisc add dev $DUMMY handle 1: root tbf rate 8bit burst 1500 latency 9s",
        f"$TC qdisc add dev $DUMMY handle 2: parent 1:1 {words}",
    ]


def skbprio() -> Iterator[dict[str, Any]]:
    """Which priority is held; no child, no class."""
    held = [*UP, *slow("skbprio limit 2")]
    # Of a class only bytes: mainline shows 0 packets, whatever it holds.
    stats = "class skbprio 2:%d parent 2: *\\n \\(dropped %d, .*\\n backlog %s"
    for name, before, after, seen in (
        ("a packet of low priority for one of high", (9, 0), (1, 3), (4, 0, "[1-9]")),
        ("no packet of high priority for one of low", (9, 3), (9, 0), (1, 9, "0b")),
    ):
        yield case(
            "skbprio",
            f"SKBPRIO drops {name}",
            flood(*after),
            stats % seen,
            show=CLASSES,
            setup=[*held, flood(*before)],
        )
    add = "$TC qdisc add dev $DUMMY handle 1: root skbprio"
    yield case(
        "skbprio",
        "Reject a child of SKBPRIO",
        "$TC qdisc add dev $DUMMY parent 1:1 handle 2: pfifo",
        "qdisc pfifo 2:",
        count=0,
        status=2,
        setup=[add],
    )
    yield case(
        "skbprio",
        "Replace SKBPRIO by pfifo",
        "$TC qdisc replace dev $DUMMY handle 2: root pfifo",
        "qdisc pfifo 2: root",
        setup=[add],
    )


def drr() -> Iterator[dict[str, Any]]:
    """Classes: their quantum, their child, what filters say."""
    add = ["$TC qdisc add dev $DUMMY handle 1: root drr"]
    a_class = "$TC class %s dev $DUMMY parent 1: classid 1:%d drr"
    one = [*add, a_class % ("add", 1)]
    into_one = "$TC filter add dev $DUMMY parent %d: protocol ip matchall classid %d:1"
    remove = "$TC class del dev $DUMMY classid 1:%d"

    def on_class(name: str, command: str, pattern: str, **more: Any) -> dict[str, Any]:
        return case("drr", name, command, pattern, **{"show": CLASSES, "setup": one, **more})

    yield on_class(
        "Create DRR class with default quantum",
        a_class % ("add", 2),
        "class drr 1:2 root quantum [1-9]",
    )
    yield on_class(
        "Create DRR class with quantum",
        a_class % ("add", 2) + " quantum 3000",
        "class drr 1:2 root quantum 3000b",
    )
    yield on_class(
        "Change DRR class with quantum",
        a_class % ("change", 1) + " quantum 500",
        "class drr 1:1 root quantum 500b",
    )
    yield on_class(
        "Reject DRR class with quantum 0",
        a_class % ("add", 2) + " quantum 0",
        "class drr 1:2",
        count=0,
        status=2,
    )
    yield on_class(
        "Reject DRR class that exists",
        a_class % ("add", 1) + " quantum 500",
        "quantum 500b",
        count=0,
        status=2,
    )
    yield on_class(
        "Reject DRR class of another qdisc",
        "$TC class add dev $DUMMY parent 1: classid 2:1 drr",
        "class drr 2:1",
        count=0,
        status=2,
    )
    yield on_class("Delete DRR class", remove % 1, "class drr 1:1", count=0)
    yield on_class("Delete DRR class that does not exist", remove % 2, "class drr 1:1", status=2)
    yield on_class(
        "Reject deletion of DRR class that a filter names",
        remove % 1,
        "class drr 1:1",
        status=2,
        setup=[*one, into_one % (1, 1)],
    )
    yield on_class(
        "Create DRR class with a child",
        "$TC qdisc add dev $DUMMY parent 1:1 handle 10: pfifo limit 3",
        "qdisc pfifo 10: parent 1:1 limit 3p",
        show=SHOW,
    )
    yield on_class(
        "DRR queues packets in the class that a filter names",
        flood(9),
        "class drr 2:1 root.*\\n.*\\n backlog [0-9]+b [1-9]",
        setup=[
            *UP,
            *slow("drr"),
            "$TC class add dev $DUMMY parent 2: classid 2:1 drr",
            into_one % (2, 2),
        ],
    )


def cases(kind: str) -> list[dict[str, Any]]:
    """All new cases of a kind."""
    special = {"drr": drr, "skbprio": skbprio}
    return [*common(kind), *(special[kind]() if kind in special else ())]


def append(tree: Path) -> None:
    """Append the cases of each kind to its file; the text before them stays."""
    for kind in KINDS:
        file = tree / "tools/testing/selftests/tc-testing/tc-tests/qdiscs" / f"{kind}.json"
        old = file.read_text().rstrip().removesuffix("]").rstrip()
        file.write_text(old + "," + json.dumps(cases(kind), indent=4).removeprefix("[") + "\n")


if __name__ == "__main__":
    if sys.argv[1:]:
        append(Path(sys.argv[1]))
    else:
        print(json.dumps([case for kind in KINDS for case in cases(kind)]))
