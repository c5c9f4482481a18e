# SPDX-License-Identifier: GPL-2.0
"""Compare every draw, drop, mark and departure of chokex with a model of the paper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from aqmlab.qdiscs import interface
from tests.oracle.chokex.model import Chokex
from tests.oracle.drive import Oracle, Run, Step, Trace
from tests.oracle.red_model import PTIME, Q32, SIZE, Red, replay, reported
from tests.oracle.seeded_random import SeededRandom

LISTS = interface.read("chokex")
COUNTED = (
    "drawn", "matched", "victims", "early_drop", "early_mark", "forced_drop", "forced_mark",
    "marked", "spared", "drop_limit", "drop_change",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Options and traffic. ``wants`` names counters that must change in this case."""

    name: str
    seed: int
    wants: tuple[str, ...]
    limit: int = 30
    min_th: int = 5
    max_th: int = 15
    max_p: float = 0.25
    weight: float = 0.05
    load: float = 1.3
    flows: int = 30
    steps: int = 3000
    families: tuple[str, ...] = ("",)
    tos: tuple[int, ...] = (0,)
    filtered: bool = False
    setup: tuple[str, ...] = ()
    model: dict[str, int | bool] = field(default_factory=dict)
    changes: dict[int, tuple[str, dict[str, int]]] = field(default_factory=dict)

    def options(self) -> str:
        words = []
        for name, value in self.model.items():
            name = {"regions": "adaptive"}.get(name, name)
            words.append(name if value is True else f"{name} {value}")
        return (
            f"chokex limit {self.limit} min {self.min_th} max {self.max_th} "
            f"probability {self.max_p} weight {self.weight} bandwidth 20kbit avpkt 1000 "
            f"seed {self.seed} {' '.join(words)}"
        )

    def build(self) -> Chokex:
        gentle = bool(self.model.get("gentle"))
        rest = {name: value for name, value in self.model.items() if name != "gentle"}
        red = Red(
            self.min_th, self.max_th, round(self.max_p * Q32) / Q32,
            round(self.weight * Q32) / Q32, PTIME, gentle,
        )  # fmt: skip
        return Chokex(red, self.limit, SeededRandom(self.seed), **rest)

    def operations(self) -> Iterator[tuple[str, object, str]]:
        """Yield (kind, arguments of the model, line of the trace), drawn from the seed.

        There are one heavy flow and several light ones, idle periods, and bursts that make the
        average cross both thresholds in both directions.
        """
        rng = random.Random(self.seed)
        load = self.load
        for step in range(self.steps):
            if step % 1000 == 0:
                # From here on idle times are whole packet times, but their sum is not.
                yield "r", None, "r"
                yield "t", None, f"t {round(0.37 * PTIME)}"
            if step in self.changes:
                options, change = self.changes[step]
                yield "c", change, f"c tc qdisc change dev g0 root handle 1: chokex {options}"
                continue
            if step % 150 == 0:
                load = self.load * rng.choice((0.5, 1, 1, 2.5))
            if rng.random() < 0.004:
                yield "d", 1000, "d 1000"
                yield "t", None, f"t {rng.randint(0, 60) * PTIME}"
            elif rng.random() < load / (1 + load):
                flow = 0 if rng.random() < 0.2 else rng.randrange(1, self.flows)
                family = rng.choice(self.families)
                tos = rng.choice(self.tos)
                name = flow // 2 if self.filtered else (flow, family)
                prio = f" prio={0x10001 + flow // 2:#x}" if self.filtered else ""
                line = f"e flow={flow} len=1000 sport=7777 tos={tos} {family}{prio}"
                yield "e", (name, tos), line
            else:
                yield "d", 1, "d 1"
        yield "d", 1000, "d 1000"

    def trace(self) -> Trace:
        return Trace(self.options(), [line for *_, line in self.operations()], setup=self.setup)


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
    replace(BASE, name="A-CHOKe, gentle", seed=4, min_th=2, max_th=4, load=2.5,
            model={"regions": 2, "gentle": True}),
    replace(BASE, name="families, VLAN, TCP and UDP", seed=5, families=MIXED, flows=4,
            setup=VLANS, model={"candidates": 2}),
    replace(BASE, name="ecn", seed=6, tos=(0, 1, 2, 3, 0xB8), model={"ecn": True},
            wants=("early_drop", "early_mark", "forced_drop", "forced_mark", "victims")),
    replace(BASE, name="ecn harddrop", seed=7, tos=(0, 2), model={"ecn": True, "harddrop": True},
            wants=("early_drop", "early_mark", "forced_drop")),
    replace(BASE, name="ecn nodrop", seed=8, tos=(0, 2), model={"ecn": True, "nodrop": True},
            wants=("spared", "early_mark", "forced_mark", "drop_limit")),
    replace(BASE, name="the limit before max", seed=9, limit=12, max_th=40,
            wants=("drop_limit", "victims", "early_drop")),
    replace(BASE, name="64 candidates of a short queue", seed=10, limit=8, min_th=1, max_th=4,
            model={"candidates": 64}, wants=("victims",)),
    replace(BASE, name="a filter's class is the flow", seed=11, filtered=True,
            model={"candidates": 3}),
    replace(
        BASE, name="live change", seed=12, load=2.0, weight=0.02,
        wants=("drop_change", "drop_limit", "victims"), flows=200, max_th=60, min_th=30, limit=60,
        changes={
            400: ("limit 20", {"limit": 20}),
            800: ("limit 64 candidates 4", {"limit": 64, "candidates": 4}),
            1200: ("adaptive 3", {"regions": 3}),
            1600: ("limit 10", {"limit": 10}),
            2000: ("seed 99 limit 30", {"limit": 30, "seed": 99}),
        },
    ),
]  # fmt: skip


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
    for step, until, where in replay(model, case.operations(), steps, apply):
        assert step.backlog == SIZE * len(model.queue), where
        seen = LISTS.statistics(step.xstats)
        assert {n: seen[n] for n in COUNTED} == {n: model.counts[n] for n in COUNTED}, where
        assert reported(model.red, step.t, until, seen["avg"] / Q32), where
        red = replace(model.red, avg=seen["avg"] / Q32)
        assert seen["probability"] / Q32 == pytest.approx(red.probability(), abs=1e-6), where
        above = red.avg >= red.min_th
        assert seen["candidates"] == (replace(model, red=red).draws() if above else 0), where
        assert seen["segments"] == len(model.queue), where
        assert seen["count"] == model.red.count, where
        assert seen["dropped_bytes"] == SIZE * step.drops, where
        assert seen["ptime"] == PTIME
        assert (seen["min_th"], seen["max_th"]) == (model.red.min_th, model.red.max_th)
        assert seen["max_p"] / Q32 == pytest.approx(model.red.max_p, abs=1e-9)

    unmoved = [name for name in case.wants if model.counts[name] < 10]
    assert not (run.designed and unmoved), f"the trace did not exercise {unmoved}: {model.counts}"
