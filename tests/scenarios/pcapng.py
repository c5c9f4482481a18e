# SPDX-License-Identifier: GPL-2.0
"""Read the captures of run --pcap."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

OUTBOUND = 2


@dataclass(frozen=True)
class Packet:
    """Of a capture: device, time after the epoch, direction, length on the wire, first bytes."""

    device: str
    time_ns: int
    direction: int
    length: int
    data: bytes

    @property
    def time_s(self) -> float:
        return self.time_ns / 1e9


def read(path: Path) -> list[Packet]:
    """Read a file as the IETF's draft-ietf-opsawg-pcapng describes it."""
    text, devices, packets = memoryview(path.read_bytes()), [], []  # a slice copies nothing
    while text:
        kind, size = struct.unpack_from("<II", text)
        assert size % 4 == 0
        assert struct.unpack_from("<I", text, size - 4) == (size,)
        body, text = text[8 : size - 4], text[size:]
        if kind == 0x0A0D0D0A:
            assert struct.unpack_from("<IHH", body) == (0x1A2B3C4D, 1, 0)
        elif kind == 1:
            found = options(body[8:])
            assert struct.unpack_from("<H", body) == (1,)  # Ethernet
            assert bytes(found[9]) == b"\x09"  # nanoseconds
            devices.append(bytes(found[2]).rstrip(b"\0").decode())
        elif kind == 6:
            device, high, low, captured, length = struct.unpack_from("<5I", body)
            (flags,) = struct.unpack("<I", options(body[20 + (captured + 3) // 4 * 4 :])[2])
            packets.append(
                Packet(
                    devices[device],
                    high << 32 | low,
                    flags & 3,
                    length,
                    bytes(body[20 : 20 + captured]),
                )
            )
    return packets


def options(body: memoryview) -> dict[int, memoryview]:
    """Return the options of a block by their codes."""
    found: dict[int, memoryview] = {}
    while body:
        code, size = struct.unpack_from("<HH", body)
        if not code:
            break
        found[code], body = body[4 : 4 + size], body[4 + (size + 3) // 4 * 4 :]
    return found
