# SPDX-License-Identifier: GPL-2.0
"""Run tdc's tables in user space, against the kernel part of each kind.

On a kernel, tdc itself runs these tables. Only in user space can we measure their coverage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from cases import load
from uapi import idle, out_of_range, width

from aqmlab.qdiscs import interface
from tests.userspace import KINDS, TOP, Refused, World

TABLES = TOP / "selftests" / "tdc" / "tables"
TC_REFUSES = 1  # exit status of tc if the plugin refuses an option


@cache
def table(kind: str) -> Any:
    """Load the table of a kind."""
    return load(TABLES / f"{kind}.py")


def refused_by_kernel(kind: str) -> Iterator[tuple[str, str]]:
    """Yield options that tc accepts and the kernel refuses, with a part of its message."""
    for conflict in table(kind).conflicts:
        if conflict.status != TC_REFUSES:
            yield conflict.words, conflict.message
    for listed in interface.read(kind).options:
        for value in out_of_range(listed):
            yield f"raw {listed.attribute}:{value}:{width(listed)}", f"{listed.name} must be"


CASES = [(kind, *case) for kind in KINDS for case in refused_by_kernel(kind)]


@pytest.mark.parametrize(("kind", "words", "message"), CASES)
def test_refused_options_get_a_message_and_change_nothing(
    kind: str, words: str, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        World(kind, words)
    with World(kind) as world:
        before = world.named(), world.options()
        world.enqueue(len=1000)
        world.dequeue()
        with pytest.raises(Refused, match=message):
            world.change(words)
        assert world.options() == before[1]
        assert world.named()["limit"] == before[0]["limit"]


FIXED = [(kind, option) for kind in KINDS for option in table(kind).options if option.fixed]


@pytest.mark.parametrize(("kind", "option"), FIXED, ids=lambda v: getattr(v, "name", v))
def test_fixed_option_cannot_be_changed(kind: str, option: Any) -> None:
    first, second = [option.words(typed) for typed in option.good][:2]
    with World(kind, first) as world:
        world.change(first)
        with pytest.raises(Refused, match=option.fixed):
            world.change(second)


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_of_an_idle_queue_are_those_of_the_table(kind: str) -> None:
    with World(kind) as world:
        named = world.named()
        expected = idle(table(kind))
        assert {name: named[name] for name in expected} == expected


def warnings() -> Iterator[tuple[str, str, str]]:
    """Yield (kind, options, part of a warning) for options that are accepted with a warning."""
    for kind in KINDS:
        for case in table(kind).special:
            words = re.fullmatch(rf".* root {kind} ?(.*)", case.command)
            if words and case.pattern.startswith("Warning: .*"):
                yield kind, words[1], case.pattern.removeprefix("Warning: .*")
    # In the thesis, phases II to IV begin at bmin, bflat and target, and phase IV ends at bmax.
    phases = "bandwidth 100mbit bmin 10 bflat 20 target 30 bmax 40"
    yield "2regionred", f"{phases} limit 10", "only phase I is reached"
    yield "2regionred", f"{phases} limit 20", "III and IV are not reached"
    yield "2regionred", f"{phases} limit 30", "limit is not above target"
    yield "2regionred", f"{phases} limit 40", "limit is not above bmax"
    for kind in ("2regionred", "ared", "cbt", "chokex", "fpq", "fred", "redtail", "sfbx"):
        yield kind, "memory_limit 1000", "memory_limit is too small for one full packet"


@pytest.mark.parametrize(("kind", "words", "message"), list(warnings()))
def test_doubtful_options_get_a_warning_and_survive_link_events(
    kind: str, words: str, message: str
) -> None:
    with World(kind, words) as world:
        assert message in world.message
        # 0 and -1: the device does not know its speed. -2**31: it has no speed.
        for mbit in (10, 0, 40000, -(2**31), 1000, -1):
            world.do(f"l {mbit}")
            world.enqueue(len=100)
            world.dequeue()


# A full packet of 1500 bytes and its Ethernet header has 1514 bytes.
def test_a_limit_of_one_full_packet_gets_no_warning() -> None:
    assert "below one full packet" in World("redtail", "limit 1513").message
    assert "below one full packet" not in World("redtail", "limit 1514").message


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("cbt", "victim random"),
        ("chokex", ""),
        ("fpq", ""),
        ("fred", ""),
        ("qsdrr", "flows 2048"),  # up to 1024 come with the first packet
        ("redtail", ""),
        ("sfbx", ""),
        ("tdrr", "flows 2048"),
    ],
)
def test_failed_allocation_gets_a_message(kind: str, words: str) -> None:
    messages = []
    with World(kind) as world:
        for which in range(1, 5):
            world.fail_alloc(which)
            if world.do(f"i {words}"):
                messages.append(world.message)
    # The core allocates the block of filters first, if there is one, and has its own message.
    own = messages if kind == "fpq" else messages[1:]
    assert own
    assert all("no memory" in message for message in own), own


def test_derived_threshold_out_of_range_is_refused() -> None:
    with pytest.raises(Refused, match=r"bmax must be below 2\^24 packets"):
        World("2regionred", "target 16000000 limit 16777215")
