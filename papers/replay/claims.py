# SPDX-License-Identifier: GPL-2.0
"""Read the claims of a paper.

A claim (`papers/NAME/claims.toml`) is a value from the cells of one experiment, with bounds `low`
and `high`. The value is the `metric` of the discipline `of`, at each point of the axes in `at`. An
axis that is left out takes all its values. `fold`, a mean unless given, makes one number of the
points. With `against`, each point is first divided by the same point of other cells, or with
`difference` these are subtracted. derived_metrics.py looks metrics up, and claim_verdict.py
compares the value with the bounds. With `like` a claim has all keys of another claim that it does
not give itself.

`ablations` names entries of the table `[ablation]`: the same measurement with one thing changed.
They show where a difference comes from, and what contradicts a confirmed claim.

`[proposed]` names the disciplines that the paper argues for, and on which side of a metric they do
better. `[stand_in]` names disciplines that have the name of the paper's and another algorithm.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aqmlab.measure.derived_metrics import DERIVED
from aqmlab.report import intervals

from . import schema

CLAIMS = "claims.toml"

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
    text: Mapping[str, Any] = field(default_factory=dict)

    @property
    def on_log_scale(self) -> bool:
        """Return whether the value is a ratio or a maximum, and not of differences."""
        return not self.difference and (self.fold == "max" or self.against is not None)

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
        return any(s.holds(experiment, discipline, at) for s in (self.what, self.against) if s)

    def least(self, seeds: Mapping[str, Sequence[int]]) -> int:
        """How many seeds all of its experiments have."""
        return min(len(seeds[s.experiment]) for s in (self.what, self.against) if s)

    def varied(self, by: Mapping[str, Any]) -> Claim:
        """Return the same claim for other cells. The other side changes alike, except for settings
        that the claim gives for it."""
        what = self.what.changed(by)
        against = self.against and what.changed({**self.text["against"], **by.get("against", {})})
        return replace(self, what=what, against=against)

    @property
    def unit(self) -> str:
        """Return the unit behind its numbers; it is empty for a ratio."""
        if self.scale == 100:
            return " %"
        if self.against and not self.difference:
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

JUDGED = ("experiment", "metric", "of", "at", "against", "difference", "fold", "low", "high")


def bounds_of(text: Mapping[str, Any]) -> str:
    """Return the hash of the keys in JUDGED. text: the claim in the file"""
    judged = {key: value for key, value in text.items() if key in JUDGED}
    return hashlib.sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()[:10]


def _disciplines(claim: Mapping[str, Any], by: Mapping[str, Any]) -> tuple[str, str]:
    """Return a claim's discipline and the one it is compared with, after the changes of `by`."""
    of = by.get("of", claim["of"])
    return of, {**claim.get("against", {}), **by.get("against", {})}.get("of", of)


def _ablation(claim: Mapping[str, Any], text: Mapping[str, Any]) -> Ablation:
    by = {key: value for key, value in text.items() if key not in ("change", "open", "broken")}
    return Ablation(
        change=text["change"],
        by=by,
        of_discipline=_disciplines(claim, by) != _disciplines(claim, {}),
        open=text.get("open", ""),
        broken=text.get("broken", False),
    )


def _better(claim: Claim, proposed: Mapping[str, Any]) -> str:
    """Return on which side a proposed discipline does better than a published number, if any.

    A ratio to a proposed discipline has the opposite side. The result is empty for an order, for a
    ratio of two proposed disciplines, and for a statement that two disciplines are equal.

    proposed: the table of this name
    """
    ours = [
        one is not None and one.of in proposed.get("disciplines", ())
        for one in (claim.what, claim.against)
    ]
    equal = claim.against and not claim.difference and claim.low < 1 < claim.high
    if claim.kind == "order" or equal or ours in ([True, True], [False, False]):
        return ""
    sides = ("higher", "lower") if ours[0] else ("lower", "higher")
    for key, side in zip(("higher", "lower"), sides, strict=True):
        if any(fnmatch.fnmatchcase(claim.what.metric, one) for one in proposed.get(key, ())):
            return side
    return ""


def written_out(text: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the claims of a file with their ids, with the keys that `like` adds.

    Raises ValueError if `like` names no claim above.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, one in text.get("claim", {}).items():
        if "like" in one and one["like"] not in found:
            raise ValueError(f"{name}: {one['like']} is no claim above it")
        found[name] = {**found.get(one.get("like", ""), {}), **one, "id": name}
    return list(found.values())


def parse(text: Mapping[str, Any]) -> list[Claim]:
    """The claims of a file that the schema accepts. ValueError: a wrong name or bound."""
    found = []
    named, stand_in = text.get("ablation", {}), text.get("stand_in", {})
    for one in written_out(text):
        if unnamed := set(one.get("ablations", ())) - set(named):
            raise ValueError(f"{one['id']}: no such ablation: {', '.join(sorted(unnamed))}")
        ablations = [named[name] for name in one.get("ablations", ())]
        low, high = one.get("low"), one.get("high")
        if low is not None and high is not None and low >= high:
            raise ValueError(f"{one['id']}: low is not below high")
        parts = [part for t in (one, *ablations) for part in (t, t.get("against", {}))]
        wrong = [
            name
            for part in parts
            for _, colon, name in [part.get("metric", "").partition(":")]
            if colon and name not in DERIVED
        ]
        if wrong:
            raise ValueError(f"{one['id']}: no such metric: {', '.join(wrong)}")
        what = Selection(one["experiment"], one["metric"], one["of"], lists(one.get("at", {})))
        against = what.changed(one["against"]) if "against" in one else None
        another = [stand_in[s.of] for s in (what, against) if s and s.of in stand_in]
        claim = Claim(
            id=one["id"],
            place=one["place"],
            says=one["says"],
            published=str(one["published"]),
            why=one["why"],
            what=what,
            against=against,
            difference=one.get("difference", False),
            fold=one.get("fold", "mean"),
            low=one.get("low", -math.inf),
            high=one.get("high", math.inf),
            scale=one.get("scale", 1.0),
            digits=one.get("digits", 2),
            ablations=[_ablation(one, t) for t in ablations],
            reason=one.get("reason", ""),
            seen=one.get("seen", False),
            open=one.get("open", ""),
            stand_in=next(iter(another), ""),
            phenomenon=one.get("phenomenon", ""),
            text=one,
        )
        found.append(replace(claim, better=_better(claim, text.get("proposed", {}))))
    return found


def needed(
    listed: Sequence[Claim], experiment: str, discipline: str, at: Mapping[str, Any]
) -> bool:
    """Return whether this cell judges one of these claims."""
    return any(claim.judges(experiment, discipline, at) for claim in listed)


def load(directory: Path) -> list[Claim]:
    """The claims of a paper; none when there is no file."""
    path = directory / CLAIMS
    return parse(schema.read(path)) if path.exists() else []
