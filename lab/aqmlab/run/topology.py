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

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from aqmlab.exceptions import UserError

from .links import Link, host, sink_net, source_net
from .network import Crossing, Network, Step, one_bottleneck
from .recipe import Batch, Hop, Recipe, Sample
from .tcp_profile import TcpProfile
from .trace import START
from .wires import DELAY_LIMIT, change_command, shaper

ETHERNET_HEADER = 14  # bytes; part of a packet's length in the kernel and in all rates here
IP_HEADER = {4: 20, 6: 40}

# Deep enough never to drop: a source holds at most its send buffer.
ACCESS_LIMIT = 1_000_000  # packets
# fq drops packets that must leave later than this. Its default of 10 s is too short, because
# BBR can send less than one packet in 10 s. The field has 32 bits of microseconds, at most 4294 s.
ACCESS_HORIZON_S = 4000

LAST_LINK = 63  # of the /30 networks between namespaces
LAST_MAC = 255  # of links: they have a byte of it
LAST_HOST = 65535  # of a group's network

OFFLOADS = ("tso", "gso", "gro")
GSO_BYTES = 65536  # of payload and headers, at most, in one packet for TSO


@dataclass(frozen=True)
class Group:
    """Flows with the same round-trip time and access rate, and their demand at the bottleneck.

    start_ns: when each flow starts, after the epoch; its length is the number of flows
    access_bps: bit/s of each source's own link, 0 for no limit
    flow: more keys for flowgen's flow file
    each: such keys that differ from flow to flow
    timed: the sources give their packets departure times, which `fq` must keep
    reverse: the group sends in the other direction, over a bottleneck that is not measured
    enters, leaves: nodes of the network with its sources and its sinks; "": the first and the last
    counted_in: another group to which the metrics add these flows; "": none
    demand_bps: most that one flow would send, including headers; inf: no limit
    payload: share of payload in its packets, 0..1
    elastic, from_s, to_s: see fair_shares.GroupFacts
    settled_s: end of the phase that begins with its start; None if no phase ends
    """

    name: str
    start_ns: Sequence[int]
    rtt_ms: float
    access_bps: float
    congestion_control: str
    flow: dict[str, int | str] = field(default_factory=dict)
    each: Sequence[dict[str, int | str]] = ()
    timed: bool = False
    reverse: bool = False
    enters: str = ""
    leaves: str = ""
    counted_in: str = ""
    demand_bps: float = math.inf
    payload: float = 1.0
    elastic: bool = True
    from_s: float | None = None
    to_s: float | None = None
    settled_s: float | None = None


@dataclass(frozen=True)
class Bottleneck:
    """rate_bps: bit/s; qdisc: what `tc` calls it, and after semicolons what it has below it,
    `class parent 2: classid 2:1 htb rate 1mbit`; burst: packets of the shaper's bucket;
    shaper: a key of wires.SHAPERS; changes: new options of the qdisc, with their times, ns."""

    rate_bps: float
    qdisc: str
    burst: int = 1
    shaper: str = "tbf"
    changes: tuple[tuple[int, str], ...] = ()


def frame_bytes(mtu: int) -> int:
    """Length of a full packet as the kernel's disciplines count it."""
    return mtu + ETHERNET_HEADER


def gso_packets(mtu: int) -> int:
    """How many full packets are as long as the largest that TSO takes, as the kernel's disciplines
    count it: with the headers of each segment. IPv6 and TCP's timestamps leave least to payload."""
    return math.ceil(GSO_BYTES / (mtu - IP_HEADER[6] - 32))


def payload_share(mtu: int, ip: int, profile: TcpProfile) -> float:
    """Return the share of payload in a full packet, 0..1."""
    return (mtu - IP_HEADER[ip] - profile.header_bytes) / frame_bytes(mtu)


def default_network(
    rate_bps: float, groups: Sequence[Group], trace: str = "", rate_back_bps: float = 0.0
) -> Network:
    """Return a network with one bottleneck, in both directions if data goes both ways."""
    return one_bottleneck(
        rate_bps, both=any(g.reverse for g in groups), trace=trace, rate_back_bps=rate_back_bps
    )


