# SPDX-License-Identifier: GPL-2.0
"""Integrity checks: packets that are missing, senders that are limited, losses with a pattern."""

from __future__ import annotations

import copy
import itertools
import math
import random
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from aqmlab.measure import integrity, loss_patterns
from aqmlab.run import counters

DEVICE = {"received": 0, "sent": 0, "lost": 0}


def namespace(delivered: int = 0, **received: int) -> dict[str, Any]:
    return {
        "delivered": delivered,
        "received_ce": 0,
        "discarded": {},
        "devices": {name: {**DEVICE, "received": count} for name, count in received.items()},
    }


def guest() -> dict[str, Any]:
    """Counters of a run: 100 packets reached rtr. 3 were delivered, 90 left, 5 lost, 2 queued."""
    shown = {"rtr": namespace(delivered=3, r0=60, r1=40, b0=77, lo=9), "dst": namespace(d0=90)}
    return {
        "counters": {
            "hops": [{"netns": "rtr", "dev": "b0"}],
            "softnet_dropped": 0,
            "before": shown,
            "after": copy.deepcopy(shown),
            "qdiscs": {
                "rtr": [
                    {
                        "kind": "tbf",
                        "dev": "b0",
                        "handle": "1:",
                        "packets": 90,
                        "drops": 5,
                        "qlen": 2,
                        "bytes": 9000,
                    },
                    {
                        "kind": "red",
                        "dev": "b0",
                        "handle": "2:",
                        "packets": 91,
                        "drops": 5,
                        "qlen": 2,
                    },
                    {
                        "kind": "netem",
                        "dev": "r0",
                        "handle": "3:",
                        "packets": 7,
                        "drops": 0,
                        "qlen": 0,
                    },
                ],
                "dst": [],
            },
        }
    }


def errors(state: dict[str, Any], ip: int = 4) -> list[str]:
    return integrity.check(state, ip=ip, offloads=False)[1]


def test_run_with_all_packets_accounted_for_is_accepted() -> None:
    hops, wrong = integrity.check(guest(), ip=4, offloads=False)
    assert wrong == []
    assert hops == {"rtr b0": {"offered": 97, "delivered": 90, "lost": 5, "held": 2, "bytes": 9000}}


def test_packets_in_flight_during_reading_are_not_lost() -> None:
    state = guest()
    state["counters"]["after"]["rtr"]["devices"]["r0"]["received"] = 64
    for left in (90, 94):
        state["counters"]["qdiscs"]["rtr"][0]["packets"] = left
        assert errors(state) == []
    state["counters"]["qdiscs"]["rtr"][0]["packets"] = 95
    assert len(errors(state)) == 1


def lost_device(counters: dict[str, Any]) -> None:
    counters["after"]["dst"]["devices"]["d0"]["lost"] = 1


def lost_before(counters: dict[str, Any]) -> None:
    counters["before"]["rtr"]["devices"]["r1"]["received"] += 1
    counters["after"]["rtr"]["devices"]["r1"]["received"] += 1


def twice(counters: dict[str, Any]) -> None:
    counters["qdiscs"]["rtr"][1]["drops"] += 1


def in_the_delay(counters: dict[str, Any]) -> None:
    counters["qdiscs"]["rtr"][2]["drops"] = 1


def in_a_socket(counters: dict[str, Any]) -> None:
    counters["after"]["dst"]["discarded"] = {"Udp RcvbufErrors": 1}


def on_the_way_up(counters: dict[str, Any]) -> None:
    counters["softnet_dropped"] = 1


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (lost_device, "dst: device d0 lost 1"),
        (lost_before, "rtr b0: 98 to 98"),
        (twice, "98 are accounted for"),
        (in_the_delay, "rtr: netem on r0 lost 1"),
        (in_a_socket, "Udp RcvbufErrors is 1"),
        (on_the_way_up, "full for 1"),
    ],
)
def test_one_packet_lost_elsewhere_is_noticed(
    spoil: Callable[[dict[str, Any]], None], name: str
) -> None:
    state = guest()
    spoil(state["counters"])
    (line,) = errors(state)
    assert name in line


