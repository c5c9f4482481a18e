# SPDX-License-Identifier: GPL-2.0
"""Compare every discard, departure and throughput of tdrr with a model of the paper.

If several queues are within an eighth of an octave of the highest throughput, the kernel may choose
any of them, and the model follows. The traces make this rare, and the test counts how often it
happens. The cases run in user space with many seeds, and on the kernel with one.
"""

from __future__ import annotations

import copy
import errno
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations

import pytest

from aqmlab.qdiscs import interface
from tests.oracle import fair_queueing
from tests.oracle.drive import RESET, Step, Trace, drive_many
from tests.oracle.fair_queueing import BIG_MTU, FULL, GSO, Packet, Places, Runs, Shapes, Size
from tests.oracle.tdrr.model import LAG, Refusal, Tdrr

LISTS = interface.read("tdrr")

MIXED: tuple[Size, ...] = tuple(
    (size, 0) for size in (64, 110, 190, 330, 576, 770, 1000, 1230, 1514)
)
JUMBO: tuple[Size, ...] = ((64, 0), (576, 0), (1514, 0), (3000, 0), (9014, 0))
SIZES = sorted({*FULL, *MIXED, *JUMBO, *GSO})
MS = 1_000_000

# Maximum time of an operation other than "t", "c" and "r", s. Reading the clock takes virtual time.
MAX_STEP_S = 20e-6
MAX_CHANGE_S = 1e-3


@dataclass(frozen=True)
class Op:
    """One line of a trace: e(nqueue), d(equeue), t(ime), c(hange) or r(eset)."""

    kind: str
    queue: int = 0
    size: Size = (0, 0)
    number: int = 0  # packets of a "d", ns of a "t"
    limit: int | None = None
    memory_limit: int | None = None
    time_constant_ms: int | None = None
    hashed: int | None = None

    def line(self) -> str:
        match self.kind:
            case "e":
                return fair_queueing.arrival(self.queue, self.size, self.hashed)
            case "c":
                words = ["c tc qdisc change dev g0 root tdrr"]
                words += [f"limit {self.limit}"] if self.limit else []
                words += [f"memory_limit {self.memory_limit}"] if self.memory_limit else []
                words += (
                    [f"time_constant {self.time_constant_ms}ms"] if self.time_constant_ms else []
                )
                return " ".join(words)
            case "r":
                return RESET
        return f"{self.kind} {self.number}"


