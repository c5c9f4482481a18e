# SPDX-License-Identifier: GPL-2.0
"""Properties of all FIFOs: values derived from the link, memory, GSO, delays, seeds.

Their man pages promise that a full queue is always below 100 ms, that derived values follow the
link's speed, and that only given options are dumped as given.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from tests.userspace import Refused, World

KINDS = ("chokex", "cbt")
ALL = ("2regionred", "ared", "blue", "cbt", "chokex", "fpq", "fred", "redtail", "sfbx")
every_kind = pytest.mark.parametrize("kind", ALL)
with_flow_queues = pytest.mark.parametrize("kind", [*ALL, "qsdrr", "tdrr"])
MEMORY = 32 << 20
CN = 2  # NET_XMIT_CN
GSO = {"flow": 1, "proto": "tcp", "len": 14 + 20 + 20 + 10 * 1000, "gso": 1000}
# A packet of 1000 bytes takes 1 ms.
PACE = {
    "chokex": "bandwidth 8mbit avpkt 1000",
    "cbt": "bandwidth 8mbit packet_tcp 1000 packet_tagged 1000 packet_other 1000",
}
# Options with which segments of GSO packets are lost for every cause.
LOSING = {
    "chokex": "limit 30 min 2 max 8 weight 0.5 candidates 3 bandwidth 8mbit gentle seed 1",
    "cbt": "limit 20 min 4 max 9 weight 0.3 threshold_other 3 victim random bandwidth 8mbit seed 1",
}


def limit(kind: str, packets: int) -> str:
    """Return the limit of so many segments of GSO."""
    return f"limit {1054 * packets if kind == 'redtail' else packets}"


def room(kind: str, packets: int) -> str:
    """Return options with which only the limit drops."""
    others = {"fred": f"min {packets - 1} max {packets}", "redtail": "packets 0"}
    others["sfbx"] = "bin_size 1000"
    return f"{limit(kind, packets)} {others.get(kind, '')}"


@every_kind
def test_unknown_rate_is_1_gbit_without_a_warning(kind: str) -> None:
    with World(kind) as w:
        assert not w.message
        assert w.named()["bandwidth"] == 125_000_000
    with World(kind, "bandwidth 10mbit") as w:
        assert not w.message
        assert w.named()["bandwidth"] == 1_250_000


@with_flow_queues
def test_derived_values_follow_the_link_while_packets_wait(kind: str) -> None:
    """They become those of a given bandwidth. fpq's thresholds also depend on its flows."""
    seed = "" if kind in ("qsdrr", "tdrr") else "seed 1"
    with (
        World(kind, f"bandwidth 100mbit {seed}") as fast,
        World(kind, f"bandwidth 1mbit {seed}") as slow,
    ):
        at_100, at_1 = fast.named(), slow.named()
    derived = {name for name in at_1 if at_1[name] != at_100[name]}
    if kind == "fpq":
        derived -= {"max_p", "max_th", "target"}
    with World(kind, seed, below="hfsc prio") as w:
        w.do("l 100")
        assert {name: w.named()[name] for name in derived} == {n: at_100[n] for n in derived}
        for flow in range(100):
            w.enqueue(flow=flow, proto="tcp", len=1514)
        for speed in (1, -1):  # then it is down
            w.do(f"l {speed}")
            now = w.named()
            assert {name: now[name] for name in derived} == {name: at_1[name] for name in derived}
            assert (w.stats().qlen, now["drop_change"], w.stats().drops) == (8, 92, 92)
        assert w.given() == ({"seed": 1} if seed else {})
        assert len(w.dequeue(100)) == 8