SHOWN = """\
qdisc noqueue 0: dev lo root refcnt 2
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc tbf 1: dev b0 root refcnt 2 rate 500Mbit burst 1577b lat 0us
 Sent 1234567890123 bytes 815482911 pkt (dropped 7, overlimits 5 requeues 1)
 backlog 12Kb 8p requeues 1
qdisc mine 2: dev b0 parent 1:1 [Unknown qdisc, optlen=40] { "braces": } limit 5p
  more of it, dropped 99
 Sent 4 bytes 1 pkts (dropped 3, overlimits 0 requeues 0)
 backlog 0b 2p requeues 0
  marked 7 early 8 dropped 9
"""


def test_counters_are_read_whatever_a_plugin_prints() -> None:
    _, tbf, mine = counters.qdisc_counters(SHOWN)
    assert tbf == {
        "kind": "tbf",
        "handle": "1:",
        "dev": "b0",
        "bytes": 1234567890123,
        "packets": 815482911,
        "drops": 7,
        "qlen": 8,
    }
    assert mine == {
        "kind": "mine",
        "handle": "2:",
        "dev": "b0",
        "bytes": 4,
        "packets": 1,
        "drops": 3,
        "qlen": 2,
    }
    with pytest.raises(ValueError, match="no counters: qdisc tbf"):
        counters.qdisc_counters("qdisc tbf 1: dev b0 root refcnt 2\n")


def test_counters_of_a_qdisc_with_a_rate_estimator_are_read() -> None:
    """tc(8): `tc qdisc add ... estimator 1s 8s pfifo`. tc then prints a rate before the backlog."""
    text = SHOWN.replace(" backlog 12Kb 8p", " rate 1890Kbit 156pps backlog 12Kb 8p")
    assert counters.qdisc_counters(text) == counters.qdisc_counters(SHOWN)


def test_few_unsolicited_ipv6_packets_are_allowed() -> None:
    state = guest()
    lost_before(state["counters"])
    assert errors(state, ip=6) == []
    state["counters"]["before"]["rtr"]["devices"]["r1"]["received"] += 1000
    state["counters"]["after"]["rtr"]["devices"]["r1"]["received"] += 1000
    assert len(errors(state, ip=6)) == 1


@pytest.mark.parametrize(
    ("neighbors", "unasked", "wrong"),
    [(2, 21, 0), (2, 22, 1), (10, 16 + 9 * 5, 0), (10, 16 + 9 * 5 + 1, 1)],
)
def test_each_further_neighbor_may_send_five_unasked_ipv6_packets(
    neighbors: int, unasked: int, wrong: int
) -> None:
    """In a run of web-mix the 10 neighbors of rtr sent 48 such packets."""
    state = guest()
    for when in ("before", "after"):
        devices = state["counters"][when]["rtr"]["devices"]
        devices |= {f"r{one}": {**DEVICE} for one in range(2, neighbors)}
        devices["r1"]["received"] += unasked
    assert len(errors(state, ip=6)) == wrong


@pytest.mark.parametrize(
    ("ip", "counter", "allowed"),
    [
        (4, "Udp RcvbufErrors", 0),
        (6, "Udp RcvbufErrors", 0),
        (4, "Ip6InDiscards", 0),
        (6, "Ip6InDiscards", integrity.IPV6_OWN),
    ],
)
def test_discards_up_to_the_bound_are_allowed(ip: int, counter: str, allowed: int) -> None:
    state = guest()
    state["counters"]["after"]["dst"]["discarded"] = {counter: allowed}
    assert errors(state, ip=ip) == []
    state["counters"]["after"]["dst"]["discarded"] = {counter: allowed + 1}
    assert errors(state, ip=ip) == [f"dst: {counter} is {allowed + 1}"]


def test_receivers_without_memory_are_explained() -> None:
    """10 000 flows at 100 Mb/s in a guest of 2 GiB had these."""
    state = guest()
    state["counters"]["after"]["dst"]["discarded"] = {"TcpExt PruneCalled": 1416}
    found, advice = errors(state)
    assert found == "dst: TcpExt PruneCalled is 1416"
    assert "--set memory=" in advice


