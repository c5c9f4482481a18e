# SPDX-License-Identifier: GPL-2.0
"""Rules for the lists of statistics."""

from __future__ import annotations

import pytest

from aqmlab.qdiscs import interface

KINDS = interface.kinds()

# Words in the name or help of a statistic that only event counters have.
NAMES = ("drop", "mark", "spared", "overflow", "victims", "arrived", "raised", "lowered", "evicted")
UNITS = ("arrivals", "times", "steps", "candidates")
# RED's packets since the last drop, which starts again at each drop.
GAUGES = {"count"}


@pytest.mark.parametrize("kind", KINDS)
def test_event_counters_have_64_bits(kind: str) -> None:
    """32 bits wrap after 7 minutes at 10 million packets per second."""
    known = interface.read(kind)
    counters = [s for s in known.qdisc + known.cls if s.show == "EVENTS"]
    assert len(counters) >= 6
    assert {s.name for s in counters if s.size != 8 or s.signed} == set()


@pytest.mark.parametrize("kind", KINDS)
def test_event_counters_are_listed_as_counters(kind: str) -> None:
    known = interface.read(kind)
    others = [s for s in known.qdisc + known.cls if s.show == "COUNT" and s.name not in GAUGES]
    wrong = {s.name for s in others if s.unit in UNITS or any(word in s.name for word in NAMES)}
    assert wrong == set()
