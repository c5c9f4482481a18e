# SPDX-License-Identifier: GPL-2.0
"""A dump shows the options in force, and says which of them were given."""

from __future__ import annotations

import pytest

from aqmlab.qdiscs import interface
from tests.userspace import KINDS, World

# Options without a default. Without a seed random numbers are unpredictable. Without `adaptive`,
# chokex uses `candidates`.
NOT_IN_FORCE = {"seed", "adaptive"}
# A rate at which all kinds derive other values than at the default rate.
RATE = "bandwidth 20mbit"


def derived(kind: str) -> list[interface.Option]:
    return [o for o in interface.read(kind).options if o.default is None]


def masked(option: interface.Option) -> bool:
    return option.type in ("FLAG", "CHOICE", "CODEPOINTS", "MASKED")


@pytest.mark.parametrize("kind", KINDS)
def test_without_options_all_values_in_force_are_shown_and_none_is_given(kind: str) -> None:
    known = interface.read(kind).options
    with World(kind) as w:
        shown, stats = w.options(), w.named()
    assert {o.name for o in known} - set(shown) == NOT_IN_FORCE & {o.name for o in derived(kind)}
    assert shown["given"] == []
    assert set(shown["derived"]) == {o.name for o in derived(kind)} - NOT_IN_FORCE
    for option in known:
        if option.default is not None and not masked(option) and "Q8" not in option.type:
            scale = 2**32 - 1 if option.type == "FRACTION" else 1
            assert shown[option.name] == pytest.approx(option.default / scale), option.name
    for name in ("limit", "memory_limit", "bandwidth"):
        assert shown[name] == stats[name], name


@pytest.mark.parametrize("kind", KINDS)
def test_an_option_set_back_to_auto_is_no_longer_given(kind: str) -> None:
    """A new qdisc derives the same value."""
    with World(kind, RATE) as w:
        fresh = w.options()
    others = [o for o in derived(kind) if o.name != "bandwidth"]
    tried = 0
    for option in others:
        value = fresh.get(option.name, 2)
        with World(kind, RATE) as w:
            if w.do(f"x raw {option.attribute}:{raw(option, value)}:4"):
                continue
            tried += 1
            assert option.name in w.options()["given"]
            assert option.name not in w.options()["derived"]
            w.change(f"{option.name} auto")
            assert w.options() == fresh, option.name
    assert tried == len(others)


