# SPDX-License-Identifier: GPL-2.0
"""A network of hosts, routers and links, and how it is made of namespaces and veths.

    network = Network()
    network.link("rtr", "rtr2", rate=50)
    network.link("rtr2", "dst", rate=20, qdisc="pfifo limit 100", delay=10, loss=0.1)

Each node is a namespace. A link with a rate has a shaper and a qdisc at its near end. If all
packets that a node forwards leave by that link, the shaper is in the node's namespace. Otherwise
the link gets a separate namespace there, so that packets in, out, dropped and queued can be
compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from aqmlab.exceptions import UserError, unknown

from .links import Link
from .recipe import Hop
from .trace import Trace, read

#: Deep enough never to drop, packets.
DELAY_LIMIT = 1_000_000

# The guest's virtual clock has steps of 256 ns, so a packet leaves up to that much late; with room
# for it in the bucket the next one makes up for it, and the rate is exact in the mean.
CLOCK_S = 1e-6


def queue_commands(dev: str, parent: str, qdisc: str) -> list[str]:
    """Return lines for tc that add a qdisc, with the filters that follow it, to a device.

    parent: `root` or `parent 1:1`
    """
    first, *more = (part.strip() for part in qdisc.split(";"))
    if bad := [part for part in more if " " not in part]:
        raise UserError(f'--qdisc: "{bad[0]}" after a ";", needs "class ..." or "filter ..."')
    return [f"qdisc add dev {dev} {parent} handle 2: {first}",
            *(f"{what} add dev {dev} {rest}"
              for what, rest in (part.split(" ", 1) for part in more))]


@dataclass(frozen=True)
class Wire:
    """A link between two nodes; see `Network.link`."""

    near: str
    far: str
    rate_bps: float = 0.0
    qdisc: str | None = None
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    both: bool = False
    trace: Trace | None = None

    @property
    def netem(self) -> str:
        """Options of netem in each direction; empty if the link needs none."""
        if not (self.delay_ms or self.jitter_ms or self.loss):
            return ""
        return (f"delay {self.delay_ms:g}ms {self.jitter_ms:g}ms "
                f"loss {self.loss:g}% limit {DELAY_LIMIT}")

    def shaped(self, *, forward: bool) -> bool:
        """Return whether the rate and the qdisc apply in a direction."""
        return bool(self.rate_bps) and (forward or self.both)


#: Lines for `tc -batch` with which a qdisc limits the rate of a device. Each has a class 1:1.
SHAPERS = {
    "tbf": ("qdisc add dev {dev} root handle 1: tbf rate {rate:.0f}bit burst {burst} limit {burst}",),
    "htb": (
        "qdisc add dev {dev} root handle 1: htb default 1",
        "class add dev {dev} parent 1: classid 1:1 htb rate {rate:.0f}bit ceil {rate:.0f}bit "
        "burst {burst} cburst {burst}",
    ),
    "hfsc": (
        "qdisc add dev {dev} root handle 1: hfsc default 1",
        "class add dev {dev} parent 1: classid 1:1 hfsc ls rate {rate:.0f}bit ul rate {rate:.0f}bit",
    ),
    "netem": ("qdisc add dev {dev} root handle 1: netem rate {rate:.0f}bit limit 1000",),
}


def shaper(dev: str, wire: Wire, qdisc: str, burst: int, kind: str = "tbf") -> list[str]:
    """Return lines for `tc -batch` that limit a device to the rate of a link, and queue.

    qdisc: queues if the link has no qdisc
    burst: bytes of the bucket
    kind: key of SHAPERS
    Raises UserError if the link follows a trace, and `kind` cannot.
    """
    if wire.trace and kind != "tbf":
        raise UserError(f"shaper={kind} cannot follow a trace: leave out shaper or trace")
    bucket = burst + math.ceil(wire.rate_bps * CLOCK_S / 8)
    limited = wire.trace.without_delay().commands(dev) if wire.trace else [
        line.format(dev=dev, rate=wire.rate_bps, burst=bucket) for line in SHAPERS[kind]]
    return [*limited, *queue_commands(dev, "parent 1:1", wire.qdisc or qdisc)]


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
    shaped: where each shaper is, with its link's number
    delays: where each netem is, with its options
    """

    namespaces: list[str]
    veths: list[list[Link]]
    shaped: list[tuple[Hop, int]]
    delays: list[tuple[Hop, str]]

    def steps(self, path: Path) -> list[Step]:
        """Return the veths on a path."""
        found = []
        for crossing in path:
            veths = self.veths[crossing.number]
            found += [Step(veth, 0 if crossing.forward else 1)
                      for veth in (veths if crossing.forward else reversed(veths))]
        return found


