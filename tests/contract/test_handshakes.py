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
