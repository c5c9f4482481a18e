# SPDX-License-Identifier: GPL-2.0
"""Compare every drop, mark and departure of 2regionred with a model of the thesis."""

from __future__ import annotations

import copy
import errno
import random
from dataclasses import dataclass, field, replace
from typing import Any

from aqmlab.qdiscs import interface
from tests.oracle.drive import Oracle, Run, Step, Trace, near
from tests.oracle.tworegionred.model import HIGH, LOW, MAX, Options, TwoRegionRed, whole

LISTS = interface.read("2regionred")

# At 100 Mb/s and 10 ms, DB is 83.3 packets, a packet takes 120 us, and a fifteenth of the interval
# 667 us. The thresholds of 6, 18, 18 and 41 packets are close together, so that a short trace
# crosses all of them. The limit is 125.
BASE = Options(bandwidth=1e8, rtt=10_000, flows=10, target=18, bmax=41)
GIVEN = ("flows", "limit", "bmin", "bflat", "target", "bmax")
PACKET = 120_000  # ns
HEADERS = 14 + 20 + 20  # bytes of Ethernet, IP and TCP
OVERHEAD = 1_300  # ns that qdrive's reading of the clock adds to an operation

BURST = 140  # packets; a queue of this length is filled at once, a shorter one packet by packet

# (packets, packet times): length of the queue, and how long it has this length
TOUR = [
    (3, 150),
    (11, 500),  # II: several hold-offs
    (4, 60),  # a dip below Bmin within one
    (12, 250),
    (25, 700),  # III: several updates of the controller
    (38, 250),
    (60, 250),  # IV, on the slope
    (95, 250),  # beyond 2 Bmax
    (10, 350),  # down to II: a hold-off
    (28, 300),  # III again, with the old W
    (5, 150),
    (BURST, 4),  # filled at once: the estimate lags, and the limit is reached
    (0, 60),
    (-1, 5000),  # idle for 60 round trips
    (30, 300),  # III again, with a new W
    (8, 200),
]


@dataclass(frozen=True)
class Case:
    """Options, a tour of queue lengths, and changes by stop of the tour."""

    name: str
    options: Options
    words: str = ""
    ect: float = 0.0  # fraction of the packets that can be marked
    gso: float = 0.0  # fraction that are GSO packets
    resets: tuple[int, ...] = ()  # stops before which the device goes down and up
    changes: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    must: tuple[str, ...] = ()
    tour: list[tuple[int, int]] = field(default_factory=lambda: TOUR)
    seed: int = 1

    def operations(self) -> list[tuple[Any, ...]]:
        """Return ("e", tos, segments), ("d",), ("t", ns), ("r",), ("c", words, options, reseed).

        A second model, with its own clock, knows the length of the queue, and so how many packets
        keep it at the length of the tour.
        """
        rng = random.Random(self.seed)
        plan, now = TwoRegionRed(self.options), 1_000_000_000
        ops: list[tuple[Any, ...]] = []
        options = self.options
        for stop, (length, slots) in enumerate(self.tour):
            if stop in self.changes:
                words, values = self.changes[stop]
                options = replace(options, **values)
                ops.append(("c", words, options, "seed" in values))
                plan.change(options, now, "seed" in values)
            if stop in self.resets:
                ops.append(("r",))
                plan.reset()
            if length < 0:
                ops.append(("t", slots * PACKET))
                now += slots * PACKET
                continue
            for _ in range(slots):
                have = plan.length
                few = 0 if have > length else 1 + (have < length)
                few = max(0, few + rng.choice((-1, 0, 0, 0, 1)))
                if length == BURST:
                    few = BURST
                for _ in range(few):
                    tos = 2 if rng.random() < self.ect else 0
                    gso = self.gso and rng.random() < self.gso
                    segments = rng.choice((2, 3, 9)) if gso else 1
                    ops.append(("e", tos, segments))
                    plan.enqueue(now, 0, tos, segments)
                    now += OVERHEAD
                ops.append(("d",))
                plan.dequeue(now)
                ops.append(("t", PACKET - 3 * OVERHEAD))
                now += PACKET - OVERHEAD
        return ops

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
                case ("r",):
                    lines.append("r")
                case ("d",):
                    lines.append("d 1")
                case ("t", ns):
                    lines.append(f"t {ns}")
                case ("c", words, _, _):
                    lines.append(f"c tc qdisc change dev g0 root handle 1: 2regionred {words}")
        given = {name: getattr(self.options, name) for name in GIVEN}
        words = " ".join(f"{name} {value}" for name, value in given.items() if value)
        link = f"bandwidth {self.options.bandwidth:.0f}bit rtt {self.options.rtt}us nosplit_gso"
        words = f"{link} seed {self.options.seed} {words} {self.words}"
        return Trace(f"2regionred {words}", lines, bypass=True)


