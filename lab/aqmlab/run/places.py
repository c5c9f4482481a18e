# SPDX-License-Identifier: GPL-2.0
"""Give each group of flows its place in a network: namespaces, veths and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aqmlab.exceptions import UserError

from .group import Group
from .layout import Layout
from .network import Path
from .veths import Leg, Veth, host, sink_net, source_net

LAST_LINK = 63  # of the /30 networks between namespaces
LAST_MAC = 255  # of links: they have a byte of it
LAST_HOST = 65535  # of a group's network


@dataclass(frozen=True)
class GroupPlace:
    """Where a group is: its sources behind a veth, and its sinks at the end of the legs.

    sources, sinks: their networks
    first_flow: number of its first flow in the run
    """

    group: Group
    veth: Veth
    legs: Sequence[Leg]
    sources: str
    sinks: str
    first_flow: int

    @property
    def source_ns(self) -> str:
        """Return the namespace of its sources."""
        return self.veth.near_ns

    @property
    def sink_ns(self) -> str:
        """Return the namespace of its sinks."""
        return self.legs[-1].to_ns

    def flows(self) -> Iterator[dict[str, int | str]]:
        """Yield the lines of flowgen's flow file."""
        group = self.group
        ends = [(self.source_ns, self.sources), (self.sink_ns, self.sinks)]
        (from_ns, from_net), (to_ns, to_net) = reversed(ends) if group.reverse else ends
        for index, start_ns in enumerate(group.start_ns):
            yield {
                "id": self.first_flow + index,
                "group": group.counted_in or group.name,
                "source_netns": from_ns,
                "sink_netns": to_ns,
                "source": host(from_net, index),
                "source_port": 10000,
                "sink": host(to_net, index),
                "sink_port": 5001,
                "start_ns": start_ns,
                "cc": group.congestion_control,
                **group.flow,
                **(group.each[index] if group.each else {}),
            }


def place_groups(
    groups: Sequence[Group], paths: Sequence[Path], layout: Layout, ip: int
) -> list[GroupPlace]:
    """Return the place of each group, whose packets take the path of the same number.

    Raises UserError if there are more groups or flows than addresses.
    """
    _check_addresses(groups, layout.all_veths, ip)
    places, flows = [], 0
    for number, (group, path) in enumerate(zip(groups, paths, strict=True)):
        legs = layout.legs(path)
        veth = Veth(1 + number, f"src-{group.name}", "s0", legs[0].from_ns, f"r{number}")
        places.append(
            GroupPlace(group, veth, legs, source_net(ip, number), sink_net(ip, number), flows)
        )
        flows += len(group.start_ns)
    return places


def _check_addresses(groups: Sequence[Group], onward: Sequence[Veth], ip: int) -> None:
    """Raise UserError if there are more groups or flows than addresses.

    onward: veths between routers and to dst; the veths of groups have the numbers between
    """
    most = (
        min((veth.number for veth in onward[1:]), default=1 + (LAST_LINK if ip == 4 else LAST_MAC))
        - 1
    )
    if len(groups) > most:
        raise UserError(
            f"{len(groups)} groups of flows with different round-trip times: there are "
            f"addresses for {most}; use fewer"
        )
    for group in groups:
        if len(group.start_ns) > LAST_HOST:
            raise UserError(
                f"{len(group.start_ns)} flows in group {group.name}: there are "
                f"addresses for {LAST_HOST}; use fewer"
            )
