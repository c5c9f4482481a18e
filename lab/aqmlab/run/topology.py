# SPDX-License-Identifier: GPL-2.0
"""Bottlenecks between groups of sources and their sinks (Kantawala and Turner, figures 2 to 4).

    src-GROUP            rtr                      dst
    [sources]--s0    r0=[R1 ... R2]=b0 ======= d0--[sinks]
              access    ^ delay      ^ bottleneck
                        (ACKs)         (the discipline under study)

A scenario can have another network (network.py): a group enters at one of its nodes and has its
sinks in another one.

A discipline sees the same traffic as in the papers' topology. Each hop costs CPU time, so the
network has as few as possible:

- The sources of a group share a namespace and a veth. `fq` models their access links: it limits
  each flow to the rate `access` and keeps the rest in a deep buffer. It would also pace TCP. ns-2
  does not pace, and Linux does only with fq, so the parameter `pacing` decides.
- R1 and R2 are one router. The bottleneck is `tbf` with a burst of one packet, so each packet
  leaves after the time that the link needs for it. Its child is the discipline under study.
- The whole round-trip time is on the way back (`netem` towards each group). In a closed loop this
  is the same as a delay in several parts, except that packets pass the queue at times that differ
  by a constant.
- The way back has no rate, so ACKs are never queued or lost, unless `rate_back` gives it one. If a
  group sends data that way, it has the same rate. It has the same discipline, in a router `far`
  before dst. It cannot be in the sender's host, where TCP would see a loss at once.
- Each group has a whole prefix as local addresses, so setting up 1000 flows costs no more than one.

Segmentation offloads are off, and TCP makes packets of one segment (`gso_max_segs 1`), so the
disciplines see the packets of the wire. A scenario with offloads shows them the large packets
that they get in front of a network card with TSO.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from . import queues
from .group import Group
from .layout import Layout, lay_out
from .network import Crossing, Network, Path, one_bottleneck
from .objects import Interface, Loopback, Node, Qdisc, Route, Topology
from .packets import Packets, frame_bytes
from .places import LAST_LINK, GroupPlace, place_groups
from .veths import Leg

#: Sysctls of every namespace, and of routers, by version of IP.
FAMILY = {
    4: {"net/ipv6/conf/all/disable_ipv6": "1", "net/ipv6/conf/default/disable_ipv6": "1"},
    # A prefix made local may be used, but not bound to, without this.
    6: {"net/ipv6/ip_nonlocal_bind": "1"},
}
FORWARD = {4: {"net/ipv4/ip_forward": "1"}, 6: {"net/ipv6/conf/all/forwarding": "1"}}


@dataclass(frozen=True)
class Bottleneck:
    """The studied qdisc and the shaper above it.

    rate_bps: bit/s
    qdisc: what `tc` calls it, and after semicolons what it has below it,
        `class parent 2: classid 2:1 htb rate 1mbit`
    burst: packets of the shaper's bucket
    shaper: a key of queues.SHAPERS
    changes: new options of the qdisc, with their times, ns
    """

    rate_bps: float
    qdisc: str
    burst: int = 1
    shaper: str = "tbf"
    changes: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Hosts:
    """TCP of all sources and sinks.

    sysctls: values by path below /proc/sys
    route: words for the route to the other end
    """

    sysctls: Mapping[str, str]
    route: Sequence[str] = ()


@dataclass(frozen=True)
class Built:
    """A topology, and where in it the groups and the bottlenecks are."""

    topology: Topology
    places: Sequence[GroupPlace]
    network: Network
    layout: Layout

    @property
    def bottlenecks(self) -> list[tuple[Interface, str]]:
        """Return where each shaper is, and the names of its link's nodes, as in `isp to house`."""
        links = self.network.links
        return [
            (at, " to ".join((link.near, link.far)[:: 1 if crossing.forward else -1]))
            for at, crossing in self.layout.shaped
            for link in [links[crossing.number]]
        ]

    @property
    def studied(self) -> list[Interface]:
        """Return the bottlenecks with the studied qdisc."""
        return [
            at
            for at, crossing in self.layout.shaped
            if self.network.direction(crossing).qdisc is None
        ]

    @property
    def measured(self) -> Interface:
        """Return the bottleneck that is sampled."""
        first = Crossing(self.network.measured, True)
        return next(at for at, crossing in self.layout.shaped if crossing == first)

    @property
    def lossy(self) -> list[Interface]:
        """Return where netem drops packets."""
        return [at for at, crossing in self.layout.delayed if self.network.direction(crossing).loss]


