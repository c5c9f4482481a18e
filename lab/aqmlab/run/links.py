# SPDX-License-Identifier: GPL-2.0
"""Make the addresses of a topology, and its links between namespaces."""

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
class Link:
    """A veth between two namespaces, with a unique number.

    Addresses are fixed, so that no ARP or ND is sent and equal runs have equal bytes.
    """

    number: int
    near_ns: str
    near: str
    far_ns: str
    far: str

    def mac(self, end: int) -> str:
        """Return the MAC address of an end, 0 or 1."""
        return f"02:00:00:00:{self.number:02x}:{end + 1:02x}"

    def address(self, ip: int, end: int) -> str:
        """Return the IP address of an end, 0 or 1."""
        if ip == 4:
            return f"192.0.2.{4 * self.number + end + 1}"
        return f"fd00:0:{self.number:x}::{end + 1}"

    def commands(self, ip: int, mtu: int, segments: str) -> dict[str | None, list[str]]:
        """Return lines for `ip -batch` that make the link, by namespace; None: outside of any.

        segments: words of `ip link set` that limit the size of TSO packets
        """
        length = 30 if ip == 4 else 64
        nodad = "" if ip == 4 else " nodad"
        out: dict[str | None, list[str]] = {
            None: [
                f"link add {self.near} netns {self.near_ns} mtu {mtu} address {self.mac(0)} "
                f"type veth peer name {self.far} netns {self.far_ns} mtu {mtu} "
                f"address {self.mac(1)}"
            ]
        }
        ends = ((self.near_ns, self.near), (self.far_ns, self.far))
        for end, (ns, dev) in enumerate(ends):
            out.setdefault(ns, []).extend(
                [
                    f"link set {dev} {segments}up",
                    f"addr add {self.address(ip, end)}/{length} dev {dev}{nodad}",
                    f"neigh add {self.address(ip, 1 - end)} lladdr {self.mac(1 - end)} "
                    f"dev {dev} nud permanent",
                ]
            )
        return out
