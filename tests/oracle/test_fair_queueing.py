# SPDX-License-Identifier: GPL-2.0
"""Properties of qsdrr and tdrr: fair shares, correct counts, and robustness.

In fluid fair queueing, each of n busy queues gets exactly 1/n of the link. Deficit round robin may
differ from this by one quantum and one largest packet at any time (Shreedhar and Varghese 1995).
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise

import pytest

from tests.userspace import Refused, World

KINDS = ("qsdrr", "tdrr")
every_kind = pytest.mark.parametrize("kind", KINDS)
every_order = pytest.mark.parametrize("kind", [*KINDS, "tdrr sparse"])
every_seed = pytest.mark.parametrize("seed", [1, 2, 3])

MTU = 1514
GSO = 64000
# A queue can wait for at most this many rounds.
ROUNDS = 63


@dataclass
class Sender:
    """A sender that keeps ``depth`` packets queued, with random lengths from ``sizes``."""

    sizes: tuple[int, ...]
    depth: int = 1
    queued: int = 0
    sent: int = 0
    rng: random.Random = field(default_factory=random.Random)


class Link:
    """A discipline without drops, and senders that refill their queues after each departure."""

    def __init__(self, kind: str, quantum: int, senders: list[Sender], seed: int) -> None:
        print("seed", seed)
        name, _, options = kind.partition(" ")
        options += f" limit 100000 memory_limit 1gb flows 256 quantum {quantum}"
        self.world = World(name, options)
        self.senders = senders
        self.packets: list[tuple[int, int]] = []
        for number, sender in enumerate(senders):
            sender.rng = random.Random(1000 * seed + number)

    def arrive(self, number: int) -> None:
        sender = self.senders[number]
        size = sender.rng.choice(sender.sizes)
        self.packets.append((number, size))
        sender.queued += 1
        # A discipline sees the size of a GSO packet with all its segments.
        assert self.world.enqueue(prio=0x10001 + number, len=60, size=size)

    def refill(self) -> None:
        for number, sender in enumerate(self.senders):
            while sender.queued < sender.depth:
                self.arrive(number)

    def depart(self) -> int:
        """Send a packet. Returns the number of its sender."""
        ((packet, _),) = self.world.dequeue(1)
        number, size = self.packets[packet]
        self.senders[number].queued -= 1
        self.senders[number].sent += size
        self.world.advance(1000)
        return number


def bound(quantum: int, senders: list[Sender]) -> int:
    largest = max(max(sender.sizes) for sender in senders)
    return max(quantum, largest // ROUNDS + 1) + largest


MIXES = {
    "one GSO packet queued against ten of MTU": [
        Sender((GSO,)),
        *(Sender((MTU,), 20) for _ in range(10)),
    ],
    "one GSO packet queued against one small one": [Sender((GSO,)), Sender((60,))],
    "one small packet queued against nine of GSO": [
        Sender((60,)),
        *(Sender((GSO,), 3) for _ in range(9)),
    ],
    "one packet each, all sizes": [
        Sender((size,)) for size in (60, 200, 576, MTU, 3000, 9014, 20000, GSO)
    ],
    "mixed sizes": [Sender((60, 576, MTU, 9014, GSO), depth) for depth in (1, 1, 2, 5, 20)],
    "BIG TCP": [Sender((524288,)), *(Sender((MTU,), 2) for _ in range(5))],
    "just above and below the quantum": [
        Sender((MTU - 1,)),
        Sender((MTU,)),
        Sender((MTU + 1,)),
        Sender((MTU + 1, 60), 3),
        Sender((2 * MTU - 1,)),
        Sender((2 * MTU + 1,)),
    ],
}


@every_order
@pytest.mark.parametrize("quantum", [256, MTU, 9014, 262144])
@pytest.mark.parametrize("mix", MIXES)
def test_busy_queues_get_the_shares_of_fluid_fair_queueing(
    kind: str, quantum: int, mix: str
) -> None:
    senders = [Sender(s.sizes, s.depth) for s in MIXES[mix]]
    link = Link(kind, quantum, senders, 1)
    most = bound(quantum, senders)
    largest = max(max(sender.sizes) for sender in senders)
    if quantum * ROUNDS < largest:
        most += largest  # the quantum is raised on the way
    worst = Fraction(0)
    link.refill()
    total = 0
    while total < 60 * most * len(senders) and len(link.packets) < 15000:
        link.depart()
        link.refill()
        total = sum(sender.sent for sender in senders)
        for sender in senders:
            worst = max(worst, abs(sender.sent - Fraction(total, len(senders))))
    print(f"{total} bytes, off by {float(worst):.0f} at most, allowed {most}")
    assert worst < most
    link.world.close()


@every_order
@every_seed
@pytest.mark.parametrize("quantum", [256, MTU, 9014])
def test_no_pattern_of_arrivals_gets_more_than_a_busy_queue(
    kind: str, seed: int, quantum: int
) -> None:
    """Senders send single packets and trains, with pauses of any length."""
    steady = [Sender((MTU,), 3), Sender((GSO, 60), 2), Sender((60,), 1)]
    fickle = [
        Sender(sizes)
        for sizes in ((GSO,), (GSO, 60), (60,), (MTU + 1,), (MTU, 9014), (20000,), (1,))
    ]
    senders = [*steady, *fickle]
    link = Link(kind, quantum, senders, seed)
    most = bound(quantum, senders)
    rng = random.Random(seed)
    likes = [rng.choice((0.02, 0.2, 0.9, 1.0)) for _ in fickle]
    # For each pair: how much more one has sent than the other, and the minimum of this so far.
    ahead: Counter[tuple[int, int]] = Counter()
    least: Counter[tuple[int, int]] = Counter()
    for _ in range(8000):
        for number in range(len(steady)):
            while senders[number].queued < senders[number].depth:
                link.arrive(number)
        for number in range(len(steady), len(senders)):
            if rng.random() < likes[number - len(steady)] and senders[number].queued < 40:
                for _ in range(rng.choice((1, 1, 1, 5))):
                    link.arrive(number)
        if rng.random() < 0.001:
            likes = [rng.choice((0.02, 0.2, 0.9, 1.0)) for _ in fickle]
        link.depart()
        for number, sender in enumerate(senders):
            for other in range(len(steady)):
                pair = number, other
                ahead[pair] = sender.sent - senders[other].sent
                least[pair] = min(least[pair], ahead[pair])
                assert ahead[pair] - least[pair] <= 2 * most, pair
    for number, other in combinations(range(len(steady)), 2):
        assert abs(ahead[number, other]) < most
    assert min(sender.sent for sender in senders) > 0
    link.world.close()


@every_kind
def test_discard_does_not_cancel_a_debt(kind: str) -> None:
    """A queue that has sent 64 kB and then loses its only packet must still wait."""
    with World(kind, f"limit 40 flows 8 quantum {MTU}") as w:
        big, small = 0x10001, 0x10002
        w.enqueue(prio=big, len=60, size=GSO)
        w.enqueue(prio=big, len=60, size=GSO)
        for _ in range(38):
            w.enqueue(prio=small, len=MTU)
        assert w.dequeue(1) == [(0, 0)]
        w.enqueue(prio=small, len=MTU)
        w.enqueue(prio=0x10003, len=60)  # overflow: queue 1 is the longest, and has sent most
        assert w.classes().keys() == {2, 3}
        w.enqueue(prio=big, len=60, size=GSO)  # and costs queue 2 a packet
        # 62486 bytes are 42 rounds: the 38 packets of queue 2 come first.
        assert 42 not in [number for number, _ in w.dequeue(39)]
        assert w.dequeue(1) == [(42, 0)]


@every_kind
def test_queue_in_debt_is_at_most_two_packets_behind(kind: str) -> None:
    """The other queue sends one packet until the debt is paid, and one just before."""
    with World(kind, f"limit 1000 flows 8 quantum {MTU}") as w:
        sizes = (GSO, GSO, *(41 * (MTU,)), GSO, GSO)
        for number, size in enumerate(sizes):
            w.enqueue(prio=0x10001 if number < 2 else 0x10002, len=60, size=size)
        assert w.dequeue(1) == [(0, 0)]
        left = [number for number, _ in w.dequeue(len(sizes))]
        ahead = sum(sizes[number] for number in left[: left.index(1)])
        assert MTU + GSO < ahead < MTU + 2 * GSO


@every_kind
@pytest.mark.parametrize("emptied", ["d 2", "r", "x memory_limit 1"])
def test_debts_are_cancelled_when_all_queues_are_empty(kind: str, emptied: str) -> None:
    """This does not depend on how the queues became empty."""
    with World(kind, "limit 100 flows 8 quantum 256") as w:
        for _ in range(3):
            w.enqueue(prio=0x10001, len=60, size=GSO)
        w.dequeue(1)
        w.do(emptied)
        assert w.stats().qlen == 0
        w.change("memory_limit auto")
        for queue in (1, 2, 1, 2):
            w.enqueue(prio=0x10000 + queue, len=MTU)
        assert [w.named(queue)["deficit"] for queue in (1, 2)] == [256, 256]
        assert [number for number, _ in w.dequeue(4)] == [3, 4, 5, 6]


@every_kind
def test_a_changed_quantum_takes_effect(kind: str) -> None:
    with World(kind, "limit 1000 flows 8 quantum 1514") as w:
        for _ in range(100):
            w.enqueue(prio=0x10001, len=1000, tos=4)
            w.enqueue(prio=0x10002, len=1000, tos=8)

        def runs(packets: int) -> float:
            """Packets of one queue in a row, on average."""
            sent = [tos for _, tos in w.dequeue(packets)]
            return packets / (1 + sum(a != b for a, b in pairwise(sent)))

        assert 1.3 < runs(60) < 1.7
        w.change("quantum 10000")
        assert runs(100) > 8


@every_kind
@pytest.mark.parametrize(("before", "after"), [(256, 1 << 20), (1 << 20, 256), (MTU, 9014)])
def test_after_a_change_of_the_quantum_shares_are_equal(kind: str, before: int, after: int) -> None:
    """Old debts and credits, even large ones, do not matter."""
    senders = [Sender((16000,)), Sender((1000,), 3), Sender((MTU, 9014), 2)]
    link = Link(kind, before, senders, 1)
    for packets in (1, 7, 40):
        for _ in range(packets):
            link.refill()
            link.depart()
        link.refill()
        link.world.change(f"quantum {after}")
        for sender in senders:
            sender.sent = 0
        for _ in range(3000):
            link.depart()
            link.refill()
            sent = [sender.sent for sender in senders]
            assert max(sent) - min(sent) < bound(after, senders)
        link.world.change(f"quantum {before}")
    link.world.close()


@every_kind
@pytest.mark.parametrize("flows", [8, 100, 1024])
def test_flows_are_spread_over_the_queues(kind: str, flows: int) -> None:
    """Flows use as many queues as balls fill bins. Another salt gives other queues."""
    hits = []
    for seed in (1, 2):
        with World(kind, f"limit 5000 flows {flows}", seed=seed) as w:
            for flow in range(1, 2001):
                w.enqueue(flow=flow, len=100)
            hits.append({minor: cl.qlen for minor, cl in w.classes().items()})
    expected = flows * (1 - (1 - 1 / flows) ** 2000)
    for hit in hits:
        assert len(hit) >= 0.95 * expected
        assert max(hit.values()) < 2000 / flows + 6 * (2000 / flows) ** 0.5 + 3
    assert flows == 8 or hits[0] != hits[1]


@every_kind
def test_800_flows_that_wait_hardly_share_1024_queues(kind: str) -> None:
    """A plain hash uses 1024 (1 - (1 - 1/1024)^800) = 555 queues, and 245 flows share."""

    def queues_in_use(options: str) -> int:
        with World(kind, f"limit 5000 flows 1024 {options}") as w:
            for flow in range(800):
                w.enqueue(flow=flow, len=100)
            return len(w.classes())

    assert queues_in_use("") >= 800 - 24
    assert abs(queues_in_use("noavoid_collisions") - 555) < 40


def throughput_of(w: World, flow: int) -> int:
    """Send a packet of a flow, and return the flow's throughput before it left."""
    w.enqueue(flow=flow, len=MTU)
    (number,) = w.classes()
    throughput: int = w.named(minor=number)["throughput"]
    w.dequeue(1)
    w.advance(1000)
    return throughput


