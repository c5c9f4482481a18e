# SPDX-License-Identifier: GPL-2.0
"""Properties that tc-chokex(8) promises: flows, GSO, changes, counts, and the share of a blast."""

from __future__ import annotations

import math
import random

import pytest

from tests.userspace import World

PACE = "bandwidth 8mbit avpkt 1000"  # 1 ms per packet
# The flags and the offset of an IPv4 fragment.
FIRST, LATER = 0x2000, 100


def match(first: dict[str, int | str], second: dict[str, int | str]) -> bool:
    """Return whether two packets match. With 64 draws from 3 packets the first is drawn."""
    with World("chokex", "limit 20 min 1 max 19 weight 1 candidates 64 seed 1") as w:
        w.enqueue(len=1000, flow=901)
        w.enqueue(len=1000, flow=902)
        w.enqueue(len=1000, **first)
        w.enqueue(len=1000, **second)
        assert w.named()["drawn"] >= 64
        return bool(w.named()["matched"])


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"flow": 1}, {"flow": 1}, True),
        ({"flow": 1}, {"flow": 2}, False),
        ({"flow": 1, "tos": 0}, {"flow": 1, "tos": 0xB8}, True),
        ({"flow": 1, "proto": "tcp"}, {"flow": 1, "proto": "udp"}, False),
        ({"flow": 1, "sport": 5}, {"flow": 1, "sport": 6}, False),
        ({"flow": 1}, {"flow": 1, "ihl": 6}, True),
        ({"flow": 1, "frag": FIRST, "sport": 5}, {"flow": 1, "frag": LATER, "sport": 6}, True),
        ({"flow": 1, "frag": LATER}, {"flow": 2, "frag": LATER}, False),
        ({"flow": 1, "frag": LATER}, {"flow": 1, "frag": LATER, "proto": "tcp"}, False),
        ({"flow": 1, "frag": FIRST}, {"flow": 1}, False),
        ({"flow": 1, "v6": 1}, {"flow": 1, "v6": 1}, True),
        ({"flow": 1, "v6": 1}, {"flow": 1, "v6": 1, "label": 0xABCDE}, True),
        ({"flow": 1, "tag": 5}, {"flow": 1, "tag": 5}, True),
        ({"flow": 1, "tag": 5}, {"flow": 1, "tag": 6}, False),
        ({"flow": 1, "tag": 5}, {"flow": 1}, False),
        ({"flow": 1, "tag": 5}, {"flow": 1, "tag": 5 | 1 << 12}, True),
        ({"flow": 1, "tag": 5}, {"flow": 1, "tag": 5 | 7 << 13}, True),
        ({"flow": 1, "vlan": 5}, {"flow": 1, "vlan": 5 | 9 << 12}, True),
        ({"flow": 1, "tag": 5}, {"flow": 1, "vlan": 5}, True),
        ({"flow": 1, "tag": 5, "v6": 1}, {"flow": 1, "vlan": 5, "v6": 1}, True),
        ({"flow": 1, "vlan": 5}, {"flow": 2, "vlan": 5}, False),
        ({"flow": 1, "vlan": 5}, {"flow": 1, "vlan": 6}, False),
        ({"flow": 1, "vlan": 5}, {"flow": 1, "vlan": 5, "bridged": 1}, True),
        ({"flow": 1, "vlan": 5, "tag": 6}, {"flow": 1, "tag": 6}, True),
        ({"flow": 1, "vlan": 5, "tag": 6}, {"flow": 2, "vlan": 5, "tag": 6}, False),
        ({"flow": 1, "v6": 1}, {"flow": 2, "v6": 1}, False),
        ({"flow": 1, "v6": 1}, {"flow": 1}, False),
        ({"flow": 1, "class": 7}, {"flow": 2, "class": 7}, True),
        ({"flow": 1, "class": 7}, {"flow": 1, "class": 8}, False),
        ({"flow": 1, "prio": 0x10007}, {"flow": 2, "prio": 0x10007}, True),
    ],
    ids=str,
)
def test_flow_identity(
    first: dict[str, int | str], second: dict[str, int | str], same: bool
) -> None:
    assert match(first, second) is same


