# SPDX-License-Identifier: GPL-2.0
"""Objects of a topology: nodes, the links between them, addresses, routes and qdiscs.

`topology` makes them, and `render` writes the commands that create them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .veths import Veth


@dataclass(frozen=True)
class Interface:
    """A network device `dev` of a node."""

    node: str
    dev: str


@dataclass(frozen=True)
class Node:
    """A network namespace.

    sysctls: values by path below /proc/sys
    forwards: whether packets of flows pass it on their way
    """

    name: str
    sysctls: Mapping[str, str]
    forwards: bool = False


@dataclass(frozen=True)
class Loopback:
    """The loopback device of a node, which is up."""

    node: str


@dataclass(frozen=True)
class Address:
    """An address of one host, `host`, at a device of a node."""

    node: str
    host: str
    dev: str


@dataclass(frozen=True)
class Route:
    """A route of a node.

    to: a network, or an address of one host
    via: address of the next node; "": the node itself has all addresses of the network
    options: more words for `ip route add`
    """

    node: str
    to: str
    via: str = ""
    options: Sequence[str] = ()


@dataclass(frozen=True)
class Qdisc:
    """A qdisc at a device.

    text: its kind and options, as tc has them
    parent: `root` or `parent 1:1`
    more: commands that complete it, such as ("class add", "parent 1: classid 1:1 htb rate 1mbit")
    from_epoch: whether the qdisc must be told when the run begins
    """

    at: Interface
    text: str
    parent: str = "root"
    handle: str = ""
    more: Sequence[tuple[str, str]] = ()
    from_epoch: bool = False


@dataclass(frozen=True)
class Topology:
    """Everything that exists in a run before its traffic.

    nodes: in the order in which they are set up
    ip: addresses and routes
    """

    nodes: Sequence[Node]
    veths: Sequence[Veth]
    ip: Sequence[Loopback | Address | Route]
    qdiscs: Sequence[Qdisc]
