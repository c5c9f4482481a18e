# SPDX-License-Identifier: GPL-2.0
"""Flows inside a tunnel: the outer header is the same, and the kernel keeps the hash of the flow.

The expectation is fq_codel: it queues by skb->hash, if that is of ports (l4_hash).
"""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.selftests import TOP
from tests.userspace import World

FLOWS = 4
OPTIONS = {
    "fpq": "limit 1000 vector 1000000 bandwidth 1gbit",
    "fred": "limit 1000 bandwidth 1gbit",
    "sfbx": "limit 1000 bins 4096 levels 1",
    "chokex": "limit 1000 min 1 max 999 weight 1 candidates 64 probability 0",
}
TCP, UDP = 6, 17


def seen(kind: str, **fields: int | str) -> int:
    """Return how many flows a discipline sees in FLOWS packets that differ only in their hash.

    chokex does not count them, but drops each packet that matches a queued one of its flow.
    """
    with World(kind, OPTIONS[kind]) as world:
        if kind == "chokex":
            world.enqueue(flow=900)
            world.enqueue(flow=901)
        for number in range(FLOWS):
            words = {
                name: f"{value}".replace("N", f"{7 + number}") for name, value in fields.items()
            }
            world.enqueue(flow=1, **words)
        if kind == "chokex":
            return {0: FLOWS}.get(world.named()["matched"], 1)
        return world.named()[{"fpq": "flows", "sfbx": "used"}.get(kind, "active")]


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize(
    ("fields", "flows"),
    [
        # WireGuard, VXLAN, GENEVE: UDP, and the tunnel noted where the inner headers are.
        ({"l4": "N", "inner": 50}, FLOWS),
        ({"l4": "N", "inner": 50, "v6": 1}, FLOWS),
        ({"l4": "N", "inner": 50, "tag": 5}, FLOWS),
        ({"l4": "N", "inner": 50, "vlan": 5}, FLOWS),
        ({"l4": 7, "inner": 50}, 1),
        # IPsec, also to NAT-T: no ports, or the socket of the inner flow.
        ({"l4": "N", "proto": "esp"}, FLOWS),
        ({"l4": 7, "proto": "esp"}, 1),
        ({"l4": "N", "sock": TCP}, FLOWS),
        # The headers say all: a socket's hash may change, and a network card's may be forged.
        ({"l4": "N", "proto": "tcp"}, 1),
        ({"l4": "N", "proto": "tcp", "inner": 50}, 1),
        ({"l4": "N", "sock": UDP}, 1),
        ({"l4": "N"}, 1),
        # Nobody computed a hash with ports before the packet was encrypted.
        ({"hash": 1, "inner": 50}, 1),
        ({"hash": 0, "proto": "esp"}, 1),
    ],
    ids=str,
)
def test_inner_flows_are_told_apart(kind: str, fields: dict[str, int | str], flows: int) -> None:
    assert seen(kind, **fields) == flows