@dataclass
class Network:
    """Links between named nodes. Sources enter at a node, and have their sinks in another one."""

    wires: list[Wire] = field(default_factory=list)

    def link(self, near: str, far: str, *, rate: float = 0.0, qdisc: str | None = None,
             delay: float = 0.0, jitter: float = 0.0, loss: float = 0.0,
             both: bool = False, trace: str = "") -> None:
        """Add a link.

        rate: Mb/s with Ethernet headers, from near to far; 0: no limit
        trace: file with the rate over time, and the delay on the way back
        qdisc: what queues for that rate; by default the qdisc that the run studies
        delay, jitter: ms in each direction; with jitter, packets can overtake each other
        loss: % of the packets in each direction
        both: the rate and the qdisc apply from far to near, too
        """
        for node in (near, far):
            if not re.fullmatch(r"[a-z][a-z0-9]{0,9}", node) or re.match(r"(near|far)\d*$", node):
                raise UserError(f"network: node \"{node}\": needs 1 to 10 small letters and "
                                "digits, and is not near or far")
        wire = Wire(near, far, rate * 1e6, qdisc, delay, jitter, loss, both)
        if trace:
            found = read(trace)
            wire = replace(wire, trace=found, rate_bps=found.mean_bps(0, found.seconds))
        self.wires.append(wire)

    def average(self, from_s: float, to_s: float) -> None:
        """Take the mean between two times as the rate of each link with a trace."""
        self.wires = [replace(wire, rate_bps=wire.trace.mean_bps(from_s, to_s))
                      if wire.trace else wire for wire in self.wires]

    @property
    def traces(self) -> dict[str, str]:
        """Hashes of the trace files, by path."""
        return {one.path: one.file_hash for wire in self.wires if (one := wire.trace)}

    def delay_trace(self, path: Path) -> Trace | None:
        """Return the trace on a path that has delays. Raises UserError if there are two."""
        found = [one for crossing in path
                 if (one := self.wires[crossing.number].trace) and one.has_delay]
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
            if wire.rate_bps and wire.qdisc is None:
                return number
        raise UserError("network: no link has a rate and the qdisc that the run studies; give one "
                        "a rate and no qdisc")

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

    def _onward(self, node: str) -> Iterator[tuple[Crossing, str]]:
        for number, wire in enumerate(self.wires):
            if node == wire.near:
                yield Crossing(number, True), wire.far
            elif node == wire.far:
                yield Crossing(number, False), wire.near

    def delay_ms(self, path: Path) -> float:
        """Return the propagation delay there and back."""
        return 2 * sum(self.wires[crossing.number].delay_ms for crossing in path)

    def _visits(self, path: Path) -> Iterator[tuple[str, int | None, int | None]]:
        """Yield each node on a path, with the links by which packets come and leave."""
        incoming = None
        for crossing in path:
            wire = self.wires[crossing.number]
            node, end = ((wire.near, wire.far) if crossing.forward else (wire.far, wire.near))
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
            for path in paths for node, incoming, leaves in self._visits(path) if node == shaping)

    def make(self, paths: Sequence[Path], last_number: int) -> Layout:
        """Make the network for packets on these paths.

        last_number: of veths; the first one has 0, and the others count down from it
        """
        layout = Layout([], [], [], [])
        for number, wire in enumerate(self.wires):
            suffix = str(number + 1) if number else ""
            chain = [wire.near]
            ends = {}
            for forward, name in ((True, f"near{suffix}"), (False, f"far{suffix}")):
                shaped = wire.shaped(forward=forward)
                if wire.netem or (shaped and not self._own(number, paths, forward=forward)):
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
                layout.shaped.append((Hop(netns, veth.near if forward else veth.far), number))
            if wire.netem:
                layout.delays.extend([(Hop(veths[-1].near_ns, veths[-1].near), wire.netem),
                                (Hop(veths[0].far_ns, veths[0].far), wire.netem)])
        return layout


def one_bottleneck(rate_bps: float, *, both: bool, trace: str = "") -> Network:
    """Return a network with one bottleneck, the default of a scenario."""
    network = Network()
    network.link("rtr", "dst", rate=rate_bps / 1e6, both=both, trace=trace)
    return network