def test_short_flows_do_not_push_out_long_ones() -> None:
    """16 flows send 20 packets a round in 64 queues, then 200 new flows send one packet each.

    The 64 queues have 256 entries of flows. So what a flow loses or inherits is a packet at most
    for each round that 200 packets of new flows need for 240 entries.
    """
    with World("tdrr", "limit 1000 flows 64 time_constant 100s") as w:
        for new in range(20):
            for _ in range(20):
                for flow in range(16):
                    throughput_of(w, flow)
            for flow in range(200):
                throughput_of(w, 1000 + 200 * new + flow)
        packet = 8 * MTU / 100
        sent = [throughput_of(w, flow) / packet for flow in range(16)]
        assert all(400 * 0.99 <= packets <= 400 + 20 for packets in sent)


@every_order
@pytest.mark.parametrize("limit", [1000, 9])
@pytest.mark.parametrize(("flows", "senders"), [(8, 12), (64, 100), (1024, 1500)])
def test_packets_of_a_flow_leave_in_order(kind: str, limit: int, flows: int, senders: int) -> None:
    """More flows than queues, with packets lost at the smaller limit, split and unsplit GSO."""
    name, _, options = kind.partition(" ")
    rng = random.Random(senders)
    with World(name, f"limit {limit} flows {flows} quantum 1514 {options}", seed=3) as w:
        sender_of: dict[int, int] = {}
        last: Counter[int] = Counter()
        for number in range(6000):
            sender = rng.randrange(senders)
            sender_of[number] = sender
            w.enqueue(
                flow=sender,
                len=rng.choice((60, MTU, MTU, 3000)),
                **({"gso": 1000} if rng.random() < 0.1 else {}),
            )
            if number > limit // 2:
                for packet, _ in w.dequeue(rng.choice((1, 1, 2))):
                    of = sender_of[packet]
                    assert packet >= last[of], f"packet {packet} of flow {of} after {last[of]}"
                    last[of] = packet
                w.advance(20_000)


