# SPDX-License-Identifier: GPL-2.0
"""Check that a run is a result, by the counters that guest_program.py reads at its end.

- At every bottleneck, what came in is what left, was lost in the discipline, or is held by it. To
  the packet, but for what passes while the counters are read; and for IPv6's neighbour discovery.
- Nothing is lost anywhere else: in devices, on the way up to a socket, in a socket, in the
  disciplines that only pace and delay.
- Senders of TCP are limited by their congestion windows, and by what the scenario says: bulk flows
  have something to send all the time, and `window` holds nobody back where it is the default or
  more. A hole in what has arrived may: the receiver keeps what is behind it, and its window closes
  until the hole is filled, which takes a round trip for each packet that was lost, or a timeout.
  That is allowed for each retransmission, so that a window is noticed where little is lost; for
  how long windows closed where much is, results say (`window_limited`).
- Losses do not follow the order of the flows. Flows start at random instants, so their numbers
  mean nothing; where sources are in step with the queue it is some places in the order that lose:
  the later ones, or neighbours, or every second, third, ... But a filter may put flows
  together by their source addresses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Ranks = np.ndarray[Any, np.dtype[np.float64]]
#: Of the losses of each path, in the order of its flows, or of many orders of them at once.
Statistic = Callable[[Sequence[Ranks]], Ranks]

#: Packets that IPv6 sends by itself in one namespace, some into links that are not yet up.
IPV6_OWN = 16

#: Of a correlation, by the laws of many flows with many different losses: one in two million groups
#: has it by chance, which is 5 standard deviations. Of fewer flows than these, even those that lose
#: in their very order may by chance: ten have 10! orders, of which two are these.
IN_STEP = 5.7e-7
LEAST_FLOWS, LEAST_NEIGHBOURS = 10, 20
#: Every so many flows may be alike, if there are three rounds at least.
PERIODS, ROUNDS = range(2, 21), 3
#: Orders by chance that what looks like an order is compared with: as far off is none of these. It
#: is this that decides where losses are few, for there the laws do not hold: what one order in ten
#: thousand has is chance, what one in a million has is none, and between the two the draw decides,
#: which is the same for the same losses. Of 200 flows three losers are side by side in one order of
#: 6567, and four in one of 320 000.
SHUFFLES, AT_ONCE = 100_000, 1000

#: Share of a group's bulk flows that may end with nothing unsent in their socket: by chance, when
#: a window has opened wide that very moment.
STARVED = 0.1
#: How long a connection takes when its first 0, 1, 2, ... SYNs are lost: the kernel waits a second
#: for each of five, then twice as long each time (tcp_syn_linear_timeouts).
SYNS_MS = (0.0, 1e3, 2e3, 3e3, 4e3, 5e3, 7e3, 11e3, 19e3, 35e3, 67e3)
#: By how much of its time a timer of the kernel's wheel may be late; and its tick, in which the
#: kernel counts for how long a sender was busy.
TIMER_LATE = 1 / 8
TICK_MS = 10.0
#: How long a bulk flow may have nothing to send or to wait for, beside lost SYNs, two round trips
#: and one wait in the queue: while it connects, and as a share of its life.
CONNECT_MS = 100.0
IDLE = 0.02
#: The kernel's shortest timeout; and a hole may be open for so many times that, or so many round
#: trips where these are longer.
RTO_MS = 200.0
PER_HOLE = 2.0

#: Handles of the shaper and of its child, the discipline under study.
SHAPER, STUDIED = "1:", "2:"


def _bottleneck(counters: Mapping[str, Any], hop: Mapping[str, str], slack: int) -> tuple[
        dict[str, int], str]:
    """Its packets, the bytes of those delivered, and what is wrong with them, if anything."""
    netns, dev = hop["netns"], hop["dev"]
    before, after = counters["before"][netns], counters["after"][netns]

    def came(shown: Mapping[str, Any]) -> int:
        return sum(d["received"] for name, d in shown["devices"].items() if name not in (dev, "lo"))

    shaper, studied = (next(q for q in counters["qdiscs"][netns]
                            if q.get("dev") == dev and q["handle"] == handle)
                       for handle in (SHAPER, STUDIED))
    # A packet that the shaper has looked at can be among the child's sent and held ones.
    packets = {"offered": came(before) - before["delivered"], "delivered": shaper["packets"],
               "lost": studied["drops"], "held": shaper["qlen"],
               "bytes": shaper["bytes"]}
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


def _limited_by(row: Mapping[str, str], rtt_ms: float, wait_ms: float, *, window: bool) -> str:
    """What else than the scenario and its congestion window has held a flow back over time, if
    anything; window: whether the receiver's may not."""
    busy_ms, by_window_ms = (float(row[name]) for name in ("busy_ms", "rwnd_limited_ms"))
    life_ms = 1e3 * (float(row["end_s"]) - float(row["start_s"]))
    idle_ms = life_ms - busy_ms
    syns_ms = max((ms for ms in SYNS_MS if ms <= idle_ms + TICK_MS), default=0.0)
    # A SYN waits in the queue like any packet, so a handshake without a loss can take a second.
    idle_ms -= syns_ms * (1 + TIMER_LATE) + CONNECT_MS + 2 * rtt_ms + wait_ms
    holes_ms = (1 + int(row["retransmits"])) * PER_HOLE * max(RTO_MS, rtt_ms, float(row["rtt_ms"]))
    if row["kind"] == "bulk" and idle_ms > IDLE * life_ms:
        return f"by its program, which sent in {busy_ms:.0f} of {life_ms:.0f} ms"
    if window and by_window_ms > holes_ms:
        return (f"by its receiver's window for {by_window_ms:.0f} of {busy_ms:.0f} ms: "
                "--set window= takes a larger one, or a smaller one that is meant to")
    return ""


