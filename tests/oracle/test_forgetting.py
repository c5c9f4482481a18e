# SPDX-License-Identifier: GPL-2.0
"""After ten time constants of idle time, RED's average is low and it drops nothing.

RED's average has a time constant of 1 / w packet times. After ten of them on an empty queue it is
e^-10 of its old value, below every threshold here. This must hold at the root and below a parent
that peeks (tbf), which may hold the last packet while arrivals are dropped. It must also hold if
single packets interrupt the idle time.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import pytest

from tests.userspace import World


@dataclass(frozen=True)
class Kind:
    """A discipline with RED. Lengths are in bytes."""

    name: str
    options: str
    ptime: int  # ns
    weight: float
    length: int = 1000
    proto: str = "tcp"

    def time_constants(self, n: float) -> int:
        """Return n time constants in ns."""
        return round(n * self.ptime / self.weight)


# At 8 Mb/s a packet of 1000 bytes takes 1 ms.
KINDS = [
    Kind(
        "chokex",
        "limit 1000 min 100 max 200 weight 0.002 bandwidth 8mbit avpkt 1000 seed 1",
        1_000_000,
        0.002,
    ),
    Kind(
        "chokex",
        "limit 300 bandwidth 8mbit avpkt 1000 adaptive 4 weight 0.01 seed 1",
        1_000_000,
        0.01,
    ),
    Kind(
        "cbt",
        "latency 100ms weight 0.001953125 bandwidth 8mbit packet_tcp 1000 seed 1",
        1_000_000,
        1 / 512,
    ),
    Kind("cbt", "bandwidth 8mbit packet_other 1000 seed 1", 1_000_000, 0.25, proto="udp"),
    Kind(
        "cbt",
        "bandwidth 8mbit packet_tcp 1000 packet_tagged 1000 packet_other 1000 red all seed 1",
        1_000_000,
        1 / 512,
    ),
    Kind("redtail", "bandwidth 8mbit avpkt 1000 seed 1", 1_000_000, 0.001, proto="tcp"),
]


def lost(w: World) -> int:
    """Return the number of packets dropped or marked by RED so far."""
    st = w.stats()
    return st.drops + st.overlimits


def send(w: World, kind: Kind, rng: random.Random) -> None:
    w.enqueue(flow=rng.randrange(1000), len=kind.length, proto=kind.proto)


def overload(w: World, kind: Kind, rng: random.Random) -> None:
    """Send a burst that raises the average far above max."""
    for _ in range(2000):
        send(w, kind, rng)
    assert lost(w), "the overload was none"


def run_empty(w: World, kind: Kind, below: str, rng: random.Random) -> None:
    """Send all packets. With tbf, arrivals are dropped while it holds the last packet."""
    while w.stats().qlen > 1:
        w.advance(kind.ptime)
        w.dequeue(1)
    if "tbf" in below:
        w.do("k 0")
        w.dequeue(1)  # tbf peeks at the last packet and has no tokens for it
        for _ in range(3):
            send(w, kind, rng)
        w.do("k -1")
    w.dequeue(1000)
    assert not w.stats().qlen


@pytest.mark.parametrize("spacing", [0.3, 0.97, 7.3, 100], ids=lambda s: f"every {s} packet times")
@pytest.mark.parametrize("below", ["", "tbf", "hfsc tbf"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: f"{k.name} {k.options}")
def test_a_queue_empty_for_ten_time_constants_drops_nothing(
    kind: Kind, below: str, spacing: float
) -> None:
    rng = random.Random(1)
    gap = round(spacing * kind.ptime)
    with World(kind.name, kind.options, below=below) as w:
        overload(w, kind, rng)
        run_empty(w, kind, below, rng)
        for _ in range(kind.time_constants(10) // gap + 1):
            w.advance(gap)
            send(w, kind, rng)
            w.dequeue(1)
        before = lost(w)
        for _ in range(1000):
            w.advance(gap)
            send(w, kind, rng)
            assert len(w.dequeue(1)) == 1
        assert lost(w) == before


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.name != "redtail"], ids=lambda k: f"{k.name} {k.options}"
)
def test_idle_queue_shows_the_average_that_an_arrival_would_find(kind: Kind) -> None:
    rng = random.Random(1)
    with World(kind.name, kind.options) as w:
        overload(w, kind, rng)
        run_empty(w, kind, "", rng)
        w.advance(40 * 1000 * kind.ptime)  # the least weight is 0.001
        shown = w.named()
        averages = {name: value for name, value in shown.items() if name.startswith("avg")}
        assert averages
        assert all(value == pytest.approx(0, abs=0.01) for value in averages.values()), averages
        assert shown.get("probability", 0) == 0


# All kinds with RED, with packets of 1000 bytes.
WEIGHT = 0.01
PACED = {
    "ared": "avpkt 1000 limit 1000 min 200 max 400",
    "cbt": "packet_tcp 1000 packet_tagged 1000 packet_other 1000 limit 1000 min 200 max 400 "
    "threshold_tagged 200 threshold_other 200 dscp 46 class_weight 0.01",
    "chokex": "avpkt 1000 limit 1000 min 200 max 400",
    "fpq": "avpkt 1000 limit 1000",
    "fred": "avpkt 1000 limit 1000 min 200 max 400",
    "redtail": "avpkt 1000 limit 1000000 packets 0",
}
SAMPLES = {"fred": 2}  # samples of the average per packet, if not 1
SLOW, FAST = "bandwidth 800kbit", "bandwidth 8mbit"  # 10 ms and 1 ms per packet


def averages(w: World) -> dict[str, float]:
    """Return RED's averages by name."""
    return {name: avg for name, avg in w.named().items() if re.fullmatch("avg(_[a-z]+)?", name)}


