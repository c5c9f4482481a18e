# SPDX-License-Identifier: GPL-2.0
"""Compare every drop, mark, random victim and departure of cbt with a model of the paper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from aqmlab.qdiscs import interface
from tests.oracle.cbt.model import CLASSES, OTHER, TAGGED, TCP, Cbt, share_law
from tests.oracle.drive import Oracle, Run, Step, Trace, near
from tests.oracle.red_model import MARKS, PTIME, Q32, SIZE, Red, replay, reported
from tests.oracle.seeded_random import SeededRandom

UNIT = 256
LISTS = interface.read("cbt")
COUNTED = ("tagged_drop", "other_drop", "victims", *MARKS)
MINOR = {TCP: 1, TAGGED: 2, OTHER: 3}


# (class, fields of the packet), by the configured classifier
BY_DSCP = (
    (TCP, "proto=tcp tos=0"),
    (TCP, "proto=tcp tos=0xb8"),
    (TCP, "proto=tcp tos=0xb8 v6=1"),
    (TAGGED, "tos=0xb8"),
    (TAGGED, "tos=0x88 v6=1"),
    (TAGGED, "tos=0xb9"),
    (OTHER, "tos=0"),
    (OTHER, "tos=0x28 v6=1"),
    (OTHER, "tos=0xbc"),
    (OTHER, "mark=0x10"),
)
BY_MARK = (
    (TCP, "proto=tcp mark=0x10"),
    (TCP, "proto=tcp v6=1"),
    (TCP, "proto=tcp vlan=7"),
    (TAGGED, "mark=0x10"),
    (TAGGED, "mark=0x3f"),
    (OTHER, "mark=0x20"),
    (OTHER, "tos=0xb8"),
    (OTHER, "v6=1"),
)
BY_FILTER = (
    (TCP, "prio=0x10001"),
    (TAGGED, "prio=0x10002 proto=tcp"),
    (OTHER, "prio=0x10003 proto=tcp"),
    (OTHER, "prio=0x10004"),
    (TCP, "prio=0x10000 proto=tcp"),
)
BY_ECN = (
    (TCP, "proto=tcp tos=0"),
    (TCP, "proto=tcp tos=1"),
    (TCP, "proto=tcp tos=2"),
    (TCP, "proto=tcp tos=3"),
    (TAGGED, "tos=0xba"),
    (OTHER, "tos=2"),
)


@dataclass(frozen=True)
class Case:
    """Options and traffic. ``wants`` names counters that must change in this case."""

    name: str
    seed: int
    wants: tuple[str, ...]
    packets: tuple[tuple[str, str], ...] = BY_DSCP
    tag: str = "dscp 46,34"
    limit: int = 60
    low: float = 8
    high: float = 12
    tagged: float = 6.5
    other: float = 4.25
    by_hand: bool = True
    max_p: float = 0.2
    weight: float = 0.05
    class_weight: float = 0.06
    load: float = 1.6
    steps: int = 3000
    model: dict[str, bool] = field(default_factory=dict)
    gentle: bool = False
    changes: dict[int, tuple[str, dict[str, float]]] = field(default_factory=dict)

    def options(self) -> str:
        words = [self.tag, *(n for n in self.model if n not in ("red_all", "victim_arrival"))]
        words.append(f"victim {'arrival' if self.model.get('victim_arrival') else 'random'}")
        if self.model.get("red_all"):
            words.append("red all")
        if self.gentle:
            words.append("gentle")
        if self.by_hand:
            words.append(
                f"min {self.low} max {self.high} threshold_tagged {self.tagged} "
                f"threshold_other {self.other}"
            )
        else:
            # 25.6 packets in total; min is 4/5 of TCP's threshold
            words.append("latency 10240ms share_tcp 0.5 share_tagged 0.3 share_other 0.2")
        return (
            f"cbt limit {self.limit} bandwidth 20kbit packet_tcp {SIZE} packet_tagged {SIZE} "
            f"packet_other {SIZE} probability {self.max_p} weight {self.weight} "
            f"class_weight {self.class_weight} seed {self.seed} "
            f"{' '.join(words)}"
        )

    def thresholds(self) -> tuple[float, float, float, float]:
        if self.by_hand:
            given = (self.low, self.high, self.tagged, self.other)
            return tuple(round(UNIT * packets) / UNIT for packets in given)
        # tc-cbt(8): min and max of TCP are 0.9 and 1.1 times its derived threshold.
        tcp, tagged, other = (
            round(UNIT * share_law(share, 2500, 10.24, SIZE)) for share in (0.5, 0.3, 0.2)
        )
        high = tcp + tcp // 10
        return 9 * high // 11 / UNIT, high / UNIT, tagged / UNIT, other / UNIT

    def build(self) -> Cbt:
        low, high, tagged, other = self.thresholds()

        def average(weight: float) -> Red:
            return Red(
                low,
                high,
                round(self.max_p * Q32) / Q32,
                round(weight * Q32) / Q32,
                PTIME,
                self.gentle,
            )

        averages = {
            TCP: average(self.weight),
            TAGGED: average(self.class_weight),
            OTHER: average(self.class_weight),
        }
        return Cbt(
            averages,
            average(self.weight),
            {TAGGED: tagged, OTHER: other},
            self.limit,
            SeededRandom(self.seed),
            **self.model,
        )

    def operations(self) -> Iterator[tuple[str, object, str]]:
        """Yield (kind, arguments of the model, line of the trace), drawn from the seed.

        The busy class changes, so that averages cross their thresholds in both directions. There
        are idle periods, of one class and of all.
        """
        rng = random.Random(self.seed)
        load, weights = self.load, [1.0] * len(self.packets)
        for step in range(self.steps):
            if step % 1000 == 0:
                # From here on idle times are whole packet times, but their sum is not.
                yield "r", None, "r"
                yield "t", None, f"t {round(0.37 * PTIME)}"
            if step in self.changes:
                options, change = self.changes[step]
                yield "c", change, f"c tc qdisc change dev g0 root handle 1: cbt {options}"
                continue
            if step % 100 == 0:
                load = self.load * rng.choice((0.4, 1, 1, 2))
                favoured = rng.choice(CLASSES)
                weights = [
                    rng.random() * (3 if kind == favoured else 1) * (rng.random() < 0.8)
                    for kind, _ in self.packets
                ]
                weights[rng.randrange(len(weights))] += 0.1
            if rng.random() < 0.01:
                yield "t", None, f"t {rng.randint(0, 40) * PTIME}"
            elif rng.random() < 0.003:
                yield "d", 1000, "d 1000"
            elif rng.random() < load / (1 + load):
                kind, fields = rng.choices(self.packets, weights)[0]
                tos = next((int(w[4:], 0) for w in fields.split() if w.startswith("tos=")), 0)
                yield "e", (kind, tos), f"e flow={rng.randrange(5)} len={SIZE} {fields}"
            else:
                yield "d", 1, "d 1"
        yield "d", 1000, "d 1000"

    def trace(self) -> Trace:
        return Trace(self.options(), [line for *_, line in self.operations()], classes=True)


BASE = Case("red tcp", 1, ("tagged_drop", "other_drop", "early_drop", "forced_drop", "victims"))
CASES = [
    BASE,
    replace(BASE, name="red all", seed=2, model={"red_all": True}, low=12, high=20),
    replace(BASE, name="thresholds from the shares", seed=3, by_hand=False, load=2.2, steps=6000),
    replace(BASE, name="tagged by mark", seed=4, packets=BY_MARK, tag="mark 0x10/0x10"),
    replace(BASE, name="a filter decides", seed=5, packets=BY_FILTER),
    replace(
        BASE,
        name="a full queue",
        seed=6,
        limit=14,
        tagged=5.5,
        load=2.2,
        wants=("drop_limit", "victims", "tagged_drop"),
    ),
    replace(
        BASE,
        name="one packet",
        seed=7,
        limit=1,
        low=0.25,
        high=0.75,
        tagged=0.3,
        other=0.2,
        wants=("victims", "tagged_drop", "other_drop"),
    ),
    replace(
        BASE,
        name="ecn",
        seed=8,
        packets=BY_ECN,
        low=6,
        high=14,
        model={"ecn": True},
        wants=("early_mark", "forced_mark", "early_drop", "forced_drop", "tagged_drop"),
    ),
    replace(
        BASE,
        name="ecn harddrop",
        seed=9,
        packets=BY_ECN,
        model={"ecn": True, "harddrop": True},
        wants=("early_mark", "forced_drop"),
    ),
    replace(
        BASE,
        name="ecn nodrop",
        seed=10,
        packets=BY_ECN,
        limit=40,
        model={"ecn": True, "nodrop": True, "red_all": True},
        wants=("spared", "forced_mark"),
    ),
    replace(
        BASE,
        name="victim arrival",
        seed=13,
        model={"victim_arrival": True},
        wants=("tagged_drop", "other_drop", "early_drop", "forced_drop"),
    ),
    replace(BASE, name="gentle", seed=11, gentle=True, low=3, high=5, load=2.5),
    replace(
        BASE,
        name="live change",
        seed=12,
        limit=50,
        high=30,
        low=25,
        tagged=20,
        other=20,
        load=2.5,
        wants=("drop_change", "drop_limit"),
        changes={
            500: ("limit 20", {"limit": 20}),
            1000: ("limit 60", {"limit": 60}),
            1500: ("threshold_other 5 seed 77", {"other": 5, "seed": 77}),
            2000: ("limit 10", {"limit": 10}),
            2500: ("red all", {"red_all": True}),
        },
    ),
]


ORACLE = Oracle(CASES, kernel=("red tcp", "tagged by mark", "a filter decides", "live change"))


def apply(model: Cbt, change: dict[str, float], now: int) -> None:
    if "limit" in change:
        model.set_limit(int(change["limit"]), now)
    if "other" in change:
        model.thresholds[OTHER] = change["other"]
    if "red_all" in change:
        model.set_red_all(now)
    if "seed" in change:
        model.rng = SeededRandom(int(change["seed"]))


@ORACLE.each
def test_every_decision_equals_the_model(run: Run[Case], steps: list[Step]) -> None:
    case = run.case
    model = case.build()
    for step, until, where in replay(model, case.operations(), steps, apply):
        assert step.backlog == SIZE * len(model.queue), where
        seen = LISTS.statistics(step.xstats)
        assert {n: seen[n] for n in COUNTED} == {n: model.counts[n] for n in COUNTED}, where
        if model.red_all:
            assert reported(model.whole, step.t, until, seen["avg"] / Q32 / UNIT), where
        else:
            assert seen["avg"] == sum(seen[f"avg_{name}"] for name in CLASSES), where
        assert seen["dropped_bytes"] == SIZE * step.drops, where
        faced = model.whole if model.red_all else model.averages[TCP]
        faced = replace(faced, avg=seen["avg" if model.red_all else "avg_tcp"] / Q32 / UNIT)
        assert near(seen["probability"] / Q32, faced.probability(), 1e-6), where
        assert near(seen["max_p"] / Q32, case.max_p, 1e-9), where
        assert (seen["min_th"], seen["max_th"]) == (faced.min_th * UNIT, faced.max_th * UNIT)
        assert seen["limit"] == model.limit, where
        assert seen["segments"] == len(model.queue), where
        for name in CLASSES:
            cl = step.classes[MINOR[name]]
            own = LISTS.statistics(cl.xstats)
            held = model.held(name)
            avg = seen[f"avg_{name}"] / Q32 / UNIT
            assert seen[name] == cl.qlen == held, where
            assert cl.backlog == SIZE * held, where
            assert cl.drops == model.counts[f"{name} drops"], where
            assert own["arrivals"] == model.counts[f"{name} arrivals"], where
            assert own["random_drop"] == model.counts[f"{name} random"], where
            assert own["threshold_drop"] == model.counts[f"{name} threshold"], where
            threshold = model.thresholds.get(name, model.averages[TCP].max_th)
            assert own["threshold"] == round(threshold * UNIT), where
            assert own["segments"] == held, where
            assert own["early_drop"] == model.counts[f"{name} early"], where
            assert own["marked"] == model.counts[f"{name} marked"], where
            assert own["class_id"] == MINOR[name]
            assert reported(model.averages[name], step.t, until, avg), where
            assert reported(model.averages[name], step.t, until, own["avg"] / Q32 / UNIT), where

    unmoved = [name for name in case.wants if model.counts[name] < 10]
    assert not (run.designed and unmoved), f"the trace did not exercise {unmoved}: {model.counts}"