@every_kind
def test_avoid_collisions_can_be_changed_while_packets_are_queued(kind: str) -> None:
    """Queued packets stay where they are; all are sent."""
    with World(kind, "limit 100 flows 64", below="htb", walk=True) as w:
        for option in ("noavoid_collisions", "avoid_collisions", "noavoid_collisions"):
            for flow in range(20):
                w.enqueue(flow=flow, len=MTU)
            w.change(option)
        assert len(w.dequeue(100)) == 60


@every_kind
def test_a_claimed_queue_keeps_its_throughput_without_avoid_collisions(kind: str) -> None:
    """The last arrival before the change claimed a queue. Later ones must not claim it again."""
    with World(kind, "limit 100 flows 16", walk=True) as w:
        w.enqueue(flow=1, len=MTU, filter=0)
        w.change("noavoid_collisions")
        for flow in range(200):
            w.enqueue(flow=flow, len=MTU, filter=0)
            if flow % 3 == 0:
                w.advance(10_000_000)
                w.dequeue(1)


@every_kind
def test_an_arrival_that_a_filter_classified_does_not_share_like_the_one_before(kind: str) -> None:
    """A flow that shared a queue earlier gets its own one, although a filter fills that queue."""
    with World(kind, "limit 100 flows 2", walk=True) as w:
        for flow in (1, 2, 3):
            w.enqueue(flow=flow, len=MTU, filter=0)
        (shared,) = (minor for minor, cl in w.classes().items() if cl.qlen == 2)
        w.dequeue(3)
        w.enqueue(flow=4, len=MTU, filter=1, act="ok", **{"class": shared})
        w.enqueue(flow=3, len=MTU, filter=0)
        assert [cl.qlen for cl in w.classes().values()] == [1, 1]


