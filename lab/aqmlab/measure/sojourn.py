# SPDX-License-Identifier: GPL-2.0
"""Measure how long each packet of a flow stays in the bottleneck's queue, from a capture.

A packet's sojourn time is the time from its arrival in the bottleneck's node until it leaves the
shaper: the wait in the discipline and, for the first packet of the queue, the wait for the link.
The capture has each packet that arrives at the node, and each that leaves it by the bottleneck.
"""

from __future__ import annotations

import ipaddress
import json
import struct
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.run import run_directory

from .logs import BadLog

HEADER = "time_s,flow,sojourn_ms"
SECTION, DEVICE, PACKET = 0x0A0D0D0A, 1, 6  # blocks of pcapng
OUTBOUND = 2
ETHERNET = 14
TCP, UDP = 6, 17


@dataclass(frozen=True)
class Packet:
    """A captured packet: device, ns after the epoch, direction, first bytes."""

    device: str
    at_ns: int
    outbound: bool
    data: bytes


def packets(path: Path) -> Iterator[Packet]:
    """Yield the packets of a file that lab/traffic/capture.h wrote, in the order of time."""
    devices: list[str] = []
    text, at = path.read_bytes(), 0
    while at < len(text):
        kind, size = struct.unpack_from("<II", text, at)
        body = at + 8
        at += size
        if kind == DEVICE:
            devices.append(text[body + 12 : body + 28].rstrip(b"\0").decode())
        elif kind == PACKET:
            device, high, low, captured = struct.unpack_from("<4I", text, body)
            data = text[body + 20 : body + 20 + captured]
            (flags,) = struct.unpack_from("<I", text, at - 12)
            yield Packet(devices[device], high << 32 | low, flags & 3 == OUTBOUND, data)


def _identity(data: bytes) -> tuple[bytes, bytes] | None:
    """Return a packet's source address, and bytes that no router changes; None if it has no data
    of TCP or UDP."""
    if data[12:14] == b"\x08\x00":
        source, protocol, layer4 = data[26:30], data[23], ETHERNET + 20
        addresses, length = data[16:20] + data[26:34], int.from_bytes(data[16:18], "big") - 20
    elif data[12:14] == b"\x86\xdd":
        source, protocol, layer4 = data[22:38], data[20], ETHERNET + 40
        addresses, length = data[18:20] + data[22:54], int.from_bytes(data[18:20], "big")
    else:
        return None
    if protocol == TCP:
        header = data[layer4 + 12] >> 4 << 2
    elif protocol == UDP:
        header = 8
    else:
        return None
    if length <= header:
        return None
    # All but the checksum, which the sender may leave to its device.
    rest = data[layer4 : layer4 + 6] if protocol == UDP else data[layer4 : layer4 + 16]
    return source, addresses + rest + data[layer4 + (8 if protocol == UDP else 18) : layer4 + 40]


def _flows(recipe: Mapping[str, Any]) -> dict[bytes, int]:
    """Return the number of the flow of each source address."""
    return {
        ipaddress.ip_address(flow["source"]).packed: int(flow["id"]) for flow in recipe["flows"]
    }


def convert(directory: Path) -> None:
    """Write the sojourn times of a run, if they were wanted. A capture for this only is removed.

    Raises BadLog if a packet leaves that has not come.
    """
    recipe = json.loads((directory / run_directory.RECIPE).read_text())
    if not recipe.get("sojourn"):
        return
    path = directory / run_directory.CAPTURE.format(recipe["sample"]["netns"])
    flows = _flows(recipe)
    came: defaultdict[bytes, deque[int]] = defaultdict(deque)
    rows = []
    for packet in packets(path):
        leaves = packet.outbound and packet.device == recipe["sample"]["dev"]
        if (packet.outbound and not leaves) or not (found := _identity(packet.data)):
            continue
        source, identity = found
        if source not in flows:
            continue
        if not leaves:
            came[identity].append(packet.at_ns)
        elif not came[identity]:
            raise BadLog(f"{path}: a packet leaves at {packet.at_ns / 1e9:.6f} s and never came")
        else:
            # A packet whose copy was dropped before has the time of its own arrival.
            since = came[identity].pop()
            rows.append(f"{since / 1e9:.6f},{flows[source]},{(packet.at_ns - since) / 1e6:.4f}\n")
    (directory / run_directory.SOJOURN).write_text(HEADER + "\n" + "".join(rows))
    if recipe["sample"]["netns"] not in recipe["captures"]:
        path.unlink()