@every_kind
def test_given_bandwidth_does_not_follow_the_link(kind: str) -> None:
    with World(kind, "bandwidth 10mbit") as w:
        assert w.message == ""
        w.do("l 100")
        assert w.named()["bandwidth"] == 1_250_000
        w.change("bandwidth auto")
        assert (w.named()["bandwidth"], w.message) == (12_500_000, "")
        assert w.given() == {}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ared", "limit 60 min 5 max 40 weight 0.1"),
        ("blue", "limit 8 threshold 4 increment 0.2 freeze_time 2ms"),
        ("cbt", "limit 60 min 5 max 40 weight 0.1 red all"),
        ("chokex", "limit 60 min 5 max 40 weight 0.1"),
        ("fpq", "limit 60 rtt 1ms weight 0.1 nowait bandwidth 8mbit"),
        ("fred", "limit 60 min 20 max 50 minq 1 probability 0.5 weight 0.1"),
    ],
)
def test_drops_depend_only_on_the_seed(kind: str, options: str) -> None:
    def sent(seed: int, kernel: int = 1, change: str = "") -> list[tuple[int, int]]:
        """Return the packets that leave. ``kernel`` seeds the random numbers of the kernel."""
        rng = random.Random(7)
        with World(kind, f"{options} seed {seed}", seed=kernel) as w:
            w.change(change)
            out = []
            for _ in range(900):
                for _ in range(2):
                    w.enqueue(flow=rng.randrange(4), len=1000)
                w.advance(1_000_000)
                out += w.dequeue(1)
            assert w.named()["early_drop"] > 10
            return out

    # fpq counts flows with a secret hash, which no seed determines.
    assert sent(1) == sent(1, kernel=1 if kind == "fpq" else 2)
    assert sent(1) != sent(2) == sent(1, change="seed 2")
    for forgotten in ("seed auto", f"{options} auto"):
        assert sent(1, change=forgotten) != sent(1, kernel=2, change=forgotten)


@pytest.mark.parametrize("kind", KINDS)
def test_change_of_the_link_speed_does_not_restart_random_numbers(kind: str) -> None:
    wide = "limit 100 min 2 max 90 weight 1 probability 0.9 seed 7"

    def verdicts(flaps: bool) -> list[int]:
        told = []
        with World(kind, wide) as w:
            for i in range(200):
                w.enqueue(len=1000, proto="tcp", flow=i)
                told.append(w.verdict)
                if flaps and i % 40 == 20:
                    w.do("l 10")
                    w.do("l 1000")
                if w.stats().qlen > 30:
                    w.dequeue(1)
        return told

    assert verdicts(flaps=True) == verdicts(flaps=False)


@with_flow_queues
def test_reset_discards_the_timed_packet(kind: str) -> None:
    """The next packet is timed from its own arrival. The maximum stays."""
    with World(kind, "bandwidth 1gbit") as w:
        for longest, delay in (
            (5_000_000, 5_000_000),
            (5_000_000, 2_000_000),
            (6_000_000, 6_000_000),
        ):
            w.enqueue(len=1000, proto="tcp")
            w.reset()
            w.advance(7_000_000)
            w.enqueue(len=1000, proto="tcp", flow=1)
            w.advance(delay)
            w.dequeue(1)
            assert (w.named()["delay"], w.named()["delay_max"]) == (delay, longest)
            for _ in range(16):  # not timed
                w.enqueue(len=1000, proto="tcp")
                w.dequeue(1)


@pytest.mark.parametrize("kind", KINDS)
def test_old_queue_stays_if_there_is_no_memory_for_the_new_link(kind: str) -> None:
    with World(kind, "victim random" if kind == "cbt" else "") as w:
        w.do("l 10")
        before = w.named()
        w.fail_alloc()
        w.do("l 100")
        assert w.named()["limit"] == before["limit"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mbit", [1, 2, 10, 100, 1000, 2500, 10_000, 100_000, 400_000])
def test_defaults_suit_every_link(kind: str, mbit: int) -> None:
    """A full queue of full packets is below 100 ms and the memory limit, and reaches max."""
    with World(kind, f"bandwidth {mbit}mbit") as w:
        st = w.named()
        assert st["limit"] * 1500 * 8 / (mbit * 1e6) < 0.1
        assert st["memory_limit"] <= MEMORY
        assert st["limit"] * 2304 <= st["memory_limit"]
        assert 2 <= st["min_th"] < st["max_th"] < st["limit"]
        packet = 1000 if kind == "chokex" else 1500
        remembered = -1 / math.log(1 - st["weight"])  # packets
        # The weight has units of 2^-32, so rounding at 400 Gb/s is 1 part in 30 000.
        assert remembered == pytest.approx(min(mbit * 1e6 / 8 / packet, 3 * st["limit"]), rel=0.02)
        if kind == "chokex":
            assert st["min_th"] >= 5
        else:
            assert all(w.named(minor)["threshold"] >= 2 for minor in (1, 2, 3))


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 8, 9, 15, 16, 150, 300])
def test_chokex_reaches_its_thresholds_with_every_limit(limit: int) -> None:
    with World("chokex", f"limit {limit}") as w:
        st = w.named()
        assert 0 < st["min_th"] < st["max_th"] <= max(limit, 2)
        if limit >= 15:
            assert st["min_th"] == limit // 3
            assert st["max_th"] == pytest.approx(2 * limit / 3, abs=1)
    for given, top in ((40, 70), (99, 100)):
        with World("chokex", f"limit 100 min {given}") as w:
            assert w.named()["max_th"] == top
    for given, low in ((20, 10), (90, 33)):
        with World("chokex", f"limit 100 max {given}") as w:
            assert w.named()["min_th"] == low


