# SPDX-License-Identifier: GPL-2.0
"""Properties of fred: flows, average and limits, in user space."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.oracle.tcp_loop import Loop
from tests.userspace import World

MS = 1_000_000  # ns
LINK = "bandwidth 8mbit seed 1"  # 1 ms per packet
RTTS = [40 * MS] * 5 + [80 * MS] * 5


@pytest.mark.parametrize("blast", [0.5, 2, 4])
@pytest.mark.parametrize("limit", [60, 150])
def test_blast_gets_the_share_of_an_average_flow(limit: int, blast: float) -> None:
    """There are 10 responsive flows and a blast of up to 4 times the link."""
    with World("fred", f"limit {limit} {LINK}") as w:
        loop = Loop(w, MS, RTTS, blast=blast)
        loop.run(6000)
        used, shares = loop.measured(15_000)
        st = w.named()
    assert used > 0.99
    # avgcq is the average over the flows with queued packets, about 6 of the 11.
    assert shares[0] < 2.3 / 11
    assert min(share for flow, share in shares.items() if flow) > 0.4 / 11
    assert st["avgcq_drop"] > 0.9 * (blast - 0.5) * 20_000
    # A discipline without flows gives the blast most of the link.
    with World("blue", f"limit {limit} {LINK}") as w:
        loop = Loop(w, MS, RTTS, blast=blast)
        loop.run(6000)
        _, beside = loop.measured(5000)
    assert beside[0] > 2 * shares[0]


def test_two_packet_mode_prevents_starvation_of_many_flows() -> None:
    """60 flows and a blast share 60 places. Above max, drops are not random."""
    seen = {}
    for mode in ("two_packet", "notwo_packet"):
        with World("fred", f"limit 60 {mode} {LINK}") as w:
            loop = Loop(w, MS, [(20 + 4 * i) * MS for i in range(60)], blast=2)
            loop.run(6000)
            seen[mode] = loop.measured(20_000)[1]
    few, none = seen["two_packet"], seen["notwo_packet"]
    assert few[0] < 0.1
    assert few[0] < 0.6 * none[0]
    assert min(few.get(i, 0) for i in range(1, 61)) > 1.5 * min(none.get(i, 0) for i in range(61))


@pytest.mark.parametrize("mode", ["two_packet", "notwo_packet"])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_flow_exceeds_min_and_empty_flows_are_forgotten(mode: str, seed: int) -> None:
    rng = random.Random(seed)
    most = 0
    options = f"limit 50 min 7 max 14 weight 0.05 {mode} bandwidth 100mbit seed {seed}"
    with World("fred", options) as w:
        flow_of: list[int] = []
        inside: Counter = Counter()
        for _ in range(5_000):
            if rng.random() < 0.55:
                flow = 0 if rng.random() < 0.4 else rng.randrange(rng.choice((2, 40)))
                before = w.stats()
                crowded = w.named()["avg"] >= 14
                w.enqueue(flow=flow, len=500, v6=flow % 2)
                if w.stats().qlen > before.qlen:
                    inside[flow] += 1
                    assert inside[flow] <= (2 if crowded and mode == "two_packet" else 7)
                flow_of.append(flow)
            else:
                for number, _ in w.dequeue(rng.choice((1, 1, 1, 30))):
                    inside[flow_of[number]] -= 1
            w.advance(rng.randrange(80_000))
            st = w.named()
            assert st["active"] == sum(n > 0 for n in inside.values())
            most = max(most, st["active"])
            assert st["struck"] <= st["active"]
            assert st["avgcq"] == pytest.approx(max(1, st["avg"] / max(1, st["active"])), abs=1e-6)
    assert most > 5


@pytest.mark.parametrize(("limit", "minq"), [(8, 2), (399, 2), (400, 4), (10_000, 4)])
def test_minq_is_4_if_100_flows_can_have_4_packets_and_else_2(limit: int, minq: int) -> None:
    with World("fred", f"limit {limit} {LINK}") as w:
        assert w.options()["minq"] == minq


@pytest.mark.parametrize("minq", [1, 2, 4])
def test_flow_below_minq_loses_nothing(minq: int) -> None:
    """This holds while the average is below max and the queue is not full."""
    rng = random.Random(minq)
    options = f"limit 1000 min 20 max 400 minq {minq} probability 1 weight 0.01 {LINK}"
    with World("fred", options) as w:
        flow_of: list[int] = []
        inside: Counter = Counter()
        came = 0
        for n in range(20_000):
            flow = rng.randrange(30)
            if flow < 10 and inside[flow] >= minq:
                flow += 10  # the first ten flows stay below minq
            before = w.stats().drops
            w.enqueue(flow=flow, len=500)
            flow_of.append(flow)
            if w.stats().drops == before:
                inside[flow] += 1
            else:
                assert flow >= 10
            came += flow < 10
            if n > 40 and rng.random() < 0.95:
                for number, _ in w.dequeue(1):
                    inside[flow_of[number]] -= 1
        st = w.named()
        assert st["avg"] < 400
        assert st["early_drop"] > 100
        assert came > 1000


def test_strikes_end_with_the_last_packet_of_a_flow() -> None:
    with World("fred", f"limit 100 min 5 max 50 weight 0.9 {LINK}") as w:
        for _ in range(9):
            w.enqueue(flow=1, len=500)
        assert (w.named()["maxq_drop"], w.named()["struck"], w.stats().qlen) == (4, 1, 5)
        w.dequeue(4)
        for _ in range(9):
            w.enqueue(flow=1, len=500)
        # The only flow is limited to the average of the queue.
        assert w.named()["struck"] == 1
        assert w.stats().qlen < 5
        w.dequeue(5)
        assert (w.named()["struck"], w.named()["active"]) == (0, 0)
        w.advance(10**9)
        for _ in range(9):
            w.enqueue(flow=1, len=500)
        assert w.stats().qlen == 5


def test_dropped_arrivals_are_not_sampled() -> None:
    with World("fred", f"limit 100 min 5 max 50 weight 0.1 {LINK}") as w:
        for _ in range(5):
            w.enqueue(flow=1, len=500)
        avg = w.named()["avg"]
        # The samples are 1, 2, 3, 4, 5 packets.
        expected = 0.0
        for length in range(1, 6):
            expected += 0.1 * (length - expected)
        assert avg == pytest.approx(expected, abs=1e-6)
        for _ in range(1000):
            w.enqueue(flow=1, len=500)
        assert w.named()["avg"] == avg
        w.dequeue(1)
        assert w.named()["avg"] == pytest.approx(expected + 0.1 * (4 - expected), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "limit", "min_th", "minq"),
    [
        ("bandwidth 64kbit", 8, 2, 2),
        ("bandwidth 10mbit", 66, 16, 2),
        ("bandwidth 100mbit", 666, 166, 4),
        ("limit 1000 bandwidth 8mbit rtt 50ms", 1000, 50, 4),
        ("limit 399 bandwidth 1gbit", 399, 99, 2),
        ("limit 400 bandwidth 1gbit min 31 minq 9", 400, 31, 9),
        # min is half of the given max. The derived limit is capped at its allowed maximum.
        ("limit 1000 max 100", 1000, 50, 4),
        ("bandwidth 400gbit memory_limit 3900mb max 200", 1 << 20, 100, 4),
    ],
)
def test_thresholds_are_derived_from_the_limit_and_the_round_trip(
    options: str, limit: int, min_th: int, minq: int
) -> None:
    with World("fred", options) as w:
        st = w.named()
        assert w.message == "" or "bandwidth" not in options
        assert (st["limit"], st["min_th"], st["max_th"]) == (limit, min_th, 2 * min_th)
        assert (st["minq"], st["maxq"]) == (minq, min_th)


def test_given_max_is_valid_on_every_link() -> None:
    with World("fred", "max 3000") as w:
        for mbit in (100, 10_000, 100_000, 1):
            w.do(f"l {mbit}")
            assert w.named()["bandwidth"] == mbit * 125_000
            w.change("ecn")


def test_limit_below_min_gets_a_warning() -> None:
    with World("fred", f"limit 5 min 10 {LINK}") as w:
        assert "no early drops" in w.message


def test_limit_and_table_follow_the_link_while_packets_wait() -> None:
    with World("fred", "seed 1", below="hfsc prio") as w:
        w.do("l 100")
        assert (w.named()["limit"], w.named()["min_th"]) == (666, 166)
        for flow in range(100):
            w.enqueue(flow=flow, len=1514)
            w.enqueue(flow=flow, len=1514)
        assert w.named()["active"] == 100
        w.do("l 1")
        st = w.named()
        assert (st["limit"], w.stats().qlen, st["active"]) == (8, 8, 4)
        assert st["drop_change"] == w.stats().drops == 192
        w.do("l 10000")
        assert w.named()["active"] == 4
        for flow in range(96, 100):
            w.enqueue(flow=flow, len=1514)
        assert (w.named()["active"], w.stats().qlen) == (4, 12)
        assert w.given() == {"seed": 1}
        w.dequeue(100)
        assert (w.stats().qlen, w.named()["active"]) == (0, 0)


def test_memory_is_bounded_and_failed_change_has_no_effect() -> None:
    with World("fred", "limit 1000 memory_limit 20000", below="drr") as w:
        for flow in range(100):
            w.enqueue(flow=flow, len=1514)
        st = w.named()
        assert 0 < st["memory_used"] <= 20_000
        assert st["drop_memory"] == w.stats().drops > 0
        for which, said in enumerate(("Cannot allocate memory", "no memory for the flows"), 1):
            w.fail_alloc(which)
            with pytest.raises(Exception, match=said):
                w.change("limit 2")
        assert w.named() == st
        w.change("memory_limit 5000")
        assert 0 < w.named()["memory_used"] <= 5_000
        w.dequeue(1000)
        assert w.named()["memory_used"] == 0


@pytest.mark.parametrize("proto", ["tcp", "udp"])
@pytest.mark.parametrize("v6", [0, 1])
def test_vlan_is_part_of_the_flow_wherever_its_tag_is(v6: int, proto: str) -> None:
    """The tag may be in the packet's data or in its metadata. Different code reads the headers."""
    active = []
    with World("fred", f"limit 100 min 50 max 90 {LINK}") as w:
        for tag in ({"vlan": 5}, {"tag": 5}, {}, {"tag": 6}):
            w.enqueue(flow=1, len=300, proto=proto, v6=v6, **tag)
            active.append(w.named()["active"])
    assert active == [1, 1, 2, 3]


def test_no_probability_is_shown_in_two_packet_mode() -> None:
    """Above max each flow may have two packets, and RED's probability has no effect."""
    for words, most, probability in (("", 2, 0), ("notwo_packet", 3, 1)):
        with World("fred", f"limit 100 min 3 max 8 weight 0.5 {LINK} {words}") as w:
            for flow in range(60):
                w.enqueue(flow=flow, len=1000)
            st = w.named()
            assert st["avg"] >= st["max_th"] == 8
            assert (st["maxq"], st["probability"]) == (most, probability)


def test_each_packet_is_sampled_twice() -> None:
    """One sample at arrival and one at departure. 1000 bytes take 80 us at 100 Mb/s."""
    with World("fred", "bandwidth 100mbit avpkt 1000") as w:
        assert w.named()["ptime"] == 40_000