FIRST, SECOND = "10.9.0.1", "10.9.0.2"  # inside the tunnel; outside it is 10.8.0
WIREGUARD = f"""
wg genkey >/tmp/a; wg genkey >/tmp/b
ip link add t0 type wireguard
ip -n b link add t1 type wireguard
wg set t0 private-key /tmp/a listen-port 5 peer $(wg pubkey </tmp/b) \\
    allowed-ips {SECOND}/32 endpoint 10.8.0.2:5
ip netns exec b wg set t1 private-key /tmp/b listen-port 5 peer $(wg pubkey </tmp/a) \\
    allowed-ips {FIRST}/32
"""
DEVICES = {
    "wireguard": WIREGUARD,
    "vxlan": "ip link add t0 type vxlan id 5 remote 10.8.0.2 dstport 4789\n"
    "ip -n b link add t1 type vxlan id 5 remote 10.8.0.1 dstport 4789\n",
    "gre": "ip link add t0 type gre remote 10.8.0.2 local 10.8.0.1\n"
    "ip -n b link add t1 type gre remote 10.8.0.1 local 10.8.0.2\n",
}
SCRIPT = """
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip netns add b
ip netns exec b sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add v0 type veth peer name v1 netns b
ip addr add 10.8.0.1/24 dev v0; ip link set v0 up
ip -n b addr add 10.8.0.2/24 dev v1; ip -n b link set v1 up
{device}
ip addr add 10.9.0.1/24 dev t0; ip link set t0 up
ip -n b addr add 10.9.0.2/24 dev t1; ip -n b link set t1 up
ping -qc 2 -W 2 10.9.0.2 >/dev/null
ip netns exec b python3 -c '
import socket
server = socket.create_server(("", 9000))
held = [server.accept() for _ in range(13)]
for connection, _ in held:
    while connection.recv(65536):
        pass
' &
sleep 1
python3 -c '
import json, socket, subprocess
qdisc = "tc qdisc replace dev v0 root fpq limit 1000 vector 100000 bandwidth 100mbit"
held = []
for number in (1, 12):
    subprocess.run(qdisc.split(), check=True)
    new = [socket.create_connection(("10.9.0.2", 9000)) for _ in range(number)]
    for connection in new:
        connection.sendall(bytes(20000))
    shown = subprocess.run("tc -s -j qdisc show dev v0".split(), stdout=subprocess.PIPE)
    print(json.loads(shown.stdout)[0]["flows"])
    subprocess.run("tc qdisc del dev v0 root".split(), check=True)
    held += new
'
"""


@pytest.mark.parametrize("name", DEVICES)
def test_fpq_counts_the_flows_inside_a_tunnel_on_a_kernel(name: str) -> None:
    """11 more TCP connections are 11 more flows. ARP may add one or two to either count."""
    if name == "wireguard" and shutil.which("wg") is None:
        pytest.skip("wg of wireguard-tools is not installed")
    script = SCRIPT.format(device=DEVICES[name])
    done = subprocess.run(
        [TOP / "lab" / "boot", "--", "sh", "-ec", script],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Unknown device type" in done.stderr:
        pytest.skip(f"the lab's kernel has no {name}")
    assert done.returncode == 0, done.stderr
    one, twelve = map(int, done.stdout.split())
    assert 9 <= twelve - one <= 13


ESP = """
modprobe esp4
ip link add d0 type dummy
ip addr add 10.8.0.1/24 dev d0
ip link set d0 up
ip neigh replace 10.8.0.2 lladdr 02:00:00:00:00:02 dev d0
ip xfrm state add src 10.8.0.1 dst 10.8.0.2 proto esp spi 5 reqid 1 mode transport \\
    aead 'rfc4106(gcm(aes))' 0x0102030405060708091011121314151617181920 128
ip xfrm policy add src 10.8.0.1 dst 10.8.0.2 dir out tmpl proto esp reqid 1 mode transport
tc qdisc add dev d0 root handle 1: tbf rate 1kbit burst 2kb limit 1mb
tc qdisc add dev d0 parent 1:1 handle 2: fred limit 1000 bandwidth 1gbit
python3 -c '
import socket
held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(12)]
for one in held:
    one.connect(("10.8.0.2", 9))
for one in 3 * held:
    one.send(bytes(200))
'
tc -s -j qdisc show dev d0
"""


@pytest.mark.qemu
@pytest.mark.extra
def test_fred_tells_the_flows_in_ipsec_apart_on_a_stock_kernel() -> None:
    """The lab's kernel has no IPsec. The dissector of tests in user space is not the kernel's."""
    done = subprocess.run(
        [TOP / "lab" / "boot", "--engine", "qemu", "--kernel", "6.12", "--", "sh", "-ec", ESP],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = {qdisc["kind"]: qdisc for qdisc in json.loads(done.stdout)}
    assert shown["fred"]["active"] == 12
