# SPDX-License-Identifier: GPL-2.0
"""Compare every drop, mark, departure and bin of sfbx with a model of the paper."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from aqmlab.qdiscs import interface
from tests.oracle.drive import Oracle, Run, Step, Trace
from tests.oracle.sfbx.model import ONE, Options, Sfbx

KIND = interface.read("sfbx")
HEADERS = 14 + 20 + 20  # bytes of Ethernet, IP and TCP
# Time passes in such steps, and no time of an option is near a multiple of it. So the microseconds
# that an operation takes on a kernel change no decision.
TICK = 10_000_000  # ns
COUNTED = (
    "early_drop",
    "bin_drop",
    "box_drop",
    "box_passed",
    "rises",
    "falls",
    "rehashes",
    "marked",
    "spared",
    "drop_limit",
    "drop_change",
)


def fraction(x: float) -> Fraction:
    """Round a probability as tc does, to a multiple of 1 / (2^32 - 1)."""
    return Fraction(round(x * ONE), ONE)


@dataclass(frozen=True)
class Case:
    """Options and traffic: per tick, ``load`` packets arrive on average and one leaves.

    heavy: part of the packets that one flow sends; other flows send the rest in equal parts
    rehash: interval in us that is set in the first operation, so that its begin is known
    """

    name: str
    options: Options
    words: str = ""
    seed: int = 1
    load: float = 1.5
    heavy: float = 0.5
    flows: int = 6
    ticks: int = 1500
    rehash: int = 0
    ect: float = 0.0  # part of the packets that can be marked
    gso: float = 0.0  # part that are GSO packets
    resets: tuple[int, ...] = ()  # ticks
    changes: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)  # by tick
    must: tuple[str, ...] = ()

    def operations(self) -> list[tuple[Any, ...]]:
        """Return ("e", flow, tos, segments), ("d", packets), ("t", ns), ("r",), ("x", ...)."""
        rng = random.Random(self.seed)
        ops: list[tuple[Any, ...]] = []
        options, load = replace(self.options, rehash=self.rehash), self.load
        if self.rehash:
            ops.append(("x", f"rehash {self.rehash}us", options, False))
        for tick in range(self.ticks):
            if tick in self.changes:
                words, values = self.changes[tick]
                options = replace(options, **values)
                ops.append(("x", words, options, "seed" in values))
            if tick in self.resets:
                ops.append(("r",))
            if tick % 100 == 0:
                load = self.load * rng.choice((0.2, 0.8, 1, 1, 2))
            if rng.random() < 0.004:  # the link sends all that waits
                ops.append(("d", 1000))
            for _ in range(int(load) + (rng.random() < load % 1)):
                gso = self.gso and rng.random() < self.gso
                tos = 2 if rng.random() < self.ect else 0
                flow = 0 if rng.random() < self.heavy else 1 + rng.randrange(self.flows)
                ops.append(("e", flow + 1, tos, rng.choice((2, 3, 9)) if gso else 1))
            ops += [("t", TICK * rng.choice((1, 1, 1, 2))), ("d", 1)]
        return [*ops, ("d", 1000), ("t", 20 * 10**9), ("e", 1, 0, 1), ("d", 1)]

    def trace(self) -> Trace:
        """Return the same operations for qdrive."""
        lines = []
        for op in self.operations():
            match op:
                case ("e", flow, tos, 1):
                    lines.append(f"e flow={flow} len=200 tos={tos} prio={0x10000 + flow:#x}")
                case ("e", flow, tos, segments):
                    size = HEADERS + 100 * segments
                    lines.append(
                        f"e flow={flow} proto=tcp len={size} gso=100 tos={tos} "
                        f"prio={0x10000 + flow:#x}"
                    )
                case ("x", words, _, _):
                    lines.append(f"x {words}")
                case _:
                    lines.append(" ".join(str(word) for word in op))
        o = self.options
        words = f"limit {o.limit} bin_size {o.bin_size} bins {o.bins} levels {o.levels}"
        words += f" bin_drop {o.bin_drop} freeze_time {o.freeze_time}us box_time {o.box_time}us"
        words += f" increment {float(o.increment)!r} decrement {float(o.decrement)!r}"
        words += f" box_random {o.box_random / ONE!r} rehash 0 nosplit_gso seed {self.seed}"
        return Trace(f"sfbx {words} {self.words}", lines, bypass=True)


# The paper's steps for a buffer of 60 packets, and larger ones that reach 1 sooner.
PAPER = Options(60, 3, freeze_time=5_000, box_time=55_000, box_random=0)
LARGE = replace(PAPER, increment=fraction(0.1), decrement=fraction(0.02))
FEW = replace(LARGE, bins=5, limit=30)
BOX = ("box_drop", "box_passed", "rises", "falls")
CASES = [
    Case("the paper's steps", PAPER, load=3, must=("bin_drop", "rises", "falls", "early_drop")),
    Case("large steps", LARGE, must=(*BOX, "bin_drop", "early_drop"), load=3, seed=2),
    Case(
        "no freeze time, as in the listing",
        replace(PAPER, freeze_time=0, bin_drop="any"),
        load=3,
        must=("rises", "falls", "bin_drop", "early_drop"),
        seed=3,
    ),
    Case(
        "probability and box alone",
        replace(FEW, bin_drop="none"),
        must=(*BOX, "early_drop", "drop_limit"),
        load=4,
        seed=4,
    ),
    Case(
        "random Boxtimes",
        replace(LARGE, box_random=2**31, bin_drop="none"),
        must=BOX,
        load=3,
        seed=5,
    ),
    Case(
        "the hash functions change",
        replace(LARGE, bin_drop="none"),
        rehash=1_005_000,
        must=(*BOX, "rehashes"),
        load=3,
        seed=6,
    ),
    Case(
        "they change faster than packets leave",
        replace(LARGE, bin_drop="none"),
        rehash=55_000,
        must=("rises", "rehashes", "early_drop"),
        load=3,
        ticks=700,
        seed=7,
    ),
    Case(
        "one bin for all",
        replace(FEW, bins=1, levels=1, bin_size=9, bin_drop="none"),
        must=(*BOX, "early_drop"),
        load=3,
        seed=8,
    ),
    Case(
        "four levels, many flows",
        replace(LARGE, bins=7, levels=4),
        must=("rises", "falls", "bin_drop"),
        flows=40,
        load=3,
        seed=9,
    ),
    Case(
        "ecn, half the packets",
        replace(FEW, ecn=True, bin_drop="none"),
        "ecn",
        ect=0.5,
        must=("marked", "early_drop"),
        seed=10,
    ),
    Case(
        "ecn nodrop",
        replace(FEW, ecn=True, nodrop=True, bin_drop="none"),
        "ecn nodrop",
        ect=0.5,
        must=("marked", "spared", "drop_limit"),
        load=2.5,
        seed=11,
    ),
    Case(
        "ecn harddrop",
        replace(FEW, ecn=True, harddrop=True, bin_drop="none"),
        "ecn harddrop",
        ect=1.0,
        must=("marked", "early_drop"),
        seed=12,
    ),
    Case("GSO", LARGE, gso=0.3, must=("rises", "falls", "bin_drop"), seed=13),
    Case(
        "GSO packets larger than the limit",
        replace(LARGE, limit=2, bin_size=1),
        gso=0.5,
        must=("rises", "falls", "drop_limit"),
        seed=14,
    ),
    Case("reset", LARGE, resets=(200, 700, 1100), load=3, must=BOX, seed=15),
    Case(
        "changed while it works",
        LARGE,
        load=3,
        must=(*BOX, "drop_change", "rehashes"),
        seed=16,
        changes={
            100: ("increment 0.3", {"increment": fraction(0.3)}),
            200: ("bins 5", {"bins": 5}),
            300: ("levels 3 bin_drop none", {"levels": 3, "bin_drop": "none"}),
            400: ("rehash 505ms", {"rehash": 505_000}),
            500: ("bins 23 levels 2 seed 7", {"bins": 23, "levels": 2, "seed": 7}),
            600: (
                "box_time 10s freeze_time 10s",
                {"box_time": 10_000_000, "freeze_time": 10_000_000},
            ),
            620: ("box_time 15ms freeze_time 0", {"box_time": 15_000, "freeze_time": 0}),
            **{
                tick: (f"limit {limit}", {"limit": limit})
                for tick, limit in ((700, 5), (720, 40), (750, 4), (800, 60), (900, 6))
            },
            1000: ("rehash 0", {"rehash": 0}),
            1100: ("bin_drop all limit 60", {"bin_drop": "all", "limit": 60}),
        },
    ),
]

ORACLE = Oracle(
    CASES,
    kernel=("large steps", "the hash functions change", "ecn harddrop", "changed while it works"),
)


def step_model(model: Sfbx, op: tuple[Any, ...], step: Step, packet: int) -> None:
    """Carry out an operation on the model, and compare everything that the kernel shows."""
    where = f"operation {step.i}, {op}"
    left: list[tuple[int, int]] = []
    match op:
        case ("e", flow, tos, segments):
            model.enqueue(step.t, packet, flow, tos, segments)
        case ("d", packets):
            left = [p for _ in range(packets) if (p := model.dequeue(step.t))]
        case ("x", _, options, reseed):
            assert step.rc == 0, where
            model.change(options, step.t, reseed)
        case ("r",):
            model.reset()
    assert step.out == left, where
    assert step.qlen == len(model.queue), where
    assert step.overlimits == model.counts.get("overlimits", 0), where
    seen = KIND.statistics(step.xstats)
    expected = {name: model.counts.get(name, 0) for name in COUNTED}
    expected |= {
        "segments": model.length,
        "limit": model.o.limit,
        "bin_size": model.o.bin_size,
        "box_time": model.o.box_time,
        **model.state(),
    }
    assert {name: seen[name] for name in expected} == expected, where


@ORACLE.each
def test_every_decision_equals_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    model = Sfbx(replace(case.options, seed=case.seed))
    packet = 0
    for op, step in zip(case.operations(), steps, strict=True):
        step_model(model, op, step, packet)
        packet += op[0] == "e"
    if run.designed:
        unmoved = [name for name in case.must if model.counts.get(name, 0) < 3]
        assert not unmoved, f"the trace did not change the counters {unmoved}: {model.counts}"
