# SPDX-License-Identifier: GPL-2.0
"""Compare the signals of tdrr's target with a model of the rule, packet by packet.

The rule is in the man page: the rate, the estimated delay, when a signal is due, and which queues
may get it. The traces run in user space, where time is exact.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from aqmlab.qdiscs import interface
from tests.oracle.drive import RESET, Step, Trace, drive_many
from tests.oracle.fair_queueing import Packet
from tests.oracle.tdrr.model import Refusal, Tdrr
from tests.userspace import World

LISTS = interface.read("tdrr")
MS = 1_000_000
FRAME = 1514
ECT, CE = (1, 2), 3


@dataclass(frozen=True)
class Case:
    """Packets leave about every ``gap_ms``, and ``queues`` queues hold about ``held`` packets.

    tos: of packets, drawn
    """

    name: str
    target_ms: int
    queues: int
    held: int
    gap_ms: float = 1.0
    limit: int = 1000
    sizes: tuple[int, ...] = (FRAME,)
    tos: tuple[int, ...] = (0,)
    options: str = ""
    rounds: int = 2500
    seed: int = 1

    def operations(self) -> list[tuple[str, int, int, int]]:
        """Return (kind, queue or ns, size, TOS) of each operation, drawn from the seed."""
        rng = random.Random(self.seed)
        ops: list[tuple[str, int, int, int]] = []
        held = self.held
        weights = [1.0] * self.queues
        balance = 0
        for _ in range(self.rounds):
            if rng.random() < 0.02:
                weights = [rng.random() ** 3 for _ in range(self.queues)]
            if rng.random() < 0.004 * self.gap_ms:
                held = rng.choice((0, self.held // 4, self.held, self.held, 2 * self.held))
            for _ in range(max(0, min(3, held - balance))):
                (queue,) = rng.choices(range(1, self.queues + 1), weights)
                ops.append(("e", queue, rng.choice(self.sizes), rng.choice(self.tos)))
                balance += 1
            ops.append(("d", 0, 0, 0))
            balance = max(0, balance - 1)
            ops.append(("t", round(rng.uniform(0.2, 1.8) * self.gap_ms * MS), 0, 0))
            if rng.random() < 0.001:
                ops.append(("r", 0, 0, 0))
                balance = 0
        return ops

    def trace(self) -> Trace:
        lines = {"e": "e flow={0} len={1} prio={2} tos={3}", "d": "d 1", "t": "t {0}", "r": RESET}
        ops = [
            lines[kind].format(number, size, 0x10000 + number, tos)
            for kind, number, size, tos in self.operations()
        ]
        words = f"tdrr limit {self.limit} target {self.target_ms}ms {self.options}"
        return Trace(words, ops, classes=True)


CASES = [
    Case("one queue", 5, 1, 20),
    Case("two queues", 5, 2, 20, seed=2),
    Case("eight queues", 5, 8, 30, seed=3),
    Case("a packet for each queue", 5, 40, 40, seed=4),
    Case("about the target", 20, 8, 20, rounds=4000, seed=5),
    Case("a slow link", 5, 4, 12, gap_ms=20, seed=6),
    Case("a fast link", 1, 20, 100, gap_ms=0.2, rounds=5000, seed=7),
    Case("sizes", 5, 8, 30, sizes=(64, 300, 700, FRAME), seed=8),
    Case("a full buffer", 5, 8, 40, limit=25, seed=9),
    Case("ecn", 5, 8, 30, tos=(0, *ECT), options="ecn", seed=10),
    Case("all with ECN", 5, 8, 30, tos=ECT, options="ecn", seed=11),
    Case("ECN without ecn", 5, 8, 30, tos=ECT, seed=12),
    Case("sparse", 5, 20, 30, options="sparse", seed=13),
]


def branches(
    case: Case, model: Tdrr, step: Step, op: tuple[str, int, int, int], packet: int, signalled: bool
) -> Iterator[Tdrr]:
    """Yield the model after an operation. If a queue got a signal, any of the tops may have."""
    kind, number, size, tos = op
    now = step.t / 1e9
    if kind == "e":
        lost = Counter({n: cl.drops - model.queue(n).dropped for n, cl in step.classes.items()})
        lost += Counter(
            {n: len(q.packets) for n, q in model.active.items() if n not in step.classes}
        )
        went = LISTS.statistics(step.xstats)["went_first"] > model.went_first
        model.enqueue(number, Packet(packet, size, 0, ect=tos in ECT), now, lost, went)
    elif kind == "r":
        model.reset()
    elif kind == "d":
        for got in model.tops(now) if signalled else {None}:
            trial = copy.deepcopy(model) if signalled else model
            try:
                left = trial.dequeue(now, got)
            except Refusal as refusal:
                print(f"step {step.i}: {refusal}")
                continue
            if step.out == ([(left.number, CE if left.ce else step.out[0][1])] if left else []):
                yield trial
        return
    yield model


def disagreements(model: Tdrr, step: Step) -> list[str]:
    """Return what the kernel and the model report differently."""
    stats = LISTS.statistics(step.xstats)
    rate = (model.delay.rate if model.delay else None) or 0
    backlog = sum(queue.length for queue in model.active.values())
    delay = backlog / rate * 1e9 if rate else 0
    pairs = {
        "causes": ({c: stats[f"drop_{c}"] for c in model.causes}, model.causes),
        "dropped_bytes": (stats["dropped_bytes"], model.dropped_bytes),
        "signals": ((stats["target_drop"], stats["marked"]), (model.target_drop, model.marked)),
        "backlog": (step.backlog, backlog),
        "queues": (
            {n: (cl.qlen, cl.drops) for n, cl in step.classes.items()},
            {n: (len(q.packets), q.dropped) for n, q in model.active.items()},
        ),
        "rate": (stats["rate"], pytest.approx(rate, rel=1e-6, abs=10)),
        "delay": (stats["expected_delay"], pytest.approx(delay, rel=1e-4, abs=2)),
    }
    return [f"{name}: {own}, not {want}" for name, (own, want) in pairs.items() if own != want]


def follow(case: Case, steps: Sequence[Step]) -> Tdrr:
    """Compare each step with the model, and return the model.

    Nothing tells which packet was marked before it leaves, so several models may be right for a
    while.
    """
    print("seed", case.seed)
    models = [
        Tdrr(
            limit=case.limit,
            quantum=FRAME,
            time_constant=0.1,
            sparse="sparse" in case.options,
            target=case.target_ms / 1e3,
            least=2 * FRAME,
            ecn=case.options == "ecn",
        )
    ]
    packet = signals = 0
    for op, step in zip(case.operations(), steps, strict=True):
        stats = LISTS.statistics(step.xstats)
        signalled = signals < stats["target_drop"] + stats["marked"]
        signals = stats["target_drop"] + stats["marked"]
        found = [b for model in models for b in branches(case, model, step, op, packet, signalled)]
        wrong = [disagreements(model, step) for model in found]
        models = [model for model, why in zip(found, wrong, strict=True) if not why]
        assert models, f"step {step.i} {op}: {wrong}"
        packet += op[0] == "e"
    return models[0]


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_signal_and_the_rate_equal_the_model(case: Case, seed: int) -> None:
    case = replace(case, seed=100 * seed + case.seed)
    model = follow(case, drive_many([case.trace()], engine="user")[0])
    print(f"{case.name}: {model.target_drop} drops, {model.marked} marks, {model.overdue} none")
    assert model.target_drop + model.marked >= 5
    if case.name == "all with ECN":
        assert not model.target_drop


def test_equal_queues_get_signals_in_turn() -> None:
    """Eight queues with the same throughput lose a packet each in 100 ms, or none if left out."""
    queues = range(1, 9)
    with World("tdrr", "limit 1000 target 5ms time_constant 10s") as w:
        for queue in [*queues] * 5:
            w.enqueue(flow=queue, len=FRAME, prio=0x10000 + queue)
        for _ in range(2110):
            w.dequeue(1)
            held = {number: cl.qlen for number, cl in w.classes().items()}
            for queue in queues:
                for _ in range(5 - held.get(queue, 0)):
                    w.enqueue(flow=queue, len=FRAME, prio=0x10000 + queue)
            w.advance(MS)
        lost = {number: cl.drops for number, cl in w.classes().items()}
    print(lost)
    # The rate is known after 10 ms or so, the first signal comes 100 ms later, then there are 2 s.
    assert all(10 <= lost[queue] <= 20 for queue in queues)


def test_the_last_queued_packet_is_never_dropped() -> None:
    """Each GSO packet is queued alone and takes 43 ms of the link, so each delay is too long."""
    with World("tdrr", "limit 1000 target 5ms nosplit_gso") as w:
        for _ in range(30):  # 1 ms for each full packet: this is the rate
            w.enqueue(flow=1, len=FRAME)
        for _ in range(30):
            w.advance(MS)
            w.dequeue(1)
        for _ in range(30):
            w.enqueue(flow=1, len=54 + 45 * 1448, gso=1448, proto="tcp")
            assert w.named()["expected_delay"] > 40 * MS
            w.advance(43 * MS)
            assert len(w.dequeue(1)) == 1
        assert not w.stats().drops


def test_a_change_of_options_keeps_the_measured_rate() -> None:
    with World("tdrr", "limit 1000 target 5ms") as w:
        for _ in range(50):
            w.enqueue(flow=1, len=FRAME)
        for _ in range(30):
            w.advance(MS)
            w.dequeue(1)
        assert w.named()["rate"] == pytest.approx(1000 * FRAME, rel=0.001)
        w.change("limit 900")
        assert w.named()["rate"] == pytest.approx(1000 * FRAME, rel=0.001)
        w.change("target 6ms")
        assert w.named()["rate"] == pytest.approx(1000 * FRAME, rel=0.001)
