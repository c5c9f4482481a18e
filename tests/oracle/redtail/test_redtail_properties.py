# SPDX-License-Identifier: GPL-2.0
"""Properties of redtail: service, averages, limits, GSO packets and the flow table."""

from __future__ import annotations

import math

import pytest

from tests.oracle.redtail.model import LONG, SHORT
from tests.userspace import World

GSO = {"flow": 1, "proto": "tcp", "len": 14 + 20 + 20 + 10 * 1000, "gso": 1000}


def fill_long(w: World, packets: int) -> None:
    """Enqueue packets of one TCP flow, with a few UDP packets between them."""
    for i in range(packets):
        w.enqueue(flow=1, proto="tcp", len=1514)
        if not i % 4:
            w.enqueue(flow=2, proto="udp", len=200)


@pytest.mark.parametrize("below", ["tbf", "hfsc", "prio tbf", "hfsc prio", "drr", "qfq", "htb"])
def test_both_queues_are_served_below_parents(below: str) -> None:
    """The short queue gets its share and all packets leave, even if the parent peeks."""
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


def test_class_of_long_flows_counts_marks_and_the_short_one_has_none() -> None:
    with World("redtail", "packets 3 min2 3000 max2 12000 weight 0.1 ecn seed 1") as w:
        for _ in range(500):
            w.enqueue(flow=1, proto="tcp", len=1514, tos=2)
            w.enqueue(flow=2, proto="udp", len=200, tos=2)
            w.dequeue(2)
            w.enqueue(flow=1, proto="tcp", len=1514, tos=2)
        assert w.named(minor=LONG)["marked"] == w.named()["marked"] > 0
        assert w.named(minor=SHORT)["marked"] == 0


def test_probability_given_after_a_pause_applies_to_the_next_packet() -> None:
    with World("redtail", "packets 0 probability 0.02") as w:
        w.advance(60_000_000_000)
        w.change("probability 0.4")
        w.enqueue(flow=1, proto="tcp", len=1514)
        assert w.named()["max_p"] == pytest.approx(0.4)
        w.advance(500_000_000)
        w.enqueue(flow=1, proto="tcp", len=1514)
        assert w.named()["max_p"] == pytest.approx(0.36)


def test_reset_forgets_every_flow() -> None:
    with World("redtail", "packets 2 flows 1048576") as w:
        fill_long(w, 10)
        assert w.named()["flows_long"] == 1
        w.reset()
        fill_long(w, 2)
        st = w.named()
        assert (st["flows_new"], st["flows_long"], st["qlen_long"]) == (2, 1, 0)


def test_single_packet_of_length_0_leaves_either_queue() -> None:
    with World("redtail", "packets 0") as w:
        for proto in ("tcp", "udp"):
            w.enqueue(flow=1, proto=proto, len=100, size=0)
            assert len(w.dequeue(5)) == 1


def test_packet_larger_than_the_buffer_passes_an_empty_queue() -> None:
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
        ("bandwidth 10mbit memory_limit 1000 limit 160000", "memory_limit is too small"),
        ("bandwidth 10mbit", ""),
        ("limit 160000", ""),
        ("", ""),
    ],
)
def test_options_that_prevent_red_get_a_warning(options: str, warning: str) -> None:
    with World("redtail", options) as w:
        assert warning in w.message
        assert bool(warning) == bool(w.message)


def test_seed_auto_starts_a_new_sequence_and_dumps_no_seed() -> None:
    with World("redtail", "seed 7") as w:
        assert w.given()["seed"] == 7
        w.change("seed auto")
        assert "seed" not in w.given()


def test_only_tcp_enters_the_flow_table() -> None:
    with World("redtail", "packets 0") as w:
        for proto in ("udp", "icmp", "sctp", "dccp", "arp"):
            w.enqueue(flow=3, proto=proto, len=300)
        w.enqueue(flow=3, proto="udp", len=300, v6=1)
        st = w.named()
        assert (st["flows_new"], st["qlen_short"], st["qlen_long"]) == (0, 6, 0)


@pytest.mark.parametrize("v6", [0, 1])
def test_headers_behind_vlan_tags_are_read(v6: int) -> None:
    with World("redtail", "packets 4") as w:
        for tags in ("", "tag=5", "vlan=6", "vlan=6 bridged=1", "vlan=7 tag=5"):
            w.do(f"e flow=3 proto=tcp len=300 v6={v6} {tags}")
        st = w.named()
        assert (st["flows_new"], st["qlen_short"], st["qlen_long"]) == (1, 4, 1)


@pytest.mark.parametrize("flows", [400, 512, 700])
def test_only_flows_in_overfull_sets_stay_short(flows: int) -> None:
    """Flows send in turn, the worst order for a table that forgets silent flows.

    With n flows in 128 sets of eight entries, a flow shares its set with eight or more others by
    the Poisson distribution. Whole sets stay short, which determines the deviation. We take the
    mean of nine tables.
    """
    mean = flows / 128
    full = 1 - sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(8))
    unknown = 0
    for seed in range(1, 10):
        with World("redtail", f"packets 4 seed {seed}") as w:
            for _ in range(8):
                for flow in range(flows):
                    w.enqueue(flow=flow, proto="tcp", len=100)
                w.dequeue(flows)
            unknown += flows - w.named()["flows_long"]
    assert unknown / 9 == pytest.approx(flows * full, abs=3 * math.sqrt(9 * flows * full / 9))


