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


def warnings(facts: Mapping[str, Any], queue: Queue, used: float) -> list[str]:
    """Return a sentence if something other than the link's rate limits the traffic.

    used: utilization of the measured time
    """
    return _held_back(facts, queue, used) or _no_bottleneck(facts)


def _held_back(facts: Mapping[str, Any], queue: Queue, used: float) -> list[str]:
    """Return a warning if packets wait while the link is idle, as below cake's bandwidth.

    A discipline that sends whenever it has packets keeps the link busy for at least as long as
    packets wait.
    """
    first, last = window(queue["time_s"], facts["warmup_s"], facts["end_s"])
    waiting = float(np.mean(queue["packets"][first : last + 1] > 0))
    if used > IDLE * waiting or waiting < 1 - IDLE:
        return []
    return [
        f"packets wait for {100 * waiting:.0f} % of the time, and the link is used for "
        f"{100 * used:.1f} %, so the discipline holds packets back: queue delay is the backlog "
        "at the link's rate, and --sojourn measures the time in the queue"
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
