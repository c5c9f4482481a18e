# SPDX-License-Identifier: GPL-2.0
"""What must hold for a run to be a result, from the counters that carry_out.py reads at its end.

- At every bottleneck, what came in is what left, was lost in the discipline, or is held by it. To
  the packet, but for what passes while the counters are read; and for IPv6's neighbour discovery.
- Nothing is lost anywhere else: in devices, on the way up to a socket, in a socket, in the
  disciplines that only pace and delay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Packets that IPv6 sends by itself in one namespace, some into links that are not yet up.
IPV6_OWN = 16

#: Handles of the shaper and of its child, the discipline under study.
SHAPER, STUDIED = "1:", "2:"


def _bottleneck(counters: Mapping[str, Any], hop: Mapping[str, str], slack: int) -> tuple[
        dict[str, int], str]:
    """Its packets, and what is wrong with them, if anything."""
    netns, dev = hop["netns"], hop["dev"]
    before, after = counters["before"][netns], counters["after"][netns]

    def came(shown: Mapping[str, Any]) -> int:
        return sum(d["received"] for name, d in shown["devices"].items() if name not in (dev, "lo"))

    shaper, studied = (next(q for q in counters["qdiscs"][netns]
                            if q.get("dev") == dev and q["handle"] == handle)
                       for handle in (SHAPER, STUDIED))
    # A packet that the shaper has looked at can be among the child's sent and held ones.
    packets = {"offered": came(before) - before["delivered"], "delivered": shaper["packets"],
               "lost": studied["drops"], "held": shaper["qlen"]}
    accounted = packets["delivered"] + packets["lost"] + packets["held"]
    least, most = came(before) - after["delivered"], came(after) - before["delivered"]
    if least - slack <= accounted <= most + slack:
        return packets, ""
    return packets, (f"{netns} {dev}: {least} to {most} packets came in, {accounted} are accounted "
                     f"for: {packets}")


def check(guest: Mapping[str, Any], *, ip: int, offloads: bool) -> tuple[dict[str, Any], list[str]]:
    """Packets by bottleneck, and a line for each thing that is wrong."""
    counters = guest["counters"]
    slack = IPV6_OWN if ip == 6 else 0
    hops, wrong = {}, []
    shaped = {(hop["netns"], hop["dev"]) for hop in counters["hops"]}
    for hop in counters["hops"]:
        # The disciplines count the segments of a large packet, the devices the packet.
        if offloads:
            continue
        hops[f"{hop['netns']} {hop['dev']}"], said = _bottleneck(counters, hop, slack)
        wrong += [said] if said else []
    for netns, shown in counters["after"].items():
        for dev, device in shown["devices"].items():
            if device["lost"] > slack:
                wrong.append(f"{netns}: device {dev} lost {device['lost']} packets")
        for name, count in shown["discarded"].items():
            if count > (slack if name.startswith("Ip6") else 0):
                wrong.append(f"{netns}: {name} is {count}")
        for qdisc in counters["qdiscs"][netns]:
            dev = qdisc.get("dev", "")
            if qdisc.get("drops", 0) and (netns, dev) not in shaped:
                wrong.append(f"{netns}: {qdisc['kind']} on {dev} lost {qdisc['drops']} packets")
    if counters["softnet_dropped"]:
        wrong.append(f"the kernel had no room for {counters['softnet_dropped']} packets that came")
    return hops, wrong