@dataclass(frozen=True)
class Case:
    """A trace with packets of ``sizes`` for ``queues`` queues, and ``load`` arrivals per departure.

    pause: mean time between rounds, in time constants
    changes: options that are set during the trace, one after the other
    """

    name: str
    limit: int
    quantum: int
    queues: int
    sizes: tuple[Size, ...]
    load: float
    time_constant_ms: int = 1000
    pause: float = 0.3
    steps: int = 1200
    seed: int = 1
    memory_limit: int = 32 << 20
    changes: tuple[Op, ...] = ()
    sparse: bool = False
    drop_cut: float = 0.0

    def operations(self) -> list[Op]:
        """Return the operations, drawn from the seed.

        Few queues are busy at a time, and they change after about a time constant. Otherwise round
        robin would give all queues the same throughput.
        """
        rng = random.Random(self.seed)
        hashes = random.Random(f"hashed {self.seed}")
        ops: list[Op] = []
        for queue in range(2, self.queues + 1, 2):  # for Places
            ops += [Op("e", queue, self.sizes[0], hashed=0), Op("d", number=1)]
        ops.append(Op("t", number=20 * self.time_constant_ms * MS))
        weights = [1.0] * self.queues
        changes = list(self.changes)
        while len(ops) < self.steps:
            if rng.random() < 0.1:
                weights = [rng.random() ** 10 for _ in range(self.queues)]
            queue = rng.choices(range(1, self.queues + 1), weights)[0]
            for _ in range(rng.randint(1, 4)):
                hashed = fair_queueing.draw_hashed(hashes, queue)
                ops.append(Op("e", queue, rng.choice(self.sizes), hashed=hashed))
            while rng.random() < 1 / (1 + self.load):
                ops.append(Op("d", number=rng.choice((1, 1, 1, 2))))
                pause = rng.expovariate(1 / self.pause) * self.time_constant_ms
                ops.append(Op("t", number=1000 + round(pause * MS)))
            if rng.random() < 0.002:
                ops.append(Op("d", number=2 * self.limit))
            if rng.random() < 0.004:  # throughputs decay by a factor between 0.7 and 1e-17
                ops.append(
                    Op(
                        "t",
                        number=rng.randint(self.time_constant_ms // 3, 40 * self.time_constant_ms)
                        * MS,
                    )
                )
            if changes and len(ops) > self.steps * (1 - len(changes) / (len(self.changes) + 1)):
                ops.append(changes.pop(0))
        return ops[: self.steps]

    def trace(self) -> Trace:
        options = f"limit {self.limit} quantum {self.quantum} flows 1024 nosplit_gso"
        options += f" time_constant {self.time_constant_ms}ms memory_limit {self.memory_limit}"
        options += " sparse" if self.sparse else ""
        options += f" drop_cut {self.drop_cut}" if self.drop_cut else ""
        before = BIG_MTU if max(self.sizes) > (1514, 0) else ()
        lines = [op.line() for op in self.operations()]
        return Trace(f"tdrr {options}", lines, classes=True, before=before)

    def model(self) -> Tdrr:
        return Tdrr(
            limit=self.limit,
            quantum=self.quantum,
            memory_limit=self.memory_limit,
            time_constant=self.time_constant_ms / 1e3,
            sparse=self.sparse,
            drop_cut=self.drop_cut,
        )


CASES = [
    Case("full-size packets", 50, 1514, 10, FULL, 1.0, pause=0.5),
    Case("overload", 50, 1514, 30, MIXED, 2.0, seed=2),
    Case("mixed sizes", 40, 1514, 8, MIXED, 1.5, seed=3),
    Case("small quantum", 40, 300, 8, MIXED, 1.0, seed=4),
    Case("large quantum", 40, 9000, 8, MIXED, 1.0, seed=5),
    Case("two queues", 10, 1514, 2, MIXED, 1.5, seed=6),
    Case("more queues than slots", 10, 1514, 40, MIXED, 1.5, seed=7),
    Case("one packet of buffer", 1, 1514, 5, FULL, 1.0, steps=400, seed=8),
    Case("short memory", 30, 1514, 10, MIXED, 1.5, time_constant_ms=50, seed=9),
    Case("long memory", 30, 1514, 10, MIXED, 1.5, time_constant_ms=100000, seed=10),
    Case("mostly idle", 10, 1514, 6, MIXED, 4.0, time_constant_ms=10, pause=2, seed=11),
    Case("memory", 1000, 1514, 8, JUMBO, 1.5, seed=12, memory_limit=60000),
    Case("memory and slots", 25, 1514, 8, JUMBO, 1.5, seed=13, memory_limit=60000),
    Case("arrivals larger than the memory", 20, 1514, 8, JUMBO, 1.5, seed=14, memory_limit=9000),
    Case(
        "changes",
        60,
        1514,
        8,
        MIXED,
        1.5,
        seed=15,
        changes=(
            Op("c", limit=10),
            Op("c", limit=50, time_constant_ms=100),
            Op("c", limit=7),
            Op("c", limit=40, time_constant_ms=5000),
            Op("c", limit=1),
            Op("c", limit=30),
            Op("c", memory_limit=9000),
        ),
    ),
    Case("GSO", 60, 1514, 8, GSO, 1.2, seed=17),
    Case("GSO, small quantum", 60, 256, 8, GSO, 1.0, seed=18),
    Case("GSO, few slots", 20, 1514, 8, GSO, 1.2, seed=19),
    Case("sparse", 40, 1514, 8, MIXED, 1.5, seed=20, sparse=True),
    Case("sparse, small quantum", 30, 300, 20, MIXED, 1.0, 10, seed=21, sparse=True),
    Case("drop_cut", 10, 1514, 30, MIXED, 1.5, seed=22, drop_cut=0.3),
    Case("drop_cut, most of it", 10, 1514, 30, MIXED, 1.5, 100, seed=23, drop_cut=0.9),
    Case("resets", 20, 1514, 8, MIXED, 2.0, seed=16, changes=(Op("r"),) * 12),
]


@pytest.fixture(scope="module")
def on_kernel() -> tuple[Runs, Shapes]:
    return fair_queueing.run_all("tdrr", {case.name: case.trace() for case in CASES}, SIZES)


@pytest.fixture(scope="module")
def user_shapes() -> Shapes:
    return fair_queueing.run_all("tdrr", {}, SIZES, "user")[1]


def lost_by_queue(model: Tdrr, step: Step) -> Counter[int]:
    """Return the packets that each queue has lost since the model's state."""
    lost: Counter[int] = Counter()
    for number, queue in model.active.items():
        if number not in step.classes:
            lost[number] = len(queue.packets)
    for number, state in step.classes.items():
        known = model.queues.get(number)
        lost[number] = state.drops - (known.dropped if known else 0)
    return lost


def discard_as(model: Tdrr, op: Op, step: Step, do: Callable[[Tdrr, Counter[int]], None]) -> Tdrr:
    """Let the model discard the same packets as the kernel, in any order that it allows."""
    lost = lost_by_queue(model, step)
    victims = LISTS.statistics(step.xstats)["victims"]
    reason: object = f"{dict(lost)}, {victims} victims, counted {model.victims} before"
    for order in permutations(+lost):
        trial = copy.deepcopy(model)
        left = Counter({number: lost[number] for number in order})
        try:
            do(trial, left)
        except Refusal as refusal:
            reason = refusal
            continue
        if not +left and trial.victims == victims:
            return trial
    pytest.fail(f"step {step.i} {op}: {reason}")


def apply(model: Tdrr, op: Op, step: Step, packet: int, shapes: Shapes) -> Tdrr:
    """Return the model after an operation. Departures and discards are compared."""
    now = step.t / 1e9
    left: list[int] = []

    def enqueue(model: Tdrr, lost: Counter[int]) -> None:
        shape = shapes[op.size]
        came = Packet(packet, shape.size, shape.truesize, shape.segments)
        went = LISTS.statistics(step.xstats)["went_first"] > model.went_first
        queued = model.enqueue(op.queue, came, now, lost, went)
        assert step.rc == (0 if queued else errno.ENOBUFS)

    def change(model: Tdrr, lost: Counter[int]) -> None:
        constant = op.time_constant_ms / 1e3 if op.time_constant_ms else None
        model.change(
            now, lost, limit=op.limit, memory_limit=op.memory_limit, time_constant=constant
        )
        assert step.rc == 0

    match op.kind:
        case "e":
            model = discard_as(model, op, step, enqueue)
        case "c":
            model = discard_as(model, op, step, change)
        case "r":
            assert step.rc == 0
            model.reset()
        case "d":
            left = [p.number for _ in range(op.number) if (p := model.dequeue(now))]
    assert [number for number, _ in step.out] == left, f"step {step.i} {op}"
    return model


def compare(case: Case, steps: Sequence[Step], shapes: Shapes) -> tuple[int, int]:
    """Return the number of reported tops, and of those with another queue close to the top."""
    print("seed", case.seed)
    model = case.model()
    packet = ambiguous_tops = tops = 0
    changing = 0.0
    places = Places()
    for op, step, following in zip(case.operations(), steps, [*steps[1:], None], strict=True):
        where = f"step {step.i} {op}"
        op = replace(op, queue=places.number(op.queue, op.hashed, step))
        was = model.time_constant
        model = apply(model, op, step, packet, shapes)
        packet += op.kind == "e"

        stats = LISTS.statistics(step.xstats)
        top = stats["top"]
        assert stats["went_first"] == model.went_first, where
        assert step.drops == sum(model.causes.values()), where
        rates = {}
        for minor, own in fair_queueing.checked(model, step, LISTS, where).items():
            rates[minor] = own["throughput"]
            assert own["is_top"] == (own["queue"] == top), where

        # The statistics name the top even if nothing is discarded.
        if not following:
            continue
        now = following.t / 1e9
        close = model.tops(now)
        assert top in close if close else top == 0, where
        tops += bool(close)
        ambiguous_tops += len(close) > 1
        # Departures, changes and samples happen at some time between two steps.
        if op.kind == "c":
            changing += (following.t - step.t) / 1e9 / min(was, model.time_constant)
        slack = 2 * MAX_STEP_S / model.time_constant + 2e-6 + changing
        for number, rate in rates.items():
            want = model.throughput(number, now)
            least, most = want * (1 / LAG - slack) - 1, want * (1 + slack) + 1
            assert least <= rate <= most, f"{where}: {rate} {want}"
        if top:
            assert abs(stats["top_throughput"] - rates[top]) <= rates[top] * slack + 1, where

    print(
        f"{len(model.decisions)} discards, {sum(n > 1 for n in model.decisions)} of them with"
        f" more than one queue close to the top; {tops} tops, {ambiguous_tops} ambiguous"
    )
    return tops, ambiguous_tops


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_discard_departure_and_throughput_equal_the_model(
    case: Case, on_kernel: tuple[Runs, Shapes]
) -> None:
    runs, shapes = on_kernel
    tops, ambiguous = compare(case, runs[case.name], shapes)
    assert ambiguous <= 0.25 * tops


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_in_user_space(case: Case, seed: int, user_shapes: Shapes) -> None:
    case = replace(case, seed=100 * seed + case.seed, sparse=seed == 2)
    compare(case, drive_many([case.trace()], engine="user")[0], user_shapes)


def test_operations_take_no_time(on_kernel: tuple[Runs, Shapes]) -> None:
    """The comparison of throughputs relies on this."""
    runs, _ = on_kernel
    for case in CASES:
        gaps = pairwise(runs[case.name])
        for op, (step, following) in zip(case.operations()[:-1], gaps, strict=True):
            if op.kind not in "tr":
                most = MAX_CHANGE_S if op.kind == "c" else MAX_STEP_S
                assert following.t - step.t <= most * 1e9, f"{case.name} step {step.i}"


def test_traces_exercise_the_rule(user_shapes: Shapes) -> None:
    """Most decisions have one right victim, and it is often not the longest queue."""
    alone = total = not_longest = 0
    for case in CASES:
        model = case.model()
        packet = 0
        places = Places()
        for op, step in zip(
            case.operations(), drive_many([case.trace()], engine="user")[0], strict=True
        ):
            op = replace(op, queue=places.number(op.queue, op.hashed, step))
            before = len(model.decisions)
            longest = max((q.length for q in model.active.values()), default=0)
            tops = model.tops(step.t / 1e9)
            model = apply(model, op, step, packet, user_shapes)
            packet += op.kind == "e"
            if len(model.decisions) > before and len(tops) == 1:
                not_longest += model.active.keys() >= tops and longest > max(
                    model.queues[n].length for n in tops
                )
        alone += model.decisions.count(1)
        total += len(model.decisions)
        print(f"{case.name}: {len(model.decisions)} discards, {model.victims} victims")
        assert len(model.decisions) > 50, case.name
        assert model.victims > 5, case.name
    print(f"{alone} of {total} discards had one right victim; in {not_longest} not the longest")
    assert alone >= 0.9 * total
    assert not_longest > 0.1 * total


def test_throughput_of_an_idle_queue_decays() -> None:
    """Fifty packets count less than one after nine time constants, but more at first."""
    fifty = ["e flow=1 len=1514 prio=0x10001"] * 50 + ["d 50"]
    both = ["e flow=2 len=1514 prio=0x10002"] * 3 + ["e flow=1 len=64 prio=0x10001"] * 3
    overflow = ["d 1", "e flow=3 len=64 prio=0x10003", "e flow=4 len=64 prio=0x10004"]
    smaller = "c tc qdisc change dev g0 root tdrr limit 6"
    traces = [
        Trace(
            "tdrr limit 50 time_constant 1s",
            [*fifty, *wait, *both, smaller, *overflow],
            classes=True,
        )
        for wait in ([], [f"t {9000 * MS}"])
    ]
    left = []
    for steps in drive_many(traces):
        assert steps[-1].drops == 1
        left.append({number: cl.qlen for number, cl in steps[-1].classes.items()})
    assert left[0] == {1: 2, 2: 2, 3: 1, 4: 1}
    assert left[1] == {1: 3, 2: 1, 3: 1, 4: 1}