def raw(option: interface.Option, shown: float) -> int:
    """Convert a value in JSON to the value of the netlink attribute."""
    scale = {"FRACTION": 2**32 - 1, "PACKETS_Q8": 256}.get(option.type, 1)
    return round(shown * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_options_after_auto_are_not_given(kind: str) -> None:
    """tc's output configures an equal qdisc, and a later change still derives the other values."""
    with World(kind) as w:
        wide = w.options()
        w.change(RATE)
        narrow = w.options()
    assert narrow["limit"] < wide["limit"]
    words = f"auto limit {wide['limit']} memory_limit {wide['memory_limit']} assumed"
    with World(kind, f"{words} bandwidth {wide['bandwidth']}bps") as w:
        assert w.options() == wide
        w.change(RATE)
        assert w.options() == narrow
        # "auto" resets the options before it in the line, and the options of earlier commands.
        w.change("memory_limit 1mb")
        assert set(w.options()["given"]) == {"bandwidth", "memory_limit"}
        w.change("memory_limit 2mb auto limit 7")
        assert w.options()["given"] == ["memory_limit"]
        w.change(f"{RATE} auto")
        assert w.options() == narrow


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_reads_only_options_in_the_mask(kind: str) -> None:
    """A dump may be sent back. PAD (1) is allowed, and ASSUMED (3) is ignored."""
    limit = next(o for o in interface.read(kind).options if o.name == "limit")
    memory = next(o for o in interface.read(kind).options if o.name == "memory_limit")
    with World(kind) as w:
        fresh = w.options()
        given = f"{limit.attribute}:900000:4 {memory.attribute}:2000000:4"
        assert not w.do(f"x raw 1:0:0 2:{1 << memory.attribute}:8 3:255:8 {given}")
        assert w.options()["given"] == ["memory_limit"]
        assert w.options()["limit"] != 900000
        # A derived value may be outside the option's range.
        assert not w.do(f"x raw 2:0:8 {limit.attribute}:4294967295:4")
        assert w.options() == fresh


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_rate_is_shown_as_assumed(kind: str) -> None:
    with World(kind) as w:
        assert w.options()["assumed"] == ["bandwidth"]
        assert w.named()["bandwidth_source"] == "assumed"
        w.do("l 100")
        w.do("u")  # a new qdisc reads the same speed when it is created
        assert "assumed" not in w.options()
        assert "bandwidth" in w.options()["derived"]
        assert w.options()["bandwidth"] == w.named()["bandwidth"] == 12_500_000
        assert w.named()["bandwidth_source"] == "device"
        w.change(RATE)
        assert w.options()["given"] == ["bandwidth"]
        assert w.named()["bandwidth_source"] == "given"


def test_chokex_shows_either_candidates_or_adaptive() -> None:
    with World("chokex", "candidates 5") as w:
        w.change("adaptive 3")
        assert w.options()["adaptive"] == 3
        assert "candidates" not in w.options()
        w.change("adaptive auto")
        assert w.options()["candidates"] == 1
        assert "adaptive" not in w.options()
        w.change("adaptive 3")
        w.change("candidates 4")
        assert w.options()["candidates"] == 4
        assert "adaptive" not in w.options()


def test_reset_seed_is_not_dumped() -> None:
    with World("blue", "seed 7") as w:
        assert w.options()["seed"] == 7
        w.change("auto")
        assert "seed" not in w.options()
        assert w.options()["given"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_limit_derived_from_a_fast_link_is_valid_input(kind: str) -> None:
    """At 300 Gb/s with maximum memory, the formula exceeds the largest limit of some kinds."""
    (limit,) = [o for o in interface.read(kind).options if o.name == "limit"]
    with World(kind, "bandwidth 300gbit memory_limit 4294967295b") as w:
        assert limit.least <= w.named()["limit"] <= limit.greatest


# Each pair of thresholds: the lower, and the upper.
THRESHOLDS = [
    ("ared", "min", "max"),
    ("cbt", "min", "max"),
    ("chokex", "min", "max"),
    ("fred", "min", "max"),
    ("redtail", "min1", "max1"),
    ("redtail", "min2", "max2"),
    ("2regionred", "bmin", "bflat"),
    ("2regionred", "target", "bmax"),
]
# Settings from which a kind derives its smallest thresholds.
SMALLEST = ("", "bandwidth 8kbit", "bandwidth 1tbit")
SMALLEST_OF = {"cbt": ("latency 1us share_tcp 0.0000001",), "ared": ("target 1us",)}


@pytest.mark.parametrize(("kind", "lower", "upper"), THRESHOLDS)
def test_derived_thresholds_are_above_0_and_in_order(kind: str, lower: str, upper: str) -> None:
    """RED divides by their difference. A lower one of 0 means draws at an empty queue."""
    option = {o.name: o for o in interface.read(kind).options}
    accepted = 0
    for settings in (*SMALLEST, *SMALLEST_OF.get(kind, ())):
        for name in ("", "limit", lower, upper):
            for above in range(4):
                with World(kind, settings) as w:
                    given = option[name or "limit"]
                    value = given.least + above
                    if name and w.do(f"x raw {given.attribute}:{value}:4"):
                        continue
                    shown = w.options()
                    assert 0 < shown.get(lower, 0) < shown.get(upper, 0), (settings, name, value)
                    accepted += 1
    assert accepted > 20


@pytest.mark.parametrize("kind", ["ared", "chokex", "fred"])
def test_least_upper_threshold_leaves_room_for_a_lower_one(kind: str) -> None:
    with World(kind, "max 2") as w:
        assert (w.options()["min"], w.options()["max"]) == (1, 2)
        (upper,) = [o for o in interface.read(kind).options if o.name == "max"]
        assert w.do(f"x raw {upper.attribute}:1:4")
