# SPDX-License-Identifier: GPL-2.0
"""Compare every draw, drop, mark and departure of chokex with a model of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aqmlab.qdiscs import interface
from tests.oracle.chokex.model import Chokex
from tests.oracle.drive import Oracle, Run, Step, Trace, near
from tests.oracle.red_model import MARKS, PTIME, Q32, SIZE, CrowdCase, replay, reported
from tests.oracle.seeded_random import SeededRandom

LISTS = interface.read("chokex")
COUNTED = ("drawn", "matched", "victims", *MARKS)


@dataclass(frozen=True)
class Case(CrowdCase):
    """A case of chokex."""

    limit: int = 30
    max_th: int = 15
    flows: int = 30
    heavy: float = 0.2

    def words(self) -> str:
        return " ".join(
            name if value is True else f"{name.replace('regions', 'adaptive')} {value}"
            for name, value in self.model.items()
        )

    def build(self) -> Chokex:
        rest = {name: value for name, value in self.model.items() if name != "gentle"}
        red = self.red(PTIME, bool(self.model.get("gentle")))
        return Chokex(red, self.limit, SeededRandom(self.seed), **rest)

    def trace(self) -> Trace:
        options = (
            f"chokex limit {self.limit} min {self.min_th} max {self.max_th} "
            f"probability {self.max_p} weight {self.weight} bandwidth 20kbit avpkt 1000 "
            f"seed {self.seed} {self.words()}"
        )
        return Trace(options, [line for *_, line in self.operations(PTIME)], setup=self.setup)


MIXED = ("", "v6=1", "proto=tcp", "mark=5", "v6=1 mark=6", "v6=1 proto=tcp", "vlan=7")
# Commands that add VLAN tags, as a VLAN device does, to packets with these marks.
VLANS = (
    "tc qdisc add dev g0 clsact",
    "tc filter add dev g0 egress protocol all handle 5 fw action vlan push id 5",
    "tc filter add dev g0 egress protocol all handle 6 fw action vlan push id 6",
)
BASE = Case("CHOKe", 1, ("victims", "early_drop", "forced_drop"))
CASES = [
    BASE,
    replace(BASE, name="M-CHOKe", seed=2, model={"candidates": 5}),
    replace(BASE, name="A-CHOKe", seed=3, model={"regions": 5}),
    replace(
        BASE,
        name="A-CHOKe, gentle",
        seed=4,
        min_th=2,
        max_th=4,
        load=2.5,
        model={"regions": 2, "gentle": True},
    ),
    replace(
        BASE,
        name="families, VLAN, TCP and UDP",
        seed=5,
        families=MIXED,
        flows=4,
        setup=VLANS,
        model={"candidates": 2},
    ),
    replace(
        BASE,
        name="ecn",
        seed=6,
        tos=(0, 1, 2, 3, 0xB8),
        model={"ecn": True},
        wants=("early_drop", "early_mark", "forced_drop", "forced_mark", "victims"),
    ),
    replace(
        BASE,
        name="ecn harddrop",
        seed=7,
        tos=(0, 2),
        model={"ecn": True, "harddrop": True},
        wants=("early_drop", "early_mark", "forced_drop"),
    ),
    replace(
        BASE,
        name="ecn nodrop",
        seed=8,
        tos=(0, 2),
        model={"ecn": True, "nodrop": True},
        wants=("spared", "early_mark", "forced_mark", "drop_limit"),
    ),
    replace(
        BASE,
        name="the limit before max",
        seed=9,
        limit=12,
        max_th=40,
        wants=("drop_limit", "victims", "early_drop"),
    ),
    replace(
        BASE,
        name="64 candidates of a short queue",
        seed=10,
        limit=8,
        min_th=1,
        max_th=4,
        model={"candidates": 64},
        wants=("victims",),
    ),
    replace(
        BASE, name="a filter's class is the flow", seed=11, filtered=True, model={"candidates": 3}
    ),
    replace(
        BASE,
        name="live change",
        seed=12,
        load=2.0,
        weight=0.02,
        wants=("drop_change", "drop_limit", "victims"),
        flows=200,
        max_th=60,
        min_th=30,
        limit=60,
        changes={
            400: ("limit 20", {"limit": 20}),
            800: ("limit 64 candidates 4", {"limit": 64, "candidates": 4}),
            1200: ("adaptive 3", {"regions": 3}),
            1600: ("limit 10", {"limit": 10}),
            2000: ("seed 99 limit 30", {"limit": 30, "seed": 99}),
        },
    ),
]


ORACLE = Oracle(
    CASES, kernel=("CHOKe", "A-CHOKe", "families, VLAN, TCP and UDP", "ecn", "live change")
)


def apply(model: Chokex, change: dict[str, int], _now: int) -> None:
    if "limit" in change:
        model.set_limit(change["limit"])
    if "candidates" in change:
        model.candidates, model.regions = change["candidates"], 0
    if "regions" in change:
        model.regions = change["regions"]
    if "seed" in change:
        model.rng = SeededRandom(change["seed"])


@ORACLE.each
def test_every_decision_equals_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    model = case.build()
    for step, until, where in replay(model, case.operations(PTIME), steps, apply):
        assert step.backlog == SIZE * len(model.queue), where
        seen = LISTS.statistics(step.xstats)
        assert {n: seen[n] for n in COUNTED} == {n: model.counts[n] for n in COUNTED}, where
        assert reported(model.red, step.t, until, seen["avg"] / Q32), where
        red = replace(model.red, avg=seen["avg"] / Q32)
        assert near(seen["probability"] / Q32, red.probability(), 1e-6), where
        above = red.avg >= red.min_th
        assert seen["candidates"] == (replace(model, red=red).draws() if above else 0), where
        assert seen["segments"] == len(model.queue), where
        assert seen["count"] == model.red.count, where
        assert seen["dropped_bytes"] == SIZE * step.drops, where
        assert seen["ptime"] == PTIME
        assert (seen["min_th"], seen["max_th"]) == (model.red.min_th, model.red.max_th)
        assert near(seen["max_p"] / Q32, model.red.max_p, 1e-9), where

    case.exercised(run, model.counts)