@every_kind
def test_without_avoid_collisions_flows_have_the_first_queues(kind: str) -> None:
    """A change while packets are queued, or more queues, do not move a flow's packets."""
    with World(kind, "limit 1000 flows 16", walk=True) as w:
        w.do("o 1")
        w.change("noavoid_collisions")
        for flow in range(100):
            w.enqueue(flow=flow, len=MTU, filter=0)
        w.change("avoid_collisions")
        for flow in range(100):
            w.enqueue(flow=flow, len=MTU, filter=0)
        assert w.named()["flows"] > 16
        w.dequeue(1000)
        w.change("noavoid_collisions")
        for flow in range(100):
            w.enqueue(flow=flow, len=MTU, filter=0)
        assert max(w.classes()) <= 16


@every_kind
def test_packets_of_one_flow_share_a_queue(kind: str) -> None:
    with World(kind, "limit 100 flows 1024") as w:
        for size in (100, 1514, 64, 700):
            w.enqueue(flow=7, len=size)
        assert [cl.qlen for cl in w.classes().values()] == [4]


@every_kind
@pytest.mark.parametrize("k", [1, 8, 20])
def test_requeued_packets_cause_no_drops(kind: str, k: int) -> None:
    """Packets that the driver returned do not count against the limit."""
    with World(kind, "limit 20 flows 16") as w:
        for i in range(20):
            w.enqueue(flow=i % 5, len=MTU)
        w.bulk(k)
        for i in range(k):
            w.enqueue(flow=i % 5, len=MTU)
        w.requeue(k)
        assert w.stats().drops == 0
        w.enqueue(flow=99, len=64)
        assert w.stats().drops == 1
        assert w.stats().qlen == 20 + k
        assert len(w.dequeue(100)) == 20 + k


