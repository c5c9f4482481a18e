# SPDX-License-Identifier: GPL-2.0
"""What the kernel part of each kind refuses and derives, from tdc's tables, in user space.

tdc runs the same tables on a kernel, where nothing measures which lines they reach.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from aqmlab.qdiscs import interface
from tests.userspace import KINDS, TOP, Refused, World

TABLES = TOP / "selftests" / "tdc"
SIZES = {"FLAG": 1, "CHOICE": 1, "RATE": 8, "CODEPOINTS": 8, "MASKED": 8}  # bytes; others 4
TC_REFUSES = 1  # exit status of tc, where its plugin refuses


@cache
def table(kind: str) -> Any:
    """The table of a kind, as cases.py loads it."""
    if str(TABLES) not in sys.path:
        sys.path.insert(0, str(TABLES))
    spec = importlib.util.spec_from_file_location(f"table_{kind}", TABLES / "tables" / f"{kind}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.KIND


def of_kernel(kind: str) -> Iterator[tuple[str, str]]:
    """Options that only the kernel refuses, and a part of its message."""
    for conflict in table(kind).conflicts:
        if conflict.status != TC_REFUSES:
            yield conflict.words, conflict.message
    types = {option.name: option for option in interface.read(kind).options}
    for option in table(kind).options:
        listed = types[option.name]
        for value in option.raw:
            size = SIZES.get(listed.type, 4)
            if value >> 8 * size == 0:
                yield f"raw {listed.attribute}:{value}:{size}", f"{option.name} must be"


CASES = [(kind, *case) for kind in KINDS for case in of_kernel(kind)]


@pytest.mark.parametrize(("kind", "words", "message"), CASES)
def test_a_refused_setup_says_why_and_a_refused_change_changes_nothing(
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
        assert {name: named[name] for name in table(kind).idle} == table(kind).idle


def warnings() -> Iterator[tuple[str, str, str]]:
    """Kind, options, and a part of the warning that they are accepted with."""
    for kind in KINDS:
        for case in table(kind).special:
            words = re.fullmatch(rf".* root {kind} ?(.*)", case.command)
            if words and case.pattern.startswith("Warning: .*"):
                yield kind, words[1], case.pattern.removeprefix("Warning: .*")
    # The thesis' phases I to IV begin at bmin, bflat and target, and end at bmax.
    phases = "bandwidth 100mbit bmin 10 bflat 20 target 30 bmax 40"
    yield "2regionred", f"{phases} limit 10", "no phase but I is reached"
    yield "2regionred", f"{phases} limit 20", "III and IV are not reached"
    yield "2regionred", f"{phases} limit 30", "limit is not above target"
    yield "2regionred", f"{phases} limit 40", "limit is not above bmax"
    for kind in ("2regionred", "ared", "cbt", "chokex", "fpq", "fred", "redtail"):
        yield kind, "memory_limit 1000", "memory_limit has no room for one full packet"


@pytest.mark.parametrize(("kind", "words", "message"), list(warnings()))
def test_a_warning_is_given_and_another_link_rate_is_taken_without(
    kind: str, words: str, message: str
) -> None:
    with World(kind, words) as world:
        assert message in world.message
        # 0 and -1: the device does not know its speed; the least: it cannot be asked.
        for mbit in (10, 0, 40000, -(2**31), 1000, -1):
            world.do(f"l {mbit}")
            world.enqueue(len=100)
            world.dequeue()


def test_thresholds_that_follow_from_others_must_fit_too() -> None:
    with pytest.raises(Refused, match=r"bmax must be below 2\^24 packets"):
        World("2regionred", "target 16000000 limit 16777215")
