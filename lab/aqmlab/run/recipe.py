# SPDX-License-Identifier: GPL-2.0
"""A run as plain data: what the commands of `commands.py` carry out, in the lab or here.

Names of namespaces are without the prefix that makes them unique on a machine; `commands.py` adds
it. All times count from the run's epoch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Batch:
    """Lines for `ip -batch` or `tc -batch`, in a namespace or (None) outside of any; at_ns: after
    the epoch, None: before it."""

    tool: str
    netns: str | None
    lines: list[str]
    options: list[str] = field(default_factory=list)
    at_ns: int | None = None


@dataclass(frozen=True)
class Sample:
    """The qdisc to sample: the child at `parent` of `dev`, every `interval_ms`."""

    netns: str
    dev: str
    parent: str
    interval_ms: int


@dataclass(frozen=True)
class Hop:
    """A bottleneck: the namespace whose packets all leave by the device `dev`, unless they are
    delivered in it or come from there. link: the link's nodes, in the direction of the data."""

    netns: str
    dev: str
    link: str = ""


@dataclass(frozen=True)
class ExecProgram:
    """A program of --exec, which runs in `netns` and in the directory `cwd`; start_ns: after the
    epoch, None: before it; sha256: of the program's file."""

    name: str
    group: str
    role: str
    netns: str
    argv: list[str]
    cwd: str
    start_ns: int | None
    sha256: str


@dataclass(frozen=True)
class Meter:
    """The root qdisc of `dev`, which counts what arrives for the clients of a group of programs.
    flow: the group's number among the flows; source_netns: where its servers are."""

    group: str
    flow: int
    netns: str
    dev: str
    source_netns: str


@dataclass(frozen=True)
class Recipe:
    """sysctls: namespace to path below /proc/sys to value. lossy: where netem may drop packets.
    starts: lines for tc that tell qdiscs the epoch. changes: lines for tc during the run.
    traces: hashes of trace files, by path. offloads: namespace, device, then pairs of an offload's
    name and on or off.
    flows: lines of flowgen's flow file. generator: flowgen or iperf3.
    memory_gib: of the guest, if it is one. share: directories that it needs beside the run's.
    programs, meters: of --exec, see programs.py. needs_ecn: congestion controls in it that do not
    work without ECN. captures: namespaces whose packets are written to a file. tcp_state: whether
    the state of TCP connections is logged every interval. sojourn: whether the time of each packet
    in the measured queue is logged. quiet_ms: a datagram is lost if no packet has arrived for so
    long after the end; 0: if no datagram has arrived for a second."""

    namespaces: list[str]
    sysctls: dict[str, dict[str, str]]
    batches: list[Batch]
    offloads: list[tuple[str, str, list[str]]]
    flows: list[dict[str, int | str]]
    duration_ms: int
    interval_ms: int
    sample: Sample
    hops: list[Hop]
    lossy: list[Hop] = field(default_factory=list)
    starts: list[Batch] = field(default_factory=list)
    changes: list[Batch] = field(default_factory=list)
    traces: dict[str, str] = field(default_factory=dict)
    generator: str = "flowgen"
    memory_gib: int = 2
    programs: list[ExecProgram] = field(default_factory=list)
    meters: list[Meter] = field(default_factory=list)
    share: list[str] = field(default_factory=list)
    needs_ecn: list[str] = field(default_factory=list)
    captures: list[str] = field(default_factory=list)
    tcp_state: bool = False
    sojourn: bool = False
    quiet_ms: int = 0

    def as_json(self) -> dict[str, Any]:
        """What json.dumps takes."""
        return asdict(self)
