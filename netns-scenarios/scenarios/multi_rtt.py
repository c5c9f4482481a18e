# SPDX-License-Identifier: GPL-2.0
"""Sources with two round-trip times share one bottleneck (Kantawala and Turner, figure 3)."""

from __future__ import annotations

import random
from dataclasses import replace

from aqmlab.exceptions import UserError
from aqmlab.run import flows
from aqmlab.run.group import Group
from aqmlab.run.packets import IP_HEADER, payload_share
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, Settings, access, with_defaults

LEAST_MTU = 576
TCP_HEADER = 20  # without options, as TCP_MAXSEG counts

PARAMS = (
    Param("near_flows", 50, "flows", "TCP sources with the shorter RTT", 1, 10000),
    Param("near_rtt", 40.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    Param("near_mtu", 0, "bytes", "their largest packet with its IP header; 0: mtu", 0, 9000),
    Param("far_flows", 50, "flows", "TCP sources with the longer RTT", 1, 10000),
    Param("far_rtt", 200.0, "ms", "their round-trip time without queueing", 0.0, 10e3),
    Param("far_mtu", 0, "bytes", "their largest packet with its IP header; 0: mtu", 0, 9000),
    access(10.0),
)


def _smaller(settings: Settings, name: str, group: Group) -> Group:
    """Return a group with the largest packet that its parameter asks for. Raises UserError."""
    mtu, most = settings.count(name), settings.count("mtu")
    if not mtu:
        return group
    if not LEAST_MTU <= mtu <= most:
        raise UserError(f"{name}: {mtu} given, allowed: 0, or {LEAST_MTU} to mtu, {most}")
    return replace(
        group,
        flow={**group.flow, "mss": mtu - IP_HEADER[settings.ip] - TCP_HEADER},
        payload=payload_share(mtu, settings.ip, settings.tcp_profile),
    )


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the groups `near` and `far`."""
    return [
        _smaller(settings, f"{name}_mtu", group)
        for name in ("near", "far")
        for group in flows.bulk(
            settings, rng, name, settings.count(f"{name}_flows"), settings.number(f"{name}_rtt")
        )
    ]


SCENARIO = Scenario(
    "multi-rtt",
    "near and far TCP sources over one bottleneck (Kantawala and Turner 2001, figure 3)",
    # Far flows need this long to recover from slow start, at one lost packet per round trip.
    (*PARAMS, *BOTTLENECK, *TCP, *with_defaults(TIME, warmup=20.0)),
    groups,
)
