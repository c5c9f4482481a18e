# SPDX-License-Identifier: GPL-2.0
"""Properties that tc-cbt(8) promises: classes, limit, GSO, changes and counts."""

from __future__ import annotations

import random

import pytest

from tests.userspace import Refused, World

TCP, TAGGED, OTHER = 1, 2, 3
# A packet of 1000 bytes takes 1 ms.
PACE = "bandwidth 8mbit packet_tcp 1000 packet_tagged 1000 packet_other 1000"


def arrivals(w: World) -> list[int]:
    return [w.named(minor)["arrivals"] for minor in (TCP, TAGGED, OTHER)]


@pytest.mark.parametrize(
    ("fields", "minor"),
    [
        ({"proto": "tcp"}, TCP),
        ({"proto": "sctp"}, TCP),
        ({"proto": "dccp"}, TCP),
        ({"proto": "arp"}, TCP),
        ({"proto": "udp"}, OTHER),
        ({"proto": "icmp"}, OTHER),
        ({"proto": "tcp", "v6": 1}, TCP),
        ({"proto": "sctp", "v6": 1}, TCP),
        ({"proto": "udp", "v6": 1}, OTHER),
        ({"proto": "udp", "tos": 0xB8}, TAGGED),
        ({"proto": "udp", "tos": 0xBB, "v6": 1}, TAGGED),
        ({"proto": "icmp", "tos": 0xB8}, TAGGED),
        ({"proto": "udp", "mark": 0x15}, TAGGED),
        ({"proto": "udp", "mark": 0x25}, OTHER),
        ({"proto": "tcp", "tos": 0xB8, "mark": 0x15}, TCP),
        ({"proto": "tcp", "class": TAGGED}, TAGGED),
        ({"proto": "udp", "tos": 0xB8, "class": OTHER}, OTHER),
        ({"proto": "udp", "class": TCP}, TCP),
        ({"proto": "udp", "class": 4}, OTHER),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"tag": 5},
        {"vlan": 5},
        {"vlan": 5, "bridged": 1},
        {"vlan": 5, "tag": 6},
        {"vlan": 5, "tag": 6, "mac": 4},
    ],
    ids=str,
)
def test_vlan_tags_do_not_change_the_class(
    tags: dict[str, int], fields: dict[str, int | str], minor: int
) -> None:
    with World("cbt", "dscp 46 mark 0x10/0xf0") as w:
        assert w.enqueue(len=1000, **fields, **tags)
        assert arrivals(w) == [int(minor == n) for n in (TCP, TAGGED, OTHER)]
        cl = w.classes()[minor]
        assert (cl.qlen, cl.backlog, cl.packets) == (1, 1000, 0)
        w.dequeue()
        cl = w.classes()[minor]
        assert (cl.qlen, cl.backlog, cl.packets, cl.bytes) == (0, 0, 1, 1000)


def test_arrivals_that_red_did_not_judge_do_not_count() -> None:
    """The next arrival is dropped with p_b = 0.05, although 300 arrivals came before it."""
    dropped = 0
    for seed in range(1, 101):
        with World("cbt", f"limit 1000 min 5 max 105 weight 1 probability 0 seed {seed}") as w:
            for _ in range(300):
                w.enqueue(len=1000, proto="tcp")
                while w.stats().qlen > 55:
                    w.dequeue()
            w.change("red all")
            w.change("red tcp probability 0.1")
            w.enqueue(len=1000, proto="tcp")
            dropped += w.stats().drops
    assert 0 < dropped < 15


def test_the_limit_is_twice_the_thresholds_unless_given() -> None:
    """10 Mb/s and 100 ms are 62.5 + 23.4375 + 12.5 packets. Twice that, rounded up."""
    with World("cbt", "bandwidth 10mbit latency 100ms") as w:
        assert w.named()["limit"] == 197
        assert "limit" not in w.given()
        w.change("bandwidth 100mbit")
        assert w.named()["limit"] == 1969
        w.change("limit 500")
        assert w.message.endswith("limit is below the sum of the thresholds")
        assert w.named()["limit"] == w.given()["limit"] == 500
        w.change("limit 1000")
        w.change("bandwidth 10mbit")
        assert w.named()["limit"] == 1000
        w.change("threshold_other 100")
        assert w.named()["limit"] == 1000


