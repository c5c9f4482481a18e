# SPDX-License-Identifier: GPL-2.0
"""Devices on devices, what happens to them, and disciplines on them; for walk and storm.

A command that does not end within PATIENCE_S hangs in the kernel, and run() raises Hang. In the
lab, where the clock jumps when nothing runs, that takes milliseconds.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

SELFTESTS = Path(__file__).resolve().parent.parent
KINDS = sorted(path.name for path in (SELFTESTS / "kinds").iterdir())
PATIENCE_S = 30.0
PACKETS, BYTES = 40, 500  # of a burst; the shaper needs 0.1 s for it
NETDEVSIM = Path("/sys/bus/netdevsim")
MAC = "02:00:00:00:00:99"
OWN, OTHER = "aqm-devices", "aqm-other"  # network namespaces

#: Devices that stand on no other, with ip's lines that make {d}. An empty list: see make_base().
BASES: dict[str, list[str]] = {
    "dummy": ["link add {d} type dummy"],
    "netdevsim": [],
    "veth": ["link add {d} type veth peer name {d}p", "link set {d}p up"],
    "netkit": ["link add {d} type netkit", "link set nk0 name {d}p", "link set {d}p up"],
    "tap": [],
    "ifb": ["link add {d} type ifb"],
}

TUNNEL = "link add {d} type %s local {here} remote {there} dev {l}"

#: Devices that stand on another device {l}, with ip's lines that make {d}.
UPPERS: dict[str, list[str]] = {
    "bridge": ["link add {d} type bridge", "link set {l} master {d}"],
    "bond": [
        "link add {d} type bond mode active-backup miimon 100",
        "link set {l} down",
        "link set {l} master {d}",
    ],
    "team": ["link add {d} type team", "link set {l} down", "link set {l} master {d}"],
    "macvlan": ["link add {d} link {l} type macvlan mode bridge"],
    "ipvlan": ["link add {d} link {l} type ipvlan mode l2"],
    "vlan": ["link add {d} link {l} type vlan id 5"],
    "vxlan": ["link add {d} type vxlan id 5 local {here} remote {there} dev {l} dstport 4789"],
    "geneve": ["link add {d} type geneve id 5 remote {there}"],
    "gre": [TUNNEL % "gre"],
    "gretap": [TUNNEL % "gretap"],
    "ipip": [TUNNEL % "ipip"],
    "sit": [TUNNEL % "sit"],
    "wireguard": ["link add {d} type wireguard"],
    "ifb": ["link add {d} type ifb", "link set {d} up"],
}

#: Whose ports can leave and come back.
MASTERS = ("bridge", "bond", "team")

#: What happens to device {d} with upper device {u}: ip's lines, or a command that starts with !.
EVENTS: dict[str, list[str]] = {
    "mtu": ["link set {d} mtu 1400", "link set {d} mtu 1300", "link set {d} mtu 1500"],
    "link": ["link set {d} down", "link set {d} up"],
    "carrier": ["link set {d} carrier off", "link set {d} carrier on"],
    "name": ["link set {d} name {d}r", "link set {d}r name {d}"],
    "address": ["link set {d} address 02:00:00:00:07:07"],
    "length": ["link set {d} txqueuelen 10"],
    "speed": ["!ethtool -s {d} speed 100 duplex full", "!ethtool -s {d} speed 10000 duplex full"],
    "queues": [
        "!ethtool -L {d} tx 1 rx 1",
        "!ethtool -L {d} combined 1",
        "!ethtool -L {d} combined 2",
    ],
    "offloads": ["!ethtool -K {d} tso off gso off", "!ethtool -K {d} tso on gso on"],
    "port": [
        "link set {d} nomaster",
        "link set {d} down",
        "link set {d} master {u}",
        "link set {d} up",
    ],
    "namespace": [
        "link set {d} netns " + OTHER,
        f"!ip -n {OTHER} link set {{d}} up mtu 1400",
        f"!ip -n {OTHER} link set {{d}} netns {os.getpid()}",
        "link set {d} mtu 1500",
        "link set {d} up",
    ],
}
#: Events, the last ones, after which a device has lost its disciplines.
UNDRESSED = ("namespace",)

#: tc's lines for each layout, on device {d}; see also dress().
SHAPER = [
    "qdisc replace dev {d} root handle 1: tbf rate 1mbit burst 5kb latency 1s",
    f"qdisc add dev {{d}} parent 1:1 handle 2: prio bands {len(KINDS)}",
    f"filter add dev {{d}} parent 2: handle 1 flow hash keys proto-src divisor {len(KINDS)} "
    "baseclass 2:1",
]
MIRROR = [
    "qdisc replace dev {l} clsact",
    "filter add dev {l} egress matchall action mirred egress redirect dev {d}",
]


class Hang(Exception):
    """Raised when a command does not end."""


def say(text: str) -> None:
    """Print TEXT now: the kernel may hang in the next command."""
    print(text, flush=True)


def run(*words: str, text: str = "") -> str:
    """Run a command, which may fail, with the input TEXT. Return its output."""
    child = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        return child.communicate(text, PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        raise Hang(f"{' '.join(words)} hangs\n{text}".rstrip()) from None


def batch(program: str, lines: Iterable[str], **names: str) -> str:
    """Run LINES of ip or tc, with NAMES filled in. Return the messages."""
    text = "".join(line.format(**names) + "\n" for line in lines)
    return run(program, "-force", "-batch", "-", text=text)


def happen(lines: Sequence[str], **names: str) -> None:
    """Let an event of EVENTS happen."""
    for foreign, group in itertools.groupby(lines, lambda line: line.startswith("!")):
        if not foreign:
            batch("ip", group, **names)
            continue
        for line in group:
            run(*line[1:].format(**names).split())


def exists(dev: str) -> bool:
    """Return whether device DEV is in this namespace."""
    return Path("/sys/class/net", dev).exists()


class Stack:
    """Devices, each on the one before."""

    def __init__(self, types: Sequence[str]) -> None:
        """Build devices of TYPES and bring them up. If one is refused, `refused` says why."""
        self.files: list[int] = []
        self.types = types
        self.devs: list[str] = []
        self.refused = ""
        for level, kind in enumerate(types):
            dev = f"d{level}"
            said = self.build(dev, kind, level)
            if not exists(dev):
                self.refused = f"{kind}: {' '.join(said.split())}"
                return
            self.devs.append(dev)
            batch(
                "ip",
                [
                    "addr add {here}/24 dev {d}",
                    "link set {d} up",
                    "neigh replace {there} lladdr {mac} dev {d}",
                ],
                d=dev,
                mac=MAC,
                here=f"10.77.{level}.1",
                there=f"10.77.{level}.2",
            )

    def build(self, dev: str, kind: str, level: int) -> str:
        """Make one device. Return the messages."""
        if not level:
            return self.make_base(dev, kind)
        below = self.devs[-1]
        said = batch(
            "ip",
            UPPERS[kind],
            d=dev,
            l=below,
            here=f"10.77.{level - 1}.1",
            there=f"10.77.{level - 1}.2",
        )
        if kind == "ifb" and exists(dev):
            said += batch("tc", MIRROR, d=dev, l=below)
        if kind in MASTERS:
            said += batch("ip", ["link set {l} up"], l=below)
        return said

    def make_base(self, dev: str, kind: str) -> str:
        """Make a device that stands on no other. Return the messages."""
        if kind == "tap":
            self.files.append(os.open("/dev/net/tun", os.O_RDWR))
            tap_multi_queue = 0x0002 | 0x1000 | 0x0100
            fcntl.ioctl(
                self.files[-1], 0x400454CA, struct.pack("16sH22x", dev.encode(), tap_multi_queue)
            )
        elif kind == "netdevsim":
            run("modprobe", "netdevsim")
            run("sh", "-c", f"echo 1 1 4 > {NETDEVSIM}/new_device")
            made = [path.name for path in NETDEVSIM.glob("devices/netdevsim1/net/*")]
            return batch("ip", [f"link set {name} name {{d}}" for name in made], d=dev)
        return batch("ip", BASES[kind], d=dev)

    def remove(self, dev: str) -> None:
        """Delete a device."""
        if dev == "d0" and self.types[0] == "netdevsim":
            run("sh", "-c", f"echo 1 > {NETDEVSIM}/del_device")
        else:
            batch("ip", ["link del {d}"], d=dev)

    def end(self) -> None:
        """Delete what is left."""
        for dev in reversed(self.devs):
            if exists(dev):
                self.remove(dev)
        for file in self.files:
            os.close(file)


def send(devs: Iterable[str]) -> None:
    """Send a burst through each device that takes it, of as many flows as packets."""
    body = bytes(BYTES - 28)
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as sender:
        for dev, port in itertools.product(devs, range(PACKETS)):
            ip = struct.pack(
                "!BBHHHBBH4s4s",
                0x45,
                0,
                BYTES,
                0,
                0,
                64,
                17,
                0,
                b"\x0a\x4d\0\x01",
                b"\x0a\x4d\0\x02",
            )
            udp = struct.pack("!HHHH", 1000 + 7 * port, 9, BYTES - 20, 0)
            try:
                sender.sendto(
                    ip + udp + body, (dev, 0x0800, 0, 0, bytes.fromhex(MAC.replace(":", "")))
                )
            except OSError:  # down, without a carrier, or full
                continue


def dress(devs: Iterable[str], layout: str, turn: int) -> None:
    """Put disciplines on DEVS."""
    lines = (
        [f"qdisc replace dev {{d}} root handle 1: {KINDS[turn % len(KINDS)]}"]
        if layout == "root"
        else [
            *SHAPER,
            *(
                f"qdisc add dev {{d}} parent 2:{band:x} handle {band:x}0: {kind}"
                for band, kind in enumerate(KINDS, 1)
            ),
        ]
    )
    for dev in devs:
        said = batch("tc", lines, d=dev)
        if re.search(r"^(Error|RTNETLINK|Unknown|Command)", said, re.M):
            raise SystemExit(f"cannot configure: {said}")


def undressed(devs: Iterable[str], layout: str, turn: int) -> list[str]:
    """Dump the statistics of DEVS. Return the disciplines that are no longer there."""
    wanted = [KINDS[turn % len(KINDS)]] if layout == "root" else KINDS
    lost = []
    for dev in devs:
        said = run("tc", "-s", "qdisc", "show", "dev", dev)
        lost += [f"{kind} of {dev}" for kind in wanted if f"qdisc {kind} " not in said]
    return lost


def enter_namespace() -> None:
    """Run this program again in a namespace of its own, which has another to move devices to."""
    if os.environ.get("AQM_DEVICES"):
        return
    for name in (OWN, OTHER):
        run("ip", "netns", "del", name)
        said = run("ip", "netns", "add", name)
        if said:
            raise SystemExit(f"cannot make a network namespace (needs root): {said}")
    os.environ["AQM_DEVICES"] = "1"
    os.execvp("ip", ["ip", "netns", "exec", OWN, sys.executable, *sys.argv])
