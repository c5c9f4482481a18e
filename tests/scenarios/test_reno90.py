# SPDX-License-Identifier: GPL-2.0
"""reno90 is the Reno of ns-2, and NewReno is not.

One flow loses half a window where its first slow start ends. Fall and Floyd (CCR 26/3, 1996):
NewReno mends one loss a round trip and sends again what was lost; Reno, with more than two losses
in a window, waits for its timer and begins anew from what was acknowledged.
"""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.test_more_scenarios import ROOT, run

SETTINGS = ("flows=1", "rate=10", "rtt=50", "access=100", "warmup=0", "duration=4", "window=400",
            "pacing=on")  # or slow start, with what a link of 100 Mb/s takes, loses half of 400 kB
SEGMENT = 1460


@pytest.mark.parametrize("cc", ["reno", "reno90"])
def test_a_window_of_losses(cc: str, tmp_path: Path) -> None:
    result = run("dumbbell", tmp_path / cc, *SETTINGS, f"cc={cc}", qdisc="pfifo limit 20")
    lost = result["hops"]["rtr b0"]["lost"]
    with (tmp_path / cc / "flows.csv").open(newline="") as file:
        again = int(next(csv.DictReader(file))["retransmits"])
    with (tmp_path / cc / "progress.csv").open(newline="") as file:
        at = {float(row["time_s"]): int(row["bytes"]) for row in csv.DictReader(file)}
    mended = at[2.0] - at[1.0]
    assert lost > 20
    if cc == "reno":
        assert again == lost
        # A second has at most 20 round trips, each with a hole and what limited transmit sends.
        assert mended < 20 * 3 * SEGMENT
    else:
        assert again > 2 * lost
        assert mended > 0.5 * 10e6 / 8


# Sends until a partial ACK has ended fast recovery, and goes over to another TCP there.
CHANGE = """
import socket, struct, time
def reordering():
    return struct.unpack_from("I", sender.getsockopt(6, socket.TCP_INFO, 104), 88)[0]
sender = socket.socket()
sender.setsockopt(6, socket.TCP_CONGESTION, b"reno90")
sender.connect(("10.0.0.2", 5001))
sender.setblocking(False)
while reordering() == 3 and time.monotonic() < 20:
    try:
        sender.send(bytes(65536))
    except BlockingIOError:
        time.sleep(0.002)
before = reordering()
sender.setsockopt(6, socket.TCP_CONGESTION, b"reno")
print(before, reordering())
"""
SINK = """
import socket
sink, _ = socket.create_server(("10.0.0.2", 5001)).accept()
while sink.recv(65536):
    pass
"""
SETUP = """
modprobe tcp_reno90
ip netns add b
ip link add va type veth peer name vb netns b
ip addr add 10.0.0.1/24 dev va
ip -n b addr add 10.0.0.2/24 dev vb
ip link set va up
ip -n b link set vb up
ethtool -K va tso off gso off
tc qdisc add dev va root tbf rate 10mbit burst 3000 limit 30000
echo 0 > /proc/sys/net/ipv4/tcp_sack
echo 0 > /proc/sys/net/ipv4/tcp_timestamps
ip netns exec b python3 -c "$1" &
sleep 1
python3 -c "$2"
"""


def test_switching_congestion_control_restores_the_threshold() -> None:
    done = subprocess.run(
        [ROOT / "lab" / "boot", "--", "sh", "-ec", SETUP, "sh", SINK, CHANGE],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(2**32 - 1), "3"]
