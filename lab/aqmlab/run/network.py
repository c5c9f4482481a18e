# SPDX-License-Identifier: GPL-2.0
"""A network of hosts, routers and links, as a scenario describes it.

    network = Network()
    network.link("rtr", "rtr2", rate=50)
    network.link("rtr2", "dst", rate=20, rate_back=2, qdisc="pfifo limit 100", delay=10, loss=0.1)

Each node is a namespace; `layout` says where shapers and qdiscs are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from aqmlab.exceptions import UserError, unknown

from .links import Direction, Link, check
from .trace import Trace, read


@dataclass(frozen=True)
class Crossing:
    """A link that a path crosses: its number in the network, and whether from near to far."""

    number: int
    forward: bool


Path = tuple[Crossing, ...]


@dataclass
class Network:
    """Links between named nodes. Sources enter at a node, and have their sinks in another one."""

    links: list[Link] = field(default_factory=list)
    chosen: int | None = None

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
        loss_burst: float = 0.0,
        aggregate: int = 1,
        both: bool = False,
        trace: str | Trace = "",
        trace_back: str | Trace = "",
        rate_back: float | None = None,
        qdisc_back: str | None = None,
        delay_back: float | None = None,
        jitter_back: float | None = None,
        loss_back: float | None = None,
        loss_burst_back: float | None = None,
        aggregate_back: int | None = None,
        measured: bool = False,
    ) -> None:
        """Add a link, which has both directions.

        rate: Mb/s with Ethernet headers, from near to far; 0: no limit
        trace: file with the rate over time, and the delay on the way back; a relative path counts
            from the scenario's file; or a radio's Trace
        qdisc: what queues for that rate; by default the qdisc that the run studies
        delay, jitter: ms in each direction; with jitter, packets can overtake each other
        loss: % of the packets in each direction
        loss_burst: mean number of packets lost in a row; 0: losses are independent
        aggregate: packets that leave the queue and the link together, at most, as in Wi-Fi
        both: the rate and the qdisc apply from far to near, too
        rate_back, trace_back, qdisc_back, delay_back, jitter_back, loss_back, loss_burst_back,
            aggregate_back: from far to near instead. Without them the rate has no limit, and the
            rest is as from near to far
        measured: the queue for this link is the one that the result is about; by default that of
            the first link with a rate and the qdisc that the run studies
        """
        given = dict(locals())
        self._check(near, far)
        try:
            check(given)
        except UserError as error:
            raise UserError(f"network: link {near} to {far}: {error}") from error
        there = _following(
            Direction(rate * 1e6, qdisc, delay, jitter, loss, None, loss_burst, aggregate), trace
        )
        back = there if both else replace(there, rate_bps=(rate_back or 0) * 1e6, trace=None)
        of_back = {
            "qdisc": qdisc_back,
            "delay_ms": delay_back,
            "jitter_ms": jitter_back,
            "loss": loss_back,
            "loss_burst": loss_burst_back,
            "aggregate": aggregate_back,
        }
        changes: dict[str, Any] = {
            key: value for key, value in of_back.items() if value is not None
        }
        back = _following(replace(back, **changes), trace_back)
        for wrong, why in (
            (
                both and (rate_back is not None or qdisc_back is not None or trace_back),
                f"both=True gives {far} to {near} the same rate and qdisc; leave it out beside "
                "rate_back, trace_back and qdisc_back",
            ),
            (trace and rate, "trace has the rate; leave out rate"),
            (
                trace_back and rate_back is not None,
                "trace_back has the rate of the way back; leave out rate_back",
            ),
            (
                measured and self.chosen is not None,
                "measured=True is for one link, and another one has it",
            ),
            (
                qdisc_back is not None and not back.rate_bps,
                "qdisc_back needs a rate_back, because nothing queues without a rate",
            ),
            (
                (loss_burst and not there.loss and not back.loss)
                or (loss_burst_back and not back.loss),
                "loss_burst needs a loss, of which it is the mean length",
            ),
            (
                min(there.aggregate, back.aggregate) < 1,
                f"aggregate: {min(there.aggregate, back.aggregate)} given, needs 1 or more packets",
            ),
            (
                (aggregate > 1 and not there.rate_bps and not back.rate_bps)
                or ((aggregate_back or 1) > 1 and not back.rate_bps),
                "aggregate needs a rate, because nothing queues without one",
            ),
            (
                measured and (not there.rate_bps or there.qdisc is not None),
                "measured=True needs a rate, and no qdisc",
            ),
        ):
            if wrong:
                raise UserError(f"network: link {near} to {far}: {why}")
        if measured:
            self.chosen = len(self.links)
        self.links.append(Link(near, far, there, back))

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
        for link in self.links:
            if {link.near, link.far} == {near, far}:
                raise UserError(
                    f"network: link {near} to {far}: there is a link between {link.near} and "
                    f"{link.far} already, and it has both directions; give it rate_back, "
                    "qdisc_back, delay_back or loss_back for the way back"
                )

    def average(self, from_s: float, to_s: float) -> None:
        """Take the mean between two times as the rate of each link with a trace."""
        self.links = [
            replace(
                link, there=link.there.averaged(from_s, to_s), back=link.back.averaged(from_s, to_s)
            )
            for link in self.links
        ]

    @property
    def traces(self) -> dict[str, str]:
        """Hashes of the trace files, by path."""
        return {
            trace.path: trace.file_hash
            for link in self.links
            for direction in (link.there, link.back)
            if (trace := direction.trace) and trace.path
        }

    def delay_trace(self, path: Path) -> Trace | None:
        """Return the trace on a path that has delays. Raises UserError if there are two."""
        found: list[Trace] = []
        for link in (self.links[crossing.number] for crossing in path):
            # With both=True, both directions have one trace.
            traces = (
                link.there.trace,
                None if link.back.trace is link.there.trace else link.back.trace,
            )
            found += [trace for trace in traces if trace and trace.has_delay]
        if len(found) > 1:
            raise UserError(
                "network: two traces with delays are on one path; a trace's delay is added to the "
                "round trip, so leave out the column delay_ms of one of them"
            )
        return found[0] if found else None

    @property
    def nodes(self) -> list[str]:
        """All nodes, in the order in which links name them."""
        return list(dict.fromkeys(end for link in self.links for end in (link.near, link.far)))

    @property
    def measured(self) -> int:
        """The number of the link whose queue is sampled, see link(). Raises UserError if there is
        none.
        """
        if self.chosen is not None:
            return self.chosen
        for number, link in enumerate(self.links):
            if link.there.rate_bps and link.there.qdisc is None:
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
        if not self.links:
            raise UserError("network: has no link")
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

    def direction(self, crossing: Crossing) -> Direction:
        """Return the direction of a link in which a path crosses it."""
        return self.links[crossing.number].direction(forward=crossing.forward)

    def _onward(self, node: str) -> Iterator[tuple[Crossing, str]]:
        for number, link in enumerate(self.links):
            if node == link.near:
                yield Crossing(number, True), link.far
            elif node == link.far:
                yield Crossing(number, False), link.near

    def delay_ms(self, path: Path) -> float:
        """Return the propagation delay there and back."""
        links = [self.links[crossing.number] for crossing in path]
        return sum(link.there.delay_ms + link.back.delay_ms for link in links)


def _following(direction: Direction, trace: str | Trace) -> Direction:
    """Return a direction that follows a trace, if there is one."""
    if not trace:
        return direction
    found = read(trace) if isinstance(trace, str) else trace
    return replace(direction, trace=found, rate_bps=found.mean_bps(0, found.seconds))


def one_bottleneck(
    rate_bps: float,
    *,
    both: bool,
    trace: str = "",
    rate_back_bps: float = 0.0,
    trace_back: str = "",
) -> Network:
    """Return a network with one bottleneck, the default of a scenario.

    both: the way back has the same rate, unless it has its own, rate_back_bps or trace_back
    """
    network = Network()
    network.link(
        "rtr",
        "dst",
        rate=0.0 if trace else rate_bps / 1e6,
        both=both and not rate_back_bps and not trace_back,
        trace=trace,
        rate_back=None if trace_back else rate_back_bps / 1e6 or None,
        trace_back=trace_back,
    )
    return network