def default_network(
    rate_bps: float,
    groups: Sequence[Group],
    trace: str = "",
    rate_back_bps: float = 0.0,
    trace_back: str = "",
) -> Network:
    """Return a network with one bottleneck, in both directions if data goes both ways."""
    return one_bottleneck(
        rate_bps,
        both=any(g.reverse for g in groups),
        trace=trace,
        rate_back_bps=rate_back_bps,
        trace_back=trace_back,
    )


def build(
    groups: Sequence[Group],
    bottleneck: Bottleneck,
    hosts: Hosts,
    packets: Packets,
    network: Network | None = None,
) -> Built:
    """Return the topology of a run.

    network: without one, a default network
    Raises UserError if there are more groups or flows than addresses.
    """
    network = network or default_network(bottleneck.rate_bps, groups)
    paths = [network.path(group.enters, group.leaves) for group in groups]
    layout = lay_out(network, paths, LAST_LINK)
    places = place_groups(groups, paths, layout, packets.ip)
    topology = Topology(
        nodes=_nodes(places, layout, hosts, packets.ip),
        veths=[*layout.all_veths, *(place.veth for place in places)],
        ip=[item for place in places for item in _routes(place, hosts.route, packets.ip)],
        qdiscs=[
            *_bottleneck_qdiscs(network, layout, bottleneck, packets.mtu),
            *(queues.delay(at, network.direction(crossing)) for at, crossing in layout.delayed),
            *(
                qdisc
                for place, path in zip(places, paths, strict=True)
                for qdisc in _group_qdiscs(place, path, network, packets.mtu)
            ),
        ],
    )
    return Built(topology, places, network, layout)


def _nodes(places: Sequence[GroupPlace], layout: Layout, hosts: Hosts, ip: int) -> list[Node]:
    """Return the namespaces of sources, and then those of the network."""
    routers = {leg.from_ns for place in places for leg in place.legs}
    ends = {place.sink_ns for place in places}
    nodes = [Node(place.source_ns, {**FAMILY[ip], **hosts.sysctls}) for place in places]
    for name in layout.namespaces:
        forwards = name in routers
        nodes.append(
            Node(
                name,
                {
                    **FAMILY[ip],
                    **(FORWARD[ip] if forwards else {}),
                    **(hosts.sysctls if name in ends or not forwards else {}),
                },
                forwards,
            )
        )
    return nodes


def _routes(place: GroupPlace, options: Sequence[str], ip: int) -> Iterator[Loopback | Route]:
    """Yield the routes between a group's sources and its sinks, in both directions."""
    yield Loopback(place.source_ns)
    yield Route(place.source_ns, place.sources)
    yield Route(place.source_ns, place.sinks, place.veth.address(ip, 1), options)
    back = Leg(place.veth)
    for leg in place.legs:
        yield Route(leg.from_ns, place.sources, back.address(ip, 0))
        yield Route(leg.from_ns, place.sinks, leg.address(ip, 1))
        back = leg
    yield Loopback(place.sink_ns)
    yield Route(place.sink_ns, place.sinks)
    yield Route(place.sink_ns, place.sources, back.address(ip, 0), options)


def _bottleneck_qdiscs(
    network: Network, layout: Layout, bottleneck: Bottleneck, mtu: int
) -> Iterator[Qdisc]:
    burst = bottleneck.burst * frame_bytes(mtu)
    for at, crossing in layout.shaped:
        direction = network.direction(crossing)
        yield from queues.shaper(at, direction, bottleneck.qdisc, burst, bottleneck.shaper)


def _group_qdiscs(place: GroupPlace, path: Path, network: Network, mtu: int) -> Iterator[Qdisc]:
    """Yield the access links of a group, and its round-trip time."""
    group, veth = place.group, place.veth
    if group.access_bps or group.timed:
        source = Interface(*veth.ends[0])
        yield queues.access_links(source, group.access_bps, mtu, timed=group.timed)
    router = Interface(*veth.ends[1])
    if trace := network.delay_trace(path):
        yield trace.return_path(group.rtt_ms).qdisc(router)
    elif group.rtt_ms:
        yield queues.round_trip(router, group.rtt_ms)