def of_each_class(w: World, packets: int) -> None:
    for flow in range(packets):
        for fields in ("proto=tcp", "proto=udp tos=0xb8", "proto=udp"):
            w.do(f"e flow={flow} len=1000 {fields}")


@pytest.mark.parametrize(("before", "after", "ms"), [(SLOW, FAST, 1), (FAST, SLOW, 10)])
@pytest.mark.parametrize("kind", PACED)
def test_idle_time_before_a_change_decays_at_the_old_rate(
    kind: str, before: str, after: str, ms: int
) -> None:
    """A change takes no time, so averages stay. Afterwards packet times of the new link count.

    The thresholds are given in packets, except of fpq, which derives them from the rate. Its
    average stays the same as a delay, but does not rise, because the queue is empty.
    """
    old = 11 - ms
    follows = old / ms if kind == "fpq" and ms > old else 1
    with World(kind, f"{PACED[kind]} weight {WEIGHT} {before} seed 1") as w:
        of_each_class(w, 100)
        w.dequeue(1000)
        w.advance(round(20.9 * old * 1_000_000))
        idle = averages(w)
        assert all(idle.values())
        w.change(after)
        idle = {name: avg * follows for name, avg in idle.items()}
        assert averages(w) == pytest.approx(idle, rel=1e-6)
        w.advance(10 * ms * 1_000_000)
        left = (1 - WEIGHT) ** (10 * SAMPLES.get(kind, 1))
        for name, avg in averages(w).items():
            assert avg == pytest.approx(idle[name] * left, rel=1e-3), name


@pytest.mark.parametrize("kind", PACED)
def test_idle_time_below_one_packet_of_the_old_link_does_not_count(kind: str) -> None:
    """4 ms are less than a packet of the slow link. They still do not count after a change."""

    def after(idle_ms: int) -> dict[str, float]:
        with World(kind, f"{PACED[kind]} weight {WEIGHT} {SLOW} seed 1") as w:
            of_each_class(w, 100)
            w.dequeue(1000)
            w.advance(idle_ms * 1_000_000)
            of_each_class(w, 1)
            w.change(FAST)
            w.dequeue(1000)
            return averages(w)

    assert after(204) == after(200)
