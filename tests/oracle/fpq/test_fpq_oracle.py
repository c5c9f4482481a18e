# SPDX-License-Identifier: GPL-2.0
"""Compare every drop, mark, departure and threshold of fpq with a model of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from aqmlab.qdiscs import interface
from tests.oracle.ared.model import AdaptiveRed
from tests.oracle.drive import Oracle, Run, Step, Trace, near
from tests.oracle.fpq.model import Fpq
from tests.oracle.red_model import MARKS, Q32, PacedCase, reported
from tests.oracle.red_model import SLOT as PTIME
from tests.oracle.seeded_random import SeededRandom

KIND = interface.read("fpq")


@dataclass(frozen=True)
class Case(PacedCase):
    """A case of fpq."""

    wants: tuple[str, ...] = ("early_drop", "forced_drop")
    limit: int = 200
    flows: int = 3
    rtt: int = 100  # ms: 2 packets
    vector: int = 5000
    clear: int = 10  # s

    def build(self, start: int) -> Fpq:
        kind = {"gentle": True} | {n: on for n, on in self.model.items() if n in ("gentle", "wait")}
        rest = {n: on for n, on in self.model.items() if n not in kind}
        weight = round(self.weight * Q32) / Q32
        red = AdaptiveRed(5, 12, 0.0, weight, PTIME, adaptive=False, adapted_at=start, **kind)
        made = Fpq(red, self.limit, SeededRandom(self.seed), pipe=self.pipe(self.rtt), **rest)
        made.adjust(0, start)
        return made

    def pipe(self, rtt: int) -> int:
        return 20_000 * rtt // 1000 // 1000

    def trace(self) -> Trace:
        options = (
            f"fpq limit {self.limit} rtt {self.rtt}ms vector {self.vector} clear {self.clear}s "
            f"weight {self.weight} bandwidth 160kbit avpkt 1000 nosplit_gso seed {self.seed} "
            f"{self.words()}"
        )
        return Trace(options, [line for *_, line in self.operations()], bypass=True)


BASE = Case("FPQ-RED", 1)
ECN = replace(
    BASE,
    tos=(0, 1, 2, 3, 0xB8),
    model={"ecn": True, "wait": False},
    load=2,
    wants=("early_drop", "early_mark", "forced_mark"),
)
CASES = [
    BASE,
    replace(BASE, name="no wait", seed=2, model={"wait": False}, wants=("early_drop",)),
    replace(BASE, name="not gentle", seed=3, model={"gentle": False}, wants=("forced_drop",)),
    replace(
        BASE,
        name="a long round trip",
        seed=4,
        rtt=1500,
        flows=2,
        weight=0.2,
        limit=100,
        wants=("early_drop",),
    ),
    replace(
        BASE,
        name="many flows",
        seed=5,
        flows=8,
        limit=400,
        load=3,
        steps=5000,
        weight=0.1,
        wants=("early_drop",),
    ),
    replace(BASE, name="few bits", seed=6, vector=64, flows=8),
    replace(ECN, name="ecn", seed=7),
    replace(
        ECN,
        name="ecn harddrop",
        seed=8,
        tos=(0, 2),
        model={"ecn": True, "harddrop": True, "gentle": False},
        wants=("forced_drop",),
    ),
    replace(
        ECN,
        name="ecn nodrop",
        seed=9,
        tos=(0, 2),
        limit=40,
        model={"ecn": True, "nodrop": True},
        wants=("spared", "drop_limit"),
    ),
    replace(BASE, name="GSO", seed=10, gso=0.3, load=0.6),
    replace(BASE, name="the limit before max", seed=11, limit=10, wants=("drop_limit",)),
    replace(
        BASE,
        name="live change",
        seed=12,
        load=1.6,
        wants=("early_drop", "drop_limit"),
        changes={
            **{
                500 * n + 140: (f"limit {limit}", {"limit": limit})
                for n, limit in enumerate((15, 64, 8, 200, 5, 60))
            },
            300: ("rtt 1s", {"rtt": 1000}),
            800: ("vector 100", {"vector": 100}),
            1200: ("min 9", {"min_th": 9}),
            1500: ("nogentle rtt 100ms", {"gentle": False, "rtt": 100}),
            1700: ("seed 99", {"seed": 99}),
            2000: ("vector 70000 gentle nowait", {"vector": 70000, "gentle": True, "wait": False}),
            2300: ("clear 1s min 5", {"min_th": 5, "clear": 1}),
        },
    ),
]

ORACLE = Oracle(CASES, kernel=("FPQ-RED", "ecn"))


def apply(model: Fpq, case: Case, change: dict[str, Any], flows: int, now: int) -> None:
    red = model.red
    if not model.queue:
        red.arrival(0, now)
    for name, value in change.items():
        if name == "limit":
            model.set_limit(value, now)
        elif name == "seed":
            model.rng = SeededRandom(value)
        elif name == "rtt":
            model.pipe = case.pipe(value)
        elif name in ("min_th", "gentle", "wait"):
            setattr(red, name, value)
    model.adjust(flows, now)


@ORACLE.each
def test_every_decision_and_threshold_equal_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    model = case.build(steps[0].t)
    packet, before, most = 0, 0, 0
    clear = 10**9 * case.clear
    longest, until = clear, 0  # after a change of t_clear the hand takes the new one to go round
    last: dict[int, int] = {}
    nows = [step.t for step in steps[1:]] + [steps[-1].t]
    for (kind, what, line), step, now in zip(case.operations(), steps, nows, strict=True):
        where = f"step {step.i}: {line}"
        seen = KIND.statistics(step.xstats)
        left = []
        if kind == "e":
            flow, tos, segments = what
            last[flow] = step.t
            model.arrival(packet, tos, segments, seen["flows"], step.t)
            packet += 1
            assert 1 <= seen["flows"] <= before + 1, where
        elif kind == "d":
            left = [p for _ in range(what) if (p := model.dequeue(step.t)) is not None]
        elif kind == "c":
            assert step.rc == 0, where
            if "clear" in what:
                longest, clear = longest + clear, 10**9 * what["clear"]
                until = step.t + clear
            apply(model, case, what, seen["flows"], step.t)
            assert not seen["flows"] or "vector" not in what, where
        elif kind == "r":
            assert step.rc == 0, where
            model.reset(step.t)
            model.adjust(0, step.t)
            last.clear()
        assert step.out == left, where
        assert step.qlen == len(model.queue), where
        assert step.drops == model.counts["drops"], where
        assert step.overlimits == model.counts["overlimits"], where

        # A flow is forgotten within t_clear, and only an arrival can increase N, by one.
        before = seen["flows"]
        most = max(most, before)
        longest = longest if step.t <= until else clear
        assert before <= sum(step.t - at <= longest for at in last.values()), where
        counted = {name: model.counts[name] for name in MARKS}
        counted |= {
            "segments": model.length,
            "count": model.red.count,
            "limit": model.limit,
            "ptime": PTIME,
            "min_th": model.red.min_th,
            "max_th": model.red.max_th,
            "target": model.target,
            "pipe": model.pipe,
        }
        assert {name: seen[name] for name in counted} == counted, where
        assert reported(model.red, step.t, now, seen["avg"] / Q32), where
        assert near(seen["max_p"] / Q32, model.red.max_p, 1e-9), where
        red = replace(model.red, avg=seen["avg"] / Q32)
        assert near(seen["probability"] / Q32, red.probability(), 1e-6), where

    assert most > 1
    case.exercised(run, model.counts)