def limited(ends: Sequence[Mapping[str, str]], rtts_ms: Mapping[str, float], wait_ms: float, *,
            window: bool) -> list[str]:
    """List each group with a flow of TCP that was held back, and the first such flow.

    ends: rows of flows.csv.
    rtts_ms: propagation delay of each group, there and back.
    wait_ms: the longest wait in the bottleneck's queue during the run.
    window: whether the receiver's window must not limit a flow.
    """
    wrong = []
    for group, rtt_ms in rtts_ms.items():
        rows = [row for row in ends if row["group"] == group and float(row.get("busy_ms") or 0)]
        said = {row["flow"]: by for row in rows
                if (by := _limited_by(row, rtt_ms, wait_ms, window=window))}
        bulk = [row for row in rows if row["kind"] == "bulk"]
        starved = [row for row in bulk if not int(row["unsent"])]
        if len(starved) > STARVED * len(bulk):
            for row in starved:
                said.setdefault(row["flow"],
                                "by its socket's buffer, which has nothing unsent at its end")
        if said:
            flow, by = next(iter(said.items()))
            wrong.append(f"group {group}: {len(said)} of {len(rows)} flows were limited, "
                         f"flow {flow} {by}")
    return wrong


def _ranks(values: Sequence[float]) -> Ranks:
    """Of each value, the mean rank of those that are alike."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((2 * last - counts - 1) / 2)[which]


def _in_order(paths: Sequence[Ranks]) -> Ranks:
    """The rank correlation of losses with the order of the flows, each path by itself. paths: ranks
    less their mean."""
    order = np.concatenate([np.arange(ranks.shape[-1]) - (ranks.shape[-1] - 1) / 2
                            for ranks in paths])
    ranks = np.concatenate(paths, axis=-1)
    return np.asarray(ranks @ order / np.sqrt((order @ order) * np.sum(ranks**2, axis=-1)))


def _no_order(paths: Sequence[Ranks], rho: float) -> bool:
    """Whether Student's t holds that for no chance."""
    freedom = sum(len(ranks) - 1 for ranks in paths) - 1
    if abs(rho) > 1 - 1e-12:
        return True
    from scipy.special import stdtrit  # takes longer than a short run

    t = abs(rho) * math.sqrt(freedom / (1 - rho * rho))
    return bool(t > stdtrit(freedom, 1 - IN_STEP / 2))


def neighbours(ranks: Ranks) -> tuple[float, float]:
    """Mean and variance of the sum of the products of neighbours, the last and the first among
    them, over all orders of ranks, of which the sum is 0 (Wald and Wolfowitz 1943)."""
    n, s2, s4 = len(ranks), float(np.sum(ranks**2)), float(np.sum(ranks**4))
    mean = -s2 / (n - 1)
    if n < 3:
        return mean, 0.0
    return mean, (s2 * s2 - s4 + (s2 * s2 - 2 * s4) / (n - 2)) / (n - 1) - mean * mean


