# SPDX-License-Identifier: GPL-2.0
"""Properties of 2regionred: defaults, limits and GSO packets, in user space."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.userspace import World

MBIT = 125_000
THRESHOLDS = ("bmin", "bflat", "target", "bmax", "limit")
CN = 2  # NET_XMIT_CN
GSO = {"flow": 1, "proto": "tcp", "len": 14 + 20 + 20 + 10 * 1000, "gso": 1000}


def in_force(w: World) -> list[int]:
    """Return the lengths that are derived from the bandwidth, in ascending order."""
    st = w.named()
    return [st[name] for name in THRESHOLDS]


@pytest.mark.parametrize("rtt", ["100ms", "20ms", "5ms", "1s"])
@pytest.mark.parametrize("kbit", [64, 500, 1000, 2000, 3600, 10_000, 100_000, 10**6, 10**7, 10**8])
def test_defaults_leave_room_for_every_phase_within_100_ms(
    kbit: int, rtt: str
) -> None:
    with World("2regionred", f"bandwidth {kbit}kbit rtt {rtt}") as w:
        lengths, st = in_force(w), w.named()
        assert lengths[0] >= 1
        assert all(a < b for a, b in pairwise(lengths)), lengths
        assert w.message == ""
        assert lengths[-1] <= max(8, kbit * 125 / 10 / 1500)
        # a frame of 1514 bytes takes about 2.3 kB
        assert lengths[-1] * 2304 <= st["memory_limit"]


def test_hold_off_of_phase_ii_ends_above_bflat() -> None:
    """Phase II drops first, when the average passes Bmin. No time passes."""
    options = "bmin 5 bflat 10 target 12 bmax 100 limit 200 estimator ewma seed 1"
    with World("2regionred", f"{options} bandwidth 8mbit avpkt 1000") as w:
        left = {}
        while w.named()["phase"] != "high":
            w.enqueue(len=1000)
            left[w.named()["phase"]] = w.named()["hold_off"]
        assert w.named()["dropped_low"] == 1
        assert left["low"] >= 150_000  # us: 1.5 round trips
        assert left["high"] == 0


def test_three_options_give_table_6_4() -> None:
    with World("2regionred", "bandwidth 1gbit bmax 8333 limit 8333") as w:
        assert in_force(w) == [575, 687, 787, 8333, 8333]
        assert "IV is not reached" in w.message


@pytest.mark.parametrize("mbit", [10, 100, 155, 622, 1000])
def test_by_default_bmax_is_nearly_the_db_of_table_6_4(mbit: int) -> None:
    """The controller's gain is proportional to 1 / (Bmax - target). Far below DB it oscillates."""
    with World("2regionred", f"bandwidth {mbit}mbit") as w:
        st = w.named()
        assert 0.85 * st["pipe"] < st["bmax"] <= st["pipe"]


@pytest.mark.parametrize(
    "given", ["bmin 4000", "target 3000", "bmax 8333", "flows 1", "n_1dpr 300"]
)
def test_one_given_threshold_derives_the_others_as_in_the_thesis(given: str) -> None:
    with World("2regionred", f"bandwidth 1gbit {given}") as w:
        assert w.named()["limit"] >= 12_500


def test_thresholds_follow_the_link_while_packets_wait() -> None:
    with World("2regionred", "seed 1", below="hfsc prio") as w:
        assert "the device knows none" in w.message
        assert w.named()["limit"] == 8333
        w.do("l 100")
        assert (w.named()["limit"], w.named()["bandwidth"]) == (833, 100 * MBIT)
        for _ in range(100):
            w.enqueue(flow=1, len=1514)
        w.do("l 1")
        st = w.named()
        assert (st["limit"], w.stats().qlen) == (8, 8)
        assert st["drop_change"] == w.stats().drops == 92
        w.do("l -1")
        assert w.named()["bandwidth"] == MBIT
        assert w.given() == {"seed": 1}
        w.dequeue(100)
        assert w.stats().qlen == 0


@pytest.mark.parametrize("mbit", [800_000, 1_600_000, 2**31 - 1, 2**32 - 2])
def test_every_speed_of_a_device_is_accepted(mbit: int) -> None:
    """A virtual device reports any speed; the option bandwidth goes up to 2^40."""
    with World("2regionred", "seed 1") as w:
        w.do(f"l {mbit}")
        st, lengths = w.named(), in_force(w)
        assert st["bandwidth"] == min(mbit * MBIT, 2**40)
        assert st["pipe"] == pytest.approx(min(st["bandwidth"] / 10 / 1500, 2**23))
        assert all(a < b for a, b in pairwise(lengths)), lengths
        assert lengths[-1] == (32 << 20) // (1500 + 1024)
        w.change("seed 2")


def test_memory_limit_below_one_packet_gets_a_warning() -> None:
    with World("2regionred", "bandwidth 10mbit memory_limit 1000") as w:
        assert "memory_limit has no room" in w.message
    with World("2regionred", "bandwidth 10mbit memory_limit 4000") as w:
        assert w.message == ""


def test_given_bandwidth_does_not_follow_the_link() -> None:
    with World("2regionred", "bandwidth 10mbit") as w:
        assert w.message == ""
        w.do("l 100")
        assert w.named()["bandwidth"] == 10 * MBIT
        w.change("bandwidth auto")
        assert (w.named()["bandwidth"], w.message) == (100 * MBIT, "")


