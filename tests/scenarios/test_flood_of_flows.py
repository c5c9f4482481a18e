# SPDX-License-Identifier: GPL-2.0
"""TDRR beside a sender that begins a flow with each packet: docs/defaults.md."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.shortrun import result

pytestmark = pytest.mark.extra

#: Sends UDP datagrams of 500 bytes from random ports, which are seeded.
FLOOD = """
import random, socket, struct, sys, time
to, rate, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
draw, sent, start = random.Random(1), 0, time.monotonic()
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
while (gone := time.monotonic() - start) < seconds:
    while sent < gone * rate:
        udp = struct.pack("!HHHH", draw.randrange(1024, 65536), 9999, 480, 0) + bytes(472)
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, 17, 0, bytes(4), socket.inet_aton(to))
        raw.sendto(ip + udp, (to, 0))
        sent += 1
    time.sleep(0.001)
"""
SINK = """
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 9999))
while udp.recv(2000):
    pass
"""
#: 128 CUBIC flows, a quarter of a packet of buffer for each.
LOAD = {
    **{"flows": 128, "rate": 250, "rtt": 50, "tcp_profile": "today", "access": 100},
    **{"pacing": "off", "warmup": 5, "duration": 8},
}


def shared(out: Path, rate: int) -> dict[str, Any]:
    """Return the result beside a flood of RATE flows a second."""
    words = ["--qdisc", "tdrr limit 32", "--seed", "81"]
    for name, value in LOAD.items():
        words += ["--set", f"{name}={value}"]
    if rate:
        flood = shlex.join(["python3", "-c", FLOOD, "{client}", str(rate), "13"])
        words += ["--exec", f"server: {flood}"]
        words += ["--exec", f"client: {shlex.join(['python3', '-c', SINK])}"]
    return result(out, *words, scenario=["dumbbell"])


def test_a_flow_for_each_packet_does_not_push_out_what_is_known_of_others(tmp_path: Path) -> None:
    """130 000 flows pass by, many times what the tables hold."""
    alone, beside = shared(tmp_path / "alone", 0), shared(tmp_path / "beside", 10_000)
    deviation = [found["summary"]["sd_over_fair_share"] for found in (alone, beside)]
    assert beside["groups"]["exec1"]["goodput_bps"]["mean"] > 30e6
    assert deviation[1] < 1.5 * deviation[0]
    assert beside["timeouts"] == alone["timeouts"] == 0
