# SPDX-License-Identifier: GPL-2.0
"""Properties of the buffer of qsdrr and tdrr: limits that follow the link, and GSO packets."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from tests.oracle.test_fair_queueing import DROP, MTU, SUCCESS, every_kind, every_order
from tests.userspace import World

# ---- the link ----


def on_link(kind: str, options: str = "", *, mbit: int | None = None, mtu: int = 1500) -> World:
    """Return a discipline on a device with this speed and MTU, reported by a link event."""
    world = World(kind, options)
    world.do(f"m {mtu}")
    if mbit is not None:
        world.do(f"l {mbit}")
    return world


@every_kind
@pytest.mark.parametrize(
    ("options", "mbit", "bandwidth", "limit"),
    [
        ("", None, 125_000_000, 6666),  # 10^9 / 8 * 0.08 / 1500
        ("", 10, 1_250_000, 66),
        ("", 100, 12_500_000, 666),
        ("", 10_000, 1_250_000_000, 66_666),
        ("", 400_000, 50_000_000_000, 2_666_666),
        ("", 1, 125_000, 8),
        ("bandwidth 10mbit", 1000, 1_250_000, 66),
        ("bandwidth 8bit", 1000, 1, 8),
        ("limit 20", 1000, 0, 20),
        ("limit 20", None, 0, 20),
        ("limit 20 bandwidth 10mbit", 1000, 1_250_000, 20),
    ],
)
def test_the_limit_is_80_ms_of_the_link(
    kind: str, options: str, mbit: int | None, bandwidth: int, limit: int
) -> None:
    with on_link(kind, options, mbit=mbit) as w:
        named = w.named()
        assert (named["bandwidth"], named["limit"]) == (bandwidth, limit)
        # Enough for four times as many bytes, and as much as for any link if limit is given.
        most, least = 32 << 20, 1 << 20
        full = 4 * bandwidth * 0.08
        assert named["memory_limit"] == (
            most if "limit" in options else int(min(max(full, least), most))
        )


@every_kind
def test_a_full_queue_is_at_most_100_ms_of_the_link(kind: str) -> None:
    """This holds for the defaults and packets of the MTU, from 1 Mb/s to 100 Gb/s."""
    for mtu in (576, 1500, 9000, 65536):
        for mbit in (1, 2, 5, 10, 100, 1000, 10_000, 100_000):
            with on_link(kind, mbit=mbit, mtu=mtu) as w:
                limit = w.named()["limit"]
                delay_ms = limit * (mtu + 14) * 8 / (mbit * 1000)
                assert delay_ms <= 100 or limit == 8, (mtu, mbit)


@every_kind
def test_a_given_limit_does_not_follow_the_link(kind: str) -> None:
    with World(kind, below="hfsc prio") as w:
        w.do("l 100")
        w.change("limit 50")
        w.do("l 1")
        assert (w.named()["bandwidth"], w.named()["limit"]) == (0, 50)
        w.change("limit auto")
        assert (w.named()["bandwidth"], w.named()["limit"]) == (125_000, 8)
        w.change("bandwidth 10mbit")
        w.do("l 10000")
        assert w.named()["limit"] == 66
        w.change("bandwidth auto")
        assert w.named()["limit"] == 66_666


@every_kind
def test_quantum_and_limit_follow_the_mtu(kind: str) -> None:
    with World(kind, "bandwidth 100mbit", below="hfsc prio") as w:
        assert (w.named()["quantum"], w.named()["limit"]) == (1514, 666)
        for i in range(300):
            w.enqueue(flow=i % 7, len=MTU)
        w.do("m 9000")
        assert (w.named()["quantum"], w.named()["limit"]) == (9014, 111)
        assert w.stats().qlen == 111
        assert w.named()["drop_change"] == w.stats().drops == 189
        w.do("m 1500")
        assert (w.named()["quantum"], w.named()["limit"]) == (1514, 666)
        w.change("quantum 3000 limit 50")
        w.do("m 9000")
        assert (w.named()["quantum"], w.named()["limit"]) == (3000, 50)
        assert len(w.dequeue(1000)) == 50


@every_kind
def test_dump_equals_the_given_options(kind: str) -> None:
    with World(kind) as w:
        assert w.given() == {}
        w.change("limit 9")
        assert w.given() == {"limit": 9}
        w.change("bandwidth 8mbit nosplit_gso memory_limit 1mb quantum 1514")
        assert w.given() == {
            "limit": 9,
            "bandwidth": 1_000_000,
            "split_gso": False,
            "memory_limit": 1 << 20,
            "quantum": 1514,
        }
        w.change("limit auto quantum auto memory_limit auto bandwidth auto")
        assert w.given() == {"split_gso": False}
        assert w.named()["memory_limit"] == 32 << 20


@every_kind
@pytest.mark.parametrize(
    ("mtu", "quantum"), [(1500, 1514), (9000, 9014), (68, 256), (65536, 65550)]
)
def test_default_quantum_is_one_full_packet(kind: str, mtu: int, quantum: int) -> None:
    """So two queues of full packets alternate."""
    with World(kind, "limit 100000") as w:
        w.do(f"m {mtu}")
        w.change("quantum auto")
        assert w.named()["quantum"] == quantum
        for _ in range(10):
            w.enqueue(prio=0x10001, len=mtu + 14, tos=4)
            w.enqueue(prio=0x10002, len=mtu + 14, tos=8)
        sent = Counter(tos for _, tos in w.dequeue(10))
        assert abs(sent[4] - sent[8]) * (mtu + 14) < quantum + mtu + 14


# ---- flows ----


def queues_of(w: World, flows: range) -> list[int]:
    """Send a packet of each flow, and return the number of the queue that each one is in."""
    queues: list[int] = []
    for flow in flows:
        w.enqueue(flow=flow, len=100)
        queues += [minor for minor in w.classes() if minor not in queues]
    return queues


@every_kind
@pytest.mark.parametrize("left", [0, 3])
def test_reset_forgets_which_flow_owns_which_queue(kind: str, left: int) -> None:
    """Afterwards flows get the queues of a new qdisc, also if it was empty before."""
    with World(kind, "flows 32") as fresh, World(kind, "flows 32") as w:
        queues_of(w, range(100, 132))
        w.dequeue(32 - left)
        w.reset()
        assert queues_of(w, range(20)) == queues_of(fresh, range(20))


# ---- more queues ----


@every_kind
@pytest.mark.parametrize("fails", [0, 1, 2])
def test_flows_that_wait_get_more_queues(kind: str, fails: int) -> None:
    """60 flows wait in 32 queues, and then 150. More queues come later if memory is short."""
    with World(kind, "limit 1000 flows 32", below="hfsc prio") as w:
        w.do("o 1")
        w.fail_alloc(fails)
        for flow in range(60):
            w.enqueue(flow=flow, len=100)
        w.fail_alloc(0)
        for flow in range(60, 150):
            w.enqueue(flow=flow, len=100)
        assert w.named()["flows"] > 200
        w.dequeue(1000)
        for _ in range(2):
            for flow in range(150):
                w.enqueue(flow=flow, len=100)
            assert len(w.classes()) >= 147
            w.reset()


@every_kind
def test_queues_stay_as_they_are_unless_flows_share(kind: str) -> None:
    """A plain hash, or as many flows as queues."""
    for options, flows in (("noavoid_collisions", 1000), ("", 1000), ("flows 500", 490)):
        with World(kind, f"limit 5000 {options}") as w:
            w.do("o 1")
            before = w.named()["flows"]
            for flow in range(flows):
                w.enqueue(flow=flow, len=100)
            assert w.named()["flows"] == before


@every_order
@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_packets_of_a_flow_leave_in_order_while_queues_are_added(kind: str, rate: float) -> None:
    name, _, options = kind.partition(" ")
    rng = random.Random(rate)
    with World(name, f"limit 3000 flows 64 quantum 1514 {options}", seed=5) as w:
        w.do("o 1")
        last: Counter[int] = Counter()
        sender_of: dict[int, int] = {}
        for number in range(6000):
            sender_of[number] = sender = rng.randrange(700)
            w.enqueue(flow=sender, len=rng.choice((60, MTU, 3000)))
            if number > 50 and rng.random() < rate:
                for packet, _ in w.dequeue(1):
                    assert packet >= last[sender_of[packet]]
                    last[sender_of[packet]] = packet
            w.advance(20_000)
        assert w.named()["flows"] > 64


@every_kind
def test_class_names_the_same_queue_after_queues_were_added(kind: str) -> None:
    """Its packets leave in order, its account stays, and there are no more classes to name."""
    with World(kind, "limit 1000 flows 32") as w:
        w.do("o 1")
        w.enqueue(prio=0x10007, len=100)
        for flow in range(300):
            w.enqueue(flow=flow, len=100)
        assert w.named()["flows"] > 32
        assert w.classes()[7].qlen >= 1
        before = w.classes()[7].qlen
        w.enqueue(prio=0x10007, len=100)
        assert w.classes()[7].qlen == before + 1
        w.do("e flow=1 len=100 act=ok class=33")
        assert w.named()["drop_filter"] == 1


# ---- rest ----

MINUTE = 60_000_000_000


def has_queues(w: World) -> bool:
    """Send a packet while no memory can be had, and return whether it is queued."""
    refused = w.named()["drop_memory"]
    w.fail_alloc(1)
    queued = w.enqueue(flow=1, len=100)
    w.fail_alloc(0)
    assert w.named()["drop_memory"] == refused + (not queued)
    return queued


@every_kind
@pytest.mark.parametrize(("options", "lazy"), [("", True), ("flows 1025", False)])
def test_the_first_packet_brings_the_queues(kind: str, options: str, lazy: bool) -> None:
    """If it finds no memory, it is dropped, and work brings the queues."""
    with World(kind, options, below="hfsc prio", walk=True) as w:
        assert w.classes() == {}
        assert w.named(minor=7)["queue"] == 7
        assert has_queues(w) != lazy
        assert has_queues(w) != lazy
        w.do("o 1")
        assert has_queues(w)


@every_kind
def test_a_buffer_gives_its_queues_back_after_a_minute_without_packets(kind: str) -> None:
    with World(kind, "limit 1000 flows 32", below="hfsc prio", walk=True) as w:
        w.do("o 1")
        for flow in range(300):
            w.enqueue(flow=flow, len=100)
        assert w.named()["flows"] > 32
        w.dequeue(299)
        for _ in range(3):
            w.advance(MINUTE)
            w.do("s")
        assert w.stats().qlen == 1
        w.dequeue(1)
        for _ in range(2):
            assert w.named()["flows"] > 32
            w.advance(MINUTE)
            w.do("s")
        assert w.named()["flows"] == 32
        assert not has_queues(w)
        assert has_queues(w)
        assert set(w.classes()) == set(queues_of_one(kind))


def queues_of_one(kind: str) -> list[int]:
    """Return the class of flow 1 in a new buffer."""
    with World(kind, "flows 32") as w:
        w.enqueue(flow=1, len=100)
        return list(w.classes())


@pytest.mark.parametrize(
    ("constant", "minutes", "rests"), [("100ms", 2, True), ("100s", 70, False), ("100s", 80, True)]
)
def test_tdrr_rests_when_throughputs_have_decayed(constant: str, minutes: int, rests: bool) -> None:
    """With a time constant of 100 s this takes 64 half-lives, which are 74 minutes."""
    with World("tdrr", f"time_constant {constant}", walk=True) as w:
        w.do("o 1")
        w.enqueue(flow=1, len=100)
        w.dequeue(1)
        for _ in range(minutes):
            w.advance(MINUTE)
            w.do("s")
        assert has_queues(w) != rests


# ---- the memory of tdrr ----


def measured(w: World, flow: int, number: int = 1) -> int:
    """Let a flow send packets into an empty buffer, and return its throughput before the last."""
    for _ in range(number):
        w.enqueue(flow=flow, len=MTU)
        (minor,) = w.classes()
        rate: int = w.named(minor=minor)["throughput"]
        w.dequeue(1)
    return rate


def short_flows(w: World, first: int, number: int = 200) -> None:
    """Send a packet of each of these flows."""
    for flow in range(first, first + number):
        measured(w, flow)


@pytest.mark.parametrize("fails", [0, 1])
def test_throughput_of_a_flow_is_remembered_while_others_have_its_queue(fails: int) -> None:
    """The table gets larger when flows are forgotten, and later if memory was short."""
    with World("tdrr", "limit 10 flows 8 time_constant 10s") as w:
        w.do("o 1")
        assert w.named()["records"] == 0
        measured(w, 99)  # brings the queues
        w.fail_alloc(fails)
        short_flows(w, 100)
        w.fail_alloc(0)
        short_flows(w, 300)
        # The first table has 4 records per queue, and the second one 64. 401 flows had a queue.
        assert 350 <= w.named()["records"] <= 401 - 8
        before = measured(w, 1, 50)
        recalled = w.named()["recalled"]
        short_flows(w, 500)
        w.advance(5_000_000_000)
        after = measured(w, 1)
        assert w.named()["recalled"] > recalled
        # The last of the 50 packets was not yet sent.
        assert after == pytest.approx(before * 50 / 49 * math.exp(-0.5), rel=1e-3)
        # Its next packet is lost, although others wait longer.
        w.enqueue(flow=1, len=MTU, tos=4)
        for flow in range(500, 510):
            w.enqueue(flow=flow, len=MTU)
        assert w.stats().drops == 1
        assert 4 not in [tos for _, tos in w.dequeue(20)]


def test_reset_forgets_flows_without_a_queue() -> None:
    with World("tdrr", "limit 10 flows 8") as w:
        w.do("o 1")
        short_flows(w, 100)
        measured(w, 1, 50)
        short_flows(w, 300)
        w.reset()
        assert measured(w, 1) == 0


def test_a_flood_of_short_flows_does_not_push_out_long_ones() -> None:
    """256 flows with 20 packets each, and 100 times as many with one, 1024 queues."""
    with World("tdrr", "limit 10 flows 1024 time_constant 100s") as w:
        w.do("o 1")
        short_flows(w, 1000, 3000)
        for _ in range(20):
            for flow in range(256):
                measured(w, flow)
        short_flows(w, 10_000, 25_600)
        # Of 28 856 flows, some have shared a set of eight records with too many others.
        assert w.named()["records"] >= 20_000
        rates = [measured(w, flow) for flow in range(256)]
        # Those that inherited a packet when there were no records yet have one more.
        assert max(rates) - min(rates) <= 1.01 * 8 * MTU / 100


# ---- GSO packets ----

SEGMENT = 1448
HEADERS = 14 + 20 + 20


@every_kind
def test_gso_packet_is_queued_as_its_segments(kind: str) -> None:
    """Ten full segments and a short one leave in order, with the right number of bytes."""
    with World(kind, "limit 100 flows 16", below="hfsc prio") as w:
        whole = HEADERS + 10 * SEGMENT + 100
        w.enqueue(prio=0x10001, len=whole, gso=SEGMENT, proto="tcp")
        assert w.verdict == SUCCESS
        for level in range(3):
            assert w.stats(level).qlen == 11
            assert w.stats(level).backlog == 10 * SEGMENT + 100 + 11 * HEADERS
        assert [cl.qlen for cl in w.classes().values()] == [11]
        w.enqueue(prio=0x10002, len=60)
        left = [number for number, _ in w.dequeue(20)]
        assert Counter(left) == {0: 11, 1: 1}
        assert left.index(1) <= 2, "a turn must be a quantum, not the whole GSO packet"
        assert w.stats().packets == 12


@every_kind
def test_drop_takes_one_segment_of_a_gso_packet(kind: str) -> None:
    """One flow has 18 of 20 places with two GSO packets. Other flows then arrive."""
    for option, lost, left in (("", 1, 20), ("nosplit_gso", 1, 12)):
        with World(kind, f"limit 20 flows 16 {option}", below="hfsc prio") as w:
            for _ in range(2):
                w.enqueue(prio=0x10001, len=HEADERS + 9 * SEGMENT, gso=SEGMENT, proto="tcp")
            w.enqueue(prio=0x10002, len=60)
            w.enqueue(prio=0x10003, len=60)
            assert w.stats().drops == 0
            w.enqueue(prio=0x10004, len=60)
            segments = sum(9 if cl.backlog > 1514 else 1 for cl in w.classes().values())
            assert w.stats().drops == lost
            assert (w.stats().qlen if not option else segments) == left


@every_kind
@pytest.mark.parametrize("option", ["split_gso", "nosplit_gso"])
def test_gso_packet_with_more_segments_than_the_limit(kind: str, option: str) -> None:
    """Of 64 kB in 20 places the last 20 segments stay, or all of it in an empty queue."""
    for below in ("", "prio", "hfsc prio"):
        with World(kind, f"limit 20 flows 16 {option}", below=below) as w:
            for n in range(3):
                w.enqueue(flow=1, len=HEADERS + 44 * SEGMENT, gso=SEGMENT, proto="tcp")
                assert (w.verdict == DROP) == (option == "nosplit_gso" and n > 0)
                dropped = 44 * (n + 1) - 20 if option == "split_gso" else n
                assert w.stats().drops == dropped
                assert w.stats().qlen == (20 if option == "split_gso" else 1)
            assert w.dequeue(50)
            assert not w.stats().qlen
            w.enqueue(flow=1, len=HEADERS + 44 * SEGMENT, gso=SEGMENT, proto="tcp")
            assert w.dequeue(50)


@every_kind
def test_filter_sees_a_gso_packet_once(kind: str) -> None:
    """A drop counts once, and a class applies to all segments."""
    with World(kind, "limit 100 flows 16", below="prio") as w:
        gso = f"len={HEADERS + 10 * SEGMENT} gso={SEGMENT} proto=tcp"
        w.do(f"e flow=1 {gso} act=shot")
        assert (w.stats().drops, w.named()["drop_filter"]) == (1, 1)
        w.do(f"e flow=1 {gso} act=ok class=7")
        assert {minor: cl.qlen for minor, cl in w.classes().items()} == {7: 10}


@every_kind
@pytest.mark.parametrize("below", ["", "prio", "hfsc prio", "drr prio", "qfq prio", "hfsc drr"])
def test_losses_in_the_middle_of_a_gso_packet(kind: str, below: str) -> None:
    """The buffer becomes full at each possible segment. World compares all ancestors."""
    rng = random.Random(f"{kind} {below}")
    for limit in (1, 2, 5, 11, 20):
        with World(kind, f"limit {limit} flows 4 memory_limit 60000", below=below) as w:
            for _ in range(300):
                size = HEADERS + rng.randint(1, 12 * SEGMENT)
                w.enqueue(prio=0x10000 + rng.randint(1, 4), len=size, gso=SEGMENT, proto="tcp")
                if rng.random() < 0.5:
                    w.dequeue(rng.randint(1, 12))
                if rng.random() < 0.05:
                    w.fail_alloc(1)
                if rng.random() < 0.05:
                    w.fail_alloc(0)  # a change allocates, too
                    w.change(f"memory_limit {rng.choice((1000, 5000, 60000))}")
                w.advance(1000)
            w.dequeue(1000)
            for level in range(1 + len(below.split())):
                assert (w.stats(level).qlen, w.stats(level).backlog) == (0, 0)
            assert w.stats().drops > 200