def test_cbt_has_room_for_a_call_on_a_slow_link() -> None:
    """A call sends 50 packets of 100 bytes per second, 4 % of 1 Mb/s. Its class may have 10 %.

    TCP keeps four full packets queued, a third more than its threshold.
    """
    rng = random.Random(3)
    with World("cbt", "bandwidth 1mbit seed 1") as w:
        now, busy_until, calls, sizes = 0, 0, 0, []
        due = 0.0
        while now < 30_000_000_000:
            if now >= due:
                w.enqueue(len=100, proto="udp")
                sizes.append(100)
                calls += 1
                due = calls * 20e6 + rng.uniform(0, 20e6)
            while w.named()["tcp"] < 4:
                sizes.append(1500)
                if not w.enqueue(len=1500, proto="tcp"):
                    break
            if now >= busy_until:
                for n, _ in w.dequeue(1):
                    busy_until = now + sizes[n] * 8000
            w.advance(400_000)
            now += 400_000
        lost = w.classes()[3].drops
        print("calls", calls, "lost", lost)
        assert calls > 1000
        assert lost < 0.05 * calls


@every_kind
def test_memory_limit_bounds_the_memory_of_packets(kind: str) -> None:
    wide = {
        "chokex": "limit 1000 min 900 max 999",
        "cbt": "limit 1000 min 900 max 999",
        "redtail": "limit 1000000 packets 0",
    }.get(kind, "limit 1000")
    with World(kind, f"{wide} memory_limit 9000b bandwidth 100gbit", below="drr") as w:
        for i in range(9):
            w.enqueue(len=100, truesize=3000, proto="tcp", flow=i)
        st = w.named()
        assert (st["memory_used"], st["drop_memory"], st["drop_limit"]) == (9000, 6, 0)
        assert w.stats().drops == 6
        w.change("memory_limit 6500b")
        assert w.named()["memory_used"] == 6000
        assert w.named()["drop_change"] == 1
        w.dequeue(9)
        assert w.named()["memory_used"] == 0
        for i in range(9):
            w.enqueue(len=100, truesize=3000, proto="tcp", flow=i)
        st = w.named()
        assert (st["memory_used"], st["drop_memory"]) == (6000, 6 + 7)


@with_flow_queues
def test_memory_limit_below_one_packet_warns(kind: str) -> None:
    warning = "memory_limit is too small for one full packet"
    with World(kind, "bandwidth 1gbit memory_limit 1000b") as w:
        assert w.message.endswith(warning)
        w.change("memory_limit 100000b")
        assert not w.message
        w.change("memory_limit 1000b")
        assert w.message.endswith(warning)


@every_kind
def test_a_gso_packet_is_cut_up_unless_asked_not_to(kind: str) -> None:
    for word, packets in (("split_gso", 10), ("nosplit_gso", 1)):
        with World(kind, f"bandwidth 1gbit {word}") as w:
            assert w.enqueue(len=40 + 10 * 1000, gso=1000, proto="tcp")
            assert w.stats().qlen == packets
            assert w.named().get("segments", 10) == 10
            assert len(w.dequeue(20)) == packets


@pytest.mark.parametrize("below", ["hfsc prio", "prio hfsc", "drr", "hfsc", "htb", "qfq ets"])
@pytest.mark.parametrize("kind", ["2regionred", "ared", "blue", "fpq", "fred", "redtail", "sfbx"])
def test_segments_of_a_gso_packet_are_dropped_one_by_one(kind: str, below: str) -> None:
    options, cause = limit(kind, 15), "drop_limit"
    if kind == "fred":
        options, cause = "limit 30 min 15 max 30", "maxq_drop"
    elif kind == "redtail":
        options += " packets 0 max2 15000"
    elif kind == "sfbx":
        options, cause = "limit 30 bin_size 14", "bin_drop"
    with World(kind, options, below=below) as w:
        w.enqueue(**GSO)
        assert (w.stats().qlen, w.stats().backlog) == (10, 10 * 1054)
        w.enqueue(**GSO)
        assert w.verdict == CN, "segments are queued, so the sender must not repeat them all"
        assert w.stats().qlen == 15
        assert w.stats().drops == w.stats(level=1).drops == w.named()[cause] == 5
        w.dequeue(100)
        assert w.stats().qlen == 0


