# SPDX-License-Identifier: GPL-2.0
"""Warn if the measured link is no bottleneck, or if the discipline leaves it idle on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .logs import Queue
from .metrics import window

#: Share of the link's rate that payload may have: the rest is headers.
FULL = 0.9
#: A link that is used for a smaller part of the time in which packets wait is left idle.
IDLE = 0.75
#: Share of the link's rate at which a discipline sends while it has enough packets. A discipline
#: that sends whenever it can has 1.00.
BUSY = 0.98
ADVICE = (
    "queue delay is the backlog at the link's rate, and --sojourn measures the time in the queue"
)


def warnings(
    facts: Mapping[str, Any],
    queue: Queue,
    used: float,
    *,
    packet: int | None,
    follows: bool = False,
) -> list[str]:
    """Return a sentence if something other than the link's rate limits the traffic.

    used: utilization of the measured time
    packet: bytes of the largest packet, or None if the rate of the link is not exact
    follows: whether the rate follows a trace, which may stop the link
    """
    return (
        _held_back(facts, queue, used, follows=follows)
        or (_slowed(facts, queue, packet) if packet else [])
        or _no_bottleneck(facts)
    )


def _slowed(facts: Mapping[str, Any], queue: Queue, packet: int) -> list[str]:
    """Return a warning if a discipline sends more slowly than the link, however little.

    If the backlog is longer than the link can send until the next sample, it cannot empty before,
    except by drops. So a discipline that sends whenever it can uses all of this time. One packet
    may be missing at the end of a row of such samples.
    """
    first, last = window(queue["time_s"], facts["warmup_s"], facts["end_s"])
    at = slice(first, last + 1)
    could = np.diff(queue["time_s"][at]) * facts["rate_bps"] / 8
    lost = np.diff(queue["dropped"][at]) * packet
    full = queue["bytes"][at][:-1] - lost >= could
    rows = np.count_nonzero(full & ~np.append(False, full[:-1]))
    did = float(np.sum(np.diff(queue["sent_bytes"][at])[full]))
    could_send = float(np.sum(could[full]))
    if did + rows * packet >= BUSY * could_send:
        return []
    return [
        f"while packets wait, the discipline sends at {100 * did / could_send:.0f} % of the link's "
        f"rate, so it holds packets back: {ADVICE}"
    ]


def _held_back(facts: Mapping[str, Any], queue: Queue, used: float, *, follows: bool) -> list[str]:
    """Return a warning if packets wait while the link is idle, as below cake's bandwidth.

    A discipline that sends whenever it has packets keeps the link busy for at least as long as
    packets wait.
    """
    first, last = window(queue["time_s"], facts["warmup_s"], facts["end_s"])
    waiting = float(np.mean(queue["packets"][first : last + 1] > 0))
    if used > IDLE * waiting or waiting < 1 - IDLE:
        return []
    if follows:
        return [
            f"packets wait for {100 * waiting:.0f} % of the time, and the link is used for "
            f"{100 * used:.1f} % of its mean rate, so the trace stops the link meanwhile, or the "
            f"discipline holds packets back: {ADVICE.replace('rate', 'mean rate')}"
        ]
    return [
        f"packets wait for {100 * waiting:.0f} % of the time, and the link is used for "
        f"{100 * used:.1f} %, so the discipline holds packets back: {ADVICE}"
    ]


def _no_bottleneck(facts: Mapping[str, Any]) -> list[str]:
    """Return a warning if no flow of TCP gets less than its own link allows."""
    groups = [group for group in facts["groups"].values() if group["fair_share_bps"]]
    taken = sum(group["flows"] * group["fair_share_bps"] for group in groups)
    if not any(group.get("elastic") for group in groups) or taken > FULL * facts["rate_bps"]:
        return []
    return [
        f"all flows together can send {taken / 1e6:.3g} of {facts['rate_bps'] / 1e6:.3g} Mb/s, so "
        "nothing queues for long: more flows, a lower rate or a higher access makes a bottleneck"
    ]