CONTROL = ("dropped_low", "dropped_high", "dropped_max", "updates")
PHASES = (*CONTROL, "drop_limit")  # not with an average: it follows a burst too fast
MARKS = ("marked_low", "marked_high", "marked_max")
CASES = [
    Case("absmin", BASE, must=(*PHASES, "negative")),
    Case("absmin, another seed", replace(BASE, seed=77), must=PHASES, seed=2),
    Case("ewma", replace(BASE, estimator="ewma"), "estimator ewma", must=CONTROL),
    Case("ewma-drain", replace(BASE, estimator="ewma-drain"), "estimator ewma-drain", must=CONTROL),
    Case("as printed", replace(BASE, literal=True), "literal", must=(*PHASES, "negative"), seed=3),
    Case("not gentle", replace(BASE, gentle=False), "nogentle", must=PHASES),
    Case("ecn, half the packets", replace(BASE, ecn=True), "ecn", ect=0.5, must=(*PHASES, *MARKS)),
    Case(
        "ecn nodrop",
        replace(BASE, ecn=True, nodrop=True),
        "ecn nodrop",
        ect=0.5,
        must=(*MARKS, "spared", "drop_limit"),
    ),
    Case(
        "ecn harddrop",
        replace(BASE, ecn=True, harddrop=True),
        "ecn harddrop",
        ect=1.0,
        must=("marked_low", "marked_high", "dropped_max"),
    ),
    Case(
        "thresholds by hand",
        replace(BASE, bmin=4, bflat=15, target=22, bmax=35, limit=90),
        must=PHASES,
    ),
    Case(
        "thresholds that follow from the link",
        Options(bandwidth=1e8, rtt=10_000),
        must=CONTROL,
        tour=[(3, 100), (15, 500), (60, 300), (100, 200), (15, 300), (110, 200), (5, 200)],
        seed=4,
    ),
    Case("GSO", BASE, must=PHASES, gso=0.5, seed=5),
    Case(
        "GSO, ewma",
        replace(BASE, estimator="ewma"),
        "estimator ewma",
        must=CONTROL,
        gso=0.3,
        # The queue is never empty, because an idle time close to a packet time is ambiguous.
        tour=[(14, 500), (25, 400), (40, 300), (70, 300), (14, 400), (28, 200), (70, 300)],
        seed=6,
    ),
    Case("reset", BASE, must=PHASES, resets=(4, 7, 12), seed=7),
    Case(
        "reset, ewma",
        replace(BASE, estimator="ewma"),
        "estimator ewma",
        must=CONTROL,
        resets=(4, 7, 12),
        seed=8,
    ),
    Case(
        "a shorter round trip",
        replace(BASE, rtt=1_000_000, bandwidth=1e6),
        changes={1: ("rtt 10ms bandwidth 100mbit", {"rtt": 10_000, "bandwidth": 1e8})},
        must=("dropped_low",),
        tour=[(12, 3000), (12, 500), (28, 300), (10, 300)],
    ),
    Case(
        "changed while it works",
        BASE,
        changes={
            2: ("estimator ewma", {"estimator": "ewma"}),
            4: ("seed 5", {"seed": 5}),
            5: ("estimator absmin literal", {"estimator": "absmin", "literal": True}),
            6: ("bandwidth 50mbit", {"bandwidth": 5e7}),
            7: ("bandwidth 100mbit rtt 11ms", {"bandwidth": 1e8, "rtt": 11_000}),
            8: ("limit 40", {"limit": 40}),
            9: ("limit auto n_1dpr 4 flows 6", {"limit": None, "n_1dpr": 4, "flows": 6}),
            14: ("estimator ewma-drain nogentle", {"estimator": "ewma-drain", "gentle": False}),
        },
        must=(*PHASES, "drop_change"),
    ),
]