def test_resets_that_found_no_room_are_no_discards() -> None:
    text = "Tcp: OutSegs OutRsts\nTcp: 9000 3\nIp: InDiscards OutDiscards\nIp: 2 {}\n"
    seen = [
        counters.discards(counters.protocol_counters(text.format(count))) for count in (0, 3, 4)
    ]
    assert seen == [
        {"Ip InDiscards": 2},
        {"Ip InDiscards": 2},
        {"Ip InDiscards": 2, "Ip OutDiscards": 1},
    ]


@pytest.mark.parametrize(("ip", "allowed"), [(4, 0), (6, integrity.IPV6_OWN)])
def test_device_losses_up_to_the_bound_are_allowed(ip: int, allowed: int) -> None:
    state = guest()
    state["counters"]["after"]["dst"]["devices"]["d0"]["lost"] = allowed
    assert errors(state, ip=ip) == []
    state["counters"]["after"]["dst"]["devices"]["d0"]["lost"] = allowed + 1
    assert errors(state, ip=ip) == [f"dst: device d0 lost {allowed + 1} packets"]


def ends(lost: list[int], group: str = "all", kind: str = "bulk") -> list[dict[str, str]]:
    return [
        {"flow": str(number), "group": group, "kind": kind, "retransmits": str(count)}
        for number, count in enumerate(lost)
    ]


def in_step(rows: list[dict[str, str]], paths: int = 1) -> list[str]:
    """Check flows that are split into paths of equal size, by number."""
    count = len(rows) // paths
    return loss_patterns.in_step(rows, {str(n): f"path {n // count}" for n in range(len(rows))})


