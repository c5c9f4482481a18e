# SPDX-License-Identifier: GPL-2.0
"""A network of hosts, routers and links, and how it is made of namespaces and veths.

    network = Network()
    network.link("rtr", "rtr2", rate=50)
    network.link("rtr2", "dst", rate=20, rate_back=2, qdisc="pfifo limit 100", delay=10, loss=0.1)

Each node is a namespace. A direction with a rate has a shaper and a qdisc where it begins. If all
packets that a node forwards leave by that link, the shaper is in the node's namespace. Otherwise
the link gets a separate namespace there, so that packets in, out, dropped and queued can be
compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from aqmlab.exceptions import UserError, unknown

from .links import Link
from .recipe import Hop
from .trace import Trace, read
from .wires import Way, Wire


@dataclass(frozen=True)
class Crossing:
    """A link that a path crosses: its number in the network, and whether from near to far."""

    number: int
    forward: bool


Path = tuple[Crossing, ...]


@dataclass(frozen=True)
class Step:
    """A veth on a path: where it begins and ends, and which of its ends is the first."""

    veth: Link
    first: int

    @property
    def from_ns(self) -> str:
        """The namespace that a packet leaves."""
        return self.veth.far_ns if self.first else self.veth.near_ns

    @property
    def to_ns(self) -> str:
        """The namespace that a packet reaches."""
        return self.veth.near_ns if self.first else self.veth.far_ns

    def address(self, ip: int, end: int) -> str:
        """Return the address at its beginning, 0, or its end, 1."""
        return self.veth.address(ip, end ^ self.first)


@dataclass(frozen=True)
class Layout:
    """A network made of namespaces.

    namespaces: all, along the links
    veths: of each link, from near to far
    shaped: where each shaper is, with its direction of a link
    delays: where each netem is, with its options
    """

    namespaces: list[str]
    veths: list[list[Link]]
    shaped: list[tuple[Hop, Crossing]]
    delays: list[tuple[Hop, str]]

    def steps(self, path: Path) -> list[Step]:
        """Return the veths on a path."""
        found = []
        for crossing in path:
            veths = self.veths[crossing.number]
            found += [
                Step(veth, 0 if crossing.forward else 1)
                for veth in (veths if crossing.forward else reversed(veths))
            ]
        return found


@dataclass
class Network:
    """Links between named nodes. Sources enter at a node, and have their sinks in another one."""

    wires: list[Wire] = field(default_factory=list)

    def link(
        self,
        near: str,
        far: str,
        *,
        rate: float = 0.0,
        qdisc: str | None = None,
        delay: float = 0.0,
        jitter: float = 0.0,
        loss: float = 0.0,
        both: bool = False,
        trace: str = "",
        rate_back: float | None = None,
        qdisc_back: str | None = None,
        delay_back: float | None = None,
        jitter_back: float | None = None,
        loss_back: float | None = None,
    ) -> None:
        """Add a link, which has both directions.

        rate: Mb/s with Ethernet headers, from near to far; 0: no limit
        trace: file with the rate over time, and the delay on the way back
        qdisc: what queues for that rate; by default the qdisc that the run studies
        delay, jitter: ms in each direction; with jitter, packets can overtake each other
        loss: % of the packets in each direction
        both: the rate and the qdisc apply from far to near, too
        rate_back, qdisc_back, delay_back, jitter_back, loss_back: from far to near instead. Without
            them the rate has no limit, and the rest is as from near to far
        """
        self._check(near, far)
        if both and (rate_back is not None or qdisc_back is not None):
            raise UserError(
                f"network: link {near} to {far}: both=True gives {far} to {near} the "
                "same rate and qdisc; leave it out beside rate_back and qdisc_back"
            )
        if qdisc_back is not None and not rate_back:
            raise UserError(
                f"network: link {near} to {far}: qdisc_back needs a rate_back, because "
                "nothing queues without a rate"
            )
        there = Way(rate * 1e6, qdisc, delay, jitter, loss)
        if trace:
            found = read(trace)
            there = replace(there, trace=found, rate_bps=found.mean_bps(0, found.seconds))
        back = there if both else replace(there, rate_bps=(rate_back or 0) * 1e6, trace=None)
        given = {
            "qdisc": qdisc_back,
            "delay_ms": delay_back,
            "jitter_ms": jitter_back,
            "loss": loss_back,
        }
        changes: dict[str, Any] = {key: one for key, one in given.items() if one is not None}
        self.wires.append(Wire(near, far, there, replace(back, **changes)))

    def _check(self, near: str, far: str) -> None:
        """Raise UserError if these are no nodes for another link."""
        for node in (near, far):
            if not re.fullmatch(r"[a-z][a-z0-9]{0,9}", node) or re.match(r"(near|far)\d*$", node):
                raise UserError(
                    f'network: node "{node}": needs 1 to 10 small letters and '
                    "digits, and is not near or far"
                )
        if near == far:
            raise UserError(f"network: link {near} to {far}: needs two different nodes")
        for wire in self.wires:
            if {wire.near, wire.far} == {near, far}:
                raise UserError(
                    f"network: link {near} to {far}: there is a link between {wire.near} and "
                    f"{wire.far} already, and it has both directions; give it rate_back, "
                    "qdisc_back, delay_back or loss_back for the way back"
                )

    def average(self, from_s: float, to_s: float) -> None:
        """Take the mean between two times as the rate of each link with a trace."""
        self.wires = [
            replace(
                wire, there=wire.there.averaged(from_s, to_s), back=wire.back.averaged(from_s, to_s)
            )
            for wire in self.wires
        ]

    @property
    def traces(self) -> dict[str, str]:
        """Hashes of the trace files, by path."""
        return {one.path: one.file_hash for wire in self.wires if (one := wire.there.trace)}

    def delay_trace(self, path: Path) -> Trace | None:
        """Return the trace on a path that has delays. Raises UserError if there are two."""
        found = [
            one
            for crossing in path
            if (one := self.wires[crossing.number].there.trace) and one.has_delay
        ]
        if len(found) > 1:
            raise UserError("network: two traces with delays are on one path")
        return found[0] if found else None

    @property
    def nodes(self) -> list[str]:
        """All nodes, in the order in which links name them."""
        return list(dict.fromkeys(end for wire in self.wires for end in (wire.near, wire.far)))

    @property
    def measured(self) -> int:
        """The number of the first link with a rate and the studied qdisc, which is sampled.

        Raises UserError if there is none.
        """
        for number, wire in enumerate(self.wires):
            if wire.there.rate_bps and wire.there.qdisc is None:
                return number
        raise UserError(
            "network: no link has a rate and the qdisc that the run studies; give one "
            "a rate and no qdisc"
        )

    def path(self, enters: str, leaves: str) -> Path:
        """Return the shortest path between two nodes; of equal ones the first by the links' order.

        enters, leaves: "" stands for the first node, and for the last
        Raises UserError if a node or a path does not exist.
        """
        begin, end = enters or self.nodes[0], leaves or self.nodes[-1]
        for node in (begin, end):
            if node not in self.nodes:
                raise unknown("node of the network", node, self.nodes)
        reached: dict[str, Path] = {begin: ()}
        waiting = [begin]
        for node in waiting:
            for crossing, other in self._onward(node):
                if other not in reached:
                    reached[other] = (*reached[node], crossing)
                    waiting.append(other)
        if end not in reached or begin == end:
            raise UserError(f"network: no link leads from {begin} to {end}")
        return reached[end]

    def way(self, crossing: Crossing) -> Way:
        """Return the direction of a link in which a path crosses it."""
        return self.wires[crossing.number].way(forward=crossing.forward)

    def _onward(self, node: str) -> Iterator[tuple[Crossing, str]]:
        for number, wire in enumerate(self.wires):
            if node == wire.near:
                yield Crossing(number, True), wire.far
            elif node == wire.far:
                yield Crossing(number, False), wire.near

    def delay_ms(self, path: Path) -> float:
        """Return the propagation delay there and back."""
        wires = [self.wires[crossing.number] for crossing in path]
        return sum(wire.there.delay_ms + wire.back.delay_ms for wire in wires)

    def _visits(self, path: Path) -> Iterator[tuple[str, int | None, int | None]]:
        """Yield each node on a path, with the links by which packets come and leave."""
        incoming = None
        for crossing in path:
            wire = self.wires[crossing.number]
            node, end = (wire.near, wire.far) if crossing.forward else (wire.far, wire.near)
            yield node, incoming, crossing.number
            incoming = crossing.number
        yield end, incoming, None

    def _own(self, number: int, paths: Sequence[Path], *, forward: bool) -> bool:
        """Return whether the node that shapes a link forwards all its packets by this link.

        Packets that end in the node may come by any other link.
        """
        wire = self.wires[number]
        shaping = wire.near if forward else wire.far
        return not any(
            incoming == number if leaves is None else number not in (incoming, leaves)
            for path in paths
            for node, incoming, leaves in self._visits(path)
            if node == shaping
        )

    def make(self, paths: Sequence[Path], last_number: int) -> Layout:
        """Make the network for packets on these paths.

        last_number: of veths; the first one has 0, and the others count down from it
        """
        layout = Layout([], [], [], [])
        for number, wire in enumerate(self.wires):
            suffix = str(number + 1) if number else ""
            chain = [wire.near]
            ends = {}
            delays = wire.there.netem or wire.back.netem
            for forward, name in ((True, f"near{suffix}"), (False, f"far{suffix}")):
                shaped = bool(wire.way(forward=forward).rate_bps)
                if delays or (shaped and not self._own(number, paths, forward=forward)):
                    chain.append(name)
                if shaped:
                    ends[forward] = chain[-1] if forward or name in chain else wire.far
            chain.append(wire.far)
            veths: list[Link] = []
            for near, far in pairwise(chain):
                at = sum(map(len, layout.veths)) + len(veths)
                veths.append(Link(last_number - at if at else 0, near, f"b{at}", far, f"d{at}"))
            layout.veths.append(veths)
            layout.namespaces.extend(ns for ns in chain if ns not in layout.namespaces)
            for forward, netns in ends.items():
                veth = next(v for v in veths if netns == (v.near_ns if forward else v.far_ns))
                layout.shaped.append(
                    (Hop(netns, veth.near if forward else veth.far), Crossing(number, forward))
                )
            there, back = veths[-1], veths[0]
            layout.delays.extend(
                (hop, options)
                for hop, options in (
                    (Hop(there.near_ns, there.near), wire.there.netem),
                    (Hop(back.far_ns, back.far), wire.back.netem),
                )
                if options
            )
        return layout


def one_bottleneck(
    rate_bps: float, *, both: bool, trace: str = "", rate_back_bps: float = 0.0
) -> Network:
    """Return a network with one bottleneck, the default of a scenario.

    both: the way back has the same rate, unless it has its own, rate_back_bps
    """
    network = Network()
    network.link(
        "rtr",
        "dst",
        rate=rate_bps / 1e6,
        both=both and not rate_back_bps,
        trace=trace,
        rate_back=rate_back_bps / 1e6 or None,
    )
    return network
