# SPDX-License-Identifier: GPL-2.0
"""Compare every drop, mark, departure and value of max_p of ared with a model of the paper."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from aqmlab.qdiscs import interface
from tests.oracle.ared.model import AdaptiveRed, RedQueue
from tests.oracle.drive import Oracle, Run, Step, Trace, near
from tests.oracle.red_model import MARKS, Q32, PacedCase, replay, reported
from tests.oracle.red_model import SLOT as PTIME
from tests.oracle.seeded_random import SeededRandom

KIND = interface.read("ared")


def fraction(x: float) -> float:
    """Round a probability to the resolution of the netlink attribute."""
    return round(x * (Q32 - 1)) / Q32


@dataclass(frozen=True)
class Case(PacedCase):
    """A case of ared."""

    wants: tuple[str, ...] = ("early_drop", "forced_drop", "raised", "lowered")
    max_p: float = 0.1
    weight: float = 0.02
    bottom: float = 0.01
    top: float = 0.5

    def build(self, start: int) -> RedQueue:
        of_red = ("gentle", "wait", "adaptive")
        kind = {"gentle": True} | {n: on for n, on in self.model.items() if n in of_red}
        rest = {n: on for n, on in self.model.items() if n not in of_red}
        red = AdaptiveRed(
            self.min_th,
            self.max_th,
            0.0,
            fraction(self.weight),
            PTIME,
            bottom=fraction(self.bottom),
            top=fraction(self.top),
            adapted_at=start,
            **kind,
        )
        given = fraction(self.max_p)
        red.begin(given)
        return RedQueue(red, self.limit, SeededRandom(self.seed), given=given, **rest)

    def trace(self) -> Trace:
        options = (
            f"ared limit {self.limit} min {self.min_th} max {self.max_th} "
            f"probability {self.max_p} bottom {self.bottom} top {self.top} "
            f"weight {self.weight} bandwidth 160kbit avpkt 1000 nosplit_gso seed {self.seed} "
            f"{self.words()}"
        )
        return Trace(options, [line for *_, line in self.operations()], bypass=True)


BASE = Case("Adaptive RED", 1)
ECN = replace(
    BASE, tos=(0, 1, 2, 3, 0xB8), model={"ecn": True}, wants=("early_drop", "early_mark", "raised")
)
CASES = [
    BASE,
    replace(BASE, name="no wait", seed=2, model={"wait": False}),
    replace(BASE, name="not gentle", seed=3, model={"gentle": False}),
    replace(
        BASE,
        name="not adaptive",
        seed=4,
        model={"adaptive": False},
        max_p=0.02,
        wants=("early_drop",),
    ),
    replace(BASE, name="narrow bounds", seed=5, bottom=0.2, top=0.253, max_p=0.9),
    replace(BASE, name="near the bottom", seed=6, bottom=0.001, max_p=0.001, load=1.1),
    replace(
        BASE,
        name="wide thresholds",
        seed=7,
        min_th=3,
        max_th=30,
        limit=80,
        weight=0.1,
        wants=("early_drop", "raised", "lowered"),
    ),
    replace(ECN, name="ecn", seed=8),
    replace(
        ECN,
        name="ecn harddrop",
        seed=9,
        tos=(0, 2),
        load=3,
        model={"ecn": True, "harddrop": True, "gentle": False},
        wants=("early_mark", "forced_drop"),
    ),
    replace(
        ECN,
        name="ecn nodrop",
        seed=10,
        tos=(0, 2),
        model={"ecn": True, "nodrop": True},
        wants=("spared", "early_mark", "forced_mark", "drop_limit"),
    ),
    replace(BASE, name="GSO", seed=11, gso=0.3, load=0.6, limit=60, min_th=10, max_th=20),
    replace(
        BASE,
        name="GSO packets larger than the limit",
        seed=13,
        gso=0.3,
        load=0.6,
        limit=8,
        min_th=2,
        max_th=4,
        wants=("early_drop", "drop_limit"),
    ),
    replace(
        BASE,
        name="live change",
        seed=13,
        load=1.6,
        wants=("early_drop", "raised", "lowered", "drop_limit"),
        changes={
            **{
                500 * n + 140: (f"limit {limit}", {"limit": limit})
                for n, limit in enumerate((15, 64, 8, 200, 5, 60))
            },
            300: ("min 8 max 16", {"min_th": 8, "max_th": 16}),
            800: ("bottom 0.1", {"bottom": fraction(0.1)}),
            1200: ("noadaptive", {"adaptive": False}),
            1500: ("probability 0.3", {"max_p": fraction(0.3)}),
            1700: ("adaptive seed 99", {"adaptive": True, "seed": 99}),
            2000: ("min 4 max 8 bottom 0.01", {"min_th": 4, "max_th": 8, "bottom": fraction(0.01)}),
            2400: ("probability 0.05", {"max_p": fraction(0.05)}),
            2600: ("nogentle nowait", {"gentle": False, "wait": False}),
        },
    ),
]

ORACLE = Oracle(CASES, kernel=("Adaptive RED", "ecn", "live change"))


def apply(model: RedQueue, change: dict[str, Any], now: int) -> None:
    red = model.red
    if not model.queue:
        red.arrival(0, now)
    red.adapt(now)
    for name, value in change.items():
        if name == "limit":
            model.set_limit(value, now)
            if not model.queue:
                red.idle(now)
        elif name == "seed":
            model.rng = SeededRandom(value)
        elif name == "max_p":
            model.given = value
        else:
            setattr(red, name, value)
    # An adapted max_p stays, limited to its bounds, unless a new one is given.
    red.begin(model.given if "max_p" in change or not red.adaptive else red.max_p)


def shown(model: RedQueue, now: int) -> AdaptiveRed:
    """Return RED's state at ``now``, as the next arrival finds it before its own sample."""
    red = copy.copy(model.red)
    if not model.queue:
        red.arrival(0, now)
    red.adapt(now)
    return red


@ORACLE.each
def test_every_decision_and_max_p_equal_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    model = case.build(steps[0].t)
    for step, now, where in replay(model, case.operations(), steps, apply):
        seen = KIND.statistics(step.xstats)
        counted = {name: model.counts[name] for name in MARKS}
        counted |= {
            "segments": model.length,
            "count": model.red.count,
            "limit": model.limit,
            "ptime": PTIME,
            "min_th": model.red.min_th,
            "max_th": model.red.max_th,
        }
        assert {name: seen[name] for name in counted} == counted, where
        assert reported(model.red, step.t, now, seen["avg"] / Q32), where
        # The statistics were read between this operation and the next.
        ends = [shown(model, step.t), shown(model, max(step.t, now))]
        for name, unit, slack in (("raised", 1, 0), ("lowered", 1, 0), ("max_p", Q32, 1e-6)):
            around = [getattr(red, name) for red in ends]
            assert min(around) - slack <= seen[name] / unit <= max(around) + slack, where
        red = replace(model.red, avg=seen["avg"] / Q32, max_p=seen["max_p"] / Q32)
        assert near(seen["probability"] / Q32, red.probability(), 1e-6), where

    moved = Counter(model.counts)
    moved.update(raised=model.red.raised, lowered=model.red.lowered)
    case.exercised(run, moved)
