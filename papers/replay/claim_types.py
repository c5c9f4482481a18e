# SPDX-License-Identifier: GPL-2.0
"""Define a claim: the cells that it is about, and its bounds."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aqmlab.report import intervals

FOLDS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "max": max,
    "min": min,
}


@dataclass(frozen=True)
class Selection:
    """Cells of an experiment, and the metric that is read from each."""

    experiment: str
    metric: str
    of: str
    at: Mapping[str, Sequence[Any]]

    def changed(self, by: Mapping[str, Any]) -> Selection:
        """Return the selection with the keys in `by` replaced.

        An axis in `by` can have a list of values or a single one. `[]` removes the axis, for an
        experiment that does not have it.
        """
        at = {**self.at, **lists(by.get("at", {}))}
        return Selection(
            by.get("experiment", self.experiment),
            by.get("metric", self.metric),
            by.get("of", self.of),
            {axis: of for axis, of in at.items() if of},
        )

    def holds(self, experiment: str, discipline: str, at: Mapping[str, Any]) -> bool:
        """Return whether the selection contains a cell."""
        return (experiment, discipline) == (self.experiment, self.of) and all(
            at.get(axis) in values for axis, values in self.at.items()
        )


def lists(at: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Values of axes, single ones as lists of one."""
    return {axis: value if isinstance(value, list) else [value] for axis, value in at.items()}


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """A claim's measurement with one thing changed.

    change: the change in words
    by: the keys of the claim that it replaces
    of_discipline: whether it changes the discipline or its options, not only the workload or metric
    open: the parameter that the paper leaves open, if this is one of the values that it allows
    broken: whether it is a setting with which the algorithm cannot work
    """

    change: str
    by: Mapping[str, Any]
    of_discipline: bool = False
    open: str = ""
    broken: bool = False


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Hold one claim.

    low, high: bounds; infinite if not given
    says, published, why: texts for readers
    reason: known cause of a difference
    seen: whether some of its cells had run when its bounds were set
    better: `higher` or `lower`, the side on which a proposed discipline does better; see `_better`
    open: the setting that the paper leaves open and of which too few values ran to contradict
    stand_in: the algorithm that was measured, if it is not the paper's
    phenomenon: what decides it, if this decides other claims too
    than: the keys with which the same claim is measured again, to compare both values
    text: the claim in the file
    """

    id: str
    place: str
    says: str
    published: str
    why: str
    what: Selection
    against: Selection | None
    difference: bool
    fold: str
    low: float
    high: float
    scale: float = 1.0
    digits: int = 2
    ablations: Sequence[Ablation] = ()
    reason: str = ""
    seen: bool = False
    better: str = ""
    open: str = ""
    stand_in: str = ""
    phenomenon: str = ""
    than: Mapping[str, Any] = field(default_factory=dict)
    text: Mapping[str, Any] = field(default_factory=dict)

    @property
    def compares(self) -> bool:
        """Return whether its value is a ratio to another value, or a difference from it."""
        return bool(self.against or self.than)

    @property
    def on_log_scale(self) -> bool:
        """Return whether the value is a ratio or a maximum, and not of differences."""
        return not self.difference and (self.fold == "max" or self.compares)

    @property
    def kind(self) -> str:
        """`order` if one side has no bound, as in "less than RED"; else `number`."""
        return "order" if math.isinf(self.low) or math.isinf(self.high) else "number"

    @property
    def bounds(self) -> str:
        """Return the hash of the keys that judge it. A row stores the hash from before its run."""
        return bounds_of(self.text)

    def judges(self, experiment: str, discipline: str, at: Mapping[str, Any]) -> bool:
        """Whether its verdict needs this cell."""
        return any(s.holds(experiment, discipline, at) for s in self.selections)

    def least(self, seeds: Mapping[str, Sequence[int]]) -> int:
        """How many seeds all of its experiments have."""
        return min(len(seeds[s.experiment]) for s in self.selections)

    @property
    def elsewhere(self) -> Claim | None:
        """Return the same claim with the keys of `than`; its value is compared with this one's."""
        return replace(self.varied(self.than), than={}) if self.than else None

    @property
    def selections(self) -> list[Selection]:
        """Return the cells that its verdict needs."""
        elsewhere = self.elsewhere
        more = elsewhere.selections if elsewhere else []
        return [s for s in (self.what, self.against) if s] + more

    def varied(self, by: Mapping[str, Any]) -> Claim:
        """Return the same claim for other cells. The other side changes alike, except for settings
        that the claim gives for it."""
        what = self.what.changed(by)
        if not self.against:
            return replace(self, what=what)
        other = {**self.text["against"], **by.get("against", {})}
        text = {**self.text, "against": other}
        return replace(self, what=what, against=what.changed(other), text=text)

    @property
    def unit(self) -> str:
        """Return the unit behind its numbers; it is empty for a ratio."""
        if self.scale == 100:
            return " %"
        if self.compares and not self.difference:
            return ""
        return next((f" {unit}" for part, unit in UNITS.items() if part in self.what.metric), "")

    def shown(self, value: intervals.Mean | None) -> str:
        """Its figure, for people; nothing of none."""
        return value.text(self.scale, self.digits) + self.unit if value else ""

    def accepted(self) -> str:
        """The bounds, for people."""
        low, high = (f"{x * self.scale:.4g}" for x in (self.low, self.high))
        if math.isinf(self.high):
            return f"at least {low}{self.unit}"
        if math.isinf(self.low):
            return f"at most {high}{self.unit}"
        return f"{low} to {high}{self.unit}"


#: By a part of a metric's path.
UNITS = {
    "_ms": "ms",
    "completion_s": "s",
    "mbps": "Mb/s",
    "kbyte_s": "KB/s",
    "queue_packets": "packets",
    "waiting": "packets",
    "lengths": "packets",
    "share_of_fair": "times the fair share",
}


JUDGED = (
    *("experiment", "metric", "of", "at", "against", "than"),
    *("difference", "fold", "low", "high"),
)


def bounds_of(text: Mapping[str, Any]) -> str:
    """Return the hash of the keys in JUDGED. text: the claim in the file"""
    judged = {key: value for key, value in text.items() if key in JUDGED}
    return hashlib.sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()[:10]
