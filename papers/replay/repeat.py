# SPDX-License-Identifier: GPL-2.0
"""Compare a stored row with a new run of its cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .row import Row


def _zeros(known: Any) -> bool:
    """Return whether all nested metrics are 0."""
    inner = known.values() if isinstance(known, Mapping) else [known]
    return all(_zeros(value) if isinstance(value, Mapping) else value == 0 for value in inner)


def of_the_keys(value: Any, known: Any) -> Any:
    """Remove metrics that `known` does not have, because newer runs have more metrics.

    Old rows have 0 instead of None.
    """
    if value is None and _zeros(known):
        return known
    if isinstance(value, Mapping) and isinstance(known, Mapping):
        return {key: of_the_keys(value.get(key), inner) for key, inner in known.items()}
    if isinstance(value, list) and isinstance(known, list) and len(value) == len(known):
        return [of_the_keys(*pair) for pair in zip(value, known, strict=True)]
    return value


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each number with its path."""
    if isinstance(value, Mapping | list):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _made(row: Row) -> dict[str, str]:
    """Return what can change bytes."""
    made = row["made"]
    return {"edition": str(made["edition"]), "kernel": made["kernel"], **made["modules"]}


def differing(old: Row, new: Row) -> dict[str, tuple[Any, Any]]:
    """Return the stored row's metrics that differ, by path: stored, and of the new run."""
    now = dict(_leaves(of_the_keys(new["metrics"], old["metrics"])))
    return {
        path: (value, now.get(path))
        for path, value in _leaves(old["metrics"])
        if now.get(path) != value
    }


def equal(old: Row, new: Row) -> bool:
    """Return whether the metrics are equal, and the digests too if the same modules made both.

    A digest covers the disciplines' statistics, whose layout a new version may change.
    """
    same = new["digest"].startswith(old["digest"]) or _made(old) != _made(new)
    return same and not differing(old, new)


def table(old: Row, new: Row) -> str:
    """Return what made the two rows, their digests, and the metrics that differ, as a table."""
    then, now = _made(old), _made(new)
    rows = [(name, then.get(name, "-"), now.get(name, "-")) for name in (then | now)]
    rows.append(("digest", old["digest"], new["digest"][: len(old["digest"])]))
    wrong = differing(old, new)
    count = sum(1 for _ in _leaves(old["metrics"]))
    rows.append(("metrics that differ", "", f"{len(wrong)} of {count}"))
    rows += [(path, str(then), str(now)) for path, (then, now) in wrong.items()]
    rows.insert(0, ("", "stored", "now"))
    wide, middle = (max(len(row[at]) for row in rows) for at in (0, 1))
    return "\n".join(f"{name:<{wide}}  {a:<{middle}}  {b}".rstrip() for name, a, b in rows)
