# SPDX-License-Identifier: GPL-2.0
"""Give programs of --exec separate hosts in a topology.

    src-exec1                rtr                     dst                dst-exec1
    [servers]--s0   delay--r1[ ]b0 ======= d0[      ]p1----------------e0--[clients]
                                 bottleneck           counts packets

Each pair of hosts is a group: the servers of --exec, then their clients. Data of a server crosses
the bottleneck; data of a client goes the other way, which has no limit. A qdisc that drops nothing
counts the packets that reach the clients' host.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .guest_kernel import DEFAULT
from .objects import Address, Interface, Loopback, Node, Qdisc, Route, Topology
from .places import GroupPlace
from .programs import Program, filled
from .queues import DELAY_LIMIT
from .recipe import ExecProgram, Meter
from .settings import Settings
from .topology import FORWARD, Built
from .veths import Veth, host


@dataclass(frozen=True)
class HostPair:
    """The hosts of a server and its client.

    place: of its group; the server is among the sources
    veth: from the node with the sinks to the clients' host
    """

    place: GroupPlace
    veth: Veth

    @property
    def server(self) -> str:
        """Return the server's address."""
        return host(self.place.sources, 0)

    @property
    def client(self) -> str:
        """Return the client's address."""
        return host(self.place.sinks, 0)

    def netns(self, role: str) -> str:
        """Return the namespace of programs with a role."""
        return self.place.source_ns if role == "server" else self.veth.far_ns

    @property
    def meter(self) -> Meter:
        """Return the qdisc that counts packets for the client."""
        near_ns, near = self.veth.ends[0]
        group = self.place.group.name
        return Meter(group, self.place.first_flow, near_ns, near, self.place.source_ns)

    def topology(self, hosts: Mapping[str, str], settings: Settings) -> Topology:
        """Return what the pair adds to the topology of the groups.

        hosts: sysctls of a host
        """
        ip, route = settings.ip, settings.hosts.route
        server_ns, near_ns, client_ns = self.place.source_ns, self.veth.near_ns, self.veth.far_ns
        server, client = (
            f"{address}/{32 if ip == 4 else 128}" for address in (self.server, self.client)
        )
        own = {DEFAULT: settings.congestion_control}
        return Topology(
            nodes=[
                Node(near_ns, FORWARD[ip]),
                Node(client_ns, {**hosts, **own}),
                Node(server_ns, own),
            ],
            veths=[self.veth],
            ip=[
                Address(server_ns, self.server, "lo"),
                Route(
                    server_ns, client, self.place.veth.address(ip, 1), ("src", self.server, *route)
                ),
                Route(near_ns, client, self.veth.address(ip, 1), ("table", "local")),
                Loopback(client_ns),
                Address(client_ns, self.client, self.veth.far),
                Route(client_ns, server, self.veth.address(ip, 0), ("src", self.client, *route)),
            ],
            qdiscs=[Qdisc(Interface(*self.veth.ends[0]), f"pfifo limit {DELAY_LIMIT}")],
        )


def pairs(built: Built, programs: Sequence[Program]) -> list[HostPair]:
    """Return the hosts of all pairs of programs."""
    names = {program.group for program in programs}
    places = [place for place in built.places if place.group.name in names]
    return [
        HostPair(
            place,
            Veth(
                len(built.places) + number,
                place.sink_ns,
                f"p{number}",
                f"dst-{place.group.name}",
                "e0",
            ),
        )
        for number, place in enumerate(places, start=1)
    ]


def topologies(built: Built, hosts: Sequence[HostPair], settings: Settings) -> list[Topology]:
    """Return the topology of the groups, and what each pair of hosts adds to it."""
    sysctls = {node.name: node.sysctls for node in built.topology.nodes}
    return [
        built.topology,
        *(pair.topology(sysctls[pair.place.source_ns], settings) for pair in hosts),
    ]


def commands(
    programs: Sequence[Program], hosts: Sequence[HostPair], settings: Settings
) -> list[ExecProgram]:
    """Return the programs with unique names. Programs that start before the epoch come first."""
    by_group = {pair.place.group.name: pair for pair in hosts}
    named = []
    seen: dict[str, int] = {}
    for program in programs:
        name = f"{program.group}-{program.role}"
        seen[name] = seen.get(name, 0) + 1
        pair = by_group[program.group]
        values = {
            "server": pair.server,
            "client": pair.client,
            "seed": settings.seed,
            "seconds": f"{settings.end_ms / 1000:g}",
        }
        path = Path(program.words[0])
        named.append(
            ExecProgram(
                name if seen[name] == 1 else f"{name}{seen[name]}",
                program.group,
                program.role,
                pair.netns(program.role),
                [filled(word, values) for word in program.words],
                str(Path.cwd()),
                None if program.start_s is None else round(program.start_s * 1e9),
                hashlib.sha256(path.read_bytes()).hexdigest(),
            )
        )
    return sorted(named, key=lambda program: program.start_ns is not None)
