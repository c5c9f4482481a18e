# SPDX-License-Identifier: GPL-2.0
"""Compare every strike, drop, mark and departure of fred with a model of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from aqmlab.qdiscs import interface
from tests.oracle.drive import Oracle, Run, Step, Trace, near
from tests.oracle.fred.model import Fred
from tests.oracle.red_model import MARKS, Q32, CrowdCase, replay, reported
from tests.oracle.seeded_random import SeededRandom

KIND = interface.read("fred")
STRIKES = ("maxq_drop", "twice_drop", "avgcq_drop")
COUNTED = (*STRIKES, *MARKS)
# Half the time of 1000 bytes at 20 kb/s, in ns. The rate is low because the kernel's clock advances
# by a microsecond or two per operation. This must not change the number of idle packet times.
PTIME = 200_000_000


@dataclass(frozen=True)
class Case(CrowdCase):
    """A case of fred."""

    min_th: int = 6
    max_th: int = 12
    minq: int = 2
    flows: int = 12
    crowds: tuple[int, ...] = (0, 1, 1, 8)
    steps: int = 4000

    def build(self) -> Fred:
        return Fred(self.red(PTIME), self.limit, self.minq, SeededRandom(self.seed), **self.model)

    def trace(self) -> Trace:
        options = (
            f"fred limit {self.limit} min {self.min_th} max {self.max_th} minq {self.minq} "
            f"probability {self.max_p} weight {self.weight} bandwidth 20kbit avpkt 1000 "
            f"nosplit_gso seed {self.seed} {self.words()}"
        )
        return Trace(options, [line for *_, line in self.operations(PTIME)])


MIXED = ("", "v6=1", "proto=tcp", "v6=1 proto=tcp")
BASE = Case("FRED", 1, ("maxq_drop", "avgcq_drop", "early_drop"))
ECN = replace(
    BASE,
    tos=(0, 1, 2, 3, 0xB8),
    max_p=0.6,
    model={"ecn": True},
    wants=("maxq_drop", "early_drop", "early_mark"),
)
TAIL = {"two_packet": False}
CASES = [
    BASE,
    replace(
        BASE,
        name="without two-packet mode",
        seed=2,
        model=TAIL,
        wants=("maxq_drop", "twice_drop", "avgcq_drop", "early_drop", "forced_drop"),
    ),
    replace(
        BASE,
        name="many flows in a small buffer",
        seed=3,
        limit=20,
        flows=60,
        load=2.0,
        min_th=5,
        max_th=10,
        wants=("maxq_drop", "drop_limit", "early_drop"),
    ),
    replace(BASE, name="minq of 4", seed=4, minq=4, limit=80, min_th=20, max_th=40, load=2.0),
    replace(BASE, name="all robust", seed=5, minq=1, max_p=0.9),
    replace(BASE, name="families, TCP and UDP", seed=6, families=MIXED, flows=4),
    replace(BASE, name="a filter's class is the flow", seed=7, filtered=True),
    replace(ECN, name="ecn", seed=8),
    replace(
        ECN,
        name="ecn harddrop, no two packets",
        seed=9,
        tos=(0, 2),
        model={"ecn": True, "harddrop": True, **TAIL},
        wants=("early_mark", "forced_drop", "maxq_drop"),
    ),
    replace(
        ECN,
        name="ecn nodrop, no two packets",
        seed=10,
        tos=(0, 2),
        limit=16,
        model={"ecn": True, "nodrop": True, **TAIL},
        wants=("spared", "early_mark", "forced_mark", "drop_limit"),
    ),
    replace(
        BASE, name="GSO", seed=11, gso=0.3, load=0.7, limit=60, min_th=12, max_th=24, max_p=0.6
    ),
    replace(
        BASE,
        name="GSO packets larger than the limit",
        seed=12,
        gso=0.3,
        load=0.7,
        limit=8,
        min_th=4,
        max_th=7,
        wants=("maxq_drop", "drop_limit"),
    ),
    replace(
        BASE,
        name="the limit before max",
        seed=13,
        limit=9,
        max_th=40,
        wants=("drop_limit", "maxq_drop"),
    ),
    replace(
        BASE,
        name="live change",
        seed=14,
        load=2.0,
        flows=100,
        limit=60,
        min_th=15,
        max_th=30,
        max_p=0.6,
        wants=("drop_change", "drop_limit", "maxq_drop", "early_drop"),
        changes={
            **{
                500 * n + 140: (f"limit {limit}", {"limit": limit})
                for n, limit in enumerate((20, 64, 10, 200, 5, 60, 12))
            },
            300: ("min 5 max 10", {"min_th": 5, "max_th": 10}),
            800: ("minq 6", {"minq": 6}),
            1200: ("notwo_packet", {"two_packet": False}),
            1600: ("two_packet seed 99", {"two_packet": True, "seed": 99}),
            2000: ("min 15 max 30 minq 2", {"min_th": 15, "max_th": 30, "minq": 2}),
        },
    ),
]

ORACLE = Oracle(CASES, kernel=("FRED", "without two-packet mode", "ecn", "live change"))


def apply(model: Fred, change: dict[str, Any], now: int) -> None:
    for name, value in change.items():
        if name == "limit":
            model.set_limit(value, now)
        elif name == "seed":
            model.rng = SeededRandom(value)
        elif name in ("min_th", "max_th"):
            setattr(model.red, name, value)
        else:
            setattr(model, name, value)
    if not model.queue:
        model.red.idle(now)


@ORACLE.each
def test_every_decision_equals_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    model = case.build()
    most = 0
    for step, now, where in replay(model, case.operations(PTIME), steps, apply):
        seen = KIND.statistics(step.xstats)
        counted = {name: model.counts[name] for name in COUNTED}
        counted |= {
            "segments": model.length,
            "active": len(model.flows),
            "struck": model.struck,
            "count": model.red.count,
            "limit": model.limit,
            "minq": model.minq,
            "ptime": PTIME,
            "min_th": model.red.min_th,
            "max_th": model.red.max_th,
        }
        assert {name: seen[name] for name in counted} == counted, where
        assert reported(model.red, step.t, now, seen["avg"] / Q32), where
        shown = replace(model, red=replace(model.red, avg=seen["avg"] / Q32))
        assert near(seen["avgcq"] / Q32, shown.avgcq, 1e-6), where
        assert seen["maxq"] == shown.maxq(), where
        most = max(most, len(model.flows))

    assert model.counts["drops"] == sum(model.counts[n] for n in COUNTED if "drop" in n)
    case.exercised(run, model.counts)
    assert most > 2