def test_speed_invalid_for_the_options_changes_nothing() -> None:
    with World("2regionred", "target 800") as w:
        before = in_force(w)
        w.do("l 2000")  # bflat would be above the target
        assert in_force(w) == before
        w.do("l 100")
        assert w.named()["bandwidth"] == 100 * MBIT


def test_memory_of_packets_is_bounded() -> None:
    with World("2regionred", "limit 1000 memory_limit 20000", below="drr") as w:
        for _ in range(100):
            w.enqueue(flow=1, len=1514)
        st = w.named()
        assert 0 < st["memory_used"] <= 20_000
        assert st["drop_memory"] == w.stats().drops > 0
        assert st["drop_limit"] == 0
        w.change("memory_limit 5000")
        assert 0 < w.named()["memory_used"] <= 5_000
        w.dequeue(1000)
        assert w.named()["memory_used"] == 0


@pytest.mark.parametrize("below", ["hfsc prio", "prio hfsc", "drr", "hfsc", "htb", "qfq ets"])
def test_segments_of_a_gso_packet_are_dropped_one_by_one(below: str) -> None:
    with World("2regionred", "limit 15", below=below) as w:
        w.enqueue(**GSO)
        assert (w.stats().qlen, w.stats().backlog) == (10, 10 * 1054)
        w.enqueue(**GSO)
        assert w.verdict == CN, "segments are queued, so the sender must not repeat them all"
        assert w.stats().qlen == 15
        assert w.stats().drops == w.stats(level=1).drops == w.named()["drop_limit"] == 5
        w.dequeue(100)
        assert w.stats().qlen == 0


def test_nosplit_gso_counts_all_segments_of_an_arrival() -> None:
    with World("2regionred", "limit 15 nosplit_gso") as w:
        assert w.enqueue(**GSO)
        assert not w.enqueue(**GSO)  # 20 segments
        assert w.enqueue(flow=1, len=100)


def test_memory_is_used_to_the_last_byte() -> None:
    with World("2regionred", "limit 1000 memory_limit 3000") as w:
        for _ in range(4):
            w.enqueue(flow=1, len=100, truesize=1000)
        st = w.named()
        assert (st["memory_used"], st["drop_memory"], w.stats().qlen) == (3000, 1, 3)


def test_nosplit_gso_counts_all_segments_of_a_whole_packet() -> None:
    with World("2regionred", "limit 5 nosplit_gso") as w:
        assert w.enqueue(**GSO)  # larger than the limit, and nothing else is queued
        assert not w.enqueue(flow=1, len=100)
        assert (w.stats().qlen, w.named()["drop_limit"]) == (1, 1)
        assert w.given()["split_gso"] is False


def test_unrelated_change_keeps_a_packet_larger_than_the_limit() -> None:
    with World("2regionred", "limit 5 nosplit_gso", below="drr") as w:
        assert w.enqueue(**GSO)
        w.change("ecn")
        w.change("limit 4")  # an empty queue would accept it, so it stays
        assert (w.named()["drop_change"], w.stats().qlen) == (0, 1)
        w.change("limit 20")
        assert w.enqueue(flow=1, len=100)
        w.change("limit 4")  # the small one is within it, the large one is not
        assert [number for number, _ in w.dequeue(5)] == [1]
        assert w.named()["drop_change"] == 1


def test_delay_is_that_of_the_timed_packet() -> None:
    with World("2regionred", "bandwidth 100mbit", below="tbf") as w:
        w.enqueue(flow=1, len=1000)
        w.advance(3_000_000)
        w.enqueue(flow=1, len=1000)  # not timed, because another packet is
        w.dequeue(2)
        st = w.named()
        assert (st["delay"], st["delay_avg"], st["delay_max"]) == (3e6, 3e6, 3e6)
        for i in range(17):  # 16 arrivals are not timed
            w.enqueue(flow=1, len=1000)
            w.advance(1_000_000 if i < 16 else 11_000_000)
            w.dequeue(1)
        st = w.named()
        assert (st["delay"], st["delay_avg"], st["delay_max"]) == (11e6, 4e6, 11e6)


def test_timed_packet_dropped_by_a_change_is_not_counted() -> None:
    with World("2regionred", "bandwidth 100mbit") as w:
        w.enqueue(flow=1, len=1000)
        w.enqueue(flow=1, len=1000)
        w.change("limit 1")
        w.advance(5_000_000)
        w.dequeue(1)
        assert w.named()["delay_max"] == 0
        w.enqueue(flow=1, len=1000)  # timed in its place
        w.advance(2_000_000)
        w.dequeue(1)
        assert w.named()["delay_max"] == 2e6


def test_reset_discards_the_timed_packet() -> None:
    with World("2regionred", "bandwidth 100mbit") as w:
        w.enqueue(flow=1, len=1000)
        w.reset()
        w.advance(60_000_000_000)
        w.enqueue(flow=1, len=1000)
        w.advance(7_000_000)
        w.dequeue(1)
        assert w.named()["delay_max"] == 7e6


def test_hold_off_shows_the_remaining_time_in_us() -> None:
    options = "bandwidth 100mbit estimator ewma bmin 2 bflat 200 target 300 bmax 400 limit 500"
    with World("2regionred", f"{options} seed 1") as w:
        for _ in range(400):
            w.enqueue(flow=1, len=1514)
            w.advance(100_000)
            if w.named()["dropped_low"]:
                break
        before = w.named()["hold_off"]
        w.advance(12_345_678)
        assert before - w.named()["hold_off"] == pytest.approx(12_345.678, abs=1)