@every_kind
def test_limit_counts_wire_packets(kind: str) -> None:
    with World(kind, "limit 50 flows 16 nosplit_gso") as w:
        segment = 1448
        for flow in range(4):  # 10 segments each
            w.enqueue(prio=0x10001 + flow, len=10 * segment, gso=segment, proto="tcp")
        assert w.stats().drops == 0
        for _ in range(10):
            w.enqueue(prio=0x10005, len=100)
        assert (w.stats().drops, w.stats().qlen) == (0, 14)
        w.enqueue(prio=0x10006, len=100)  # a GSO packet of 10 segments makes room: 9 free places
        assert (w.stats().drops, w.stats().qlen) == (1, 14)
        for _ in range(9):
            w.enqueue(prio=0x10006, len=100)
        assert w.stats().drops == 1
        w.enqueue(prio=0x10006, len=100)
        assert w.stats().drops == 2


@every_kind
def test_packet_larger_than_the_limit_passes_alone_without_other_drops(kind: str) -> None:
    with World(kind, "limit 1000 flows 16 nosplit_gso", below="hfsc prio") as w:
        for flow in range(900):
            w.enqueue(flow=flow, len=60)
        assert not w.enqueue(flow=2, len=60054, gso=44, proto="tcp")
        assert (w.stats().qlen, w.stats().drops, w.named()["drop_oversize"]) == (900, 1, 1)
        w.dequeue(900)
        assert w.enqueue(flow=2, len=60054, gso=44, proto="tcp")
        assert w.dequeue(2) == [(901, 0)]


SUCCESS, DROP, CN = 0, 1, 2


@every_kind
def test_enqueue_reports_cn_only_for_losses_of_its_own_flow(kind: str) -> None:
    """A local TCP slows down on NET_XMIT_CN, so only losses of its own flow may cause it."""
    own = other = 0
    rng = random.Random(3)
    with World(kind, "limit 10 flows 16") as w:
        for _ in range(2000):
            queue = rng.randint(1, 4)
            before = {minor: cl.drops for minor, cl in w.classes().items()}
            held = {minor: cl.qlen for minor, cl in w.classes().items()}
            w.enqueue(prio=0x10000 + queue, len=rng.choice((64, MTU)))
            after = w.classes()
            hit = {
                minor for minor in held if minor not in after or after[minor].drops > before[minor]
            }
            assert w.verdict == (CN if queue in hit else SUCCESS)
            own += queue in hit
            other += bool(hit - {queue})
            if not rng.randrange(3):
                w.dequeue(1)
            w.advance(1000)
        assert own > 50
        assert other > 50
        w.change("memory_limit 1000")
        w.enqueue(prio=0x10001, len=MTU)
        assert w.verdict == DROP


@every_kind
def test_parents_get_cn_if_no_earlier_packet_is_left(kind: str) -> None:
    """Otherwise their count would pass through 0, and a grandparent's class would stall."""
    with World(kind, "limit 1000 memory_limit 100000 flows 16", below="hfsc prio") as w:
        for flow in range(12):
            w.enqueue(prio=0x10001 + flow, len=60)
        w.enqueue(prio=0x1000F, len=60000, truesize=100000)
        assert w.verdict == CN
        assert w.stats().drops == 12
        assert w.dequeue(2) == [(12, 0)]
        w.enqueue(prio=0x10001, len=60)
        assert w.dequeue(2) == [(13, 0)]


