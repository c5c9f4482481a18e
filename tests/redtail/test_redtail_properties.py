# SPDX-License-Identifier: GPL-2.0
"""What redtail promises, whatever its code: properties, in user space."""

from __future__ import annotations

import pytest

from tests.redtail.model import LONG, SHORT
from tests.userspace import World


def fill_long(w: World, packets: int) -> None:
    """Packets of one TCP flow, and a few UDP ones between."""
    for i in range(packets):
        w.enqueue(flow=1, proto="tcp", len=1514)
        if not i % 4:
            w.enqueue(flow=2, proto="udp", len=200)


@pytest.mark.parametrize("below", ["tbf", "hfsc", "prio tbf", "hfsc prio", "drr", "qfq", "htb"])
def test_long_and_short_packets_leave_in_turn_below_parents(below: str) -> None:
    """Peeked at or not, the short queue has its share and nothing is left behind."""
    with World("redtail", "limit 400000 packets 3 min2 200000 max2 390000", below=below) as w:
        fill_long(w, 200)
        w.peek()
        before = w.named()
        gone = w.dequeue(60)
        st = w.named()
        assert before["qlen_long"] > 100
        assert st["sent_long"] > 30_000
        assert st["sent_short"] > 3_000
        assert len(gone) == 60
        w.change("limit 30000")
        w.dequeue(1000)
        assert w.stats().qlen == 0


def test_a_queue_empty_for_ten_time_constants_loses_nothing() -> None:
    """Floyd and Jacobson 1993: an idle queue's average dies away, however traffic comes."""
    with World("redtail", "packets 1 ecn seed 1") as w:
        for _ in range(60):  # a burst: the average rises
            w.enqueue(flow=1, proto="tcp", len=1514, tos=2)
        for _ in range(4000):
            w.enqueue(flow=1, proto="tcp", len=1514, tos=2)
            w.dequeue(1)
            w.advance(100_000)
        assert w.named()["avg"] > 20_000
        w.dequeue(1000)
        for _ in range(5000):  # 10 s with a packet every 2 ms, each sent at once
            w.enqueue(flow=1, proto="tcp", len=66, tos=2)
            w.dequeue(1)
            w.advance(2_000_000)
        marked = w.named()["marked"]
        drops = w.stats().drops
        for _ in range(2000):
            w.enqueue(flow=1, proto="tcp", len=1514, tos=2)
            w.dequeue(1)
            w.advance(1_000_000)
        assert w.named()["marked"] == marked
        assert w.stats().drops == drops
        assert w.named()["avg"] == 0


def test_a_reset_forgets_every_flow_at_once() -> None:
    with World("redtail", "packets 2 flows 1048576") as w:
        fill_long(w, 10)
        assert w.named()["flows_long"] == 1
        w.reset()
        fill_long(w, 2)
        st = w.named()
        assert (st["flows_new"], st["flows_long"], st["qlen_long"]) == (2, 1, 0)


def test_a_packet_without_length_alone_in_either_queue_leaves() -> None:
    with World("redtail", "packets 0") as w:
        for proto in ("tcp", "udp"):
            w.enqueue(flow=1, proto=proto, len=100, size=0)
            assert len(w.dequeue(5)) == 1


def test_a_packet_larger_than_the_buffer_passes_when_it_is_empty() -> None:
    with World("redtail", "limit 1000") as w:
        assert "below one full packet" in w.message
        assert w.enqueue(flow=1, len=1514)
        assert not w.enqueue(flow=1, len=1514)
        assert len(w.dequeue(5)) == 1


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        ("limit 10000 min2 10000 max2 20000", "RED never acts"),
        ("limit 10000 min2 2000 max2 10000", "before RED is at max_p"),
        ("limit 160000", ""),
        ("", ""),
    ],
)
def test_a_limit_that_keeps_red_from_its_work_is_warned_of(options: str, warning: str) -> None:
    with World("redtail", options) as w:
        assert warning in w.message
        assert bool(warning) == bool(w.message)


def test_seed_auto_on_change_is_another_sequence_and_no_seed_in_the_dump() -> None:
    with World("redtail", "seed 7") as w:
        assert w.options()["seed"] == 7
        w.change("seed auto")
        assert "seed" not in w.options()


def test_what_is_not_tcp_never_enters_the_flow_table() -> None:
    with World("redtail", "packets 0") as w:
        for proto in ("udp", "icmp", "sctp", "dccp", "arp"):
            w.enqueue(flow=3, proto=proto, len=300)
        w.enqueue(flow=3, proto="udp", len=300, v6=1)
        st = w.named()
        assert (st["flows_new"], st["qlen_short"], st["qlen_long"]) == (0, 6, 0)


def test_the_queues_are_classes_1_and_2() -> None:
    with World("redtail") as w:
        w.enqueue(flow=1, proto="udp", len=300, prio=0x10002)
        w.enqueue(flow=1, proto="tcp", len=300, prio=0x10001)
        assert {minor: c.qlen for minor, c in w.classes().items()} == {SHORT: 1, LONG: 1}
