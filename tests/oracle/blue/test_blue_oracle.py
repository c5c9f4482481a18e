# SPDX-License-Identifier: GPL-2.0
"""Compare every drop, mark, departure and value of p of blue with a model of the paper."""

from __future__ import annotations

import copy
import errno
import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from aqmlab.qdiscs import interface
from tests.oracle.blue.model import Blue, Options
from tests.oracle.drive import Oracle, Run, Step, Trace

KIND = interface.read("blue")
ONE = 2**32 - 1
HEADERS = 14 + 20 + 20  # bytes of Ethernet, IP and TCP
MS = 1_000_000  # ns


def fraction(x: float) -> Fraction:
    """Round a probability as tc does, to a multiple of 1 / (2^32 - 1)."""
    return Fraction(round(x * ONE), ONE)


@dataclass(frozen=True)
class Case:
    """Options and traffic: per ms, ``load`` packets arrive on average and one leaves."""

    name: str
    options: Options
    words: str = ""
    seed: int = 1
    load: float = 1.2
    ms: int = 2000
    ect: float = 0.0  # fraction of the packets that can be marked
    gso: float = 0.0  # fraction that are GSO packets
    resets: tuple[int, ...] = ()  # ms
    changes: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)  # by ms
    must: tuple[str, ...] = ()

    def operations(self) -> list[tuple[Any, ...]]:
        """Return ("e", tos, segments), ("d", packets), ("t", ns), ("r",), ("x", words, ...).

        Times are odd numbers, so that no update is due exactly at an operation.
        """
        rng = random.Random(self.seed)
        ops: list[tuple[Any, ...]] = []
        options, load = self.options, self.load
        for ms in range(self.ms):
            if ms in self.changes:
                words, values = self.changes[ms]
                options = replace(options, **values)
                ops.append(("x", words, options, "seed" in values))
            if ms in self.resets:
                ops.append(("r",))
            if ms % 100 == 0:
                load = self.load * rng.choice((0.2, 0.8, 1, 1.5, 3))
            if rng.random() < 0.004:  # the link is idle for up to 50 ms
                ops += [("d", 1000), ("t", rng.randrange(MS, 50 * MS) | 1)]
            come = int(load) + (rng.random() < load % 1)
            for _ in range(come):
                gso = self.gso and rng.random() < self.gso
                tos = 2 if rng.random() < self.ect else 0
                ops.append(("e", tos, rng.choice((2, 3, 9)) if gso else 1))
            ops += [("t", rng.randrange(MS // 2, MS) | 1), ("d", 1)]
        return [*ops, ("d", 1000), ("t", 10**10 + 1), ("e", 0, 1), ("d", 1)]

    def trace(self) -> Trace:
        """Return the same operations for qdrive."""
        lines = []
        for op in self.operations():
            match op:
                case ("e", tos, 1):
                    lines.append(f"e flow=1 len=200 tos={tos}")
                case ("e", tos, segments):
                    size = HEADERS + 100 * segments
                    lines.append(f"e flow=1 proto=tcp len={size} gso=100 tos={tos}")
                case ("x", words, _, _):
                    lines.append(f"x {words}")
                case _:
                    lines.append(" ".join(str(word) for word in op))
        o = self.options
        words = f"limit {o.limit} nosplit_gso freeze_time {o.freeze_time}us seed {self.seed}"
        words += f" increment {float(o.increment)!r} decrement {float(o.decrement)!r}"
        return Trace(f"blue {words} {self.words}", lines, bypass=True)


UPDATES = ("rises", "falls", "early_drop")
# Step sizes of Kantawala and Turner, and of Ali Ahammed and Banu.
SMALL = Options(30, None, fraction(0.0025), fraction(0.00025), 100_000)
LARGE = Options(30, None, fraction(0.02), fraction(0.002), 10_000)
QUICK = Options(30, None, fraction(0.1), fraction(0.03), 3_000)
CASES = [
    Case("small steps", SMALL, must=("rises", "falls", "drop_limit"), load=2, ms=5000),
    Case("large steps", LARGE, must=(*UPDATES, "drop_limit")),
    Case("quick steps", QUICK, must=(*UPDATES, "drop_limit"), seed=2),
    Case("a threshold", replace(QUICK, threshold=10), "threshold 10", must=UPDATES, seed=3),
    Case(
        "up to 1 and down to 0",
        Options(8, 2, fraction(0.4), fraction(0.7), 2_000),
        "threshold 2",
        must=UPDATES,
        load=2,
        seed=4,
    ),
    Case(
        "no time between updates",
        Options(8, None, fraction(0.01), fraction(0.001), 1),
        must=UPDATES,
        seed=5,
    ),
    Case(
        "ecn, half the packets",
        replace(LARGE, ecn=True),
        "ecn",
        ect=0.5,
        must=(*UPDATES, "marked"),
        seed=6,
    ),
    Case(
        "ecn nodrop",
        replace(LARGE, ecn=True, nodrop=True),
        "ecn nodrop",
        ect=0.5,
        must=("marked", "spared", "drop_limit"),
        seed=7,
    ),
    Case(
        "ecn harddrop",
        replace(QUICK, threshold=10, ecn=True, harddrop=True),
        "threshold 10 ecn harddrop",
        ect=1.0,
        must=("marked", "early_drop"),
        seed=8,
    ),
    Case(
        "GSO", replace(QUICK, threshold=12), "threshold 12", gso=0.3, load=0.6, must=UPDATES, seed=9
    ),
    Case(
        "GSO packets larger than the limit",
        replace(QUICK, limit=2),
        gso=0.5,
        load=0.6,
        must=UPDATES,
        seed=10,
    ),
    Case("reset", QUICK, resets=(300, 1000, 1700), must=UPDATES, seed=11),
    Case(
        "changed while it works",
        LARGE,
        must=(*UPDATES, "drop_limit", "drop_change"),
        seed=12,
        changes={
            200: ("increment 0.1", {"increment": fraction(0.1)}),
            500: (
                "decrement 0.05 freeze_time 20ms",
                {"decrement": fraction(0.05), "freeze_time": 20_000},
            ),
            800: ("freeze_time 10s", {"freeze_time": 10_000_000}),
            1000: ("freeze_time 1ms threshold 5", {"freeze_time": 1000, "threshold": 5}),
            1200: ("threshold auto freeze_time 10ms", {"threshold": None, "freeze_time": 10_000}),
            **{
                ms: (f"limit {limit}", {"limit": limit})
                for ms, limit in ((100, 12), (110, 3), (130, 40), (1300, 12), (1301, 3))
            },
            1500: ("limit 40 seed 5", {"limit": 40, "seed": 5}),
        },
    ),
]

# If p is updated often, an update may fall into the microseconds that an operation takes on a
# kernel. In the cases here, updates are 100 ms apart, or only arrivals cause them.
ORACLE = Oracle(CASES, kernel=("small steps", "large steps", "ecn, half the packets", "reset"))


def step_model(
    model: Blue, op: tuple[Any, ...], step: Step, packet: int, now: int
) -> dict[str, int]:
    """Carry out an operation on the model at ``now``. Returns its counters."""
    where = f"operation {step.i}, {op}"
    match op:
        case ("e", tos, segments):
            room = model.enqueue(now, packet, tos, segments)
            assert step.rc == (0 if room else errno.ENOBUFS), where
        case ("d", packets):
            left = [p for _ in range(packets) if (p := model.dequeue(now))]
            assert step.out == left, where
        case ("x", _, options, reseed):
            assert step.rc == 0, where
            model.change(options, now, reseed)
        case ("r",):
            model.reset(now)
    assert step.qlen == len(model.queue), where
    seen = KIND.statistics(step.xstats)
    counted = {
        "segments": model.length,
        "limit": model.o.limit,
        "threshold": model.o.threshold or model.o.limit,
        "marked": model.marked,
        "spared": model.spared,
        "early_drop": model.early_drop,
        "drop_limit": model.drop_limit,
        "drop_change": model.drop_change,
        "rises": model.pm.rises,
    }
    assert {name: seen[name] for name in counted} == counted, where
    return seen


def shown(model: Blue, now: int) -> tuple[int, int]:
    """Return p, and how often it fell, as shown at ``now``."""
    pm = copy.copy(model.pm)
    if not model.queue:
        pm.idle(model.o, model.idle_from, now)
    assert (pm.p * ONE).denominator == 1
    return int(pm.p * ONE), pm.falls


@ORACLE.each
def test_every_decision_and_p_equal_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    model = Blue(replace(case.options, seed=case.seed))
    packet, seen = 0, {}
    for op, step, after in zip(case.operations(), steps, [*steps[1:], steps[-1]], strict=True):
        seen = step_model(model, op, step, packet, step.t)
        packet += op[0] == "e"
        # The statistics were read between this operation and the next.
        first, last = shown(model, step.t), shown(model, max(step.t, after.t))
        p, falls = seen["probability"], seen["falls"]
        assert last[0] <= p <= first[0], f"operation {step.i}, {op}"
        assert first[1] <= falls <= last[1], f"operation {step.i}, {op}"
    assert seen["probability"] == 0 or case.options.decrement * 100 < 1
    if run.designed:
        unmoved = [name for name in case.must if seen[name] < 3]
        assert not unmoved, f"the trace did not change the counters {unmoved}: {seen}"
