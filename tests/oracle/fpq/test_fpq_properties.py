# SPDX-License-Identifier: GPL-2.0
"""Properties of fpq: count of flows, queue and limits, in user space."""

from __future__ import annotations

import pytest

from tests.oracle.tcp_loop import Loop
from tests.userspace import World

MS = 1_000_000  # ns
LINK = "bandwidth 8mbit seed 1"  # 1 ms per packet


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("bits", "flows"), [(5000, 10), (5000, 1000), (1000, 1000), (64, 300)])
def test_flows_are_counted_within_the_stated_error(bits: int, flows: int, seed: int) -> None:
    """The expected count is v (1 - (1 - 1/v)^n), with a deviation below n / sqrt(2 v)."""
    with World("fpq", f"limit 100 vector {bits} clear 10s {LINK}", seed=seed) as w:
        for flow in range(flows):
            w.enqueue(flow=flow, len=100, v6=flow % 2, proto=("tcp", "udp")[flow // 2 % 2])
        counted = w.named()["flows"]
        for flow in range(flows):
            w.enqueue(flow=flow, len=100, v6=flow % 2, proto=("tcp", "udp")[flow // 2 % 2])
        assert w.named()["flows"] == counted
    exact = bits * (1 - (1 - 1 / bits) ** flows)
    assert abs(counted - exact) <= 5 * flows / (2 * bits) ** 0.5
    assert counted <= min(bits, flows)


def test_ended_flow_is_forgotten_after_half_the_clear_time_on_average() -> None:
    with World("fpq", f"limit 3 clear 2s {LINK}") as w:
        for flow in range(500):
            w.enqueue(flow=flow, len=100)
        first = w.named()["flows"]
        assert first > 460
        seen = []
        for _ in range(20):
            w.advance(100 * MS)
            seen.append(w.named()["flows"])
        assert seen == sorted(seen, reverse=True)
        assert seen[9] == pytest.approx(first / 2, abs=5 * (first / 4) ** 0.5)
        assert seen[-1] == 0


def test_at_most_a_tenth_of_the_active_flows_is_missing() -> None:
    """Each of 200 flows sends every 400 ms, a tenth of t_clear."""
    with World("fpq", f"limit 1000 clear 4s vector 100000 {LINK}") as w:
        seen = []
        for n in range(6000):
            w.enqueue(flow=n % 200, len=100)
            w.dequeue()
            w.advance(2 * MS)
            if n > 3000:
                seen.append(w.named()["flows"])
        mean = sum(seen) / len(seen)
        assert 200 * 0.9 - 1 < mean <= 200


def test_shorter_clear_time_forgets_no_flow_at_once() -> None:
    with World("fpq", f"limit 1000 vector 64 clear 10s {LINK}") as w:
        for flow in range(30):
            w.enqueue(flow=flow, len=100)
        before = w.named()["flows"]
        assert before > 15
        w.advance(150_000_000)  # clearing one bit takes 156 ms
        w.change("clear 100ms")
        assert w.named()["flows"] >= before - 1


@pytest.mark.parametrize("flows", [2, 5, 20, 60])
def test_queue_is_proportional_to_the_number_of_flows(flows: int) -> None:
    """It is between once and twice the target."""
    with World("fpq", f"limit 2000 rtt 60ms {LINK}") as w:
        loop = Loop(w, MS, [(40 + 40 * i // flows) * MS for i in range(flows)])
        loop.run(20_000)
        seen = []
        for _ in range(10):
            used, _ = loop.measured(500)
            assert used > 0.95
            seen.append(w.named())
    counted = sum(st["flows"] for st in seen) / len(seen)
    assert 0.85 * flows < counted <= flows
    assert seen[-1]["pipe"] == 60
    for st in seen:
        # Bmax and Pmax can be 7.5 ms older than the number of flows in the statistics.
        targets = [max(60 // (2 * n - 1), 6 * n) for n in range(st["flows"] - 1, st["flows"] + 2)]
        assert st["target"] in targets
        assert st["max_th"] == 2 * st["target"]
    target = sum(st["target"] for st in seen) / len(seen)
    assert target < sum(st["avg"] for st in seen) / len(seen) < 2.2 * target
    # With six packets per flow, plus packets in flight, no flow times out.
    assert sum(st["avg"] for st in seen) / len(seen) >= 6 * counted


def test_without_flows_max_p_is_that_of_one_flow() -> None:
    with World("fpq", "bandwidth 1gbit avpkt 1500 rtt 100ms") as w:
        st = w.named()
        assert (st["flows"], st["pipe"], st["target"], st["max_th"]) == (0, 8333, 8333, 16_666)
        # (0.87 / (2 * 8333 + 1))^2
        assert st["max_p"] == pytest.approx(2.725e-9, abs=2.5e-10)


def test_thresholds_follow_the_count_every_7_5_ms() -> None:
    with World("fpq", f"limit 1000 rtt 60ms {LINK}") as w:
        assert w.named()["target"] == 60
        for flow in range(20):
            w.enqueue(flow=flow, len=100)
        assert (w.named()["flows"], w.named()["target"]) == (20, 60)
        w.advance(7_400_000)
        w.enqueue(flow=1, len=100)
        assert w.named()["target"] == 60
        w.advance(200_000)
        w.enqueue(flow=1, len=100)
        assert w.named()["target"] == 120


def test_change_without_memory_changes_nothing() -> None:
    with World("fpq", "limit 10", below="drr") as w:
        for flow in range(12):
            w.enqueue(flow=flow, len=1514)
        st = w.named()
        for which, said in enumerate(("Cannot allocate memory", "no memory for the vector"), 1):
            w.fail_alloc(which)
            with pytest.raises(Exception, match=said):
                w.change("vector 1000 limit 2")
        assert w.named() == st
