# SPDX-License-Identifier: GPL-2.0
"""Read counters from the output of the kernel and of tc."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Counters of each namespace. A kernel without IPv6 does not have the last file.
COUNTERS = ("/proc/net/dev", "/proc/net/netstat", "/proc/net/snmp", "/proc/net/snmp6")

#: Files of the machine: the kernel's release and build, and what each CPU dropped.
SOFTNET = "/proc/net/softnet_stat"
#: Seconds since boot, and seconds that the processor was idle.
UPTIME = "/proc/uptime"
#: Ticks in which the processor was busy, by their cause.
STAT = "/proc/stat"
VERSIONS = ("/proc/sys/kernel/osrelease", "/proc/version", SOFTNET)

#: Files of loaded modules; those that are built in have no initstate, and some have no version.
MODULE_FACTS = tuple(
    f"/sys/module/{kind}_*/{name}"
    for kind in ("sch", "tcp")
    for name in ("initstate", "srcversion")
)

# Counters of packets that a host or a router dropped, not a queue discipline.
DISCARDS = {
    *(
        f"Ip {name}"
        for name in (
            "InHdrErrors",
            "InAddrErrors",
            "InDiscards",
            "OutDiscards",
            "OutNoRoutes",
            "ReasmFails",
            "FragFails",
        )
    ),
    "IpExt InNoRoutes",
    "IpExt InTruncatedPkts",
    "IpExt InCsumErrors",
    *(
        f"TcpExt {name}"
        for name in (
            "PruneCalled",
            "RcvPruned",
            "OfoPruned",
            "TCPBacklogDrop",
            "TCPRcvQDrop",
            "TCPOFODrop",
            "PFMemallocDrop",
            "ListenDrops",
            "ListenOverflows",
            "TCPReqQFullDrop",
            "TCPWqueueTooBig",
            "TCPMinTTLDrop",
            "TCPAbortOnMemory",
        )
    ),
    "Tcp InCsumErrors",
    "Udp InErrors",
    "Udp RcvbufErrors",
    "Udp SndbufErrors",
    "Udp MemErrors",
    "Udp NoPorts",
    "Ip6InHdrErrors",
    "Ip6InDiscards",
    "Ip6OutDiscards",
    "Ip6InNoRoutes",
    "Ip6OutNoRoutes",
    "Udp6InErrors",
    "Udp6RcvbufErrors",
    "Udp6SndbufErrors",
}

#: Counters of packets for which a receiver, or TCP as a whole, had no memory.
NO_MEMORY = {
    f"TcpExt {name}"
    for name in ("PruneCalled", "RcvPruned", "OfoPruned", "TCPRcvQDrop", "TCPOFODrop")
}


def device_counters(text: str) -> dict[str, dict[str, int]]:
    """Return the packets that each device received, sent and lost, from /proc/net/dev."""
    devices = {}
    for name, counts in re.findall(r"^\s*(\S+):((?:\s+\d+){16})$", text, re.M):
        rx, tx = (counts.split()[at : at + 8] for at in (0, 8))
        devices[name] = {
            "received": int(rx[1]),
            "sent": int(tx[1]),
            "lost": sum(map(int, (*rx[2:5], *tx[2:5]))),  # errors, drops, FIFO errors
        }
    return devices


def protocol_counters(text: str) -> dict[str, int]:
    """Return the counters of /proc/net/{snmp,netstat,snmp6} by name: `Ip InDelivers`,
    `Ip6InDelivers`."""
    counters: dict[str, int] = {}
    for name, names, values in re.findall(
        r"^(\w+):((?: [A-Za-z]\w*)+)\n\1:((?: -?\d+)+)$", text, re.M
    ):
        counters.update(
            (f"{name} {key}", int(value))
            for key, value in zip(names.split(), values.split(), strict=True)
        )
    counters.update(
        (name, int(value)) for name, value in re.findall(r"^(\w+6\w+)\s+(\d+)$", text, re.M)
    )
    return counters


def discards(protocols: Mapping[str, int]) -> dict[str, int]:
    """Return the counters of dropped packets that are not 0, from protocol_counters().

    Resets are left out. When the connections of a run end at once, all their resets need room in
    the send buffer of one socket of the kernel, and those without room are dropped.
    """
    resets = {"Ip OutDiscards": protocols.get("Tcp OutRsts", 0)}
    return {
        name: count
        for name, value in protocols.items()
        if name in DISCARDS and (count := value - resets.get(name, 0)) > 0
    }


def received_ect(protocols: Mapping[str, int]) -> int:
    """Return how many packets with ECT or CE arrived, from protocol_counters()."""
    return sum(
        protocols.get(f"{family}In{mark}Pkts", 0)
        for family in ("IpExt ", "Ip6")
        for mark in ("ECT0", "ECT1", "CE")
    )


def softnet_dropped(text: str) -> int:
    """Return how many received packets all CPUs dropped since boot, because a backlog was full.

    text: of SOFTNET
    """
    return sum(int(line.split()[1], 16) for line in text.splitlines())


def sections(text: str) -> dict[tuple[str, str], str]:
    """Split the output of lab/traffic/inspace.c by namespace and file."""
    _, *parts = re.split(r"^> (\S+) (\S+)\n", text, flags=re.M)
    return {
        (netns, path): shown
        for netns, path, shown in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


def module_versions(shown: Mapping[tuple[str, str], str]) -> dict[str, str | None]:
    """Return the source versions of loaded modules; None for a module without one."""
    states = [path for _, path in shown if path.endswith("/initstate")]
    return {
        Path(state).parent.name: version.strip() or None
        for state in sorted(states)
        for version in [shown.get(("-", state.replace("initstate", "srcversion")), "")]
    }


def qdisc_counters(text: str) -> list[dict[str, Any]]:
    """Read `tc -s qdisc show`, one dictionary for each qdisc, named as in tc's JSON.

    tc's JSON is not used, because it is broken if tc has no plugin for a kind or if the plugin
    prints text. The lines that are read here are printed by tc itself, not by a plugin.
    """
    qdiscs = []
    for shown in re.split(r"^(?=qdisc \S+ \S+: )", text, flags=re.M)[1:]:
        head = re.match(r"qdisc (\S+) (\S+:) .*?\bdev (\S+)", shown)
        sent = re.search(r"^ Sent (\d+) bytes (\d+) pkts? \(dropped (\d+),", shown, re.M)
        held = re.search(r"^ (?:rate \S+ \S+ )?backlog \S+ (\d+)p ", shown, re.M)
        if not (head and sent and held):
            raise ValueError(f"tc shows no counters: {shown}")
        qdiscs.append(
            {
                "kind": head[1],
                "handle": head[2],
                "dev": head[3],
                "bytes": int(sent[1]),
                "packets": int(sent[2]),
                "drops": int(sent[3]),
                "qlen": int(held[1]),
            }
        )
    return qdiscs