ORACLE = Oracle(CASES, kernel=("absmin", "ecn, half the packets", "changed while it works"))


def expected(model: TwoRegionRed) -> dict[str, int]:
    """Return the counters that the statistics must show."""
    law = model.law
    counts = {
        "phase": model.phase + 1,
        "limit": law.limit,
        "bmin": law.bmin,
        "bflat": law.bflat,
        "target": law.target,
        "bmax": law.bmax,
        "n_1dpr": whole(law.n_1dpr),
        "flows": law.flows,
        "updates": model.controller.updates,
        "negative": model.controller.negative,
        "drop_limit": model.dropped_limit,
        "drop_change": model.dropped_change,
        "spared": model.spared,
        "marked": sum(model.marked),
    }
    for phase, name in ((LOW, "low"), (HIGH, "high"), (MAX, "max")):
        counts[f"dropped_{name}"] = model.dropped[phase]
        counts[f"marked_{name}"] = model.marked[phase]
    for phase, name in enumerate(("quiet", "low", "high", "max")):
        counts[f"entered_{name}"] = model.entered[phase]
    return counts


def step_model(
    model: TwoRegionRed, op: tuple, step: Step, after: Step, packet: int, when: int
) -> dict[str, int]:
    """Carry out an operation on the model at ``when``. Returns the kernel's statistics."""
    where = f"operation {step.i}, {op}"
    match op:
        case ("e", tos, segments):
            full = model.length and model.length + segments > model.law.limit
            model.enqueue(when, packet, tos, segments)
            assert step.rc == (errno.ENOBUFS if full else 0), where
        case ("d",):
            leaves = model.dequeue(when)
            assert step.out == ([leaves] if leaves else []), where
        case ("c", _, options, reseed):
            assert step.rc == 0, where
            model.change(options, when, reseed)
        case ("r",):
            assert step.rc == 0, where
            model.reset()
    assert step.qlen == len(model.queue), where
    stats = LISTS.statistics(step.xstats)
    want = expected(model)
    assert {name: stats[name] for name in want} == want, where

    for name, value in (
        ("ppd", model.controller.ppd),
        ("window", model.controller.window),
        ("pipe", model.law.pipe),
    ):
        assert near(stats[name] / 2**32, value, 1e-5, 1e-5), (where, name)
    # The kernel computes the estimate for the report, which is between the two operations.
    either = [model.estimator.estimate]
    later = copy.copy(model.estimator)
    later.advance(after.t, model.length)
    either.append(later.estimate)
    assert any(near(stats["q_est"] / 2**32, value, 1e-5, 1e-5) for value in either), (
        where,
        stats["q_est"] / 2**32,
        either,
    )
    return stats


def compare(case: Case, log: list[Step]) -> dict[str, int]:
    """Carry out a case's operations on the model. Returns the last statistics.

    A change happens at some time during the 16 us that tc takes, and a fifteenth of ABSMIN's
    interval may end in them. So two models continue, one changed at either end of this time, until
    one of them is wrong.
    """
    models = [TwoRegionRed(case.options)]
    packet, stats = 0, {}
    for op, step, after in zip(case.operations(), log, [*log[1:], log[-1]], strict=True):
        if op[0] == "c":
            tries = [(models[0], step.t), (copy.deepcopy(models[0]), after.t)]
        else:
            tries = [(model, step.t) for model in models]
        models, wrong = [], None
        for model, when in tries:
            try:
                stats = step_model(model, op, step, after, packet, when)
                models.append(model)
            except AssertionError as error:
                wrong = error
        if wrong and not models:
            raise wrong
        packet += op[0] == "e"
    return stats


@ORACLE.each
def test_every_decision_equals_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    stats = compare(case, steps)
    print(stats)
    if not run.designed:
        return
    for name in case.must:
        assert stats[name] > 0, f"the trace has no {name}, so it tests too little"
    if "dropped_max" in case.must:
        assert all(stats[f"entered_{phase}"] > 1 for phase in ("low", "high", "max"))
