# SPDX-License-Identifier: GPL-2.0
"""Veths between namespaces, and the addresses of a topology."""

from __future__ import annotations

from dataclasses import dataclass


def source_net(ip: int, group: int) -> str:
    """Return the network of a group's sources."""
    return f"10.{16 + group}.0.0/16" if ip == 4 else f"fd00:1:{group:x}::/64"


def sink_net(ip: int, group: int) -> str:
    """Return the network of a group's sinks."""
    return f"10.{128 + group}.0.0/16" if ip == 4 else f"fd00:2:{group:x}::/64"


def host(net: str, index: int) -> str:
    """Return address number `index`, from 0, of a network made by source_net or sink_net."""
    number = index + 1
    if ":" in net:
        return net.removesuffix("/64") + f"{number:x}"
    return net.removesuffix("0.0/16") + f"{number // 256}.{number % 256}"


@dataclass(frozen=True)
class Veth:
    """A veth between two namespaces, with a unique number.

    Addresses are fixed, so that no ARP or ND is sent and equal runs have equal bytes.
    """

    number: int
    near_ns: str
    near: str
    far_ns: str
    far: str

    @property
    def ends(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Return the namespace and the device of both ends."""
        return (self.near_ns, self.near), (self.far_ns, self.far)

    def mac(self, end: int) -> str:
        """Return the MAC address of an end, 0 or 1."""
        return f"02:00:00:00:{self.number:02x}:{end + 1:02x}"

    def address(self, ip: int, end: int) -> str:
        """Return the IP address of an end, 0 or 1."""
        if ip == 4:
            return f"192.0.2.{4 * self.number + end + 1}"
        return f"fd00:0:{self.number:x}::{end + 1}"


@dataclass(frozen=True)
class Leg:
    """A veth on a path, and which of its ends packets enter first, 0 or 1."""

    veth: Veth
    first: int = 0

    @property
    def from_ns(self) -> str:
        """Return the namespace that a packet leaves."""
        return self.veth.ends[self.first][0]

    @property
    def to_ns(self) -> str:
        """Return the namespace that a packet reaches."""
        return self.veth.ends[1 - self.first][0]

    def address(self, ip: int, end: int) -> str:
        """Return the address at its beginning, 0, or its end, 1."""
        return self.veth.address(ip, end ^ self.first)