def test_threshold_from_a_share_follows_the_bandwidth_even_after_restore() -> None:
    with World("cbt", "share_tcp 0.5 share_tagged 0.25 share_other 0.25") as w:
        given = w.given()
    assert not {"min", "max", "threshold_tagged", "threshold_other", "limit"} & set(given)


@pytest.mark.parametrize(
    ("fields", "average", "packets"),
    [
        ({"proto": "tcp"}, "avg_tcp", 2),
        ({"proto": "udp", "mark": 0x15}, "avg_tagged", 4),
        ({"proto": "udp"}, "avg_other", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_idle_time_counts_in_packets_of_the_class(
    fields: dict[str, int | str], average: str, packets: int
) -> None:
    """In RED, an idle time of m packets multiplies the average by (1 - w)^m."""
    words = (
        "bandwidth 8mbit packet_tcp 1000 packet_tagged 500 packet_other 2000 mark 0x10/0xf0 "
        "weight 0.5 class_weight 0.5 limit 100 threshold_tagged 50 threshold_other 50"
    )
    with World("cbt", words) as w:
        for _ in range(3):
            w.enqueue(len=1000, **fields)
        before = w.named()[average]
        w.dequeue(3)
        w.advance(2_100_000)
        w.enqueue(len=1000, **fields)
        assert w.named()[average] == pytest.approx(before * 0.5**packets, rel=1e-6)


@pytest.mark.parametrize("huge", ["bandwidth 8.7tbit latency 4000s", "bandwidth 8.7tbit"])
def test_no_bandwidth_and_latency_overflow_the_division(huge: str) -> None:
    """On x86-64, a quotient of more than 64 bits traps. Here it is a violation."""
    with World("cbt", huge) as w:
        assert w.named()["limit"] <= 1 << 20
    with pytest.raises(Refused):
        World("cbt", "bandwidth 18000000tbit latency 10s")


def test_gso_packet_counts_its_segments() -> None:
    with World("cbt", f"limit 100 {PACE} latency 100ms seed 1 threshold_other 50 nosplit_gso") as w:
        assert w.enqueue(len=40_000, segs=40, gso=1000, proto="udp")
        st = w.named()
        assert (st["segments"], st["other"]) == (40, 40)
        assert w.stats().qlen == w.classes()[OTHER].qlen == 1
        assert w.enqueue(len=40_000, segs=40, gso=1000, proto="tcp")
        assert w.stats().qlen == 2
        w.enqueue(len=40_000, segs=40, gso=1000, proto="tcp")
        st = w.named()
        assert st["segments"] == 80
        assert st["drop_limit"] == 1
        w.dequeue(10)
        assert w.named()["segments"] == 0


def test_full_queue_makes_room_for_all_segments_of_an_arrival() -> None:
    """Random victims are dropped until it fits or is a victim itself. Each loss counts once."""
    with World("cbt", "limit 50 min 900 max 1000 victim random seed 3 nosplit_gso") as w:
        for i in range(300):
            w.enqueue(len=1000, proto="tcp", flow=i)
            w.enqueue(len=20_000, segs=20, gso=1000, proto="tcp", flow=i)
            st = w.named()
            assert st["segments"] <= 50
            assert st["drop_limit"] == w.stats().drops
            if i % 7 == 0:
                w.dequeue(2)
        assert w.named()["victims"] > 100


def test_victims_include_packets_queued_before_the_change() -> None:
    with World("cbt", "limit 30 min 900 max 1000 seed 3") as w:
        victims, sent = [], []
        for change in ("", "victim random", "limit 29 victim arrival", "limit 30 victim random"):
            if change:
                w.change(change)
            for flow in range(40):
                w.enqueue(len=1000, proto="tcp", flow=flow)
            victims.append(w.named()["victims"])
            sent += [packet for packet, _ in w.dequeue(5)]
        sent += [packet for packet, _ in w.dequeue(100)]
        assert victims[0] == 0 < victims[1] == victims[2] < victims[3]
        assert sent == sorted(sent)
        # 30 packets came before "victim random", and five of them had left.
        assert not set(range(5, 30)) <= set(sent)
        assert len(sent) + w.stats().drops == 160
        assert w.named()["memory_used"] == 0


@pytest.mark.parametrize("victim", ["random", "arrival"])
@pytest.mark.parametrize(
    ("larger", "cause"), [("segs=40 gso=1000", "limit"), ("truesize=30000", "memory")]
)
def test_packet_larger_than_a_limit_drops_no_other(larger: str, cause: str, victim: str) -> None:
    options = f"limit 30 memory_limit 20000b victim {victim} nosplit_gso {PACE} latency 10s"
    with World("cbt", f"{options} seed 3") as w:
        for i in range(20):
            w.enqueue(len=500, truesize=768, proto="tcp", flow=i)
        for _ in range(50):
            w.do(f"e len=40000 proto=tcp {larger}")
        assert w.stats().qlen == 20
        assert w.named()[f"drop_{cause}"] == w.stats().drops == 50


def test_packet_as_large_as_memory_limit_can_take_the_place_of_others() -> None:
    with World("cbt", f"memory_limit 20000b victim random {PACE} seed 3") as w:
        for i in range(20):
            w.enqueue(len=500, truesize=768, proto="tcp", flow=i)
        for _ in range(50):
            w.enqueue(len=1000, truesize=20000, proto="tcp")
        assert w.named()["victims"] >= 20
        assert w.named()["memory_used"] == 20000


def test_with_red_all_the_limit_includes_given_thresholds() -> None:
    """The limit is twice the sum of 62.5 and 12.5 derived packets and 100 given ones."""
    with World("cbt", "red all bandwidth 10mbit latency 100ms threshold_tagged 100") as w:
        assert w.named()["limit"] == 350


@pytest.mark.parametrize(
    "below", ["", "hfsc", "hfsc prio", "hfsc tbf", "drr prio", "qfq prio", "htb"]
)
@pytest.mark.parametrize("victim", ["random", "arrival"])
def test_forced_drop_of_the_last_packet_stalls_no_parent(below: str, victim: str) -> None:
    """RED's average stays above max while the queue has only one packet."""
    rng = random.Random(1)
    with World("cbt", f"{PACE} min 2 max 3 victim {victim} seed 1", below=below) as w:
        for _ in range(20):
            for _ in range(400):
                for _ in range(rng.choice((1, 2, 2, 3))):
                    w.enqueue(len=rng.choice((100, 1000)), proto="tcp", flow=rng.randrange(9))
                w.dequeue(2)
            for _ in range(300):
                w.enqueue(len=1000, proto="tcp", flow=rng.randrange(9))
            # The average stays above max, so each arrival may replace the only packet.
            for _ in range(10):
                while w.stats().qlen > 1:
                    assert len(w.dequeue(1)) == 1, "stalled"
                w.enqueue(len=1000, proto="tcp", flow=rng.randrange(9))
            while w.stats().qlen:
                assert len(w.dequeue(1)) == 1, "stalled"
            w.advance(30_000_000_000)
            assert w.enqueue(len=1000, proto="tcp")
            assert len(w.dequeue(1)) == 1, "stalled"


@pytest.mark.parametrize("number", [0, 43, 44, 60])
def test_an_extension_header_hides_no_protocol(number: int) -> None:
    with World("cbt", "limit 100 bandwidth 100mbit dscp 46") as w:
        w.enqueue(v6=1, proto="tcp", ext=number, len=200)
        assert arrivals(w) == [1, 0, 0]
        w.enqueue(v6=1, proto="udp", ext=number, len=200)
        assert arrivals(w) == [1, 0, 1]
        w.enqueue(v6=1, proto="udp", ext=number, len=200, tos=46 << 2)
        assert arrivals(w) == [1, 1, 1]


def test_class_loses_packets_only_while_its_average_is_above_its_threshold() -> None:
    """With weight 1 - 2^-32 the average follows the number of packets that an arrival finds."""
    with World("cbt", f"{PACE} limit 100 class_weight 1 threshold_other 3 seed 1") as w:
        for _ in range(10):
            w.enqueue(len=1000, proto="udp")
        assert w.stats().qlen == 4
        assert w.named()["other_drop"] == 6
        w.dequeue(1)
        for _ in range(3):
            w.enqueue(len=1000, proto="udp")
        assert w.stats().qlen == 4
