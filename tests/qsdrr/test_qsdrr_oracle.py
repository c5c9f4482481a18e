# SPDX-License-Identifier: GPL-2.0
"""Every discard and every departure of the real qsdrr, against figure 1 in plain Python."""

from __future__ import annotations

import errno
import random
import struct
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pytest

from tests.drive import Engine, Oracle, Run, Step, Trace
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
    memory_limit: int = 32 << 20
    resets: bool = False

    def operations(self) -> list[tuple[str, int, int]]:
        """("e", queue, bytes), ("d", packets, 0) or ("r", 0, 0), drawn from the seed.

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
            if self.resets and rng.random() < 0.02:
                ops.append(("r", 0, 0))
        return ops[: self.steps]

    def trace(self) -> Trace:
        form = {
            "e": "e flow={0} len={1} prio={2}",
            "d": "d {0}",
            "r": "r",
        }
        lines = [form[kind].format(a, b, 0x10000 + a) for kind, a, b in self.operations()]
        options = f"limit {self.limit} quantum {self.quantum} flows 1024 {self.options}"
        options += f" memory_limit {self.memory_limit}"
        return Trace(f"qsdrr {options}", lines, classes=True, before=BIG_MTU)

    def model(self) -> Qsdrr:
        """The model that ought to behave the same."""
        return Qsdrr(
            limit=self.limit,
            quantum=self.quantum,
            hysteresis=self.hysteresis,
            memory_limit=self.memory_limit,
        )


FULL = (1514,)
MIXED = (64, 200, 576, 1000, 1514)
JUMBO = (64, 1514, 9014)
BIG_MTU = ("ip link set g0 mtu 9000",)
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
    # Room for a jumbo packet takes many small ones: several discards an arrival.
    Case("memory", "", 1000, 1514, True, 8, JUMBO, 1.5, seed=11, memory_limit=60000),
    Case(
        "memory, plain DRR",
        "nohysteresis",
        1000,
        1514,
        False,
        8,
        JUMBO,
        1.5,
        seed=12,
        memory_limit=60000,
    ),
    Case("memory and slots", "", 25, 1514, True, 8, JUMBO, 1.5, seed=13, memory_limit=60000),
    Case(
        "arrivals larger than the memory",
        "",
        25,
        1514,
        True,
        3,
        JUMBO,
        1.5,
        seed=14,
        memory_limit=9000,
    ),
    Case("resets", "", 20, 1514, True, 8, MIXED, 1.5, seed=15, resets=True),
]


# One packet of each size into empty queues.
SIZES = Trace(
    "qsdrr", [f"e len={size}" for size in sorted({*FULL, *MIXED, *JUMBO})], before=BIG_MTU
)
ORACLE = Oracle(
    CASES, kernel=("mixed sizes", "plain DRR", "memory and slots", "resets"),
    extra={"truesize": SIZES},
)  # fmt: skip


@cache
def truesizes(engine: Engine) -> dict[int, int]:
    """What is allocated for a packet of each size, bytes."""
    steps = ORACLE.extra(engine, "truesize")
    used = [0, *(QDISC.unpack_from(step.xstats, HEADER.size)[9] for step in steps)]
    sizes = sorted({*FULL, *MIXED, *JUMBO})
    grown = [after - before for before, after in pairwise(used)]
    assert all(size < true for size, true in zip(sizes, grown, strict=True))
    return dict(zip(sizes, grown, strict=True))


@ORACLE.each
def test_every_discard_and_departure_is_the_models(run: Run[Case], steps: list[Step]) -> None:
    case, sizes = run.case, truesizes(run.engine)
    model = case.model()
    packet = 0
    for op, step in zip(case.operations(), steps, strict=True):
        kind, a, b = op
        where = f"step {step.i} {op}"
        left: list[int] = []
        if kind == "e":
            queued = model.enqueue(a, packet, b, sizes[b])
            assert step.rc == (0 if queued else errno.ENOBUFS), where
            packet += 1
        elif kind == "r":
            assert step.rc == 0, where
            model.reset()
        else:
            left = [p for _ in range(a) if (p := model.dequeue()) is not None]
        assert [number for number, _ in step.out] == left, where
        assert step.qlen == model.qlen, where
        assert step.drops == len(model.victims), where

        stats = QDISC.unpack_from(step.xstats, HEADER.size)
        _, limit, memory, oversize, _, _, chosen, q, active, memory_used, _ = stats
        assert (chosen, q) == (model.chosen, model.q or 0), where
        assert {"limit": limit, "memory": memory, "oversize": oversize} == model.causes, where
        assert memory_used == model.memory, where

        state = {
            number: (
                len(queue.packets),
                queue.length,
                queue.dropped,
                number,
                queue.deficit,
                number == model.q,
            )
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
    model = case.model()
    kept = several = emptied = 0
    for n, (kind, a, b) in enumerate(case.operations()):
        if kind == "e":
            before = model.chosen, len(model.victims)
            model.enqueue(a, n, b, truesizes("user")[b])
            kept += model.chosen == before[0] and len(model.victims) > before[1]
            several += len(model.victims) > before[1] + 1
        elif kind == "r":
            emptied += model.qlen > 0
            model.reset()
        else:
            for _ in range(a):
                model.dequeue()
    assert len(model.victims) > 100
    assert model.chosen > 10
    if case.hysteresis and case.limit > 1:
        assert kept > 10, "Q was never kept from one overflow to the next"
    if case.memory_limit < 1 << 20:
        assert several > 10 or model.causes["oversize"] > 10
    if case.resets:
        assert emptied > 5
