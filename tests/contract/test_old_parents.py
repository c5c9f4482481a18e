# SPDX-License-Identifier: GPL-2.0
"""The protections for kernels whose parents lack the fixes of 2025 and 2026.

selftests/gate/sch_oldparents.c has such parents. The same cases run with modules that have the
protections, which Kbuild switches on for such kernels, and with modules that lack them.
"""

from __future__ import annotations

import re
import shlex

import pytest

from tests.selftests import KINDS, Kind, Tap, every_kind, run_selftest
from tests.userspace import World

PEEKING = {"cbt", "chokex", "qsdrr", "redtail", "tdrr"}  # peek by qdisc_peek_dequeued()
CASES = "-p olddrr:oldhfsc -p olddrr:oldred -c turns -c gso-lost"


def run(monkeypatch: pytest.MonkeyPatch, protected: bool, command: str) -> Tap:
    monkeypatch.setenv("AQM_OLD_PARENTS", "1" if protected else "")
    return run_selftest(["bash", "-c", command])


def cases(kinds: list[str], words: str = CASES) -> str:
    """Return a command that runs WORDS with each of KINDS, and a burst that overflows it."""
    metadata = {kind.name: kind.metadata for kind in KINDS}
    lines = [
        f"selftests/parents.sh -u {words} -l {metadata[kind].get('LEAST', '1')} {kind} "
        + shlex.quote(metadata[kind]["OPTIONS"])
        for kind in kinds
    ]
    return "failed=0; " + "".join(f"{line} || failed=1; " for line in lines) + "exit $failed"


def test_every_discipline_works_below_old_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    tap = run(monkeypatch, True, cases([kind.name for kind in KINDS]))
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == 4 * len(KINDS)
    assert tap.status == 0


def test_no_bytes_stay_below_parents_that_call_the_dequeue_of_the_ops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They bypass a replaced dequeue(). The lost segments of a GSO packet stayed in the backlog."""
    words = "-p cbs -p netem -c gso-lost -c gso"
    tap = run(monkeypatch, True, cases([kind.name for kind in KINDS], words))
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == 4 * len(KINDS)
    assert tap.status == 0


def test_without_protections_old_parents_are_harmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind that leaves the packet in its queue when a parent peeks needs no protection."""
    tap = run(monkeypatch, False, cases(sorted(kind.name for kind in KINDS)))
    assert {name.split(":")[2].split()[0] for name in tap.failed} == PEEKING
    where = {(name.split(":")[1], name.split(": ")[-1]) for name in tap.failed}
    assert where == {("oldhfsc", "gso-lost"), ("oldred", "gso-lost"), ("oldred", "turns")}
    assert "would have corrupted olddrr's list" in tap.text
    assert "stalled with 1 packets" in tap.text


@every_kind
def test_below_red_the_packet_that_was_peeked_at_leaves_next(kind: Kind) -> None:
    """On every kernel, because headers do not say whether red and sfb have their fix of 2026."""
    limit = 1000 * int(kind.metadata.get("LEAST", "1"))
    with World(kind.name, f"limit {limit}", below="red") as world:
        for number in range(3):
            world.enqueue(flow=number, len=600)
            world.peek()
        sent = []
        for _ in range(3):
            world.peek()
            world.do("n")
            sent += [number for number, _ in world.out]
        assert sent[0] == 0
        assert sorted(sent) == [0, 1, 2]


ADD = """
tc qdisc add dev d0 root handle 1: {parent} {words}
{more}
tc qdisc add dev d0 parent 1:1 handle 10: qsdrr bandwidth 1gbit 2>&1 | sed 's/^/{parent} says: /'
tc qdisc show dev d0 | grep -c qsdrr
tc qdisc del dev d0 root
"""
CLASS = "tc class add dev d0 parent 1: classid 1:1 {} {}"
#: Words after the parent's name, and after the name of its class.
PARENTS = {
    "drr": ("", "quantum 1514"),
    "ets": ("bands 2", ""),
    "hfsc": ("", "ls rate 1gbit"),
    "htb": ("", "rate 1gbit"),
    "qfq": ("", "weight 1"),
    "prio": ("", ""),
    "tbf": ("rate 1gbit burst 1mb limit 1mb", ""),
}


@pytest.mark.parametrize("protected", [True, False])
def test_modules_warn_below_parents_that_can_crash(
    protected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = [
        ADD.format(parent=parent, words=words, more=CLASS.format(parent, more) if more else "")
        for parent, (words, more) in PARENTS.items()
    ]
    text = run(monkeypatch, protected, "\n".join(["ip link add d0 type dummy", *commands])).text
    assert len(re.findall("^1$", text, re.MULTILINE)) == len(PARENTS)
    warned = set(re.findall(r"^(\w+) says: .*the parent lacks fixes of 2025", text, re.MULTILINE))
    assert warned == ({"drr", "ets", "hfsc", "htb", "qfq"} if protected else set())


BELOW_TBF = """
tc qdisc add dev d0 root handle 1: drr
tc class add dev d0 parent 1: classid 1:1 drr
tc qdisc add dev d0 parent 1:1 handle 2: tbf rate 1gbit burst 1600 limit 1mb
tc qdisc add dev d0 parent 2:1 handle 3: prio
tc qdisc add dev d0 parent 3:1 handle 10: qsdrr bandwidth 1gbit
"""


@pytest.mark.parametrize("protected", [True, False])
def test_modules_warn_below_a_tbf_that_can_crash_its_parent(
    protected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It enqueues the segments of a GSO packet before it counts them."""
    text = run(monkeypatch, protected, f"ip link add d0 type dummy; ({BELOW_TBF}) 2>&1").text
    assert ("a tbf that splits GSO packets can crash its parent" in text) == protected
