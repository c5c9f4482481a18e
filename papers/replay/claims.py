# SPDX-License-Identifier: GPL-2.0
"""Read the claims of a paper.

A claim (`papers/NAME/claims.toml`) is a value from the cells of one experiment, with bounds `low`
and `high`. The value is the `metric` of the discipline `of`, at each point of the axes in `at`. An
axis that is left out takes all its values. `fold`, a mean unless given, makes one number of the
points. With `against`, each point is first divided by the same point of other cells, or with
`difference` these are subtracted. With `than` the claim's value is divided by (or less) the value
that it has with the keys of `than`. derived_metrics.py looks metrics up, and claim_verdict.py
compares the value with the bounds. With `like` a claim has all keys of another claim that it does
not give itself.

`ablations` names entries of the table `[ablation]`: the same measurement with one thing changed.
They show where a difference comes from, and what contradicts a confirmed claim.

`[proposed]` names the disciplines that the paper argues for, and on which side of a metric they do
better. `[stand_in]` names disciplines that have the name of the paper's and another algorithm.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aqmlab.measure.derived_metrics import DERIVED

from . import schema
from .claim_types import Ablation, Claim, Selection, lists

CLAIMS = "claims.toml"


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
        selection is not None and selection.of in proposed.get("disciplines", ())
        for selection in (claim.what, claim.against)
    ]
    equal = claim.against and not claim.difference and claim.low < 1 < claim.high
    if claim.kind == "order" or equal or ours in ([True, True], [False, False]):
        return ""
    sides = ("higher", "lower") if ours[0] else ("lower", "higher")
    for key, side in zip(("higher", "lower"), sides, strict=True):
        if any(
            fnmatch.fnmatchcase(claim.what.metric, pattern) for pattern in proposed.get(key, ())
        ):
            return side
    return ""


def written_out(text: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the claims of a file with their ids, with the keys that `like` adds.

    Raises ValueError if `like` names no claim above.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, entry in text.get("claim", {}).items():
        if "like" in entry and entry["like"] not in found:
            raise ValueError(f"{name}: {entry['like']} is no claim above it")
        found[name] = {**found.get(entry.get("like", ""), {}), **entry, "id": name}
    return list(found.values())


def parse(text: Mapping[str, Any]) -> list[Claim]:
    """The claims of a file that the schema accepts. ValueError: a wrong name or bound."""
    found = []
    named, stand_in = text.get("ablation", {}), text.get("stand_in", {})
    for entry in written_out(text):
        if unnamed := set(entry.get("ablations", ())) - set(named):
            raise ValueError(f"{entry['id']}: no such ablation: {', '.join(sorted(unnamed))}")
        ablations = [named[name] for name in entry.get("ablations", ())]
        low, high = entry.get("low"), entry.get("high")
        if low is not None and high is not None and low >= high:
            raise ValueError(f"{entry['id']}: low is not below high")
        parts = [
            part
            for t in (entry, *ablations)
            for part in (t, t.get("against", {}), t.get("than", {}))
        ]
        wrong = [
            name
            for part in parts
            for _, colon, name in [part.get("metric", "").partition(":")]
            if colon and name not in DERIVED
        ]
        if wrong:
            raise ValueError(f"{entry['id']}: no such metric: {', '.join(wrong)}")
        what = Selection(
            entry["experiment"], entry["metric"], entry["of"], lists(entry.get("at", {}))
        )
        against = what.changed(entry["against"]) if "against" in entry else None
        another = [stand_in[s.of] for s in (what, against) if s and s.of in stand_in]
        claim = Claim(
            id=entry["id"],
            place=entry["place"],
            says=entry["says"],
            published=str(entry["published"]),
            why=entry["why"],
            what=what,
            against=against,
            difference=entry.get("difference", False),
            fold=entry.get("fold", "mean"),
            low=entry.get("low", -math.inf),
            high=entry.get("high", math.inf),
            scale=entry.get("scale", 1.0),
            digits=entry.get("digits", 2),
            ablations=[_ablation(entry, t) for t in ablations],
            reason=entry.get("reason", ""),
            seen=entry.get("seen", False),
            open=entry.get("open", ""),
            stand_in=next(iter(another), ""),
            phenomenon=entry.get("phenomenon", ""),
            than=entry.get("than", {}),
            text=entry,
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