def test_gso_packet_counts_its_segments_and_is_one_candidate() -> None:
    with World("chokex", "limit 100 min 50 max 90 weight 1 candidates 64 seed 1 nosplit_gso") as w:
        assert w.enqueue(len=60_000, segs=60, gso=1000, flow=1)
        assert w.named()["segments"] == 60
        assert w.stats().qlen == 1
        w.enqueue(len=60_000, segs=60, gso=1000, flow=2)
        assert w.named()["avg"] == pytest.approx(60, abs=0.01)
        assert w.named()["drop_limit"] == 1
        w.enqueue(len=1000, flow=1)
        assert w.named()["victims"] == w.named()["matched"] == 1
        assert w.named()["segments"] == w.stats().qlen == 0


def test_derived_thresholds_are_in_the_statistics_and_not_in_the_options() -> None:
    with World("chokex", "limit 90") as w:
        assert (w.named()["min_th"], w.named()["max_th"]) == (30, 60)
        assert not {"min", "max"} & set(w.given())
        w.change("limit 300")
        assert (w.named()["min_th"], w.named()["max_th"]) == (100, 200)
        w.change("max 150")
        assert w.given()["max"] == 150


@pytest.mark.parametrize(
    "below", ["", "hfsc", "hfsc prio", "hfsc tbf", "drr prio", "qfq prio", "htb"]
)
def test_match_that_empties_the_queue_stalls_no_parent(below: str) -> None:
    rng = random.Random(1)
    options = f"{PACE} limit 8 min 1 max 4 weight 0.5 gentle candidates 8 seed 1"
    with World("chokex", options, below=below) as w:
        for _ in range(20):
            for _ in range(200):
                for _ in range(rng.choice((1, 2, 2, 3))):
                    w.enqueue(len=rng.choice((100, 1000)), flow=rng.randrange(3))
                w.dequeue(1)
            assert w.named()["victims"]
            w.dequeue(100)
            assert not w.stats().qlen
            w.advance(1_000_000_000)
            assert w.enqueue(len=1000)
            assert len(w.dequeue(1)) == 1, "stalled"


def fluid(a: float, light: float) -> float:
    """Return the blast's share of the link.

    a: rate of the blast; light: total rate of many light flows; the link's rate is 1
    There is one candidate, and RED drops each other arrival with probability r. An arrival of the
    blast matches with probability h, the blast's share of the queue. Light flows pass at a rate of
    L = light (1 - r). So a packet of the blast stays in a queue of b packets for t = b (1 - h) / L,
    and is dropped at a rate of a / b meanwhile. A share s of them survives:

        s = e^-(a (1 - h) / L),  h = (1 - r) (1 - h) (1 - s),  x = a (1 - r) (1 - h) s,  x + L = 1

    This is the model of Tang, Wang and Low 2003 with packets of one size.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        r = (low + high) / 2
        rest = light * (1 - r)
        bottom, top = 0.0, 1.0
        for _ in range(60):
            h = (bottom + top) / 2
            survive = math.exp(-a * (1 - h) / rest)
            if h < (1 - r) * (1 - h) * (1 - survive):
                bottom = h
            else:
                top = h
        x = a * (1 - r) * (1 - h) * survive
        low, high = (r, high) if x + rest > 1 else (low, r)
    return x


@pytest.mark.parametrize("a", [0.8, 1.5, 2.5])
@pytest.mark.parametrize("seed", [1, 2])
def test_blast_share_matches_the_fluid_model(a: float, seed: int) -> None:
    """RED alone would give the blast a / (a + 1.2) of the link: 40, 56 and 68 %."""
    rng = random.Random(seed)
    light, flows, seconds = 1.2, 300, 40
    options = f"limit 2000 min 20 max 1500 probability 0.99 weight 0.002 {PACE} seed {seed}"
    sent = {True: 0, False: 0}
    blast: list[bool] = []
    with World("chokex", options) as w:
        gap = 1_000_000 / (a + light)
        due = clock = 0.0
        while clock < seconds * 1e9:
            clock += rng.expovariate(1 / gap)
            while due < clock:
                for n, _ in w.dequeue(1):
                    if clock > 10e9:
                        sent[blast[n]] += 1
                due += 1_000_000
            heavy = rng.random() < a / (a + light)
            w.enqueue(len=1000, flow=0 if heavy else 1 + rng.randrange(flows))
            blast.append(heavy)
        assert w.named()["drop_limit"] == 0
    got = sent[True] / sum(sent.values())
    print("seed", seed, "blast", got, "fluid", fluid(a, light))
    assert got == pytest.approx(fluid(a, light), rel=0.1)
