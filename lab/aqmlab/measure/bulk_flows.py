# SPDX-License-Identifier: GPL-2.0
"""Warn if flows that share the link received nothing, or did not send all of the measured time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Share of the measured time that a flow may miss.
LATE = 0.02


def warnings(
    facts: Mapping[str, Any],
    ends: Sequence[Mapping[str, str]],
    goodput: Mapping[str, float] | None,
) -> list[str]:
    """Return a sentence for each reason why the goodput of flows says little about sharing.

    ends: rows of flows.csv
    goodput: of the summary; None if there are no such flows
    """
    if goodput and not goodput["max"]:
        return [
            "no flow received anything in the measured time, so nothing is known about shares: "
            "qdisc.txt shows what happened to the packets"
        ]
    found = []
    latest = facts["warmup_s"] + LATE * (facts["end_s"] - facts["warmup_s"])
    for name, group in facts["groups"].items():
        starts = [float(row["start_s"]) for row in ends if row["group"] == name]
        late = sum(start > latest for start in starts)
        # A group with from_s is measured only from then on.
        if late and group.get("elastic") and group.get("from_s") is None:
            found.append(
                f"group {name}: {late} of {len(starts)} flows start after the warm-up of "
                f"{facts['warmup_s']:g} s, and their goodput counts the time before: choose a "
                "longer warmup or a shorter spread"
            )
    return found
