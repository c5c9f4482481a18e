# SPDX-License-Identifier: GPL-2.0
"""Tables of flows grow, rest and are reset amid random traffic and changes of all options.

``walk`` checks lists, entries and owners after each operation. The packets of a flow must leave
in the order in which they arrived, because nothing here changes the class of a flow.
"""

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.userspace import World

OPTIONS = (
    *("limit 1", "limit 8", "limit 300", "limit 3000", "quantum 256", "quantum 9000"),
    *("memory_limit 4000b", "memory_limit 9000000b"),
)
MORE = {
    "qsdrr": ("hysteresis", "nohysteresis"),
    "tdrr": (
        "time_constant 1ms",
        "time_constant 10s",
        "target 2ms",
        "target 0",
        "drop_cut 50%",
        "follow_rtt",
    ),
}
PARENTS = ("", "tbf", "hfsc prio", "htb tbf", "ets drr", "qfq")


def operations(draw: random.Random, kind: str) -> Iterator[str]:
    """Yield operations: flows of a pool, floods of flows with one packet, rests, and changes."""
    fresh, pool = 10_000, 40
    for _ in range(1500):
        what = draw.random()
        if what < 0.4:
            pool = draw.choice([pool, pool, 4, 40, 200, 1500])
            for _ in range(draw.choice([1, 3, 20])):
                size = draw.choice([60, 1514, 9014])
                packet = f"len={size} proto=tcp flags={2 if size == 60 else 16}"  # SYN, or ACK
                yield f"e flow={draw.randrange(pool)} {packet} hash=1 filter=0"
        elif what < 0.5:
            leave = draw.random() < 0.5
            for _ in range(60):
                fresh += 1
                yield f"e flow={fresh} len=60 hash=1 filter=0"
                if leave:
                    yield "d 1"
        elif what < 0.75:
            yield f"d {draw.choice([1, 2, 10, 100])}"
        elif what < 0.8:
            yield "p"
        elif what < 0.9:
            yield f"t {draw.choice([1000, 20_000_000, 500_000_000])}"
        elif what < 0.91:
            yield from ("a 0", "d 100000", *["t 61000000000"] * draw.randrange(1, 5))
        elif what < 0.97:
            yield "x " + draw.choice(OPTIONS + MORE[kind])
        elif what < 0.98:
            yield f"a {draw.randrange(4)}"
        else:
            yield draw.choice(["r", "v 0", "v 1", "s"])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["qsdrr", "tdrr"])
def test_packets_of_a_flow_stay_in_order_while_tables_grow_and_rest(kind: str, seed: int) -> None:
    draw = random.Random(f"{kind} {seed}")
    flows = draw.choice([2, 4, 8, 12, 32])
    flow_of: list[str] = []
    last: dict[str, int] = {}
    sizes = []
    with World(kind, f"limit 200 flows {flows}", below=PARENTS[seed], walk=True) as world:
        world.do("o 1")
        for operation in operations(draw, kind):
            if operation.startswith("e "):
                flow_of.append(operation.split()[1])
            world.do(operation)
            for number, _ in world.out if operation.startswith("d ") else ():
                flow = flow_of[number]
                assert last.get(flow, -1) < number, f"{flow}: {number} after {last[flow]}"
                last[flow] = number
            sizes.append(world.named()["flows"])
    assert sum(now > before for before, now in pairwise(sizes)) >= 2
    assert sum(now < before for before, now in pairwise(sizes)) >= 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["qsdrr", "tdrr"])
def test_a_table_whose_entries_have_not_all_moved_is_as_good(kind: str, seed: int) -> None:
    """The work that moves entries is seldom done, as on a busy machine."""
    draw = random.Random(f"half {kind} {seed}")
    flows = draw.choice([4, 16, 64, 128])
    with World(kind, f"limit 200 flows {flows}", below=PARENTS[seed], walk=True) as world:
        for operation in operations(draw, kind):
            if draw.random() < 0.03:
                world.do("o 1")
            world.do(operation)
            world.do("o 0")
        for flow in range(10 * flows):
            world.do(f"e flow={flow} len=60 hash=1 filter=0")
        world.do("o 1")


def grow(world: World) -> None:
    """Let flows wait until there are more queues. No entry has moved then."""
    world.do("o 1")
    flow = 0
    while world.named()["flows"] == 1024:
        world.enqueue(flow=flow, len=100)
        flow += 1


@pytest.mark.parametrize("kind", ["qsdrr", "tdrr"])
def test_a_buffer_rests_after_all_entries_have_moved(kind: str) -> None:
    """512 sets move in two steps. The minute without packets ends between them."""
    with World(kind, "limit 2000 flows 1024", walk=True) as world:
        grow(world)
        for operation in ("o 0", "d 2000", "t 61000000000", "o 1", "t 61000000000"):
            world.do(operation)
        assert world.named()["flows"] > 1024
        world.do("t 61000000000")
        assert world.named()["flows"] == 1024


@pytest.mark.parametrize("kind", ["qsdrr", "tdrr"])
def test_a_buffer_is_destroyed_before_its_entries_have_moved(kind: str) -> None:
    with World(kind, "limit 2000 flows 1024", walk=True) as world:
        grow(world)


@pytest.mark.parametrize("operation", ["r", "v 0"])
@pytest.mark.parametrize("kind", ["qsdrr", "tdrr"])
def test_a_reset_also_forgets_entries_that_have_not_moved(kind: str, operation: str) -> None:
    """Later nothing comes back: the packets of all flows are in queues that the table names."""
    with World(kind, "limit 2000 flows 1024", below="drr", walk=True) as world:
        grow(world)
        world.do("o 0")
        world.do(operation)
        for flow in range(300):
            world.enqueue(flow=flow, len=100)
        world.do("o 1")
        world.dequeue(300)
