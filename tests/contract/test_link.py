# SPDX-License-Identifier: GPL-2.0
"""The speed of a device changes: options in force, messages, and later changes."""

from __future__ import annotations

import pytest

from tests.userspace import Refused, World

GIGABIT, FAST = 125_000_000, 12_500_000  # bytes/s of 1000 and 100 Mb/s

# Options that are valid at 1 Gb/s and not at another speed in Mb/s. The threshold on its other side
# follows from the rate and would be beyond it.
INVALID = {
    "redtail": ("min1 300000", 10),
    "chokex": ("min 2000", 10),
    "cbt": ("min 200", 10),
    "2regionred": ("target 800", 2000),
}


@pytest.mark.parametrize("kind", INVALID)
def test_speed_invalid_for_the_options_is_logged_once_and_refused(kind: str) -> None:
    options, speed = INVALID[kind]
    with World(kind, "") as world:
        world.do("l 1000")
        world.change(options)
        before = world.named()
        assert (before["bandwidth"], before["link_refused"]) == (GIGABIT, 0)
        world.do(f"l {speed}")
        assert world.named() == before | {"link_refused": speed * 125_000}
        assert world.warnings == 1
        assert f"{speed}000 kbit/s" in world.message
        assert "1000000 kbit/s stays" in world.message
        world.do(f"l {speed}")
        assert world.warnings == 1


@pytest.mark.parametrize("kind", INVALID)
def test_refused_speed_is_used_once_the_options_are_valid_for_it(kind: str) -> None:
    options, speed = INVALID[kind]
    option = options.split()[0]
    with World(kind, "") as world:
        world.do("l 1000")
        world.change(options)
        world.do(f"l {speed}")
        world.do("u")  # a qdisc that is configured from the dump has the same options
        world.change("ecn")
        assert world.named()["bandwidth"] == GIGABIT
        with pytest.raises(Refused):
            world.change(f"{option} 4000000000")
        world.change(f"{option} auto")
        now = world.named()
        assert (now["bandwidth"], now["link_refused"]) == (speed * 125_000, 0)


def test_return_to_the_old_speed_ends_the_refusal() -> None:
    with World("redtail", "") as world:
        world.do("l 1000")
        world.change("min1 300000")
        world.do("l 10")
        world.do("l 1000")
        assert world.named()["link_refused"] == 0
        world.do("l 10")
        assert world.warnings == 2


@pytest.mark.parametrize("kind", ["chokex", "fred"])
def test_failed_allocation_is_repeated_at_the_next_link_event(kind: str) -> None:
    with World(kind, "") as world:
        world.do("l 1000")
        world.fail_alloc()
        world.do("l 100")
        world.fail_alloc(0)
        assert world.named()["bandwidth"] == GIGABIT
        assert world.named()["link_refused"] == FAST
        world.do("l 100")
        assert world.named()["bandwidth"] == FAST
        assert world.named()["link_refused"] == 0
