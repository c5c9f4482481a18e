# SPDX-License-Identifier: GPL-2.0
"""A priority names a class only if its upper half is the handle of the qdisc."""

from __future__ import annotations

import pytest

from tests.userspace import World

FLOWS = 20


@pytest.mark.parametrize("packet", [{"gso": 10000}, {"filter": 1}, {"hash": 0}], ids=str)
@pytest.mark.parametrize("priority", [0, 6, 0x30000])
@pytest.mark.parametrize("queues", [1024, 65535, 65536])
@pytest.mark.parametrize("kind", ["qsdrr", "tdrr"])
def test_a_priority_of_another_handle_does_not_choose_the_queue(
    kind: str, queues: int, priority: int, packet: dict[str, int]
) -> None:
    """The handle is 1:. Each flow has its queue, up to chance."""
    with World(kind, f"limit 10000 flows {queues}") as world:
        for flow in range(FLOWS):
            world.enqueue(flow=flow, proto="tcp", prio=priority, len=1000, **packet)
        assert world.named()["active"] == FLOWS
