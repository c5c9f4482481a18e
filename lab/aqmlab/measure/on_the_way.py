# SPDX-License-Identifier: GPL-2.0
"""Warn if packets that were still on their way at the end count as dropped in a group.

`dropped` of a group is what its senders sent and its sinks have not received, without the packets
in the measured queue. Other packets may be in links with a delay, in access links, or in the queues
of other bottlenecks. In a long run they are few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Packets that may count as dropped in vain, as a share of the dropped and of the sent packets.
OF_DROPPED, OF_SENT = 0.1, 0.005


def lost(hops: Mapping[str, Mapping[str, Any]], counters: Mapping[str, Any]) -> int:
    """Return how many packets the bottlenecks and the lossy links dropped over the run."""
    lossy = {(hop["netns"], hop["dev"]) for hop in counters.get("lossy", ())}
    return sum(int(hop["lost"]) for hop in hops.values()) + sum(
        int(qdisc["drops"])
        for netns, dev in lossy
        for qdisc in counters["qdiscs"][netns]
        if qdisc.get("dev") == dev
    )


def warnings(
    ends: Sequence[Mapping[str, str]],
    groups: Mapping[str, Mapping[str, Any]],
    hops: Mapping[str, Mapping[str, Any]],
    counters: Mapping[str, Any],
) -> list[str]:
    """Return a sentence if the groups' `dropped` is more than the network dropped.

    ends: rows of flows.csv
    groups: of result.json
    hops: packet counts of each bottleneck; empty if they are unknown
    counters: of guest.json
    """
    sent = {name: 0 for name in groups}
    for row in ends:
        sent[row["group"]] += int(row.get("segs_sent") or 0)
    counted = sum((groups[name]["dropped"] or 0) * count for name, count in sent.items())
    known, whole = lost(hops, counters), sum(sent.values())
    if not hops or counted - known <= OF_DROPPED * known + OF_SENT * whole:
        return []
    return [
        f"`dropped` of the groups is {counted:.0f} of {whole} packets, and the network dropped "
        f"{known}: the others were on their way at the end, in links or in queues that are not "
        "measured. A longer duration has a smaller share of them"
    ]
