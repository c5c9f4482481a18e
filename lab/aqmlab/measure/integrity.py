# SPDX-License-Identifier: GPL-2.0
"""Check that a run is a valid result, with the counters that outcome.py reads at its end.

1. No packet is missing at a bottleneck. Packets in = packets out + dropped + queued, exactly,
   except for packets that pass while the counters are read, and IPv6's neighbor discovery.
2. No packet is lost anywhere else: in devices, on the way to a socket, in a socket, or in a
   qdisc that only paces or delays.
3. Only the congestion window and the scenario limit TCP. Bulk flows always have data to send. The
   receiver's window never limits a sender if `window` is the default or larger, except during loss
   recovery. Then the receiver holds the data after the lost packet, and its window closes until
   the retransmission arrives, after a round trip or a timeout. We allow this time once per
   retransmission. So the check notices a small window only in flows with few losses. Results
   report the rest as `window_limited`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from aqmlab.run.counters import NO_MEMORY

#: Packets that IPv6 sends unasked in one namespace, some before a link is up.
IPV6_OWN = 16
#: Packets that IPv6 sends unasked to one neighbor: reports for multicast, and solicitations.
IPV6_TO_NEIGHBOR = 5

#: Share of a group's bulk flows that may end with an empty send buffer. It happens by chance if a
#: window has just opened wide.
STARVED = 0.1
#: Time to connect if the first 0, 1, 2, ... SYNs are lost. The kernel waits 1 s for each of the
#: first five and then doubles the time (tcp_syn_linear_timeouts).
SYNS_MS = (0.0, 1e3, 2e3, 3e3, 4e3, 5e3, 7e3, 11e3, 19e3, 35e3, 67e3)
#: Relative delay of the kernel's timer wheel, and the tick in which it counts busy time.
TIMER_LATE = 1 / 8
TICK_MS = 10.0
#: Time that a bulk flow may be idle, in addition to lost SYNs, two round trips and one wait in the
#: queue: CONNECT_MS for the connection, and IDLE as a share of its life.
CONNECT_MS = 100.0
IDLE = 0.02
#: Minimum retransmission timeout of the kernel. The receiver's window may be closed PER_HOLE times
#: this long per retransmission, or PER_HOLE round trips if they are longer.
RTO_MS = 200.0
PER_HOLE = 2.0

#: Handles of the shaper and of its child, the discipline under study.
SHAPER, STUDIED = "1:", "2:"


def _bottleneck(
    counters: Mapping[str, Any], hop: Mapping[str, str], slack: int
) -> tuple[dict[str, int], str]:
    """Return a bottleneck's packet counts, and an error message or "".

    hop: namespace and device of the bottleneck
    slack: difference in packets that is allowed with one neighbor; 0: none
    """
    netns, dev = hop["netns"], hop["dev"]
    if slack:
        others = counters["after"][netns]["devices"].keys() - {dev, "lo"}
        slack += IPV6_TO_NEIGHBOR * max(0, len(others) - 1)
    before, after = counters["before"][netns], counters["after"][netns]

    def received(shown: Mapping[str, Any]) -> int:
        return sum(d["received"] for name, d in shown["devices"].items() if name not in (dev, "lo"))

    shaper, studied = (
        next(q for q in counters["qdiscs"][netns] if q.get("dev") == dev and q["handle"] == handle)
        for handle in (SHAPER, STUDIED)
    )
    # The shaper counts packets out and queued: the child counts a packet as both if the shaper
    # has peeked at it.
    packets = {
        "offered": received(before) - before["delivered"],
        "delivered": shaper["packets"],
        "lost": studied["drops"],
        "held": shaper["qlen"],
        "bytes": shaper["bytes"],
    }
    accounted = packets["delivered"] + packets["lost"] + packets["held"]
    # The counters are read one after another, so the number of arrivals has a range.
    least, most = received(before) - after["delivered"], received(after) - before["delivered"]
    if least - slack <= accounted <= most + slack:
        return packets, ""
    return packets, (
        f"{netns} {dev}: {least} to {most} packets arrived, but {accounted} are "
        f"accounted for: {packets}"
    )


def check(
    guest: Mapping[str, Any], *, ip: int, offloads: bool, foreign: Collection[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """Check that no packet is missing.

    guest: contents of guest.json
    ip: 4 or 6
    offloads: whether packets can be larger than the MTU; bottlenecks are not checked then
    foreign: namespaces of the user's programs, which may discard packets as they like
    Returns the packet counts of each bottleneck, and error messages.
    """
    counters = guest["counters"]
    slack = IPV6_OWN if ip == 6 else 0
    hops, wrong = {}, []
    discarded: set[str] = set()
    shaped = {(hop["netns"], hop["dev"]) for hop in (*counters["hops"], *counters.get("lossy", ()))}
    for hop in counters["hops"]:
        # A qdisc counts each segment of a large packet, a device counts the packet once.
        if offloads:
            continue
        packets, error = _bottleneck(counters, hop, slack)
        hops[f"{hop['netns']} {hop['dev']}"] = packets | {
            key: hop[key] for key in ("link",) if hop.get(key)
        }
        wrong += [error] if error else []
    for netns, shown in counters["after"].items():
        for dev, device in shown["devices"].items():
            if device["lost"] > slack:
                wrong.append(f"{netns}: device {dev} lost {device['lost']} packets")
        for name, count in () if netns in foreign else shown["discarded"].items():
            if count > (slack if name.startswith("Ip6") else 0):
                wrong.append(f"{netns}: {name} is {count}")
                discarded.add(name)
        for qdisc in counters["qdiscs"][netns]:
            dev = qdisc.get("dev", "")
            if qdisc.get("drops", 0) and (netns, dev) not in shaped:
                wrong.append(f"{netns}: {qdisc['kind']} on {dev} lost {qdisc['drops']} packets")
    if discarded & NO_MEMORY:
        wrong.append(
            "receivers had no memory left: give many flows more with --set memory=, and few flows "
            "a larger --set window="
        )
    if counters["softnet_dropped"]:
        wrong.append(
            f"the kernel's receive queue was full for {counters['softnet_dropped']} packets"
        )
    return hops, wrong


def _limited_by(row: Mapping[str, str], rtt_ms: float, wait_ms: float, *, window: bool) -> str:
    """Return what limited a flow other than the scenario and its congestion window, or "".

    row: the flow's row of flows.csv
    window: whether the receiver's window must not limit the flow
    """
    busy_ms, by_window_ms = (float(row[name]) for name in ("busy_ms", "rwnd_limited_ms"))
    life_ms = 1e3 * (float(row["end_s"]) - float(row["start_s"]))
    idle_ms = life_ms - busy_ms
    syns_ms = max((ms for ms in SYNS_MS if ms <= idle_ms + TICK_MS), default=0.0)
    # The SYN waits in the queue, too. Without any loss a handshake can take a second.
    idle_ms -= syns_ms * (1 + TIMER_LATE) + CONNECT_MS + 2 * rtt_ms + wait_ms
    holes_ms = (1 + int(row["retransmits"])) * PER_HOLE * max(RTO_MS, rtt_ms, float(row["rtt_ms"]))
    if row["kind"] == "bulk" and idle_ms > IDLE * life_ms:
        return f"by its program, which sent in {busy_ms:.0f} of {life_ms:.0f} ms"
    if window and by_window_ms > holes_ms:
        return (
            f"by its receiver's window for {by_window_ms:.0f} of {busy_ms:.0f} ms: choose a "
            "larger one with --set window=, or a smaller one if the limit is intended"
        )
    return ""


def _wait_ms(row: Mapping[str, str], rtt_ms: float, sampled_ms: float, other: bool) -> float:
    """Return how long a packet of a flow may wait in queues, in both directions."""
    return max(sampled_ms, float(row["rtt_ms"]) - rtt_ms) if other else sampled_ms


def limited(
    ends: Sequence[Mapping[str, str]],
    rtts_ms: Mapping[str, float],
    wait_ms: float,
    *,
    window: bool,
    other_queues: bool = False,
) -> list[str]:
    """Check that nothing but congestion control and the scenario limited a TCP flow.

    ends: rows of flows.csv
    rtts_ms: propagation delay of each group, there and back
    wait_ms: the longest wait in the bottleneck's queue during the run
    window: whether the receiver's window must not limit a flow
    other_queues: whether there are bottlenecks that are not sampled, such as one on the way back.
        Their delay is in a flow's round-trip time
    Returns one message for each group with such a flow; it describes the first of these flows.
    """
    wrong = []
    for group, rtt_ms in rtts_ms.items():
        rows = [row for row in ends if row["group"] == group and float(row.get("busy_ms") or 0)]
        found = {
            row["flow"]: by
            for row in rows
            if (
                by := _limited_by(
                    row, rtt_ms, _wait_ms(row, rtt_ms, wait_ms, other_queues), window=window
                )
            )
        }
        bulk = [row for row in rows if row["kind"] == "bulk"]
        starved = [row for row in bulk if not int(row["unsent"])]
        if len(starved) > STARVED * len(bulk):
            for row in starved:
                found.setdefault(
                    row["flow"], "by its socket's buffer, which has nothing unsent at its end"
                )
        if found:
            flow, by = next(iter(found.items()))
            wrong.append(
                f"group {group}: {len(found)} of {len(rows)} flows were limited, flow {flow} {by}"
            )
    return wrong