@with_flow_queues
def test_nosplit_gso_counts_all_segments_of_a_whole_packet(kind: str) -> None:
    with World(kind, f"{room(kind, 5)} nosplit_gso") as w:
        for drops in range(3):
            assert w.enqueue(**GSO)  # larger than the limit, but the queue is empty
            assert w.named().get("segments", 10) == 10
            w.enqueue(**GSO)
            assert (w.stats().qlen, w.stats().drops) == (1, drops + 1)
            assert len(w.dequeue(5)) == 1
    with World(kind, f"{room(kind, 15)} nosplit_gso") as w:
        for length in (GSO, GSO, {"flow": 1, "proto": "tcp", "len": 100}):
            w.enqueue(**length)
        assert (w.stats().qlen, w.stats().drops) == (2, 1)  # 20 segments are too many


@with_flow_queues
def test_a_change_keeps_a_packet_larger_than_the_limit_if_it_is_alone(kind: str) -> None:
    with World(kind, f"{room(kind, 20)} nosplit_gso", below="drr") as w:
        assert w.enqueue(**GSO)
        w.change(limit(kind, 5))  # an empty queue would accept it, so it stays
        w.change("memory_limit 16mb")
        assert (w.named()["drop_change"], w.stats().qlen) == (0, 1)
        w.change(limit(kind, 20))
        assert w.enqueue(flow=2, proto="tcp", len=100)
        w.change(limit(kind, 5))
        assert w.named()["drop_change"] == 1
        kept = 0 if kind in KINDS else 1  # chokex and cbt drop the newest
        assert [number for number, _ in w.dequeue(5)] == [kept]
        assert w.enqueue(**GSO)
        w.change("memory_limit 1")  # has no such exception
        assert (w.stats().qlen, w.named()["drop_change"]) == (0, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("below", ["", "hfsc", "hfsc prio", "drr", "htb", "qfq", "ets prio"])
@pytest.mark.parametrize("split", ["split_gso", "nosplit_gso"])
def test_losses_in_the_midst_of_gso_packets_are_known_to_all_above(
    kind: str, below: str, split: str
) -> None:
    """The counts are compared after each call by World; here it must not stall, either."""
    rng = random.Random(5)
    with World(kind, f"{LOSING[kind]} {split}", below=below) as w:
        for _ in range(600):
            segments = rng.choice((1, 1, 2, 5, 40))
            proto = rng.choice(("tcp", "udp"))
            headers = 40 if proto == "tcp" else 28
            w.enqueue(len=headers + 500 * segments, gso=500, proto=proto, flow=rng.randrange(3))
            w.dequeue(rng.choice((0, 0, 1, 3, 20)))
            w.advance(rng.choice((0, 100_000, 50_000_000)))
        assert w.stats().drops > 80
        w.dequeue(1000)
        assert not w.stats().qlen
        w.advance(100_000_000_000)
        assert w.enqueue(len=500, proto="tcp")
        assert len(w.dequeue(1)) == 1, "stalled"


@with_flow_queues
def test_delays_are_those_of_every_17th_packet(kind: str) -> None:
    """One packet is timed, then 16 arrivals pass; avg moves by an eighth."""
    with World(kind, "bandwidth 1gbit") as w:
        average, greatest = 0.0, 0
        for n, ms in enumerate((3_000_000, 6_000_000, 15_000_000, 9_000_000, 12_000_000)):
            for i in range(17):
                w.enqueue(len=1000, proto="tcp", flow=i)
                w.advance(ms if not i else 1)
                w.dequeue(1)
            average = ms if not n else average + (ms - average) / 8
            greatest = max(greatest, ms)
            assert (w.named()["delay"], w.named()["delay_max"]) == (ms, greatest)
            assert w.named()["delay_avg"] == pytest.approx(average, abs=2)


@with_flow_queues
def test_when_a_timed_packet_is_lost_the_next_is_timed(kind: str) -> None:
    with World(kind, "bandwidth 1gbit") as w:
        w.enqueue(len=1000, proto="tcp")
        w.change("memory_limit 1")
        assert not w.stats().qlen
        w.change("memory_limit auto")
        w.enqueue(len=1000, proto="tcp", flow=1)
        w.advance(5_000_000)
        w.dequeue(1)
        assert w.named()["delay"] == w.named()["delay_max"] == 5_000_000


@every_kind
def test_only_what_was_given_is_dumped(kind: str) -> None:
    with World(kind) as w:
        assert w.given() == {}
        w.change("memory_limit 1000000b ecn nosplit_gso limit 50")
        assert w.given() == {
            "memory_limit": 1_000_000,
            "ecn": True,
            "split_gso": False,
            "limit": 50,
        }
        w.change("limit auto memory_limit auto")
        assert set(w.given()) == {"ecn", "split_gso"}
        with pytest.raises(Refused):
            w.change("memory_limit x")


@pytest.mark.parametrize("kind", KINDS)
def test_a_peeked_packet_has_left_the_queue(kind: str) -> None:
    with World(kind, "limit 2 min 1 max 2 weight 0.00001", below="tbf") as w:
        w.do("k 0")
        w.enqueue(len=1000, proto="tcp", flow=1)
        w.dequeue(1)  # tbf holds it now
        assert w.enqueue(len=1000, proto="tcp", flow=2)
        assert w.enqueue(len=1000, proto="tcp", flow=3)
        assert w.stats().drops == 0
        assert w.named()["segments"] == 2
        w.enqueue(len=1000, proto="tcp", flow=4)
        assert w.named()["drop_limit"] == 1
        w.do("k -1")
        assert len(w.dequeue(10)) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_marked_packet_without_room_counts_as_dropped_only(kind: str) -> None:
    with World(kind, "limit 5 min 1 max 2 weight 1 ecn seed 1") as w:
        for i in range(50):
            w.enqueue(len=1000, proto="tcp", flow=i, tos=2)
        st = w.named()
        assert w.stats().qlen == 5
        assert 0 < st["marked"] == st["early_mark"] + st["forced_mark"] <= 5
        if kind == "cbt":
            assert w.named(1)["marked"] == st["marked"]
        assert st["drop_limit"] == w.stats().drops == 45


@pytest.mark.parametrize(
    "tags", ["vlan=5", "vlan=5 bridged=1", "vlan=5 bridged=1 tag=6", "vlan=5 tag=6 mac=4"]
)
@pytest.mark.parametrize("v6", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_is_set_behind_vlan_tags_and_not_in_them(kind: str, v6: int, tags: str) -> None:
    with World(kind, "limit 60 min 1 max 2 weight 1 ecn seed 1") as w:
        for flow in range(20):
            w.do(f"e flow={flow} len=1000 proto=tcp tos=2 v6={v6} {tags}")
        marked = w.named()["marked"]
        assert marked > 10
        assert sum(tos == 3 for _, tos in w.dequeue(100)) == marked


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_probability_is_in_force_at_once(kind: str) -> None:
    """RED chooses so many of 200 arrivals, each of its own flow, while the queue holds ten."""

    def chosen(flow: int) -> int:
        before = w.stats().overlimits
        for i in range(200):
            w.enqueue(len=1000, proto="tcp", flow=flow, sport=1 + i)
            while w.stats().qlen > 10:
                w.dequeue(1)
        return w.stats().overlimits - before

    with World(kind, f"{PACE[kind]} limit 200 min 5 max 100 weight 1 probability 0 seed 1") as w:
        assert chosen(1) == 0
        w.change("probability 1")
        assert 3 < chosen(2) < 50  # p_b about 0.05
        w.change("probability 0")
        assert chosen(3) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_gaps_between_drops_are_uniform(kind: str) -> None:
    """Floyd and Jacobson 1993, section 7: 1 to 1/p_b arrivals, each as often. If each arrival were
    dropped with p_b they would be geometric; with a new R for each, 4.6 in the mean and not 8.5.
    """
    gaps: Counter[int] = Counter()
    flow = gap = 0
    with World(kind, "limit 100 min 8 max 40 weight 1 probability 0.25 seed 1") as w:
        while w.stats().qlen < 16:
            w.enqueue(len=1000, proto="tcp", flow=(flow := flow + 1))
        while gaps.total() < 4000:
            w.enqueue(len=1000, proto="tcp", flow=(flow := flow + 1))
            gap += 1
            if w.verdict:
                gaps[gap] += 1
                gap = 0
            else:
                w.dequeue()
        assert w.named()["probability"] == pytest.approx(1 / 16)
    assert set(gaps) == set(range(1, 17))
    # 15 degrees of freedom: above 37.7 one time in 1000
    assert sum((seen - 250) ** 2 / 250 for seen in gaps.values()) < 37.7, gaps
