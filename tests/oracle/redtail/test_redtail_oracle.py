# SPDX-License-Identifier: GPL-2.0
"""Compare every decision of redtail with a model of the paper.

Each trace creates the discipline itself, so that the model knows the time. After every operation
the test compares the queue, drops, marks, departures, averages and counters.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from aqmlab.qdiscs import interface
from tests.oracle.drive import RESET, Oracle, Run, Step, Trace, near
from tests.oracle.redtail import model as model_of_redtail
from tests.oracle.redtail.model import LONG, SHORT, Options, Packet, Redtail, q32

LISTS = interface.read("redtail")

KERNEL_SLACK = (model_of_redtail.SLACK, model_of_redtail.IDLE_SLACK)
SETUP = 2  # operations before the case starts


@dataclass(frozen=True)
class Source:
    """A source of packets. ``flow`` and ``words`` are for qdrive."""

    flow: int
    words: str = "proto=tcp"
    weight: float = 1.0
    sizes: tuple[int, ...] = (1000,)
    chosen: int = 0
    gso: int = 0

    def line(self, size: int) -> str:
        gso = f" gso={self.gso}" if self.gso and size > self.gso + 100 else ""
        prio = f" prio={0x10000 + self.chosen}" if self.chosen else ""
        return f"e flow={self.flow} len={size} {self.words}{prio}{gso}"

    def packet(self, number: int, size: int, key: str) -> Packet:
        words = dict(word.split("=") for word in self.words.split())
        sport = words.get("sport", str(self.flow)) if key == "flow" else None
        tcp = words.get("proto") == "tcp"
        segments = 1
        if self.gso and size > self.gso + 100:
            headers = 14 + (40 if "v6" in words else 20) + 20
            segments = -(-(size - headers) // self.gso)
            size += (segments - 1) * headers  # size on the wire
        return Packet(
            number,
            size,
            flow=(self.flow, sport, "v6" in words) if tcp else None,
            ect=int(words.get("tos", "0"), 0) & 3 in (1, 2),
            chosen=self.chosen if self.chosen <= 2 else 0,
            segments=segments,
        )


@dataclass(frozen=True)
class Case:
    """A trace with ``load`` arrivals per departure, and about 1 ms between departures.

    shown: what must happen in the trace, because otherwise it proves nothing
    """

    name: str
    options: Options
    sources: tuple[Source, ...]
    shown: Callable[[Redtail], bool]
    load: float = 1.3
    steps: int = 2500
    wait: int = 1_000_000  # ns, typical
    pause: float = 0.0005  # probability of a long pause
    changes: dict[int, Options] = field(default_factory=dict)
    resets: tuple[int, ...] = ()
    setup: tuple[str, ...] = ()
    seed: int = 1

    def operations(self) -> list[tuple]:
        """Return ("e", source, size), ("d", packets), ("t", ns), ("r",) and ("c", options)."""
        rng = random.Random(self.seed)
        ops: list[tuple] = []
        weights = [s.weight for s in self.sources]
        while len(ops) < self.steps:
            if rng.random() < 0.01:
                weights = [s.weight * rng.random() ** 3 for s in self.sources]
            source = rng.choices(self.sources, weights)[0]
            ops += [("e", source, rng.choice(source.sizes)) for _ in range(rng.randint(1, 3))]
            if rng.random() < 1.05 / self.load:  # 1.9 packets on average
                ops.append(("d", rng.randint(1, 2) if rng.random() > 0.01 else 40))
            if rng.random() < 0.3:
                ops.append(("t", int(self.wait * rng.uniform(0.1, 6))))
            if rng.random() < self.pause:
                ops += [("d", 400), ("t", int(rng.choice((0.7, 3, 12)) * 1e9 * rng.random()))]
        ops = ops[: self.steps]
        for at, options in self.changes.items():
            ops[at] = ("c", options)
        for at in self.resets:
            ops[at] = ("r",)
        return ops

    def trace(self) -> Trace:
        add = f"c tc qdisc add dev g0 root handle 1: redtail {self.options.tc()}"
        lines = ["c tc qdisc del dev g0 root", add]
        now = self.options
        for op in self.operations():
            match op:
                case ("e", source, size):
                    lines.append(source.line(size))
                case ("c", options):
                    lines.append(f"c tc qdisc change dev g0 root redtail {options.tc(now)}")
                    now = options
                case ("r",):
                    lines.append(RESET)
                case (kind, number):
                    lines.append(f"{kind} {number}")
        return Trace("redtail", lines, classes=True, setup=self.setup)


# A flow table of one set, which has 8 entries. The model knows only such tables.
QUICK = Options(weight=0.02, packets=10, flows=8)
TCP = tuple(Source(n) for n in range(1, 6))
UDP = Source(6, "proto=udp", sizes=(200, 1000))
MIXED = (*(Source(n, sizes=(80, 576, 1000, 1514)) for n in range(1, 5)), UDP)


def ecn(tos: int) -> tuple[Source, ...]:
    return (
        *(Source(n, f"proto=tcp tos={tos}", weight=2) for n in range(1, 4)),
        Source(4),
        Source(5),
        UDP,
    )


def opt(base: Options = QUICK, **changes: object) -> Options:
    return dataclasses.replace(base, **changes)


CASES = [
    Case(
        "table II",
        opt(Options(), flows=8),
        (*TCP, UDP),
        lambda m: m.count.early_drop > 10 and m.count.long > 2 and m.count.overflow_long > 10,
        steps=6000,
        load=1.6,
    ),
    Case(
        "mixed sizes",
        QUICK,
        MIXED,
        lambda m: m.count.early_drop > 10 and m.sent[SHORT] > 50_000 and m.sent[LONG] > 50_000,
        seed=2,
        load=1.6,
    ),
    Case(
        "above max2",
        opt(min2=3000, max2=9000, limit=60_000),
        (*TCP, UDP),
        lambda m: m.count.gentle > 10 and m.count.forced_drop > 10,
        load=1.6,
        seed=3,
    ),
    Case(
        "shares",
        opt(min1=3000, max1=20_000, share_min=0.1, share_max=0.6),
        (Source(1, weight=3), Source(2, weight=3), Source(3, "proto=udp", 2, (80, 300, 1514))),
        lambda m: m.sent[SHORT] > 100_000 and m.sent[LONG] > 200_000,
        seed=4,
        load=1.1,
    ),
    Case(
        "share_min is a floor",
        opt(min1=1000, max1=30_000, share_min=0.3),
        (Source(1, weight=3), Source(2, weight=3), Source(3, "proto=udp", 2, (80, 300, 1514))),
        lambda m: m.sent[SHORT] > 100_000 and m.sent[LONG] > 200_000,
        seed=5,
        load=1.1,
    ),
    Case(
        "ecn",
        opt(ecn=True, min2=3000, max2=12_000),
        ecn(2),
        lambda m: m.count.early_mark > 20 and m.count.early_drop > 10 and m.count.forced_mark > 5,
        seed=6,
        load=1.05,
    ),
    Case(
        "ecn harddrop",
        opt(ecn=True, harddrop=True, min2=3000, max2=12_000),
        ecn(1),
        lambda m: m.count.early_mark > 20 and m.count.forced_drop > 5 and not m.count.forced_mark,
        seed=7,
        load=1.05,
    ),
    Case(
        "ecn nodrop",
        opt(ecn=True, nodrop=True, min2=3000, max2=12_000),
        ecn(1),
        lambda m: m.count.early_mark > 20 and m.count.spared > 20 and not m.count.early_drop,
        seed=8,
        load=1.05,
    ),
    Case(
        "full buffer",
        opt(limit=12_000, min1=500, max1=4000, min2=8000, max2=11_000),
        MIXED,
        lambda m: m.count.overflow_short > 20 and m.count.overflow_long > 20,
        seed=9,
        load=2,
    ),
    Case(
        "more flows than slots",
        opt(packets=3),
        tuple(Source(n) for n in range(1, 13)),
        lambda m: m.count.evicted > 50 and m.count.long > 20,
        seed=10,
    ),
    Case(
        "flows are forgotten",
        opt(tau=15_000_000, packets=4),
        tuple(Source(n) for n in range(1, 8)),
        lambda m: m.count.new > 50 and m.count.evicted == 0 and m.count.long > 10,
        seed=11,
    ),
    Case(
        "age",
        opt(packets=2, age=60_000_000, tau=200_000_000),
        tuple(Source(n) for n in range(1, 7)),
        lambda m: m.count.long > 5,
        seed=12,
    ),
    Case(
        "ports apart",
        opt(key="flow"),
        tuple(Source(1, f"proto=tcp sport={port}") for port in range(1000, 1006)),
        lambda m: m.count.new == 6 and m.count.long == 6,
        seed=13,
        pause=0,
    ),
    Case(
        "ports together",
        QUICK,
        tuple(Source(1, f"proto=tcp sport={port}") for port in range(1000, 1006)),
        lambda m: m.count.new == 1 and m.count.long == 1,
        seed=14,
        pause=0,
    ),
    Case(
        "both families",
        QUICK,
        (
            *(Source(n, "proto=tcp v6=1") for n in (1, 2)),
            Source(1),
            Source(2),
            Source(3, "proto=udp v6=1"),
        ),
        lambda m: m.count.new == 4 and m.count.long == 4,
        seed=15,
        pause=0,
    ),
    Case(
        "VLAN",
        QUICK,
        (
            Source(1, "proto=tcp v6=1"),
            Source(1),
            Source(1, "proto=tcp vlan=7"),
            Source(2, "proto=udp"),
        ),
        lambda m: m.count.new == 2 and m.count.long == 2,
        seed=15,
        pause=0,
        setup=(
            "tc qdisc add dev g0 clsact",
            "tc filter add dev g0 egress matchall action vlan push id 5",
        ),
    ),
    Case(
        "class by priority",
        QUICK,
        (
            Source(1, weight=3),
            Source(2, "proto=udp", chosen=2),
            Source(3, chosen=1),
            Source(4, chosen=3),
        ),
        lambda m: m.count.new == 2 and m.sent[LONG] > 100_000,
        seed=16,
        pause=0,
    ),
    Case(
        "GSO",
        opt(packets=100, limit=300_000),
        (Source(1, sizes=(1054, 9000), gso=1000), Source(2, sizes=(20_000,), gso=1400), Source(3)),
        lambda m: m.count.long == 3 and m.count.early_drop > 10,
        seed=17,
    ),
    Case(
        "dynamic thresholds",
        opt(dynamic=True, gamma=0.1, min2=10_000, max2=25_000, low=0.05, high=0.08),
        (*TCP, UDP),
        lambda m: m.count.min2_raised > 3 and m.count.min2_lowered > 3,
        seed=24,
        wait=2_400_000,
        steps=9000,
        load=1.05,
    ),
    Case(
        "dynamic thresholds to their bounds",
        opt(dynamic=True, gamma=0.7, min2=10_000, max2=25_000, limit=75_000, low=0.05, high=0.08),
        (*TCP, UDP),
        lambda m: m.count.at_ceiling > 0 and m.count.at_floor > 0,
        seed=21,
        wait=2_400_000,
        steps=9000,
        load=1.05,
    ),
    Case(
        "not adaptive",
        opt(adaptive=False, probability=0.1),
        (*TCP, UDP),
        lambda m: m.count.early_drop > 20 and not m.count.raised,
        seed=19,
    ),
    Case(
        "reset",
        opt(dynamic=True, min2=3000, max2=12_000),
        (*TCP, UDP),
        lambda m: m.count.early_drop > 20 and m.count.new > 12 and m.count.min2_raised > 0,
        seed=22,
        resets=(700, 1500, 1501),
    ),
    Case(
        "larger than the buffer",
        opt(limit=5_000, min1=500, max1=2000, min2=2000, max2=4000),
        (Source(1, sizes=(9000, 1000), gso=1400), Source(2, sizes=(6000,), gso=1000), UDP),
        lambda m: m.sent[LONG] > 100_000 and m.count.overflow_long > 20,
        seed=23,
        load=2,
    ),
    Case(
        "changes",
        opt(dynamic=True),
        (*TCP, UDP),
        lambda m: m.count.drop_change > 5 and m.count.new > 6,
        seed=20,
        changes={
            300: opt(dynamic=True, min2=15_000, max2=60_000, packets=20),
            800: opt(dynamic=True, limit=21_000, min2=5000, max2=20_000, max1=9000),
            1200: opt(dynamic=True, key="flow", limit=80_000, max1=9000, share_max=0.4),
            1500: opt(dynamic=True, key="flow", limit=80_000, max1=9000, seed=99),
            1700: opt(adaptive=False, probability=0.3, ecn=True, seed=99),
        },
    ),
]


ORACLE = Oracle(
    CASES, kernel=("table II", "ecn", "both families", "VLAN", "GSO", "changes"), seeds=3
)


def check_state(model: Redtail, step: Step, until: int, where: str) -> None:
    """Compare everything that the kernel reports with the model."""
    st = LISTS.statistics(step.xstats)
    o, c = model.options, model.count
    exact = {
        "sent_short": model.sent[SHORT],
        "sent_long": model.sent[LONG],
        "credit": model.credit.numerator // model.credit.denominator,
        "limit": o.limit,
        "min1": o.min1,
        "max1": o.max1,
        "min2": model.min2,
        "max2": model.max2,
        "share_max": q32(o.share_max),
        "share_min": int(model.share_min * 2**32),
        "share": int(model.share() * 2**32),
        "backlog_short": model.length(SHORT),
        "backlog_long": model.length(LONG),
        "qlen_short": len(model.short),
        "qlen_long": len(model.long),
        "early_drop": c.early_drop,
        "early_mark": c.early_mark,
        "forced_drop": c.forced_drop,
        "forced_mark": c.forced_mark,
        "overflow_short": c.overflow_short,
        "overflow_long": c.overflow_long,
        "drop_change": c.drop_change,
        "max_p_raised": c.raised,
        "max_p_lowered": c.lowered,
        "min2_raised": c.min2_raised,
        "min2_lowered": c.min2_lowered,
        "flows_new": c.new,
        "flows_long": c.long,
        "flows_evicted": c.evicted,
        "marked": c.early_mark + c.forced_mark,
        "spared": c.spared,
        "drop_limit": c.overflow_short + c.overflow_long,
        "bandwidth": o.bandwidth,
    }
    assert {name: st[name] for name in exact} == exact, where
    # The kernel rounds down to whole bytes. The model's error is smaller.
    least, greatest = model.reported(step.t, until)
    assert least - 1 - 1e-3 < st["avg"] < greatest + 1e-3, where
    assert near(st["max_p"] / 2**32, model.max_p, 1e-12, 1e-6), where
    for name, queue in (("loss_short", SHORT), ("loss_long", LONG)):
        assert near(st[name] / 2**32, model.loss[queue], 1e-6), where

    assert (step.qlen, step.backlog, step.drops, step.overlimits) == (
        len(model.short) + len(model.long),
        model.backlog,
        model.drops,
        model.overlimits,
    ), where
    assert set(step.classes) == {SHORT, LONG}, where
    for minor, cl in step.classes.items():
        got = LISTS.statistics(cl.xstats)
        queue = model.short if minor == SHORT else model.long
        assert (cl.qlen, cl.backlog, got["sent"]) == (
            len(queue),
            model.length(minor),
            model.sent[minor],
        ), where
        assert (got["min"], got["max"]) == (
            (o.min1, o.max1) if minor == SHORT else (model.min2, model.max2)
        ), where
    assert sum(cl.drops for cl in step.classes.values()) == model.drops, where


@ORACLE.each
def test_every_decision_equals_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    # Only in user space, no time passes between two steps.
    slack = KERNEL_SLACK if run.engine == "kernel" else (0, 0)
    model_of_redtail.SLACK, model_of_redtail.IDLE_SLACK = slack
    assert all(step.rc == 0 for step in steps[:SETUP])
    # The discipline was created between the start of its command and the start of the next.
    model = Redtail(case.options, (steps[SETUP - 1].t + steps[SETUP].t) // 2)
    number = 0
    ends = [step.t for step in steps[SETUP + 1 :]] + [steps[-1].t + model_of_redtail.SLACK]
    for op, step, until in zip(case.operations(), steps[SETUP:], ends, strict=True):
        left: list[tuple[int, bool]] = []
        match op:
            case ("e", source, size):
                model.enqueue(source.packet(number, size, model.options.key), step.t)
                number += 1
            case ("d", packets):
                gone = [p for _ in range(packets) if (p := model.dequeue(step.t))]
                left = [(p.number, p.marked) for p in gone]
            case ("c", options):
                assert step.rc == 0
                model.change(options, step.t)
            case ("r",):
                assert step.rc == 0
                model.reset(step.t)
        where = f"step {step.i} {op}"
        assert [(n, tos & 3 == 3) for n, tos in step.out] == left, where
        check_state(model, step, until, where)
    shown = not run.designed or case.shown(model)
    assert shown, f"the trace does not show the case's purpose: {model.count} {model.sent}"
