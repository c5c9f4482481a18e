# SPDX-License-Identifier: GPL-2.0
"""reno90 behaves like ns-2's Reno, not like NewReno, and tahoe like Tahoe.

One flow loses half a window at the end of its first slow start. NewReno retransmits one lost packet
per round trip. Reno with more than two losses in a window waits for its timer, and then resends
everything that is not acknowledged (Fall and Floyd, CCR 26/3, 1996).
"""

from __future__ import annotations

import csv
import itertools
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.test_more_scenarios import ROOT, run, table

SETTINGS = (
    "flows=1",
    "rate=10",
    "rtt=50",
    "access=100",
    "warmup=0",
    "duration=4",
    "window=400",
    "pacing=on",
)  # otherwise slow start would lose half of 400 kB
SEGMENT = 1460


@pytest.mark.parametrize("cc", ["reno", "reno90"])
def test_losses_of_half_a_window(cc: str, tmp_path: Path) -> None:
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
        # A second has at most 20 round trips, each with a retransmission and limited transmit.
        assert mended < 20 * 3 * SEGMENT
    else:
        assert again > 2 * lost
        assert mended > 0.5 * 10e6 / 8


def test_each_loss_restarts_tahoe_from_one_packet(tmp_path: Path) -> None:
    """With a FIFO of 20 packets and 41 packets on the path, a window of 62 loses a packet. Tahoe
    then halves the threshold, and starts from one packet at once. That needs five round trips, and
    a timer would need five more."""
    run(
        "dumbbell",
        tmp_path / "run",
        *SETTINGS,
        "duration=8",
        "cc=tahoe",
        qdisc="pfifo limit 20",
        options=("--module", ROOT / "papers" / "settings" / "tahoe", "--tcp-state"),
    )
    states = [row for row in table(tmp_path / "run" / "tcp.csv") if float(row["time_s"]) >= 2]
    (threshold,) = {int(row["ssthresh"]) for row in states}
    assert threshold == (41 + 20 + 1) // 2
    again = [int(row["retransmits"]) for row in states]
    assert {b - a for a, b in itertools.pairwise(again)} == {0, 1}
    assert 3 <= again[-1] - again[0] <= 5
    at = {
        float(row["time_s"]): int(row["bytes"]) for row in table(tmp_path / "run" / "progress.csv")
    }
    grown = [at[t + 0.5] - at[t] for t in at if 2 <= t < 8]
    # A round trip without acknowledgements, then 1, 2, 4, 8 and 16 of 41 packets.
    assert min(grown) > (10 - 6 + 31 / 41) / 10 * 0.5 * 10e6 / 8 * 1460 / 1514 * 0.95


# A program that sends until a partial ACK ends fast recovery, and then changes its TCP.
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
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(2**32 - 1), "3"]
