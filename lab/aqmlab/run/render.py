# SPDX-License-Identifier: GPL-2.0
"""Write the commands that create a topology: lines for `ip -batch`, `tc -batch` and sysctls."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.qdiscs import names

from .objects import Address, Interface, Loopback, Qdisc, Route, Topology
from .packets import Packets
from .recipe import Batch
from .trace import START
from .veths import Veth

OFFLOADS = ("tso", "gso", "gro")


def namespaces(parts: Sequence[Topology]) -> list[str]:
    """Return all namespaces, each once."""
    return list(dict.fromkeys(node.name for part in parts for node in part.nodes))


def sysctls(parts: Sequence[Topology]) -> dict[str, dict[str, str]]:
    """Return the sysctls of each namespace; a later part adds to those of an earlier one."""
    found: dict[str, dict[str, str]] = {}
    for part in parts:
        for node in sorted(part.nodes, key=lambda node: node.forwards):
            found.setdefault(node.name, {}).update(node.sysctls)
    return found


def offloads(parts: Sequence[Topology], packets: Packets) -> list[tuple[str, str, list[str]]]:
    """Return namespace, device, and offloads with on or off, for each end of each veth."""
    state = "on" if packets.offloads else "off"
    words = [word for name in OFFLOADS for word in (name, state)]
    return [(ns, dev, words) for part in parts for veth in part.veths for ns, dev in veth.ends]


def batches(parts: Sequence[Topology], packets: Packets) -> list[Batch]:
    """Return the batches that create namespaces, and then part by part the rest.

    Of each part: veths, addresses and routes of each node, qdiscs of each node.
    """
    made = [Batch("ip", None, [f"netns add {ns}" for ns in namespaces(parts)])]
    family = ["-6"] if packets.ip == 6 else []
    for part in parts:
        names = [node.name for node in part.nodes]
        of_ip: dict[str, list[str]] = {name: [] for name in names}
        of_tc: dict[str, list[str]] = {name: [] for name in names}
        for veth in part.veths:
            for end, (ns, _) in enumerate(veth.ends):
                of_ip[ns] += _end_lines(veth, end, packets)
        for item in part.ip:
            of_ip[item.node] += _ip_lines(item, packets.ip)
        for qdisc in part.qdiscs:
            of_tc[qdisc.at.node] += qdisc_lines(qdisc)
        made.append(Batch("ip", None, [_veth_line(veth, packets.mtu) for veth in part.veths]))
        made += [Batch("ip", name, of_ip[name], family) for name in names]
        made += [Batch("tc", name, of_tc[name]) for name in names if of_tc[name]]
    return made


def _veth_line(veth: Veth, mtu: int) -> str:
    return (
        f"link add {veth.near} netns {veth.near_ns} mtu {mtu} address {veth.mac(0)} "
        f"type veth peer name {veth.far} netns {veth.far_ns} mtu {mtu} address {veth.mac(1)}"
    )


def _end_lines(veth: Veth, end: int, packets: Packets) -> list[str]:
    """Return the lines for an end of a veth, 0 or 1, in its namespace."""
    ip, dev = packets.ip, veth.ends[end][1]
    segments = "" if packets.offloads else "gso_max_segs 1 "
    length, nodad = (30, "") if ip == 4 else (64, " nodad")
    return [
        f"link set {dev} {segments}up",
        f"addr add {veth.address(ip, end)}/{length} dev {dev}{nodad}",
        f"neigh add {veth.address(ip, 1 - end)} lladdr {veth.mac(1 - end)} dev {dev} nud permanent",
    ]


def _ip_lines(item: Loopback | Address | Route, ip: int) -> list[str]:
    match item:
        case Loopback():
            return ["link set lo up"]
        case Address(_, host, dev):
            return [
                f"addr add {host}/32 dev {dev}"
                if ip == 4
                else f"addr add {host}/128 dev {dev} nodad"
            ]
        case Route(_, to, ""):
            return [f"route add local {to} dev lo"]
        case Route(_, to, via, options):
            return [" ".join(["route add", to, "via", via, *options])]


def qdisc_lines(qdisc: Qdisc) -> list[str]:
    """Return the lines for tc that add a qdisc, with its classes and filters."""
    dev = qdisc.at.dev
    where = f"{qdisc.parent} handle {qdisc.handle}" if qdisc.handle else qdisc.parent
    return [
        f"qdisc add dev {dev} {where} {qdisc.text}",
        *(f"{command} dev {dev} {rest}" for command, rest in qdisc.more),
    ]


def starts(parts: Sequence[Topology]) -> list[Batch]:
    """Return a line for each qdisc that must be told when the run begins."""
    return [
        Batch("tc", qdisc.at.node, [START.format(qdisc.at.dev)])
        for part in parts
        for qdisc in part.qdiscs
        if qdisc.from_epoch
    ]


def change(at: Interface, qdisc: str, options: str, at_ns: int) -> Batch:
    """Return the line that changes options of the qdisc below a shaper, at a time of the run."""
    line = f"qdisc change dev {at.dev} parent 1:1 handle 2: {names.kind(qdisc)} {options}"
    return Batch("tc", at.node, [line], at_ns=at_ns)
