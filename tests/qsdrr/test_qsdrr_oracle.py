# SPDX-License-Identifier: GPL-2.0
"""Every discard and every departure of the real qsdrr, against figure 1 in plain Python."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

import pytest

from tests.drive import Step, Trace, drive_many
from tests.qsdrr.model import Qsdrr

HEADER = struct.Struct("<II")
QDISC = struct.Struct("<QIIIIIIIIII")
CLASS = struct.Struct("<IiII")


@dataclass(frozen=True)
class Case:
    """A trace: packets of ``sizes`` bytes for ``queues`` queues, ``load`` arrivals a departure."""

    name: str
    options: str
    limit: int
    quantum: int
    hysteresis: bool
    queues: int
    sizes: tuple[int, ...]
    load: float
    steps: int = 1500
    seed: int = 1

    def operations(self) -> list[tuple[str, int, int]]:
        """("e", queue, bytes) or ("d", packets, 0), drawn from the seed.

        The arrivals of a queue come in runs, and which queues are busy changes, so that
        queues become longest and shortest in turn.
        """
        rng = random.Random(self.seed)
        ops: list[tuple[str, int, int]] = []
        weights = [1.0] * self.queues
        while len(ops) < self.steps:
            if rng.random() < 0.05:
                weights = [rng.random() ** 4 for _ in range(self.queues)]
            queue = rng.choices(range(1, self.queues + 1), weights)[0]
            for _ in range(rng.randint(1, 4)):
                ops.append(("e", queue, rng.choice(self.sizes)))
            while rng.random() < 1 / (1 + self.load):
                ops.append(("d", rng.randint(1, 3), 0))
            if rng.random() < 0.002:
                ops.append(("d", 2 * self.limit, 0))
        return ops[: self.steps]

    def trace(self) -> Trace:
        lines = [
            f"e flow={a} len={b} prio={0x10000 + a}" if kind == "e" else f"d {a}"
            for kind, a, b in self.operations()
        ]
        options = f"limit {self.limit} quantum {self.quantum} flows 1024 {self.options}"
        return Trace(f"qsdrr {options}", lines, classes=True)


FULL = (1514,)
MIXED = (64, 200, 576, 1000, 1514)
CASES = [
    Case("full-size packets", "", 50, 1514, True, 10, FULL, 1.0),
    Case("full-size packets, overload", "", 50, 1514, True, 30, FULL, 2.0, seed=2),
    Case("mixed sizes", "", 40, 1514, True, 8, MIXED, 1.5, seed=3),
    Case("small quantum", "", 40, 300, True, 8, MIXED, 1.0, seed=4),
    Case("large quantum", "", 40, 9000, True, 8, MIXED, 1.0, seed=5),
    Case("two queues", "", 10, 1514, True, 2, MIXED, 1.5, seed=6),
    Case("more queues than slots", "", 10, 1514, True, 40, FULL, 1.5, seed=7),
    Case("one packet of buffer", "", 1, 1514, True, 5, FULL, 1.0, steps=400, seed=8),
    Case("plain DRR", "nohysteresis", 50, 1514, False, 10, FULL, 1.5, seed=9),
    Case("plain DRR, mixed sizes", "nohysteresis", 40, 1514, False, 8, MIXED, 1.5, seed=10),
]


@pytest.fixture(scope="module")
def runs() -> dict[str, list[Step]]:
    """All traces in one boot."""
    steps = drive_many([case.trace() for case in CASES])
    return {case.name: got for case, got in zip(CASES, steps, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_discard_and_departure_is_the_models(
    case: Case, runs: dict[str, list[Step]]
) -> None:
    print("seed", case.seed)
    model = Qsdrr(limit=case.limit, quantum=case.quantum, hysteresis=case.hysteresis)
    packet = 0
    for op, step in zip(case.operations(), runs[case.name], strict=True):
        kind, a, b = op
        left: list[int] = []
        if kind == "e":
            assert step.rc == 0
            model.enqueue(a, packet, b)
            packet += 1
        else:
            left = [p for _ in range(a) if (p := model.dequeue()) is not None]
        where = f"step {step.i} {op}"
        assert [number for number, _ in step.out] == left, where
        assert step.qlen == model.qlen, where
        assert step.drops == len(model.victims), where

        _, _, _, _, _, _, overflows, chosen, q, active, _, _ = (
            *HEADER.unpack_from(step.xstats),
            *QDISC.unpack_from(step.xstats, HEADER.size)[:5],
            *QDISC.unpack_from(step.xstats, HEADER.size)[6:],
        )
        assert (chosen, q) == (model.chosen, model.q or 0), where

        state = {
            number: (len(queue.packets), queue.length, queue.dropped, number, queue.deficit,
                     number == model.q)
            for number, queue in model.queues.items()
            if queue.packets
        }
        assert active == len(state), where
        seen = {}
        for minor, cl in step.classes.items():
            number, deficit, is_q, _ = CLASS.unpack_from(cl.xstats, HEADER.size)
            seen[minor] = (cl.qlen, cl.backlog, cl.drops, number, deficit, bool(is_q))
        assert seen == state, where


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_trace_exercises_the_rule(case: Case) -> None:
    """A trace without overflow, or where Q never changes, would prove nothing."""
    model = Qsdrr(limit=case.limit, quantum=case.quantum, hysteresis=case.hysteresis)
    kept = 0
    for n, (kind, a, b) in enumerate(case.operations()):
        if kind == "e":
            before = model.chosen, len(model.victims)
            model.enqueue(a, n, b)
            kept += model.chosen == before[0] and len(model.victims) > before[1]
        else:
            for _ in range(a):
                model.dequeue()
    assert len(model.victims) > 100
    assert model.chosen > 10
    if case.hysteresis and case.limit > 1:
        assert kept > 10, "Q was never kept from one overflow to the next"