@every_kind
def test_each_lost_packet_counts_once_with_its_cause(kind: str) -> None:
    with World(kind, "limit 10 memory_limit 30000 flows 16") as w:
        rng = random.Random(5)
        for i in range(2000):
            act = rng.choice(("", "", "", " act=shot", " act=stolen", " act=ok class=99"))
            size = rng.choice((64, 64, 64, 64, 1514, 9014))
            w.do(f"e flow={rng.randint(1, 9)} len={size} truesize={size + 500}{act}")
            if not rng.randrange(3):
                w.dequeue(1)
            if not i % 100:
                w.change(f"limit {rng.choice((3, 10, 20))}")
        w.do("e flow=1 len=1514 truesize=40000")
        named = w.named()
        causes = {key: value for key, value in named.items() if key.startswith("drop_")}
        assert all(causes.values()), causes
        assert sum(causes.values()) == w.stats().drops
        assert named["overflows"] == w.stats().overlimits


@every_kind
@pytest.mark.parametrize(
    "below",
    [
        "",
        "prio",
        "hfsc prio",
        "drr prio",
        "hfsc drr",
        "qfq prio",
        "ets prio",
        "htb prio",
        "hfsc tbf",
        "hfsc-rt prio",
    ],
)
@pytest.mark.parametrize(
    "options",
    ["limit 1", "limit 20", "limit 1000 memory_limit 70000", "limit 8 flows 1"],
)
def test_every_ancestor_counts_the_queued_packets(kind: str, below: str, options: str) -> None:
    """World compares after each operation, and reports a class that stalls."""
    rng = random.Random(f"{below} {options}")
    with World(kind, options, below=below) as w:
        for _ in range(800):
            # Parents peek anyway, and packets that the driver returns stay at the root.
            words, weights = "etdxrpbq", (40, 4, 20, 1, 0.3, 4, 2, 2)
            known = len(words) if not below else 5
            match rng.choices(words[:known], weights[:known])[0]:
                case "e":
                    size, gso = rng.choice(((60, 0), (1514, 0), (9014, 0), (60000, 1448)))
                    zero = " size=0" if not rng.randrange(6) else ""
                    stab = " size=1048576" if not rng.randrange(50) else zero
                    w.do(f"e flow={rng.randint(1, 9)} len={size} gso={gso} proto=tcp{stab}")
                case "t":
                    w.advance(rng.choice((10, 10**6, 10**9)))
                case "d":
                    w.dequeue(rng.choice((1, 1, 2, 50)))
                case "p":
                    w.peek()
                case "x":
                    w.change(rng.choice(("limit 2", "limit 50", "memory_limit 5000", options)))
                case "r":
                    w.reset()
                case "b":
                    w.bulk(rng.randint(1, 8))
                case "q":
                    w.requeue(rng.randint(1, 8))
        w.dequeue(5000)
        assert w.stats().qlen == w.stats().backlog == w.named()["memory_used"] == 0
        assert w.named()["active"] == 0
        w.change("limit 10 memory_limit 1mb")
        w.enqueue(flow=1, len=60)
        assert len(w.dequeue(1)) == 1


@every_kind
def test_packets_of_length_0_are_queued_like_others(kind: str) -> None:
    """They count against the limit and can be dropped, and a queue with them is not empty."""
    with World(kind, "limit 4 flows 16") as w:
        for _ in range(4):
            w.enqueue(prio=0x10001, len=60, size=0)
        for _ in range(4):
            w.enqueue(prio=0x10002, len=60)
        assert w.stats().drops == 4
        assert sum(cl.qlen for cl in w.classes().values()) == 4
        w.dequeue(4)
        assert not w.classes()


@every_kind
@pytest.mark.parametrize(
    ("memory_limit", "before", "arrival"),
    [
        (2000, ("1 0 768", "2 60 700"), "3 1514 1400"),
        (3200000, ("1 1048576 768",) * 4096 + ("2 60 768",), "3 65550 80000"),
    ],
    ids=("no length", "2^32 bytes in one queue"),
)
def test_drop_during_enqueue_is_reported_to_the_parent(
    kind: str, memory_limit: int, before: tuple[str, ...], arrival: str
) -> None:
    """before, arrival: queue, bytes and truesize of each packet."""
    with World(kind, f"limit 5000 memory_limit {memory_limit}", below="prio") as w:
        for words in (*before, arrival):
            queue, size, truesize = words.split()
            w.do(f"e prio={0x10000 + int(queue)} len=60 size={size} truesize={truesize}")
        w.dequeue(5000)
        assert w.stats(1).qlen == w.stats(1).backlog == 0


