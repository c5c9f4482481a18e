# SPDX-License-Identifier: GPL-2.0
"""run --pcap: captures with the times of the run, which change nothing."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

from tests.scenarios.pcapng import OUTBOUND, read
from tests.scenarios.shortrun import result, run

SHORT = (
    "dumbbell",
    "--set",
    "flows=2",
    "--set",
    "rate=10",
    "--set",
    "warmup=1",
    "--set",
    "duration=1",
    "--set",
    "probe=on",
)


def test_a_capture_has_each_packet_at_its_time_and_changes_nothing(tmp_path: Path) -> None:
    without = result(tmp_path / "without", scenario=SHORT)
    got = result(tmp_path / "with", "--pcap", "rtr", "--pcap", "dst", scenario=SHORT)
    assert got["digest"] == without["digest"]
    for log in ("flows.csv", "progress.csv", "queue.csv", "delays.csv"):
        assert (tmp_path / "with" / log).read_bytes() == (tmp_path / "without" / log).read_bytes()
    packets = read(tmp_path / "with" / "rtr.pcapng")
    sent = [one for one in packets if (one.device, one.direction) == ("b0", OUTBOUND)]
    with (tmp_path / "with" / "queue.csv").open(newline="") as file:
        *_, last = csv.DictReader(file)
    # The shaper may hold a packet that the qdisc has counted.
    assert 0 <= int(last["sent_packets"]) - len(sent) <= 1
    assert 0 <= int(last["sent_bytes"]) - sum(one.length for one in sent) <= 1514
    assert all(0 <= one.time_s <= 2 for one in packets)
    # The bucket holds a full packet, and 1 us for the steps of the clock.
    for before, after in pairwise(sent):
        tokens = before.length + after.length - 1514
        assert after.time_s - before.time_s >= tokens * 8 / 10e6 - 2e-6
    # What leaves the bottleneck arrives at once, as the same bytes behind new MAC addresses.
    arrived = [one for one in read(tmp_path / "with" / "dst.pcapng") if one.direction != OUTBOUND]
    assert [one.data for one in arrived if one.device == "d0"] == [one.data for one in sent]
    # 128 bytes of each packet, or all.
    assert {len(one.data) for one in packets} >= {66 - 12, 128}
    assert all(len(one.data) == min(128, one.length) for one in packets)


def test_a_wrong_node_is_refused_with_the_names(tmp_path: Path) -> None:
    done = run(tmp_path / "out", "--pcap", "rt")
    assert done.returncode == 2
    assert 'no node for --pcap "rt": did you mean rtr' in done.stderr


def test_a_capture_that_does_not_fit_fails_the_run(tmp_path: Path) -> None:
    """256 MiB hold a million packets. 100 Mb/s are 110000 packets per second, twice in rtr."""
    done = run(
        tmp_path / "out",
        "--pcap",
        "rtr",
        scenario=(
            "udp-blast",
            "--set",
            "flows=0",
            "--set",
            "udp_rate=100",
            "--set",
            "udp_size=100",
            "--set",
            "rate=100",
            "--set",
            "memory=1",
            "--set",
            "warmup=0",
            "--set",
            "duration=6",
        ),
    )
    assert done.returncode == 1
    assert "the capture of rtr has room for 1048576 packets" in done.stderr