def test_queues_are_classes_1_and_2() -> None:
    with World("redtail") as w:
        w.enqueue(flow=1, proto="udp", len=300, prio=0x10002)
        w.enqueue(flow=1, proto="tcp", len=300, prio=0x10001)
        assert {minor: c.qlen for minor, c in w.classes().items()} == {SHORT: 1, LONG: 1}


def test_filter_or_priority_selects_a_queue_if_the_class_exists() -> None:
    with World("redtail") as w:
        w.do("e flow=1 proto=udp len=300 class=2")
        w.do("e flow=1 proto=udp len=300 class=7")
        w.do("e flow=1 proto=udp len=300 prio=0x10007 class=2")  # no class 7: the filter decides
        w.do("e flow=1 proto=udp len=300 prio=0x20002")  # a class of another discipline
        assert {minor: c.qlen for minor, c in w.classes().items()} == {SHORT: 2, LONG: 2}


def test_each_segment_of_a_gso_packet_counts_for_its_flow() -> None:
    for split in ("split_gso", "nosplit_gso"):
        with World("redtail", f"bandwidth 100mbit packets 10 {split}") as w:
            w.enqueue(**GSO)  # ten segments
            assert w.named()["qlen_long"] == 0
            w.enqueue(flow=1, proto="tcp", len=100)
            assert w.named()["qlen_long"] == 1


PAPER = {"limit": 160_000, "min1": 2_000, "max1": 30_000, "min2": 20_000, "max2": 80_000}
MBIT = 125_000


def in_force(w: World) -> dict[str, int]:
    """Return the lengths that are derived from the bandwidth."""
    st = w.named()
    return {name: st[name] for name in PAPER}


def test_two_options_give_the_papers_setting() -> None:
    with World("redtail", "bandwidth 3mbit limit 160000") as w:
        assert in_force(w) == PAPER


@pytest.mark.parametrize("mbit", [1, 3, 10, 100, 1000, 2500, 10_000, 100_000, 800_000])
def test_default_buffer_is_at_most_100_ms_in_the_papers_proportions(mbit: int) -> None:
    with World("redtail", f"bandwidth {mbit}mbit") as w:
        got, st = in_force(w), w.named()
        assert st["bandwidth"] == mbit * MBIT
        assert 8 * 1514 <= got["limit"] <= mbit * MBIT / 10
        assert got["limit"] == mbit * MBIT // 10 or 2 * got["limit"] == st["memory_limit"]
        for name, value in PAPER.items():
            assert got[name] == value * got["limit"] // 160_000, name


@pytest.mark.parametrize("mbit", [1_600_000, 2**31 - 1, 2**32 - 2])
def test_every_speed_of_a_device_is_accepted(mbit: int) -> None:
    """A virtual device reports any speed; the option bandwidth goes up to 2^40."""
    with World("redtail", "seed 1") as w:
        w.do(f"l {mbit}")
        assert w.named()["bandwidth"] == min(mbit * MBIT, 2**40)
        assert in_force(w)["limit"] == 16 << 20
        w.change("seed 2")


@pytest.mark.parametrize("short", [0, 1, 3, 12])
def test_both_classes_together_use_the_whole_link(short: int) -> None:
    with World("redtail", "bandwidth 10mbit min1 2000 max1 12000 limit 100000") as w:
        for _ in range(short):
            w.enqueue(flow=1, proto="tcp", len=1000)
        shares = [w.named(minor)["share"] for minor in (1, 2)]
        assert sum(shares) == pytest.approx(1, abs=1e-8)
        assert shares[0] == w.named()["share"]


def arrived_short(w: World) -> bool:
    """Enqueue a packet of flow 1, and return whether it went to the short queue."""
    before = w.named(1)["arrived"]
    w.enqueue(flow=1, proto="tcp", len=100)
    w.dequeue(1)
    return w.named(1)["arrived"] > before


def test_flows_that_evict_each_other_are_secret_or_follow_from_the_seed() -> None:
    """16 flows have two sets of eight slots. An evicted flow shares its set with eight others."""

    def evicted(kernel: int, options: str) -> int:
        with World("redtail", f"flows 16 {options}", seed=kernel) as w:
            for flow in range(16):
                w.enqueue(flow=flow, proto="tcp", len=100)
            return w.named()["flows_evicted"]

    assert len({evicted(kernel, "") for kernel in range(10)}) > 2
    assert len({evicted(kernel, "seed 7") for kernel in range(10)}) == 1
    assert len({evicted(1, f"seed {seed}") for seed in range(1, 11)}) > 2


def test_flows_stay_forgotten_after_any_number_of_resets() -> None:
    """A reset increments a 16-bit generation. After a wrap, old entries must not be valid again."""
    with World("redtail", "bandwidth 100mbit packets 2") as w:
        assert [arrived_short(w) for _ in range(4)] == [True, True, False, False]
        for _ in range(1 << 16):
            w.do("r")
        assert [arrived_short(w) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("words", ["flows 64", "key flow"])
def test_change_of_the_flow_table_forgets_all_flows(words: str) -> None:
    with World("redtail", "bandwidth 100mbit packets 2") as w:
        assert [arrived_short(w) for _ in range(3)] == [True, True, False]
        w.change("tau 3s")
        assert not arrived_short(w)
        w.change(words)
        assert [arrived_short(w) for _ in range(3)] == [True, True, False]