def _merge(into: dict[str | None, list[str]], more: dict[str | None, list[str]]) -> None:
    for ns, lines in more.items():
        into.setdefault(ns, []).extend(lines)


def _addressed(groups: Sequence[Group], onward: Sequence[Link], ip: int) -> None:
    """Raise UserError if there are more groups or flows than addresses.

    onward: links between routers and to dst; the links of groups have the numbers between
    """
    most = (
        min((link.number for link in onward[1:]), default=1 + (LAST_LINK if ip == 4 else LAST_MAC))
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


def build(
    groups: Sequence[Group],
    bottleneck: Bottleneck,
    profile: TcpProfile,
    *,
    tcp_ecn: str,
    ip: int,
    mtu: int,
    duration_ms: int,
    interval_ms: int,
    sample_ms: int,
    offloads: bool = False,
    network: Network | None = None,
) -> Recipe:
    """Everything that has to be done for a run, as data (times in ms). offloads: packets of many
    segments. tcp_ecn: the sysctl of the hosts. UserError: `_addressed`."""
    frame = frame_bytes(mtu)
    sources = [f"src-{g.name}" for g in groups]
    network = network or default_network(bottleneck.rate_bps, groups)
    paths = [network.path(g.enters, g.leaves) for g in groups]
    layout = network.make(paths, LAST_LINK)
    nodes = layout.namespaces
    namespaces = [*sources, *nodes]
    onward = [veth for veths in layout.veths for veth in veths]
    _addressed(groups, onward, ip)
    links = [
        Link(1 + i, ns, "s0", layout.steps(path)[0].from_ns, f"r{i}")
        for i, (ns, path) in enumerate(zip(sources, paths, strict=True))
    ]

    ip_lines: dict[str | None, list[str]] = {}
    for link in (*onward, *links):
        _merge(ip_lines, link.commands(ip, mtu, "" if offloads else "gso_max_segs 1 "))
    route = "".join(f" {word}" for word in profile.route)
    tc_lines: dict[str | None, list[str]] = {}
    traced = [hop for hop, crossing in layout.shaped if network.way(crossing).trace]
    for hop, crossing in layout.shaped:
        tc_lines.setdefault(hop.netns, []).extend(
            shaper(
                hop.dev,
                network.way(crossing),
                bottleneck.qdisc,
                bottleneck.burst * frame,
                bottleneck.shaper,
            )
        )
    for hop, options in layout.delays:
        tc_lines.setdefault(hop.netns, []).append(f"qdisc add dev {hop.dev} root netem {options}")
    flows: list[dict[str, int | str]] = []
    for i, (group, link) in enumerate(zip(groups, links, strict=True)):
        src, snk = source_net(ip, i), sink_net(ip, i)
        way = layout.steps(paths[i])
        sink_ns = way[-1].to_ns
        _merge(
            ip_lines,
            {
                link.near_ns: [
                    "link set lo up",
                    f"route add local {src} dev lo",
                    f"route add {snk} via {link.address(ip, 1)}{route}",
                ]
            },
        )
        back: Link | Step = link
        for step in way:
            _merge(
                ip_lines,
                {
                    step.from_ns: [
                        f"route add {src} via {back.address(ip, 0)}",
                        f"route add {snk} via {step.address(ip, 1)}",
                    ]
                },
            )
            back = step
        _merge(
            ip_lines,
            {
                sink_ns: [
                    "link set lo up",
                    f"route add local {snk} dev lo",
                    f"route add {src} via {back.address(ip, 0)}{route}",
                ]
            },
        )
        if group.access_bps or group.timed:
            pace = (
                f"maxrate {group.access_bps:.0f}bit "
                f"low_rate_threshold {2 * group.access_bps:.0f}bit "
                if group.access_bps
                else ""
            )
            if group.timed:
                pace += "timer_slack 0 "
            tc_lines[link.near_ns] = [
                f"qdisc add dev s0 root fq {pace}quantum {frame} initial_quantum {frame} "
                f"flow_limit {ACCESS_LIMIT} limit {ACCESS_LIMIT} horizon {ACCESS_HORIZON_S}s"
            ]
        if trace := network.delay_trace(paths[i]):
            tc_lines.setdefault(link.far_ns, []).extend(
                trace.return_path(group.rtt_ms).commands(link.far)
            )
            traced.append(Hop(link.far_ns, link.far))
        elif group.rtt_ms:
            tc_lines.setdefault(link.far_ns, []).append(
                f"qdisc add dev {link.far} root netem delay {group.rtt_ms:g}ms limit {DELAY_LIMIT}"
            )
        ends = [(link.near_ns, src), (sink_ns, snk)]
        (source_ns, source_of), (sink_ns, sink_of) = reversed(ends) if group.reverse else ends
        for index, start_ns in enumerate(group.start_ns):
            flows.append(
                {
                    "id": len(flows),
                    "group": group.counted_in or group.name,
                    "source_netns": source_ns,
                    "sink_netns": sink_ns,
                    "source": host(source_of, index),
                    "source_port": 10000,
                    "sink": host(sink_of, index),
                    "sink_port": 5001,
                    "start_ns": start_ns,
                    "cc": group.congestion_control,
                    **group.flow,
                    **(group.each[index] if group.each else {}),
                }
            )

    hosts = {f"net/ipv4/{name}": value for name, (value, _) in profile.sysctls.items()}
    hosts["net/ipv4/tcp_ecn"] = tcp_ecn
    if ip == 4:
        family = {"net/ipv6/conf/all/disable_ipv6": "1", "net/ipv6/conf/default/disable_ipv6": "1"}
        forward = {"net/ipv4/ip_forward": "1"}
    else:
        # A prefix made local may be used, but not bound to, without this.
        family = {"net/ipv6/ip_nonlocal_bind": "1"}
        forward = {"net/ipv6/conf/all/forwarding": "1"}
    routers = {step.from_ns for path in paths for step in layout.steps(path)}
    last = [netns for netns in nodes if netns not in routers]
    sysctls = {ns: {**family, **hosts} for ns in [*sources, *last]}
    sinks = {flow["sink_netns"] for flow in flows}
    sysctls |= {
        ns: {**family, **forward, **(hosts if ns in sinks else {})} for ns in nodes if ns in routers
    }

    measured = next(
        hop for hop, crossing in layout.shaped if crossing == Crossing(network.measured, True)
    )
    family_option = ["-6"] if ip == 6 else []
    switch = [word for name in OFFLOADS for word in (name, "on" if offloads else "off")]
    batches = [Batch("ip", None, [f"netns add {ns}" for ns in namespaces])]
    batches.append(Batch("ip", None, ip_lines.pop(None)))
    devices = [
        (e, d) for ln in (*onward, *links) for e, d in ((ln.near_ns, ln.near), (ln.far_ns, ln.far))
    ]
    batches.extend(Batch("ip", ns, ip_lines[ns], family_option) for ns in namespaces)
    batches.extend(Batch("tc", ns, tc_lines[ns]) for ns in namespaces if ns in tc_lines)
    return Recipe(
        namespaces=namespaces,
        sysctls=sysctls,
        batches=batches,
        offloads=[(ns, dev, switch) for ns, dev in devices],
        flows=flows,
        duration_ms=duration_ms,
        interval_ms=interval_ms,
        sample=Sample(measured.netns, measured.dev, "1:1", sample_ms),
        hops=[hop for hop, _ in layout.shaped],
        starts=[Batch("tc", hop.netns, [START.format(hop.dev)]) for hop in traced],
        changes=[
            Batch(
                "tc", hop.netns, [change_command(hop.dev, bottleneck.qdisc, options)], at_ns=at_ns
            )
            for hop, crossing in layout.shaped
            if network.way(crossing).qdisc is None
            for at_ns, options in bottleneck.changes
        ],
        lossy=[hop for hop, options in layout.delays if "loss 0%" not in options],
    )