def test_losses_that_depend_on_the_order_of_the_flows_are_noticed() -> None:
    rng = random.Random(7)
    chance = [rng.randrange(100) for _ in range(200)]
    assert in_step(ends(chance)) == []
    assert len(in_step(ends(sorted(chance)))) == 1
    assert len(in_step(ends(sorted(chance, reverse=True)))) == 1
    # Half of the flows have all losses: the first half, every second, or ten of each twenty.
    assert len(in_step(ends([9] * 50 + [0] * 50))) == 1
    assert "of neighbors -1.00" in in_step(ends([9, 0] * 50))[0]
    assert "of neighbors 0.8" in in_step(ends(([9] * 10 + [0] * 10) * 5))[0]
    # Every n-th flow has all losses, or more than others.
    for period in (3, 7, 20):
        assert len(in_step(ends(([9] + [0] * (period - 1)) * (160 // period)))) == 1, period
    for period in (3, 5):
        noisy = [rng.randrange(100) + (200 if n % period == 2 else 0) for n in range(100)]
        assert len(in_step(ends(noisy))) == 1, period
    # Ten flows are enough to detect sorted losses. Fewer flows, or no losses, show nothing.
    assert len(in_step(ends(list(range(10))))) == 1
    assert in_step(ends(list(range(9)))) == []
    assert in_step(ends([9, 0] * 9)) == []
    # Each group has its own order.
    assert in_step(ends(chance, "near") + ends([c + 500 for c in chance], "far")) == []
    assert in_step(ends(list(range(9))) + ends([3] * 50, "far")) == []
    assert in_step(ends(list(range(99)), kind="web")) == []


@pytest.mark.parametrize(
    ("lost", "paths", "shown"),
    [
        (list(range(20)), 1, "rank correlation 1.00"),
        (list(range(20, 0, -1)), 1, "-1.00"),
        (list(range(40)), 2, "rank correlation 1.00"),
    ],
)
def test_sorted_losses_have_a_correlation_of_1(lost: list[int], paths: int, shown: str) -> None:
    assert shown in in_step(ends(lost), paths)[0]


@pytest.mark.parametrize("flows", [10, 20, 33, 100])
def test_random_losses_are_accepted(flows: int) -> None:
    rng = random.Random(flows)
    for _ in range(300):
        lost = [rng.randrange(rng.choice([2, 9, 900])) for _ in range(flows)]
        assert in_step(ends(lost)) == []


@pytest.mark.parametrize(("losers", "flows"), [(1, 100), (2, 100), (4, 400), (6, 1000)])
def test_few_random_losses_are_accepted(losers: int, flows: int) -> None:
    rng = random.Random(losers)
    lost = [0] * (flows - losers) + [1] * losers
    for _ in range(30):
        rng.shuffle(lost)
        assert in_step(ends(lost)) == []


def test_pattern_found_in_one_of_100_permutations_is_chance() -> None:
    # Only the last of 100 flows has a loss; or the later flow of each of six or eight pairs.
    assert in_step(ends([0] * 99 + [1])) == []
    assert in_step(ends([0, 1] * 6), paths=6) == []
    assert in_step(ends([0, 1] * 8), paths=8) == []
    # Ten neighbors of 100 flows have a probability of 1 in 2e11.
    assert len(in_step(ends([0] * 90 + [1] * 10))) == 1


@pytest.mark.parametrize(("losers", "noticed"), [(3, 0), (6, 1)])
def test_position_of_neighbors_that_lose_does_not_matter(losers: int, noticed: int) -> None:
    """Of the 1 313 400 ways to choose 3 of 200 flows, 200 are neighbors in a ring: 1 in 6567.

    For six flows it is 1 in 412 million."""
    assert math.comb(200, 3) == 1_313_400
    assert math.comb(200, 6) / 200 == pytest.approx(412e6, rel=0.01)
    for first in (0, 1, 6, 7, 12, 96, 100, 150, 198 - losers, 200 - losers):
        lost = [0] * first + [1] * losers + [0] * (200 - losers - first)
        assert len(in_step(ends(lost))) == noticed, first


@pytest.mark.parametrize(
    "ranks",
    [
        (0.5, -0.5),
        (1, 0, -1),
        (1.5, -1.5, 0, 0),
        (2, -1, -1, 1, -1),
        (2.5, 1.5, -0.5, -0.5, -0.5, -2.5),
    ],
)
def test_neighbor_moments_equal_those_over_all_permutations(ranks: tuple[float, ...]) -> None:
    mean, variance = loss_patterns.neighbor_moments(np.array(ranks))
    all_ = [
        sum(a * b for a, b in zip(order, (*order[1:], order[0]), strict=True))
        for order in itertools.permutations(ranks)
    ]
    assert mean == pytest.approx(statistics.fmean(all_))
    assert variance == pytest.approx(statistics.pvariance(all_), abs=1e-12)


@pytest.mark.parametrize("side", [1, -1])
def test_neighbors_are_significant_beyond_five_standard_deviations(side: int) -> None:
    ranks = np.arange(40.0) - 19.5
    mean, variance = loss_patterns.neighbor_moments(ranks)
    for deviations, significant in ((4.99, False), (5.01, True)):
        found = mean + side * deviations * math.sqrt(variance)
        assert (
            loss_patterns._neighbors_significant([ranks], found / float(ranks @ ranks))
            == significant
        )


@pytest.mark.parametrize(("paths", "freedom"), [(1, 38), (2, 37)])
def test_order_is_significant_beyond_student_s_t(paths: int, freedom: int) -> None:
    """5 standard deviations on both sides: a chance of 5.7e-7."""
    bound = stats.t.isf(5.7e-7 / 2, freedom)
    ranks = [np.zeros(40 // paths)] * paths
    for t, significant in ((0.999 * bound, False), (1.001 * bound, True)):
        for rho in (t / math.sqrt(freedom + t * t), -t / math.sqrt(freedom + t * t)):
            assert loss_patterns._order_significant(ranks, rho) == significant


def test_evidence_of_a_period_is_that_of_an_analysis_of_variance() -> None:
    ranks = np.random.default_rng(3).permutation(60) - 29.5
    least = min(
        stats.f_oneway(*(ranks[at::period] for at in range(period))).pvalue
        for period in range(2, 21)
    )
    assert 10 ** -loss_patterns._period_evidence([ranks]) == pytest.approx(least)


def test_paths_may_differ_in_their_losses() -> None:
    rng = random.Random(7)
    shorter = [rng.randrange(20) + 50 * (8 - path) for path in range(8) for _ in range(25)]
    assert in_step(ends(shorter), paths=8) == []
    assert len(in_step(ends(shorter))) == 1
    # Sorted by flow within each path.
    within = [number for path in range(8) for number in sorted(shorter[25 * path : 25 * path + 25])]
    assert len(in_step(ends(within), paths=8)) == 1


BULK = {
    "flow": "0",
    "group": "all",
    "kind": "bulk",
    "start_s": "1",
    "end_s": "61",
    "retransmits": "0",
    "rtt_ms": "100",
    "busy_ms": "59900",
    "rwnd_limited_ms": "0",
    "unsent": "90000",
}


def limited(window: bool = True, **changed: str) -> list[str]:
    return integrity.limited([BULK | changed], {"all": 100.0}, 0.0, window=window)


@pytest.mark.parametrize(
    ("idle_ms", "wait_ms", "wrong"),
    [
        # Allowed: 600 ms for 75 packets of 1000 bytes at 1 Mb/s, 100 ms to connect, 2 % of 10 s.
        (900, 600, 0),
        (910, 600, 1),
        (900, 0, 1),
        (300, 0, 0),
        (310, 0, 1),
        # A lost SYN costs 1000 ms; the kernel counts in ticks of 10 ms.
        (990, 0, 0),
        (980, 0, 1),
        # Ahammed and Banu's queue has 150 packets of 1014 bytes: 991 ms for a handshake without
        # loss.
        (986, 150 * 1014 * 8 / 1e3, 0),
        (986, 0, 1),
    ],
)
def test_a_handshake_may_wait_in_the_queue_once(idle_ms: float, wait_ms: float, wrong: int) -> None:
    row = BULK | {"start_s": "0", "end_s": "10", "busy_ms": f"{10000 - idle_ms}"}
    assert len(integrity.limited([row], {"all": 0.0}, wait_ms, window=True)) == wrong


@pytest.mark.parametrize(("rtt_ms", "wrong"), [(400, 1), (700, 0)])
def test_a_handshake_may_wait_in_a_queue_that_is_not_sampled(rtt_ms: int, wrong: int) -> None:
    """Idle for 900 ms of 10 s, and 300 ms are allowed: the rest was spent in queues."""
    row = BULK | {"start_s": "0", "end_s": "10", "busy_ms": "9100", "rtt_ms": f"{rtt_ms}"}
    assert len(integrity.limited([row], {"all": 0.0}, 0.0, window=True, other_queues=True)) == wrong


def test_sender_limited_by_its_program_or_buffer_is_noticed() -> None:
    assert limited() == []
    assert "its socket's buffer" in limited(unsent="0")[0]
    many = [BULK | {"flow": str(flow)} for flow in range(20)]
    many[-1] |= {"unsent": "0"}
    assert integrity.limited(many, {"all": 100.0}, 0.0, window=True) == []
    many[-2] |= {"unsent": "0", "busy_ms": "50000"}
    assert integrity.limited(many[1:], {"all": 100.0}, 0.0, window=True) == [
        "group all: 2 of 19 flows were limited, flow 18 by its program, which sent in 50000 of "
        "60000 ms"
    ]
    # The program sent too late. A web session may be silent.
    assert "its program" in limited(busy_ms="50000")[0]
    assert limited(busy_ms="50000", kind="web", unsent="0") == []
    # Three SYNs were lost, and eight, which takes 19 s plus the delay of timers.
    assert limited(busy_ms="56600") == limited(busy_ms="40062") == []
    assert "its program" in limited(busy_ms="36000")[0]
    # One SYN was lost, within a tick of 10 ms. 0.97 s are too short for that and too long without.
    for busy_ms, wrong in (("37470", 0), ("37500", 1)):
        late = BULK | {"start_s": "1.534", "end_s": "40", "busy_ms": busy_ms}
        assert len(integrity.limited([late], {"all": 40.0}, 0.0, window=True)) == wrong
    # Logs without this column, and flows that never connected, are accepted.
    assert limited(busy_ms="") == limited(busy_ms="0") == []


def test_window_may_limit_only_by_request_or_during_loss_recovery() -> None:
    assert "window for 700 of" in limited(rwnd_limited_ms="700")[0]
    assert limited(rwnd_limited_ms="700", window=False) == []
    # From a real run: without SACK recovery takes one round trip of 110 ms per lost packet.
    assert (
        limited(
            rwnd_limited_ms="68940", busy_ms="75410", end_s="76.5", retransmits="625", rtt_ms="110"
        )
        == []
    )
    assert len(limited(rwnd_limited_ms="5000", retransmits="10")) == 1
    # One timeout.
    assert limited(rwnd_limited_ms="300", retransmits="1", rtt_ms="5") == []
