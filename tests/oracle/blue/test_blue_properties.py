# SPDX-License-Identifier: GPL-2.0
"""Properties of blue: p, defaults and limits, in user space."""

from __future__ import annotations

import random

import pytest

from tests.userspace import World

MS = 1_000_000  # ns
# Parents that dequeue, peek, or dequeue only while their count says that the child has packets.
BELOW = ("", "tbf", "drr", "htb", "hfsc", "hfsc prio", "hfsc tbf", "qfq ets")


def overload(w: World, ms: int, per_ms: int = 4) -> None:
    """More packets than leave, one each ms; the queue never runs empty."""
    for _ in range(ms):
        for _ in range(per_ms):
            w.enqueue(flow=1, len=1000)
        w.advance(MS)
        w.dequeue(1)


@pytest.mark.parametrize("freeze_ms", [1, 10, 100])
def test_steady_loss_raises_p_by_d1_once_in_freeze_time(freeze_ms: int) -> None:
    d1 = 0.0001
    with World("blue", f"limit 50 increment {d1} freeze_time {freeze_ms}ms seed 1") as w:
        overload(w, 20)  # full by then
        before = w.named()
        overload(w, 1000)
        after = w.named()
    rises = after["rises"] - before["rises"]
    assert rises == 1000 // freeze_ms
    assert after["probability"] - before["probability"] == pytest.approx(d1 * rises, rel=1e-6)
    assert after["falls"] == 0


def test_no_two_rises_and_no_two_falls_are_closer_than_freeze_time() -> None:
    """Whatever comes, and looked at after each operation."""
    rng = random.Random(1)
    with World("blue", "limit 10 threshold 4 increment 0.1 decrement 0.04 freeze_time 5ms") as w:
        last: dict[str, int] = {}
        seen = w.named()
        for _ in range(20_000):
            if rng.random() < 0.6:
                w.enqueue(flow=1, len=100)
            else:
                w.dequeue(rng.choice((1, 2, 20)))
            w.advance(rng.randrange(400_000))
            now = w.named()
            for name in ("rises", "falls"):
                assert now[name] - seen[name] <= 1
                if now[name] != seen[name]:
                    # It was in the 400 us before.
                    assert w.now - last.get(name, -(10**9)) > 5 * MS - 400_000
                    last[name] = w.now
            seen = now
        assert min(seen["rises"], seen["falls"]) > 50


@pytest.mark.parametrize("below", BELOW)
def test_a_queue_that_is_empty_for_long_has_a_p_of_0(below: str) -> None:
    """As few packets as are sent at once do not keep it up, either."""
    with World("blue", "limit 5 increment 0.02 decrement 0.002 freeze_time 1ms", below=below) as w:
        overload(w, 40)
        w.dequeue(1000)
        p = w.named()["probability"]
        assert p > 0.3
        for _ in range(round(p / 0.002 / 3) + 1):  # each 3 ms
            w.advance(3 * MS)
            w.enqueue(flow=1, len=1000)
            w.dequeue(10)
        assert w.named()["probability"] == 0
        drops = w.stats().drops
        for _ in range(100):
            assert w.enqueue(flow=1, len=1000)
            assert len(w.dequeue(10)) == 1
        assert w.stats().drops == drops


@pytest.mark.parametrize("below", BELOW)
def test_a_p_of_1_does_not_last_though_nothing_is_queued(below: str) -> None:
    options = "limit 4 threshold 1 increment 1 decrement 0.1 freeze_time 10ms"
    with World("blue", options, below=below) as w:
        for _ in range(3):
            w.enqueue(flow=1, len=1000)
        w.dequeue(10)
        assert w.named()["probability"] == pytest.approx(0.9)  # idle at once
        w.advance(95 * MS)
        assert w.enqueue(flow=1, len=1000)
        assert len(w.dequeue(1)) == 1


def test_what_is_dropped_by_chance_is_no_loss() -> None:
    with World("blue", "limit 1000 threshold 20 increment 0.5 freeze_time 1ms") as w:
        for _ in range(21):
            w.enqueue(flow=1, len=1000)
        assert w.named()["rises"] == 1
        w.dequeue(10)
        for _ in range(9):
            w.advance(2 * MS)
            w.enqueue(flow=1, len=1000)
        st = w.named()
        assert st["early_drop"] > 0
        assert st["rises"] == 1


def test_a_fraction_p_of_many_arrivals_is_dropped() -> None:
    p = 0.3
    with World("blue", f"limit 1000 threshold 1 increment {p} freeze_time 10s seed 3") as w:
        n = 20_000
        w.enqueue(flow=1, len=100)
        for _ in range(n):
            w.enqueue(flow=1, len=100)
            while w.stats().qlen > 1:
                w.dequeue(1)
        st = w.named()
        assert st["probability"] == pytest.approx(p)
        # 5 standard deviations
        assert abs(st["early_drop"] - n * p) < 5 * (n * p * (1 - p)) ** 0.5


@pytest.mark.parametrize(
    ("kbit", "limit"),
    [(64, 8), (1000, 8), (10_000, 66), (100_000, 666), (10**6, 6666), (10**8, 14_563)],
)
def test_a_full_queue_is_sent_in_80_ms_and_fits_into_the_memory(kbit: int, limit: int) -> None:
    with World("blue", f"bandwidth {kbit}kbit") as w:
        st = w.named()
        assert (st["limit"], st["threshold"], w.message) == (limit, limit, "")
        assert limit * 2304 <= st["memory_limit"]


def test_memory_of_packets_is_bounded_and_what_lacks_it_is_lost() -> None:
    with World("blue", "limit 1000 memory_limit 20000", below="drr") as w:
        for _ in range(100):
            w.enqueue(flow=1, len=1514)
        st = w.named()
        assert 0 < st["memory_used"] <= 20_000
        assert st["drop_memory"] == w.stats().drops > 0
        assert (st["drop_limit"], st["rises"]) == (0, 1)
        w.change("memory_limit 5000")
        assert 0 < w.named()["memory_used"] <= 5_000
        w.dequeue(1000)
        assert w.named()["memory_used"] == 0


def test_a_loss_on_an_idle_link_does_not_bring_back_idle_time_that_is_over() -> None:
    """A packet too large for the memory is lost though the queue has been empty for an hour."""
    with World("blue", "limit 10 memory_limit 5000 increment 0.5 decrement 0.1") as w:
        w.advance(3_600_000 * MS)
        w.enqueue(flow=1, len=9014)
        assert w.named()["drop_memory"] == 1
        assert 0.4 <= w.named()["probability"] <= 0.5
        w.advance(90 * MS)
        assert w.named()["probability"] == pytest.approx(0.4)


def test_a_shorter_freeze_time_holds_at_once() -> None:
    with World("blue", "limit 2 increment 0.25 freeze_time 10s") as w:
        for _ in range(3):
            w.enqueue(flow=1, len=100)
        assert w.named()["rises"] == 1
        w.change("freeze_time 10ms")
        w.advance(11 * MS)
        for _ in range(3):
            w.enqueue(flow=1, len=100)
        assert w.named()["rises"] == 2


def test_idle_time_before_a_change_fell_by_the_old_decrement() -> None:
    with World("blue", "limit 2 increment 0.5 decrement 0.01 freeze_time 100ms") as w:
        for _ in range(3):
            w.enqueue(flow=1, len=100)
        w.dequeue(2)
        w.advance(950 * MS)
        w.change("decrement 0.1")
        assert w.named()["probability"] == pytest.approx(0.4)  # at once, and 9 times since
        w.advance(100 * MS)
        assert w.named()["probability"] == pytest.approx(0.3)