@every_kind
def test_failed_init_leaks_nothing(kind: str) -> None:
    """This holds for each allocation, and for both ways in which the core cleans up."""
    with World(kind, "limit 10") as w:
        failed = 0
        for way in ("i", "j"):
            for which in range(1, 6):
                w.fail_alloc(which)
                failed += bool(w.do(way))
        assert failed >= 2


@every_kind
def test_huge_throughput_or_length_is_harmless(kind: str) -> None:
    """A size table can turn small packets into 2^20 bytes every 10 ns."""
    with World(kind, "limit 100 flows 4" + (" time_constant 1ms" if kind == "tdrr" else "")) as w:
        for i in range(20000):
            w.enqueue(prio=0x10001 + i % 2, len=60, size=1 << 20)
            w.advance(10)
            w.dequeue(1)
            if not i % 1000:
                w.do("s")
                w.named(1 + i % 2)


def test_reset_clears_every_throughput() -> None:
    with World("tdrr", "limit 4 flows 16 time_constant 100s") as w:
        for _ in range(50):
            w.enqueue(prio=0x10001, len=MTU)
            w.dequeue(1)
        w.reset()
        w.enqueue(prio=0x10002, len=64)
        w.dequeue(1)
        for queue in (1, 2, 1, 2, 1):
            w.enqueue(prio=0x10000 + queue, len=64)
        assert {minor: cl.qlen for minor, cl in w.classes().items()} == {1: 3, 2: 1}


@pytest.mark.parametrize("below", ["", "prio"])
def test_throughput_counts_a_packet_when_the_parent_takes_or_peeks(below: str) -> None:
    with World("tdrr", "limit 10 flows 16 time_constant 1s", below=below) as w:
        w.enqueue(prio=0x10001, len=1000)
        w.enqueue(prio=0x10001, len=1000)
        assert w.named(1)["throughput"] == 0
        w.peek()
        assert w.named(1)["throughput"] == pytest.approx(8000, rel=1e-3)
        w.dequeue(1)
        assert w.named(1)["throughput"] == pytest.approx(8000, rel=1e-3)


@every_kind
def test_memory_allocated_by_a_change_is_freed(kind: str) -> None:
    with World(kind, "limit 1000 flows 16") as w:
        for i in range(100):
            w.enqueue(flow=i % 7, len=MTU)
        w.change("memory_limit 20000")
        assert 0 < w.named()["memory_used"] <= 20000
        assert w.named()["drop_change"] == w.stats().drops > 80


@every_kind
@pytest.mark.parametrize("options", ["flows 0", "flows 65537", "quantum 255", "limit 0"])
def test_out_of_range_values_are_refused(kind: str, options: str) -> None:
    with pytest.raises(Refused):
        World(kind, options)


@every_kind
@every_seed
def test_reset_after_a_change_of_the_quantum_clears_all_accounts(kind: str, seed: int) -> None:
    """A queue adopts a new quantum only when it is next served or freed."""
    rng = random.Random(seed)
    with World(kind, "limit 200 flows 64", walk=True) as w:
        for _ in range(30):
            for _ in range(rng.randrange(60)):
                w.enqueue(prio=0x10001 + rng.randrange(20), len=rng.choice((64, MTU, 9014)))
            w.dequeue(rng.randrange(40))
            w.change(f"quantum {rng.choice((256, MTU, 9014))}")
            w.dequeue(rng.randrange(3))
            w.reset()
            assert w.classes() == {}
            # All accounts are new, so the queues take turns in order of arrival.
            for queue in range(1, 4):
                for _ in range(2):
                    w.enqueue(prio=0x10000 + queue, len=10000, tos=4 * queue)
            assert [tos for _, tos in w.dequeue(6)] == [4, 8, 12, 4, 8, 12]


@every_kind
def test_refused_arrivals_take_no_queue(kind: str) -> None:
    """Eight flows have the eight queues. Flows whose packets are all too large change nothing."""

    def queues(w: World) -> list[int]:
        found = []
        for flow in range(8):
            assert w.enqueue(flow=flow, len=1000)
            (number,) = w.classes()
            found.append(number)
            w.dequeue(1)
        return found

    with World(kind, "flows 8 memory_limit 9000") as w:
        before = queues(w)
        assert sorted(before) == list(range(1, 9))
        for flow in range(100, 200):
            assert not w.enqueue(flow=flow, len=1000, truesize=10000)
        assert queues(w) == before
