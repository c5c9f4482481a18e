# SPDX-License-Identifier: GPL-2.0
"""Lay out a network: its nodes and links as namespaces and veths.

A direction with a rate has a shaper and a qdisc where it begins. If all packets that a node
forwards leave by that link, the shaper is in the node's namespace. Otherwise the link gets a
separate namespace there, so that packets in, out, dropped and queued can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .network import Crossing, Network, Path
from .objects import Interface
from .veths import Leg, Veth


@dataclass(frozen=True)
class Layout:
    """A network made of namespaces.

    namespaces: all, along the links
    veths: of each link, from near to far
    shaped: where each shaper is, with its direction of a link
    delayed: where each netem is, with its direction of a link
    """

    namespaces: list[str]
    veths: list[list[Veth]]
    shaped: list[tuple[Interface, Crossing]]
    delayed: list[tuple[Interface, Crossing]]

    @property
    def all_veths(self) -> list[Veth]:
        """Return the veths of all links."""
        return [veth for veths in self.veths for veth in veths]

    def legs(self, path: Path) -> list[Leg]:
        """Return the veths on a path."""
        found = []
        for crossing in path:
            veths = self.veths[crossing.number]
            found += [
                Leg(veth, 0 if crossing.forward else 1)
                for veth in (veths if crossing.forward else reversed(veths))
            ]
        return found


def lay_out(network: Network, paths: Sequence[Path], last_number: int) -> Layout:
    """Return the layout of a network for packets on these paths.

    last_number: of veths; the first one has 0, and the others count down from it
    """
    layout = Layout([], [], [], [])
    for number, link in enumerate(network.links):
        chain, shaping = _chain(network, number, paths)
        veths: list[Veth] = []
        for near, far in pairwise(chain):
            at = len(layout.all_veths) + len(veths)
            veths.append(Veth(last_number - at if at else 0, near, f"b{at}", far, f"d{at}"))
        layout.veths.append(veths)
        layout.namespaces.extend(ns for ns in chain if ns not in layout.namespaces)
        for forward, netns in shaping.items():
            end = 0 if forward else 1
            veth = next(veth for veth in veths if veth.ends[end][0] == netns)
            layout.shaped.append((Interface(*veth.ends[end]), Crossing(number, forward)))
        if link.there.needs_netem:
            layout.delayed.append((Interface(*veths[-1].ends[0]), Crossing(number, True)))
        if link.back.needs_netem:
            layout.delayed.append((Interface(*veths[0].ends[1]), Crossing(number, False)))
    return layout


def _chain(
    network: Network, number: int, paths: Sequence[Path]
) -> tuple[list[str], dict[bool, str]]:
    """Return the namespaces along a link, and the one that shapes each direction with a rate.

    The directions are True, from near to far, and False.
    """
    link = network.links[number]
    suffix = str(number + 1) if number else ""
    delays = link.there.needs_netem or link.back.needs_netem
    chain, shaping = [link.near], {}
    for forward, name in ((True, f"near{suffix}"), (False, f"far{suffix}")):
        shaped = bool(link.direction(forward=forward).rate_bps)
        if delays or (shaped and not _alone(network, paths, Crossing(number, forward))):
            chain.append(name)
        if shaped:
            shaping[forward] = chain[-1] if forward or name in chain else link.far
    return [*chain, link.far], shaping


def _alone(network: Network, paths: Sequence[Path], crossing: Crossing) -> bool:
    """Return whether the node that shapes a link forwards all its packets by this link.

    Packets that end in the node may come by any other link.
    """
    link = network.links[crossing.number]
    shaping = link.near if crossing.forward else link.far
    return not any(
        incoming == crossing.number if leaves is None else crossing.number not in (incoming, leaves)
        for path in paths
        for node, incoming, leaves in _visits(network, path)
        if node == shaping
    )


def _visits(network: Network, path: Path) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield each node on a path, with the links by which packets come and leave."""
    incoming = None
    for crossing in path:
        link = network.links[crossing.number]
        node, end = (link.near, link.far) if crossing.forward else (link.far, link.near)
        yield node, incoming, crossing.number
        incoming = crossing.number
    yield end, incoming, None
