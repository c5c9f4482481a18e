# SPDX-License-Identifier: GPL-2.0
"""A router receives UDP with rx-gro-list: GRO makes lists of packets.

The kernel splits such a list in place: the packet that arrived becomes the first segment. Our
disciplines then told their parents the length of this segment, not the length of the list.
Expectation: an empty htb has no backlog, as above cake, which splits lists, too.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.selftests import TOP

SCRIPT = """
sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv4.ip_forward=1
for end in 1 2; do
    ip netns add n$end
    ip link add v$end type veth peer name w$end netns n$end
    ip addr add 10.$end.0.1/24 dev v$end
    ip link set v$end up
    ip -n n$end addr add 10.$end.0.2/24 dev w$end
    ip -n n$end link set w$end up
    ip -n n$end route add default via 10.$end.0.1
done
ip netns exec n1 ethtool -K w1 tso off gso off tx-udp-segmentation off
ethtool -K v1 gro on rx-gro-list on
tc qdisc add dev v2 root handle 1: htb default 1
tc class add dev v2 parent 1: classid 1:1 htb rate 10mbit
tc qdisc add dev v2 parent 1:1 handle 2: {qdisc}
ip netns exec n2 python3 -c '
import socket, time
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("", 9))
time.sleep(100)
' &
sleep 1
ip netns exec n1 python3 -c '
import socket
source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
source.connect(("10.2.0.2", 9))
source.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
for _ in range(8):
    source.send(bytes(20000))
'
tc -s -j qdisc show dev v2
sleep 3
tc -s -j qdisc show dev v2
"""


@pytest.mark.parametrize("qdisc", ["cake", "tdrr limit 10", "fred limit 100", "redtail limit 9kb"])
def test_a_parent_counts_no_bytes_of_a_list_that_has_left(qdisc: str) -> None:
    done = subprocess.run(
        [TOP / "lab" / "boot", "--", "sh", "-ec", SCRIPT.format(qdisc=qdisc)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    full, drained = (
        {one["kind"]: one for one in json.loads(line)} for line in done.stdout.splitlines()
    )
    leaf = qdisc.split()[0]
    assert full["htb"]["backlog"] == full[leaf]["backlog"] > 0
    assert full["htb"]["qlen"] == full[leaf]["qlen"] > 1, "the list must be split"
    assert (drained["htb"]["qlen"], drained["htb"]["backlog"]) == (0, 0)
    assert drained["htb"]["packets"] > 1
