# SPDX-License-Identifier: GPL-2.0
"""tdrr follow_rtt learns from handshakes of any form, and from nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.userspace import World

SYN, ACK = 0x02, 0x10
MS = 1_000_000  # ns
OPTIONS = "limit 1000 follow_rtt"
FORMS: dict[str, dict[str, Any]] = {
    "IPv4": {},
    "IPv6": {"v6": 1},
    "tag in the data": {"vlan": 7, "bridged": 1},
    "tag, IPv6": {"vlan": 7, "v6": 1, "bridged": 1},
    "IPv6 with hop-by-hop options": {"v6": 1, "ext": 0},
    "IPv4 with options": {"ihl": 7},
}


def pass_through(w: World, flags: int, **packet: Any) -> None:
    """Let a TCP packet with FLAGS arrive and leave."""
    w.enqueue(proto="tcp", len=90, flags=flags, **packet)
    w.dequeue()


def handshake(w: World, rtt: int, syn: int = SYN, **packet: Any) -> None:
    pass_through(w, syn, **packet)
    w.do(f"t {rtt}")
    pass_through(w, ACK, **packet)


def is_near(value: int, ns: int) -> bool:
    """A start is rounded to 2.048 us, and a sample to 1 us."""
    return abs(value - ns) <= 3100


@pytest.mark.parametrize("syn", [SYN, SYN | ACK, 0xC2])
@pytest.mark.parametrize("form", FORMS)
def test_a_handshake_shows_the_round_trip(form: str, syn: int) -> None:
    """A client's, a server's, and a client's that asks for ECN (RFC 3168, section 6.1.1)."""
    with World("tdrr", OPTIONS) as w:
        handshake(w, 7 * MS, syn, flow=1, **FORMS[form])
        now = w.named()
        assert is_near(now["rtt"], 7 * MS)
        assert now["memory"] == 2 * now["rtt"]
        handshake(w, 15 * MS, syn, flow=2, **FORMS[form])
        assert is_near(w.named()["rtt"], 8 * MS)


