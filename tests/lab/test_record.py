# SPDX-License-Identifier: GPL-2.0
"""lab/boot --record logs the queues and interfaces of a network that a program makes."""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Two namespaces and ten echo requests of 98 bytes. Their ARP entries are permanent.
NETWORK = """
ip netns add near; ip netns add far
ip -n near link add n0 address 02:00:00:00:00:01 type veth peer name f0 netns far
ip -n far link set f0 address 02:00:00:00:00:02
ip -n near addr add 10.0.0.1/24 dev n0; ip -n far addr add 10.0.0.2/24 dev f0
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip netns exec near sysctl -qw net.ipv6.conf.n0.disable_ipv6=1
ip netns exec far sysctl -qw net.ipv6.conf.f0.disable_ipv6=1
ip -n near link set n0 up; ip -n far link set f0 up
ip -n near neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev n0
ip -n far neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev f0
tc -n near qdisc add dev n0 root handle 7: pfifo limit 5
ip netns exec near ping -q -c 10 -i 0.2 10.0.0.2 >/dev/null
sleep 0.25
"""


def recorded(place: Path, script: str) -> subprocess.CompletedProcess[str]:
    words = ["lab/boot", "--record", place, "--", "sh", "-ec", script]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)


def rows(path: Path) -> list[dict[str, str]]:
    return [*csv.DictReader(path.read_text().splitlines())]


def test_bytes_and_packets_are_those_that_were_sent(tmp_path: Path) -> None:
    done = recorded(tmp_path / "a", NETWORK)
    assert done.returncode == 0, done.stderr
    links = rows(tmp_path / "a" / "interfaces.csv")
    assert {(row["namespace"], row["device"]) for row in links} >= {("near", "n0"), ("far", "f0")}
    for device in ("n0", "f0"):
        last = [row for row in links if row["device"] == device][-1]
        assert (last["rx_bytes"], last["tx_bytes"]) == ("980", "980")
    queues = [row for row in rows(tmp_path / "a" / "queues.csv") if row["kind"] == "pfifo"]
    assert {(row["device"], row["handle"], row["parent"]) for row in queues} == {
        ("n0", "7:", "root")
    }
    sent = [int(row["sent_packets"]) for row in queues]
    assert sent == sorted(sent)
    assert (sent[-1], queues[-1]["sent_bytes"], queues[-1]["packets"]) == (10, "980", "0")
    times = [float(row["time_s"]) for row in queues]
    assert max(b - a for a, b in itertools.pairwise(times)) < 0.1001


def test_two_runs_have_the_same_logs_and_a_report(tmp_path: Path) -> None:
    digests = set()
    for name in ("a", "b"):
        assert recorded(tmp_path / name, NETWORK).returncode == 0
        digests.add(json.loads((tmp_path / name / "record.json").read_text())["digest"])
    assert len(digests) == 1
    report = [ROOT / "netns-scenarios" / "report", tmp_path / "a"]
    subprocess.run(report, check=True, capture_output=True)
    page = (tmp_path / "a" / "report.html").read_text()
    assert "near n0 pfifo 7:" in page
    assert next(iter(digests))[:16] in page


def test_a_namespace_ends_as_without_a_record_and_the_status_is_the_commands(
    tmp_path: Path,
) -> None:
    """The end of a namespace removes its devices, so nothing may hold it."""
    script = f"{NETWORK}ip netns del far; sleep 0.25; ip -n near link show n0 2>/dev/null || exit 3"
    assert recorded(tmp_path / "a", script).returncode == 3
