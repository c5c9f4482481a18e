# SPDX-License-Identifier: GPL-2.0
"""The disciplines in user space: all counts agree under random traffic, sanitizers and a fuzzer.

The tests themselves are tested, too: MUTANTS lists errors that they must find.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from aqmlab.qdiscs import interface
from tests import selftests
from tests.userspace import BUILD, KINDS, TOP, Violation, World, build, load

SUCCESS, CN = 0, 2  # NET_XMIT_*

PARENTS = ("", "prio", "tbf", "drr", "ets", "qfq", "htb", "hfsc", "hfsc-rt")
GRANDPARENTS = ("hfsc prio", "hfsc drr", "drr prio", "hfsc tbf", "qfq htb", "prio hfsc")

METADATA = {kind.name: kind for kind in selftests.KINDS}
OPTIONS = {name: kind.metadata["BUSY"] for name, kind in METADATA.items()}
# The lowest limit for a change, in the kind's unit.
LEAST = {name: int(kind.metadata.get("LEAST", "1")) for name, kind in METADATA.items()}


def changeable(kind: str) -> str:
    """Return the options of a busy discipline that can be changed."""
    fixed = [
        option.name for option in interface.read(kind).options if "cannot be changed" in option.help
    ]
    return re.sub(rf"\b({'|'.join(fixed)}) \S+ ?", "", OPTIONS[kind]) if fixed else OPTIONS[kind]


def traffic(kind: str, seed: int, steps: int = 1200) -> list[str]:
    """Return a random trace with all operations. It ends with an empty queue."""
    rng = random.Random(f"{kind} {seed}")
    ops: list[str] = []
    changes = [changeable(kind), *(f"limit {n * LEAST[kind]}" for n in (3, 1, 25))]
    while len(ops) < steps:
        size = rng.choice((60, 300, 1000, 1514, 1514, 9014, 20000))
        proto = rng.choice(("proto=tcp", "proto=udp tos=0xb8", "proto=udp"))
        words = f"e flow={rng.randrange(6)} len={size} {proto}"
        if proto == "proto=tcp":
            words += f" tos={rng.randrange(4)}"
        if size > 2000:
            words += " gso=1448"
        if size > 10_000:
            words += " list=1"
        if rng.random() < 0.03:
            words += " act=" + rng.choice(("shot", "stolen", "ok"))
        if rng.random() < 0.05:
            words += f" prio={0x10000 + rng.randrange(1, 6)}"
        if rng.random() < 0.1:
            words += f" other={rng.choice((1, 2))}"
        ops.append(words)
        draw = rng.random()
        if draw < 0.4:
            ops.append(f"d {rng.randint(1, 3)}")
        elif draw < 0.55:
            ops.append(f"t {rng.randrange(3_000_000)}")
        elif draw < 0.58:
            ops.append("p")
        elif draw < 0.60:
            ops += [f"b {rng.randint(1, 20)}", words, f"q {rng.randint(0, 20)}"]
        elif draw < 0.62:
            ops.append(f"x {rng.choice(changes)}")
        elif draw < 0.63:
            ops.append(f"k {rng.randint(-1, 3)}")
        elif draw < 0.64:
            ops += ["s", "u"]
        elif draw < 0.65:
            ops.append(rng.choice(("r", "v 0", "v 1", "t 9000000000")))
        elif draw < 0.66:
            ops += [f"a {rng.randint(1, 4)}", f"x {rng.choice(changes)}", "a 0"]
        elif draw < 0.68:
            ops += [f"a {rng.randint(1, 4)}", rng.choice(("j", f"i {OPTIONS[kind]}")), "a 0"]
        elif draw < 0.70:
            ops += ["k -1", "d 100000"]  # otherwise a tbf without tokens may block everything
    return [*ops, "k -1", "q 0", "d 100000", "s", "u"]


@pytest.mark.parametrize("below", [*PARENTS, *GRANDPARENTS])
@pytest.mark.parametrize("kind", KINDS)
def test_all_counts_agree_below_every_parent(kind: str, below: str) -> None:
    for seed in (1, 2):
        print("seed", seed)
        with World(kind, OPTIONS[kind], below=below, seed=seed, walk=True) as world:
            for op in traffic(kind, seed, 2000):
                world.do(op)
            for level in range(1 + len(below.split())):
                left = world.stats(level)
                assert (left.qlen, left.backlog) == (0, 0), level
            assert world.stats().packets > 50, "the trace sends too few packets to prove anything"
            assert world.stats().drops > 50, "the trace drops too few packets to prove anything"


@pytest.mark.parametrize("kind", KINDS)
def test_each_loss_has_one_cause_and_all_are_in_dropped_bytes(kind: str) -> None:
    """Packets that arrived and did not leave equal the sum of all drop counters."""
    causes = [
        statistic.name
        for statistic in interface.read(kind).qdisc
        if statistic.name.startswith("drop_") or statistic.help.startswith("dropped ")
    ]
    filters = "drop_filter" in causes
    assert filters == METADATA[kind].filters
    rng = random.Random(3)
    print("seed 3")
    length: dict[int, int] = {}
    with World(kind, f"{OPTIONS[kind]} nosplit_gso") as world:
        for number in range(3000):
            length[number] = rng.choice((60, 300, 1000, 1514))
            fields: dict[str, int | str] = {"flow": rng.randrange(6), "len": length[number]}
            fields["proto"] = rng.choice(("tcp", "udp"))
            if filters and rng.random() < 0.05:
                fields["act"] = "shot"
            world.enqueue(**fields)
            if rng.random() < 0.3:
                world.advance(rng.randrange(3_000_000))
                for sent, _ in world.dequeue():
                    del length[sent]
            if rng.random() < 0.01:
                world.change(f"limit {LEAST[kind]}")
                world.change(changeable(kind))
        for sent, _ in world.dequeue(len(length)):
            del length[sent]
        seen = world.named()
        counted = {name: seen[name] for name in causes}
        assert sum(counted.values()) == world.stats().drops == len(length), counted
        assert seen["dropped_bytes"] == sum(length.values())
        assert counted["drop_change"] > 0
        assert not filters or counted["drop_filter"] > 0


WITH_FILTERS = [kind.name for kind in selftests.KINDS if kind.filters]
# Parts of a verdict: the packet is not lost; it is lost, but not because of congestion.
STOLEN, BYPASS = 0x10000, 0x20000


@pytest.mark.parametrize("below", ["", "hfsc prio"])
@pytest.mark.parametrize("kind", WITH_FILTERS)
def test_stolen_packets_are_gone_and_shot_packets_count_as_dropped(kind: str, below: str) -> None:
    for act in ("shot", "redirect", "stolen", "queued", "trap", "consumed"):
        lost = act in ("shot", "redirect")
        with World(kind, OPTIONS[kind], below=below) as world:
            world.enqueue(flow=1, len=300)
            for fields in ({"len": 500}, {"len": 3000, "gso": 500, "proto": "tcp"}):
                before, named = world.stats().drops, world.named()
                assert world.enqueue(flow=2, act=act, **fields), act
                drops = world.stats().drops - before
                assert (drops > 0) == lost, act
                assert world.verdict == (BYPASS if lost else STOLEN), act
                assert world.named()["drop_filter"] - named["drop_filter"] == drops
                assert (world.named()["dropped_bytes"] > named["dropped_bytes"]) == lost
                assert world.stats().qlen == 1
            assert [number for number, _ in world.dequeue(9)] == [0]


@pytest.mark.parametrize("kind", WITH_FILTERS)
def test_without_a_handle_a_priority_selects_no_class(kind: str) -> None:
    """A qdisc from net.core.default_qdisc has no handle, and TOS sets priorities 1 to 15."""
    seen = []
    for priorities in (1, 7):
        rng = random.Random(5)
        with World(kind, OPTIONS[kind], seed=5) as world:
            world.do("h 0")
            out = []
            for i in range(400):
                proto = rng.choice(("tcp", "udp"))
                world.enqueue(flow=rng.randrange(4), len=1000, proto=proto, prio=i % priorities)
                if rng.random() < 0.6:
                    out += world.dequeue()
            classes = {minor: st.qlen for minor, st in world.classes().items()}
            seen.append((out, world.stats(), classes, world.named()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kind", KINDS)
def test_memory_count_returns_to_zero_even_if_truesize_changes(kind: str) -> None:
    with World(kind, OPTIONS[kind], below="hfsc prio") as world:
        for truesize in (100, 60000):
            for i in range(8):
                world.enqueue(flow=i % 3, len=600, proto=("tcp", "udp")[i % 2], truesize=1000)
            held = world.stats().qlen
            assert world.named()["memory_used"] == 1000 * held > 0
            world.do(f"z {truesize}")
            assert len(world.dequeue(held // 2)) == held // 2
            assert world.named()["memory_used"] == 1000 * (held - held // 2)
            world.dequeue(100)
            assert world.named()["memory_used"] == world.stats().qlen == 0
            world.advance(10_000_000_000)


@pytest.mark.parametrize("split", ["split_gso", "nosplit_gso"])
@pytest.mark.parametrize("kind", KINDS)
def test_sent_counters_count_wire_packets(kind: str, split: str) -> None:
    """Two GSO packets of 10 segments, the second without gso_segs, and one ordinary packet."""
    header, payload = 14 + 20 + 20, 13_900
    length = header + payload
    with World(kind, f"{split} limit 1000000") as world:
        for fields in ({"gso": 1400}, {"gso": 1400, "segs": 0}, {}):
            world.enqueue(flow=1, proto="tcp", len=length, **fields)
        world.do("p")
        assert len(world.dequeue(99)) == (21 if split == "split_gso" else 3)
        assert world.stats().packets == 21
        assert world.stats().bytes == 3 * length + 2 * 9 * header


# Times at which a counter of µs or ms wraps at 32 bits, and powers of two of the clock in ns.
WRAPS = (2**32 * 1000, 2**31 * 10**6, 2**32 * 10**6, *(2**bits for bits in (42, 44, 48, 56, 63)))


# tdrr compares rounded logarithms of throughput, so packets may change places when time is shifted.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "tdrr"])
def test_behaviour_does_not_depend_on_the_time_since_boot(kind: str) -> None:
    """The trace takes some seconds, and the clock passes the wrap in them."""
    seen = []
    for start in (10**13 + 12345, *(wrap - 50_000_000 for wrap in WRAPS)):
        with World(kind, OPTIONS[kind], seed=5) as world:
            world.advance(start - world.now)
            world.reset()
            out = []
            for op in traffic(kind, 3, 600):
                world.do(op)
                out.append((world.out, world.verdict))
            seen.append((start, (out, world.stats(), world.named())))
    assert [start for start, result in seen if result != seen[0][1]] == []


@pytest.mark.parametrize("kind", KINDS)
def test_without_parents_only_verdicts_for_parents_differ(kind: str) -> None:
    """The sender of a queued packet sees no loss of another flow at the root or below mq."""
    seen = []
    for below in ("", "root", "mq"):
        with World(kind, OPTIONS[kind], seed=5, below=below) as world:
            out, verdicts = [], []
            for op in traffic(kind, 4, 600):
                world.do(op)
                out.append(world.out)
                verdicts.append(world.verdict)
            seen.append((out, world.stats(), verdicts))
    (*child, for_parent), (*root, for_sender), below_mq = seen
    assert root == child
    assert below_mq == (*root, for_sender)
    differ = {pair for pair in zip(for_parent, for_sender, strict=True) if pair[0] != pair[1]}
    assert differ <= {(CN, SUCCESS), (SUCCESS, CN)}


@pytest.mark.parametrize("kind", ["qsdrr", "tdrr"])
@pytest.mark.parametrize(("below", "verdict"), [("", CN), ("root", SUCCESS), ("mq", SUCCESS)])
def test_evicting_the_only_other_packet_is_success_without_parents(
    kind: str, below: str, verdict: int
) -> None:
    with World(kind, "limit 1 bandwidth 1gbit", below=below) as world:
        world.enqueue(flow=1)
        world.enqueue(flow=2)
        assert (world.stats().qlen, world.verdict) == (1, verdict)


def test_tdrr_is_asked_for_a_packet_while_a_parent_holds_the_only_one() -> None:
    """sch_red and sch_sfb asked like this until 2026. qlen has the held packet."""
    with World("tdrr", "target 1ms nosplit_gso") as world:
        for i in range(40):
            world.enqueue(flow=i % 4)
        for _ in range(40):
            world.advance(1_000_000)
            world.dequeue()
        for _ in range(4):
            world.enqueue(flow=1, len=60_000, proto="tcp", gso=1448)
            world.do("p")
            for _ in range(3):
                world.do("n")
                world.advance(200_000_000)
            assert world.stats().qlen == 1
            assert len(world.dequeue(9)) == 1


# Packets that end in the middle of a header.
SHORT = [
    f"e flow=1 len={length} proto={proto} v6={v6}{more}"
    for length in range(14, 75)
    for proto in ("tcp", "udp")
    for v6 in (0, 1)
    for more in ("", " vlan=5", " ihl=15", *(f" ext={number}" for number in (0, 43, 44, 60) if v6))
]


@pytest.mark.parametrize("kind", KINDS)
def test_packets_that_end_in_a_header_are_counted(kind: str) -> None:
    with World(kind, OPTIONS[kind], walk=True) as world:
        for op in SHORT:
            world.do(op)
            world.dequeue(2)
        world.do("s")
        assert world.stats().packets + world.stats().drops == len(SHORT)


#: The fuzzer is built by clang with the same sanitizers.
COMPILERS = [
    pytest.param("gcc", "", id="gcc"),
    pytest.param("clang", "", id="clang", marks=pytest.mark.extra),
    pytest.param("gcc", "1", id="gcc, an old kernel", marks=pytest.mark.extra),
]


@pytest.mark.parametrize(("compiler", "old"), COMPILERS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_sanitizer_complains(kind: str, compiler: str, old: str, tmp_path: Path) -> None:
    out = BUILD / f"{compiler}{'-old' if old else ''}"
    program = out / f"replay-{kind}"
    build(str(program), out=out, CC=compiler, OLD=old, OPT="-O1")
    for seed, below in enumerate(("", "drr", "hfsc prio")):
        trace = "\n".join([*SHORT, *traffic(kind, seed, 2500)]) + "\n"
        done = subprocess.run(
            [program, OPTIONS[kind], below],
            input=trace,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            (tmp_path / "trace").write_text(trace)
            print(f"{program} '{OPTIONS[kind]}' '{below}' < {tmp_path / 'trace'}")
        assert done.returncode == 0, done.stderr[-4000:]


# Minimum share of the fuzzer's option lists that the discipline must accept. A refused list tests
# only the parser.
ACCEPTED = 0.7


@pytest.mark.extra
@pytest.mark.parametrize("kind", KINDS)
def test_fuzzing_finds_nothing_and_most_of_its_options_are_accepted(
    kind: str, tmp_path: Path
) -> None:
    """The same seed gives the same runs."""
    build(str(BUILD / f"fuzz-{kind}"))
    done = subprocess.run(
        [
            BUILD / f"fuzz-{kind}",
            "-runs=15000",
            "-seed=1",
            "-max_len=1000",
            "-close_fd_mask=2",
            "-rss_limit_mb=4000",
            "-timeout=120",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    for found in (*tmp_path.glob("crash-*"), *tmp_path.glob("leak-*")):
        kept = TOP / "build" / "fuzz" / f"{kind}-{found.name}"
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, kept)
        trace = subprocess.run(
            [BUILD / f"fuzz-{kind}", kept],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "TRACE": "1"},
        )
        kept.with_suffix(".trace").write_text(trace.stdout)
        print(f"repeat: build/userspace/fuzz-{kind} {kept}; as a trace: {kept}.trace")
    assert done.returncode == 0, done.stderr[-4000:]
    counts = re.search(r"options: (\d+) lists accepted, (\d+) refused", done.stderr)
    assert counts, done.stderr[-4000:]
    accepted, refused = int(counts[1]), int(counts[2])
    print(f"seed 1: {accepted} lists of options accepted, {refused} refused")
    assert accepted + refused > 1000
    assert accepted / (accepted + refused) >= ACCEPTED
    assert refused > 20


@dataclass(frozen=True)
class Mutant:
    """An error: in ``path`` the text ``right`` is replaced by ``wrong``."""

    kind: str
    path: str
    right: str
    wrong: str
    below: Sequence[str] = ("", "drr", "hfsc prio")


TELL = "qdisc_tree_reduce_backlog(sch, "
LENGTH = "u32 len = qdisc_pkt_len(skb);"
SPLIT = "struct sk_buff *segments = split_gso(skb, sch, split);"
MUTANTS = [
    # A class is not activated. Or its count passes through 0, and an hfsc two levels up stalls.
    Mutant("qsdrr", "frame/parents.c", "verdict = NET_XMIT_SUCCESS;", ";"),
    Mutant("qsdrr", "frame/parents.c", "verdict = NET_XMIT_CN;", ";"),
    Mutant("qsdrr", "frame/parents.c", TELL + "n, bytes);", "(void)0;"),
    Mutant("cbt", "frame/parents.c", "drops -= net_xmit_drop_count(verdict);", ""),
    # The parents are told about an inactive class, which kernels before 2025 cannot handle.
    Mutant("chokex", "frame/parents.c", "if (!before->qlen && qlen <= 1) {", "if (0) {"),
    Mutant("blue", "frame/parents.c", "if (before->qlen != sch->q.qlen)", "if (1)"),
    Mutant("ared", "frame/parents.c", "aqm_queue(sch)->unreported = bytes;", ""),
    # A parent of the parent is told twice of the bytes of a purged packet, or never.
    Mutant("blue", "frame/parents.c", "qstats_backlog_add(sch, bytes);", ""),
    Mutant("tdrr", "include/aqm/queue.h", "parents_settle(sch);", ";"),
    Mutant("blue", "frame/queue.c", "q->unreported = 0;\n\tdelay", "delay"),
    Mutant("fpq", "include/aqm/queue.h", "unlikely(!q->segments) && q->unreported", "0"),
    # The parents are told the length of the first segment: a list is split in place.
    Mutant("blue", "include/aqm/split_gso.h", f"{LENGTH}\n\t{SPLIT}", f"{SPLIT}\n\t{LENGTH}"),
    Mutant("fred", "frame/split_gso.c", "(segment, QDISC_DROP_GENERIC);", "(segment, 0);"),
    Mutant("qsdrr", "include/aqm/queue.h", "qdisc_qstats_backlog_dec(sch, skb);", ""),
    Mutant("qsdrr", "include/aqm/queue.h", "qdisc_qstats_drop(sch);", ""),
    Mutant("qsdrr", "include/aqm/queue.h", "q->dropped_bytes += ", "(void)"),
    Mutant("qsdrr", "frame/flow_buffer.c", "kvfree(b->rounds.queues);", ""),
    Mutant("qsdrr", "frame/options.c", "nla_nest_cancel(skb, opts);", ""),
    Mutant("redtail", "frame/parents.c", TELL + "n - drops, bytes);", "(void)0;"),
    # The fast path of most real packets puts every flow into queue 0.
    *(
        Mutant(kind, f"sch_{kind}.c", "flow_buffer_hash(b, skb));", "0);")
        for kind in ("qsdrr", "tdrr")
    ),
    Mutant("tdrr", "frame/configure.c", "tcf_block_put(q->block);", ";"),
    Mutant("tdrr", "include/aqm/flow_buffer.h", "aqm_queue_remove(sch, skb);", ""),
    *(
        Mutant(kind, "include/aqm/queue.h", "DROP : NET_XMIT_CN;", "DROP : NET_XMIT_SUCCESS;")
        for kind in ("2regionred", "ared", "blue", "fred")
    ),
    Mutant("chokex", "include/aqm/queue.h", "qdisc_qlen_dec(sch);", ""),
    Mutant("chokex", "sch_chokex.c", "__qdisc_drop(skb, to_free);", "(void)to_free;"),
    Mutant("chokex", "sch_chokex.c", "kvfree(slots);", ""),
    Mutant("cbt", "include/aqm/queue.h", "qdisc_qstats_drop(sch);", ""),
    Mutant("cbt", "sch_cbt.c", "sch_tree_unlock(sch);", ""),
    Mutant("redtail", "sch_redtail.c", "rq->backlog -= qdisc_pkt_len(skb);", ""),
    Mutant("redtail", "include/aqm/queue.h", "qdisc_qlen_inc(sch);", "sch->q.qlen += 2;"),
    Mutant("2regionred", "include/aqm/plain_fifo.h", "qdisc_qstats_backlog_dec(sch, skb);", ""),
    Mutant("2regionred", "include/aqm/queue.h", "qdisc_qstats_drop(sch);", ""),
    Mutant("ared", "include/aqm/queue.h", "q->drops[cause]++;", ""),
    Mutant("fpq", "sch_fpq.c", "kvfree(q->vars.flows.words);", ""),
    Mutant("fpq", "frame/parents.c", "parents_report_trim(sch, &before);", ""),
    Mutant("fred", "sch_fred.c", "kvfree(q->vars.flows.flows);", ""),
    Mutant("sfbx", "sch_sfbx.c", "kvfree(q->vars.bins.bins);", ""),
    Mutant("sfbx", "include/aqm/sfbx/accounting_bins.h", "bin->qlen -= packets;", ""),
    Mutant("sfbx", "sch_sfbx.c", "sfbx_cb(skb)->epoch = v->bins.epoch;", ""),
]


def copy_of_the_tree(where: Path) -> Path:
    for name in ("frame", "include", "tc"):
        shutil.copytree(TOP / name, where / name)
    for path in TOP.glob("sch_*.c"):
        shutil.copy(path, where)
    return where


def crowd() -> list[str]:
    """Return operations for which tables of flows grow: 1200 flows wait, and 3000 others pass."""
    ops = ["d 100000", "o 1", "x limit 2000", *(f"e flow={n} len=100" for n in range(2000, 3200))]
    ops += ["d 2000"]
    for n in range(4000, 7000):
        ops += [f"e flow={n} len=100", "d 1"]
    return ops


def built_mutant(kind: str, source: Path) -> ctypes.CDLL:
    """Return a kind that is built from the tree ``source``."""
    library = source.parent / f"lib{kind}.so"
    rest = BUILD / "mutants"
    build(str(rest / library.name), out=rest, OPT="-O0")
    build(str(library), out=source.parent, SRC=str(source), OPT="-O0", REST=str(rest))
    return load(library)


def expect_violation(kind: str, source: Path, below: Sequence[str]) -> None:
    """Fail unless busy traffic through a kind, built from the tree ``source``, is a Violation."""
    lib = built_mutant(kind, source)
    with pytest.raises(Violation) as caught:  # noqa: PT012
        for seed in range(3):
            for parents in below:
                with World(kind, OPTIONS[kind], below=parents, walk=True, lib=lib) as world:
                    for op in (*traffic(kind, seed), *crowd()):
                        world.do(op)
    print(caught.value)


@pytest.mark.extra
@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=lambda m: f"{m.kind} {m.path.split('/')[-1]} {MUTANTS.index(m)}"
)
def test_mutant_is_found(mutant: Mutant, tmp_path: Path) -> None:
    source = copy_of_the_tree(tmp_path / "tree")
    path = source / mutant.path
    text = path.read_text()
    if mutant.right not in text:
        pytest.fail(f"{mutant.path} no longer contains {mutant.right!r}: adapt this mutant")
    path.write_text(text.replace(mutant.right, mutant.wrong))
    expect_violation(mutant.kind, source, mutant.below)


LOCKED = re.compile(r"sch_tree_lock\(sch\);(.*?)sch_tree_unlock\(sch\);", re.DOTALL)


def every_lock() -> list[tuple[str, int]]:
    """Return (file, number in the file) of each place that takes the tree lock."""
    files = [*TOP.glob("sch_*.c"), *TOP.glob("frame/*.c"), *TOP.glob("include/aqm/**/*.h")]
    return [
        (str(path.relative_to(TOP)), number)
        for path in sorted(files)
        for number in range(len(LOCKED.findall(path.read_text())))
    ]


@pytest.mark.extra
@pytest.mark.parametrize(("file", "number"), every_lock())
def test_missing_lock_is_found(file: str, number: int, tmp_path: Path) -> None:
    source = copy_of_the_tree(tmp_path / "tree")
    text = (source / file).read_text()
    start, end = [match.span() for match in LOCKED.finditer(text)][number]
    (source / file).write_text(text[:start] + LOCKED.sub(r"\1", text[start:end]) + text[end:])
    kind = file[len("sch_") : -len(".c")] if file.startswith("sch_") else "qsdrr"
    if file == "frame/flow_buffer.c":
        library = built_mutant(kind, source)
        with pytest.raises(Violation):
            come_grow_and_rest(kind, library)
    else:
        expect_violation(kind, source, [""])


def come_grow_and_rest(kind: str, library: ctypes.CDLL) -> None:
    """Let a buffer get its queues late, add more, and give them back after minutes of rest."""
    with World(kind, "limit 1000 flows 32", below="hfsc prio", walk=True, lib=library) as world:
        world.fail_alloc(1)
        world.enqueue(flow=1, len=100)
        world.fail_alloc(0)
        world.do("o 1")
        for flow in range(300):
            world.enqueue(flow=flow, len=100)
        world.named()
        world.dequeue(300)
        for _ in range(4):
            world.advance(60_000_000_000)
            world.do("s")


@pytest.mark.parametrize("kind", ["qsdrr", "tdrr"])
def test_each_class_has_its_own_number_even_with_the_most_queues(kind: str) -> None:
    """A class number has 16 bits, and number 0 is the qdisc. There can be 65536 queues."""
    most = "flows 65536 noavoid_collisions limit 4294967295 memory_limit 4294967295b"
    with World(kind, most) as world:
        for flow in range(130_000):
            world.do(f"e flow={flow} v6=1 len=100 hash=1 filter=0")
        classes = world.classes()
        assert set(classes) < set(range(1, 65536))
        assert sum(st.qlen for st in classes.values()) == world.stats().qlen == 130_000
        assert all(world.named(minor)["queue"] == minor for minor in (1, 7, 65534, 65535))
        if kind == "tdrr":
            world.dequeue(1)
            assert world.named(world.named()["top"])["is_top"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_split_below_taprio_in_software(kind: str) -> None:
    """taprio counts the arrival as one packet, and nobody can tell it of more."""
    for below, packets in (("mq", 10), ("taprio", 1)):
        with World(kind, "limit 1000000 split_gso", below=below) as world:
            world.enqueue(flow=1, proto="tcp", len=54 + 10_000, gso=1000)
            assert world.stats().qlen == packets
            assert len(world.dequeue(20)) == packets


def test_tdrr_frees_what_its_target_drops_after_the_lock() -> None:
    """The harness checks it at the root and below mq; other parents have the packet freed."""
    for below in ("root", "mq", "", "htb"):
        with World("tdrr", "target 1ms", below=below) as world:
            for i in range(400):
                world.enqueue(flow=i % 4)
            for _ in range(300):
                world.advance(2_000_000)
                world.dequeue()
            assert world.named()["target_drop"] > 5