def suits(now: dict[str, int]) -> int:
    """Return twice the sum of the round trip and the average delay, ns."""
    return 2 * (now["rtt"] + now["delay_avg"] // 1000 * 1000)


def overload(w: World, rounds: int, wait: int) -> None:
    """Let two flows send twice as much as leaves. The buffer takes a packet of each in turn."""
    for _ in range(rounds):
        for flow in (1, 2):
            w.enqueue(flow=flow, proto="tcp", flags=ACK, len=1000)
        w.do(f"t {wait}")
        w.dequeue()


def test_the_delay_of_the_queue_adds_to_the_round_trip() -> None:
    """The handshake itself does not wait."""
    with World("tdrr", OPTIONS) as w:
        w.enqueue(flow=1, len=1000)
        w.do(f"t {10 * MS}")
        w.dequeue()
        handshake(w, 5 * MS, flow=2)
        now = w.named()
        assert is_near(now["rtt"], 5 * MS)
        assert is_near(now["delay_avg"], 10 * MS)
        assert now["memory"] == suits(now)


def test_the_delay_alone_changes_nothing() -> None:
    """Without a handshake it says nothing about round trips."""
    with World("tdrr", "limit 4 follow_rtt") as w:
        overload(w, 200, MS)
        assert w.named()["memory"] == 100 * MS


def test_the_memory_follows_the_delay_of_a_full_buffer() -> None:
    """No further handshake is needed, whether the delay grows or shrinks."""
    with World("tdrr", "limit 8 follow_rtt") as w:
        handshake(w, 3 * MS, flow=9)
        assert w.named()["memory"] < 6.1 * MS
        for wait in (4 * MS, MS, 4 * MS):
            overload(w, 400, wait)
            now = w.named()
            assert 4 * wait < now["delay_avg"] < 8 * wait
            # A sixteenth, and a sample that is newer than the last loss.
            assert abs(now["memory"] - suits(now)) <= now["memory"] / 8


def test_the_memory_forgets_the_delay_of_a_queue_that_is_empty_again() -> None:
    """At the next handshake at the latest."""
    with World("tdrr", "limit 8 follow_rtt") as w:
        handshake(w, 3 * MS, flow=9)
        overload(w, 400, 4 * MS)
        assert w.named()["memory"] > 2 * (3 + 4 * 4) * MS
        w.dequeue(8)
        for _ in range(2000):
            pass_through(w, ACK, flow=1)
        handshake(w, 3 * MS, flow=10)
        now = w.named()
        assert now["delay_avg"] < MS // 100
        assert is_near(now["memory"] // 2, 3 * MS)


def test_the_memory_follows_the_delay_that_target_signals() -> None:
    """The buffer is never full then."""
    with World("tdrr", OPTIONS + " target 1ms") as w:
        w.do("o 1")
        handshake(w, 3 * MS, flow=9)
        overload(w, 300, MS)
        now = w.named()
        assert now["target_drop"] > 0
        assert now["overflows"] == 0
        assert now["memory"] > 30 * MS


@pytest.mark.parametrize(
    "packets",
    [
        [{"proto": "udp"}, {"proto": "udp"}],
        [{"proto": "tcp", "flags": ACK}, {"proto": "tcp", "flags": ACK}],
        [{"proto": "tcp", "flags": SYN}, {"proto": "tcp", "flags": SYN}],
        [{"proto": "tcp", "flags": SYN, "frag": 100}, {"proto": "tcp", "flags": ACK}],
        [{"proto": "tcp", "flags": SYN}, {"proto": "tcp", "flags": ACK, "flow": 2}],
        [{"proto": "tcp", "flags": SYN, "len": 40}, {"proto": "tcp", "flags": ACK}],
    ],
    ids=["UDP", "no SYN", "only SYNs", "fragment", "another flow", "cut off"],
)
def test_nothing_else_counts(packets: list[dict[str, Any]]) -> None:
    with World("tdrr", OPTIONS) as w:
        for packet in packets:
            w.enqueue(**{"len": 90, "flow": 1, **packet})
            w.do(f"t {5 * MS}")
            w.dequeue()
        now = w.named()
        assert (now["rtt"], now["memory"]) == (0, 100 * MS)


@pytest.mark.parametrize(
    "choice",
    [{"class": 5}, {"prio": 0x10005}],
    ids=["filter", "priority"],
)
def test_flows_that_a_filter_puts_together_do_not_count(choice: dict[str, int]) -> None:
    """The next packet of the queue is another flow's."""
    with World("tdrr", OPTIONS) as w:
        pass_through(w, SYN, flow=1, **choice)
        w.do(f"t {MS // 100}")
        pass_through(w, ACK, flow=2, **choice)
        assert w.named()["rtt"] == 0


def test_a_filter_does_not_end_the_handshake_of_the_queue_s_owner() -> None:
    with World("tdrr", OPTIONS + " flows 1") as w:
        pass_through(w, SYN, flow=1)
        w.do(f"t {2 * MS}")
        pass_through(w, ACK, flow=2, **{"class": 1})
        w.do(f"t {4 * MS}")
        pass_through(w, ACK, flow=1)
        assert is_near(w.named()["rtt"], 6 * MS)


def test_queues_that_flows_share_by_their_hash_do_not_count() -> None:
    with World("tdrr", OPTIONS + " flows 1 noavoid_collisions") as w:
        pass_through(w, SYN, flow=1)
        w.do(f"t {MS // 100}")
        pass_through(w, ACK, flow=2)
        assert w.named()["rtt"] == 0


def test_handshakes_count_when_the_table_of_flows_is_full() -> None:
    """A new flow then starts with the throughput of one that it replaces."""
    with World("tdrr", OPTIONS + " flows 32") as w:
        for flow in range(5000):
            pass_through(w, ACK, flow=1000 + flow)
        for flow in range(60):
            handshake(w, 5 * MS, flow=flow)
        assert is_near(w.named()["rtt"], 5 * MS)


def test_a_flow_does_not_end_the_handshake_of_one_that_it_replaces() -> None:
    """Half of the flows send a SYN only, and the others a large packet only."""
    with World("tdrr", OPTIONS + " flows 8") as w:
        for flow in range(3000):
            flags, size = (SYN, 90) if flow % 2 else (ACK, 1514)
            w.enqueue(flow=flow, proto="tcp", flags=flags, len=size)
            w.dequeue()
            w.do("t 1000")
        assert w.named()["rtt"] == 0


def test_handshakes_from_before_the_option_was_off_do_not_count() -> None:
    with World("tdrr", OPTIONS) as w:
        handshake(w, 5 * MS, flow=1)
        for flow in range(2, 30):
            pass_through(w, SYN, flow=flow)
        w.change("nofollow_rtt")
        for flow in range(2, 30):
            pass_through(w, ACK, flow=flow)
        w.do(f"t {2000 * MS}")
        w.change("follow_rtt")
        for flow in range(2, 30):
            pass_through(w, ACK, flow=flow)
        assert is_near(w.named()["rtt"], 5 * MS)


def test_a_repeated_syn_starts_anew() -> None:
    """The first one was lost a second ago, so the answer is to the second one."""
    with World("tdrr", OPTIONS) as w:
        pass_through(w, SYN, flow=1)
        w.do(f"t {1000 * MS}")
        handshake(w, 4 * MS, flow=1)
        assert is_near(w.named()["rtt"], 4 * MS)


def test_only_the_packet_behind_a_syn_counts() -> None:
    with World("tdrr", OPTIONS) as w:
        handshake(w, 4 * MS, flow=1)
        for _ in range(50):
            w.do(f"t {60 * MS}")
            pass_through(w, ACK, flow=1)
        assert is_near(w.named()["rtt"], 4 * MS)


def test_options_that_change_apply_at_once() -> None:
    with World("tdrr", OPTIONS) as w:
        handshake(w, 20 * MS, flow=1)
        for options, memory in (
            ("time_constant 5ms", 5 * MS),
            ("time_constant 1s", None),
            ("nofollow_rtt", None),
            ("follow_rtt", None),
        ):
            w.change(options)
            now = w.named()
            if options.startswith("no"):
                assert "memory" not in now  # a statistic of an option that is off
                continue
            assert now["memory"] == (memory or 2 * now["rtt"])


def test_reset_forgets() -> None:
    with World("tdrr", OPTIONS) as w:
        handshake(w, 20 * MS, flow=1)
        w.do("r")
        now = w.named()
        assert (now["rtt"], now["memory"]) == (0, 100 * MS)
        handshake(w, 3 * MS, flow=5)
        assert is_near(w.named()["rtt"], 3 * MS)


def test_target_and_handshakes_do_not_mix() -> None:
    """Both keep a time in the same place of a queue."""
    with World("tdrr", OPTIONS + " target 1ms") as w:
        w.do("o 1")
        for i in range(400):
            w.enqueue(flow=1, proto="tcp", flags=ACK, len=1514)
            w.enqueue(flow=1, proto="tcp", flags=ACK, len=1514)
            w.do(f"t {MS}")
            w.dequeue()
            if i % 40 == 0:
                w.enqueue(flow=10 + i, proto="tcp", flags=SYN, len=90)
            if i % 40 == 4:
                w.enqueue(flow=6 + i, proto="tcp", flags=ACK, len=90)
        now = w.named()
        assert now["target_drop"] > 0
        assert is_near(now["rtt"], 4 * MS)


def test_target_signals_to_a_flow_that_sends_only_syns() -> None:
    """Otherwise one flow that repeats its SYN could keep the delay above target."""
    with World("tdrr", OPTIONS + " target 1ms") as w:
        w.do("o 1")
        for _ in range(600):
            w.enqueue(flow=1, proto="tcp", flags=SYN, len=1000)
            w.enqueue(flow=1, proto="tcp", flags=SYN, len=1000)
            w.do(f"t {MS}")
            w.dequeue()
        assert w.named()["target_drop"] > 0
