# SPDX-License-Identifier: GPL-2.0
"""Sizes of packets, which are the same on all links of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .tcp_profile import TcpProfile

ETHERNET_HEADER = 14  # bytes; part of a packet's length in the kernel and in all rates here
IP_HEADER = {4: 20, 6: 40}
IPV6_MTU = 1280  # the smallest that IPv6 allows
GSO_BYTES = 65536  # of payload and headers, at most, in one packet for TSO


@dataclass(frozen=True)
class Packets:
    """Packets of a run.

    ip: version of IP, 4 or 6
    mtu: bytes, with the IP header
    offloads: whether hosts send packets of many segments
    """

    ip: int
    mtu: int
    offloads: bool = False


def frame_bytes(mtu: int) -> int:
    """Return the length of a full packet as the kernel's disciplines count it."""
    return mtu + ETHERNET_HEADER


def gso_packets(mtu: int) -> int:
    """Return how many full packets are as long as the largest packet for TSO.

    The kernel's disciplines count its length with the headers of each segment. IPv6 and TCP's
    timestamps leave least to payload.
    """
    return math.ceil(GSO_BYTES / (mtu - IP_HEADER[6] - 32))


def payload_share(mtu: int, ip: int, profile: TcpProfile) -> float:
    """Return the share of payload in a full packet, 0..1."""
    return (mtu - IP_HEADER[ip] - profile.header_bytes) / frame_bytes(mtu)
