# SPDX-License-Identifier: GPL-2.0
"""Compare every discard and departure of qsdrr with a model of figure 1 of the paper.

The cases run in user space with many seeds, and on the kernel with one.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from aqmlab.qdiscs import interface
from tests.oracle import fair_queueing
from tests.oracle.drive import RESET, Step, Trace, drive_many
from tests.oracle.fair_queueing import BIG_MTU, FULL, GSO, Packet, Places, Runs, Shapes, Size
from tests.oracle.qsdrr.model import Qsdrr

LISTS = interface.read("qsdrr")


@dataclass(frozen=True)
class Op:
    """One line of a trace: e(nqueue), d(equeue), r(eset), or c(hange)."""

    kind: str
    queue: int = 0
    size: Size = (0, 0)
    packets: int = 0
    hashed: int | None = None
    change: tuple[tuple[str, int], ...] = ()

    def line(self) -> str:
        match self.kind:
            case "e":
                return fair_queueing.arrival(self.queue, self.size, self.hashed)
            case "d":
                return f"d {self.packets}"
            case "r":
                return RESET
        words = " ".join(f"{name} {value}" for name, value in self.change)
        words = words.replace("hysteresis 1", "hysteresis").replace("hysteresis 0", "nohysteresis")
        return f"c tc qdisc change dev g0 root qsdrr {words}"


@dataclass(frozen=True)
class Case:
    """A trace with packets of ``sizes`` for ``queues`` queues, and ``load`` arrivals per departure.

    changes: options that are set during the trace, one after the other
    """

    name: str
    limit: int
    quantum: int
    queues: int
    sizes: tuple[Size, ...]
    load: float
    hysteresis: bool = True
    steps: int = 1500
    seed: int = 1
    memory_limit: int = 32 << 20
    resets: bool = False
    changes: tuple[tuple[tuple[str, int], ...], ...] = ()

    def operations(self) -> list[Op]:
        """Return the operations, drawn from the seed.

        A queue gets its arrivals in bursts, and the busy queues change, so that queues become the
        longest and the shortest in turn.
        """
        rng = random.Random(self.seed)
        hashes = random.Random(f"hashed {self.seed}")
        ops: list[Op] = []
        for queue in range(2, self.queues + 1, 2):  # for Places
            ops += [Op("e", queue, self.sizes[0], hashed=0), Op("d", packets=1)]
        changes = list(self.changes)
        weights = [1.0] * self.queues
        while len(ops) < self.steps:
            if rng.random() < 0.05:
                weights = [rng.random() ** 4 for _ in range(self.queues)]
            queue = rng.choices(range(1, self.queues + 1), weights)[0]
            for _ in range(rng.randint(1, 4)):
                hashed = fair_queueing.draw_hashed(hashes, queue)
                ops.append(Op("e", queue, rng.choice(self.sizes), hashed=hashed))
            while rng.random() < 1 / (1 + self.load):
                ops.append(Op("d", packets=rng.randint(1, 3)))
            if rng.random() < 0.002:
                ops.append(Op("d", packets=2 * self.limit))
            if self.resets and rng.random() < 0.02:
                ops.append(Op("r"))
            if changes and len(ops) > self.steps * (1 - len(changes) / (len(self.changes) + 1)):
                ops.append(Op("c", change=changes.pop(0)))
        return ops[: self.steps]

    def trace(self) -> Trace:
        options = f"limit {self.limit} quantum {self.quantum} flows 1024 nosplit_gso"
        options += f" memory_limit {self.memory_limit}"
        options += "" if self.hysteresis else " nohysteresis"
        lines = [op.line() for op in self.operations()]
        return Trace(f"qsdrr {options}", lines, classes=True, before=BIG_MTU)

    def model(self) -> Qsdrr:
        """Return the model for this case."""
        return Qsdrr(
            limit=self.limit,
            quantum=self.quantum,
            hysteresis=self.hysteresis,
            memory_limit=self.memory_limit,
        )


MIXED: tuple[Size, ...] = ((64, 0), (200, 0), (576, 0), (1000, 0), (1514, 0))
JUMBO: tuple[Size, ...] = ((64, 0), (1514, 0), (9014, 0))
SIZES = sorted({*FULL, *MIXED, *JUMBO, *GSO})
CASES = [
    Case("full-size packets", 50, 1514, 10, FULL, 1.0),
    Case("full-size packets, overload", 50, 1514, 30, FULL, 2.0, seed=2),
    Case("mixed sizes", 40, 1514, 8, MIXED, 1.5, seed=3),
    Case("small quantum", 40, 300, 8, MIXED, 1.0, seed=4),
    Case("large quantum", 40, 9000, 8, MIXED, 1.0, seed=5),
    Case("two queues", 10, 1514, 2, MIXED, 1.5, seed=6),
    Case("more queues than slots", 10, 1514, 40, FULL, 1.5, seed=7),
    Case("one packet of buffer", 1, 1514, 5, FULL, 1.0, steps=400, seed=8),
    Case("plain DRR", 50, 1514, 10, FULL, 1.5, hysteresis=False, seed=9),
    Case("plain DRR, mixed sizes", 40, 1514, 8, MIXED, 1.5, hysteresis=False, seed=10),
    # A jumbo packet needs the memory of many small ones: several discards per arrival.
    Case("memory", 1000, 1514, 8, JUMBO, 1.5, seed=11, memory_limit=60000),
    Case(
        "memory, plain DRR",
        1000,
        1514,
        8,
        JUMBO,
        1.5,
        hysteresis=False,
        seed=12,
        memory_limit=60000,
    ),
    Case("memory and slots", 25, 1514, 8, JUMBO, 1.5, seed=13, memory_limit=60000),
    Case("larger than the memory", 25, 1514, 3, JUMBO, 1.5, seed=14, memory_limit=9000),
    Case("resets", 20, 1514, 8, MIXED, 1.5, seed=15, resets=True),
    Case("GSO", 60, 1514, 8, GSO, 1.2, seed=16),
    Case("GSO, small quantum", 60, 256, 8, GSO, 1.0, seed=17),
    Case("GSO, few slots", 20, 1514, 8, GSO, 1.2, seed=18),
    Case("GSO, memory", 1000, 1514, 8, GSO, 1.2, seed=19, memory_limit=60000),
    Case(
        "changes",
        60,
        1514,
        8,
        MIXED,
        2.5,
        seed=20,
        changes=(
            (("limit", 10),),
            (("hysteresis", 0), ("limit", 40)),
            (("memory_limit", 9000),),
            (("memory_limit", 100000), ("hysteresis", 1)),
            (("limit", 1),),
            (("limit", 30), ("hysteresis", 0)),
        ),
    ),
]


@pytest.fixture(scope="module")
def on_kernel() -> tuple[Runs, Shapes]:
    return fair_queueing.run_all("qsdrr", {case.name: case.trace() for case in CASES}, SIZES)


@pytest.fixture(scope="module")
def user_shapes() -> Shapes:
    return fair_queueing.run_all("qsdrr", {}, SIZES, "user")[1]


def apply(model: Qsdrr, op: Op, packet: int, shapes: Shapes) -> tuple[bool, list[int]]:
    """Carry out an operation. Returns whether the arrival was queued, and the packets that left."""
    match op.kind:
        case "e":
            shape = shapes[op.size]
            came = Packet(packet, shape.size, shape.truesize, shape.segments)
            return model.enqueue(op.queue, came), []
        case "r":
            model.reset()
        case "c":
            model.change(**{name: value for name, value in op.change})  # type: ignore[arg-type]
        case _:
            left = [model.dequeue() for _ in range(op.packets)]
            return True, [number for number in left if number is not None]
    return True, []


def compare(case: Case, steps: Sequence[Step], shapes: Shapes) -> None:
    print("seed", case.seed)
    model = case.model()
    packet = 0
    overflows = 0
    places = Places()
    for op, step in zip(case.operations(), steps, strict=True):
        where = f"step {step.i} {op}"
        op = replace(op, queue=places.number(op.queue, op.hashed, step))
        before = len(model.victims)
        queued, left = apply(model, op, packet, shapes)
        packet += op.kind == "e"
        overflows += op.kind == "e" and len(model.victims) > before
        assert step.rc == (0 if queued else errno.ENOBUFS), where
        assert [number for number, _ in step.out] == left, where
        assert step.drops == len(model.victims), where

        stats = LISTS.statistics(step.xstats)
        assert (stats["q_chosen"], stats["q"]) == (model.chosen, model.q or 0), where
        assert step.overlimits == overflows, where
        for own in fair_queueing.checked(model, step, LISTS, where).values():
            assert own["is_q"] == (own["queue"] == model.q), where


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_discard_and_departure_equals_the_model(
    case: Case, on_kernel: tuple[Runs, Shapes]
) -> None:
    runs, shapes = on_kernel
    compare(case, runs[case.name], shapes)


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_in_user_space(case: Case, seed: int, user_shapes: Shapes) -> None:
    case = replace(case, seed=100 * seed + case.seed)
    compare(case, drive_many([case.trace()], engine="user")[0], user_shapes)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_trace_exercises_the_rule(case: Case, user_shapes: Shapes) -> None:
    """A trace without overflow, or one in which Q never changes, would prove nothing."""
    model = case.model()
    kept = several = emptied = debts = 0
    for n, op in enumerate(case.operations()):
        before = model.chosen, len(model.victims), model.qlen
        apply(model, op, n, user_shapes)
        if op.kind == "e":
            kept += model.chosen == before[0] and len(model.victims) > before[1]
            several += len(model.victims) > before[1] + 1
        emptied += op.kind == "r" and before[2] > 0
        debts += any(
            queue.account <= -model.quantum or (not queue.packets and queue.account <= 0)
            for queue in model.queues.values()
        )
    assert len(model.victims) > 100
    assert model.chosen > 10
    if case.hysteresis and case.limit > 1:
        assert kept > 10, "Q was never kept from one overflow to the next"
    if case.memory_limit < 1 << 20 or any(segment for _, segment in case.sizes):
        assert several > 10 or model.causes["oversize"] > 10
    if case.resets:
        assert emptied > 5
    if case.queues > case.limit > 1:
        assert model.late, "no search ended early"
    if case.changes:
        assert model.causes["change"] > 10
    if case.limit > 1 and case.quantum < 9000:
        assert debts > 5, "too few queues waited for a round, or had a debt when empty"