def _beside(paths: Sequence[Ranks]) -> Ranks:
    """The correlation of neighbours' losses. The last flow and the first are neighbours, so that
    it is the same wherever flows lie that lose."""
    found = sum(np.sum(ranks * np.roll(ranks, 1, axis=-1), axis=-1) for ranks in paths)
    return np.asarray(found / sum(np.sum(ranks**2, axis=-1) for ranks in paths))


def _not_beside(paths: Sequence[Ranks], rho: float) -> bool:
    """Whether the normal law holds that for no chance."""
    mean, variance = (sum(each) for each in zip(*map(neighbours, paths), strict=True))
    found = rho * sum(float(ranks @ ranks) for ranks in paths)
    return variance > 0 and math.erfc(abs(found - mean) / math.sqrt(2 * variance)) < IN_STEP


def _periods(paths: Sequence[Ranks]) -> list[tuple[int, list[Ranks]]]:
    """Those that flows may be alike in, and the paths that are long enough."""
    found = [(period, [ranks for ranks in paths if ranks.shape[-1] >= ROUNDS * period])
             for period in PERIODS]
    return [(period, several) for period, several in found if several]


def _recurring(paths: Sequence[Ranks]) -> Ranks:
    """How unlikely it is that flows a period apart are so much alike, of the likeliest to be none
    by chance, as the number of its zeros. Of the sum of squares what lies between the places of a
    period has a beta distribution (analysis of variance)."""
    from scipy.special import betainc

    total = sum(np.sum(ranks**2, axis=-1) for ranks in paths)
    least = np.ones_like(total)
    for period, several in _periods(paths):
        between = sum(np.sum(ranks[..., at::period], axis=-1) ** 2
                      / len(range(at, ranks.shape[-1], period))
                      for ranks in several for at in range(period)) / total
        among = len(several) * (period - 1)
        within = sum(ranks.shape[-1] - 1 for ranks in paths) - among
        least = np.minimum(least, betainc(within / 2, among / 2, 1 - np.minimum(between, 1.0)))
    return np.asarray(-np.log10(np.maximum(least, 1e-300)))


def _not_recurring(paths: Sequence[Ranks], zeros: float) -> bool:
    """Whether that is none by chance, of so many periods."""
    return 10**-zeros * len(_periods(paths)) < IN_STEP


def _seldom(paths: Sequence[Ranks], statistic: Statistic, rho: float) -> bool:
    """Whether none of SHUFFLES orders of each path's losses is as far from what chance has in the
    mean: the laws are of many flows with many different losses, and too strict where one flow of
    a hundred has lost a packet, and on paths of two flows. Of the same losses the orders are the
    same, whoever has them."""
    rng = np.random.default_rng(1)
    orders = [np.tile(np.sort(ranks), (AT_ONCE, 1)) for ranks in paths]
    mean = None
    for _ in range(SHUFFLES // AT_ONCE):
        found = statistic([rng.permuted(ranks, axis=-1) for ranks in orders])
        if mean is None:
            mean = found.mean()
        if np.any(np.abs(found - mean) >= abs(rho - mean) - 1e-9):
            return False
    return True


def in_step(ends: Sequence[Mapping[str, str]], paths: Mapping[str, str]) -> list[str]:
    """A line for each group of bulk TCP whose retransmissions follow the order of its flows.
    paths: of each flow, by its number; those of one path are compared with each other, for a
    short one may well lose more."""
    wrong = []
    bulk = [row for row in ends if row["kind"] == "bulk"]
    for group in dict.fromkeys(row["group"] for row in bulk):
        by_path: dict[str, list[float]] = {}
        for row in bulk:
            if row["group"] == group:
                by_path.setdefault(paths[row["flow"]], []).append(float(row["retransmits"]))
        alike = [_ranks(lost) - (len(lost) - 1) / 2 for lost in by_path.values()
                 if min(lost) != max(lost)]
        flows = sum(map(len, alike))
        for least, statistic, by_law, of in (
                (LEAST_FLOWS, _in_order, _no_order, "rank correlation"),
                (LEAST_NEIGHBOURS, _beside, _not_beside, "correlation of neighbours"),
                (LEAST_NEIGHBOURS, _recurring, _not_recurring, "-log10 p of a period")):
            if flows < least:
                continue
            rho = float(statistic(alike))
            if by_law(alike, rho) and _seldom(alike, statistic, rho):
                wrong.append(f"group {group}: losses follow the order of the flows ({of} "
                             f"{rho:.2f}): their phases are locked, or they start in that one")
                break
    return wrong
