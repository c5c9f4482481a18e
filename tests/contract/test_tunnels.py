# SPDX-License-Identifier: GPL-2.0
"""Flows inside a tunnel: the outer header is the same, and the kernel keeps the hash of the flow.

What fq_codel does is the expectation: it queues by skb->hash, if that is of ports (l4_hash).
"""

from __future__ import annotations

import pytest

from tests.userspace import World

FLOWS = 4
OPTIONS = {
    "fpq": "limit 1000 vector 1000000 bandwidth 1gbit",
    "fred": "limit 1000 bandwidth 1gbit",
    "chokex": "limit 1000 min 1 max 999 weight 1 candidates 64 probability 0",
}
TCP, UDP = 6, 17


def seen(kind: str, **fields: int | str) -> int:
    """Return how many flows a discipline sees in FLOWS packets that differ only in their hash.

    chokex does not count them, but drops each packet that matches a queued one of its flow.
    """
    with World(kind, OPTIONS[kind]) as world:
        if kind == "chokex":
            world.enqueue(flow=900)
            world.enqueue(flow=901)
        for number in range(FLOWS):
            words = {name: f"{value}".replace("N", f"{7 + number}")
                     for name, value in fields.items()}  # fmt: skip
            world.enqueue(flow=1, **words)
        if kind == "chokex":
            return {0: FLOWS}.get(world.named()["matched"], 1)
        return world.named()["flows" if kind == "fpq" else "active"]


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize(
    ("fields", "flows"),
    [
        # WireGuard, VXLAN, GENEVE: UDP, and the tunnel noted where the inner headers are.
        ({"l4": "N", "inner": 50}, FLOWS),
        ({"l4": "N", "inner": 50, "v6": 1}, FLOWS),
        ({"l4": "N", "inner": 50, "tag": 5}, FLOWS),
        ({"l4": "N", "inner": 50, "vlan": 5}, FLOWS),
        ({"l4": 7, "inner": 50}, 1),
        # IPsec, also to NAT-T: no ports, or the socket of the inner flow.
        ({"l4": "N", "proto": "esp"}, FLOWS),
        ({"l4": 7, "proto": "esp"}, 1),
        ({"l4": "N", "sock": TCP}, FLOWS),
        # The headers say all: a socket's hash may change, and a network card's may be forged.
        ({"l4": "N", "proto": "tcp"}, 1),
        ({"l4": "N", "proto": "tcp", "inner": 50}, 1),
        ({"l4": "N", "sock": UDP}, 1),
        ({"l4": "N"}, 1),
        # Nobody computed a hash with ports before the packet was encrypted.
        ({"hash": 1, "inner": 50}, 1),
        ({"hash": 0, "proto": "esp"}, 1),
    ],
    ids=str,
)
def test_inner_flows_are_told_apart(kind: str, fields: dict[str, int | str], flows: int) -> None:
    assert seen(kind, **fields) == flows
