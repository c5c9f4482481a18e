# SPDX-License-Identifier: GPL-2.0
"""Properties of 2regionred: defaults and limits, in user space."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.userspace import World

MBIT = 125_000
THRESHOLDS = ("bmin", "bflat", "target", "bmax", "limit")


def in_force(w: World) -> list[int]:
    """Return the lengths that are derived from the bandwidth, in ascending order."""
    st = w.named()
    return [st[name] for name in THRESHOLDS]


@pytest.mark.parametrize("rtt", ["100ms", "20ms", "5ms", "1s"])
@pytest.mark.parametrize("kbit", [64, 500, 1000, 2000, 3600, 10_000, 100_000, 10**6, 10**7, 10**8])
def test_defaults_leave_room_for_every_phase_within_100_ms(kbit: int, rtt: str) -> None:
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
