# SPDX-License-Identifier: GPL-2.0
"""Workloads from a file. netns-scenarios/sets has sets with a name, such as RFC 7928's."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from aqmlab import ROOT
from aqmlab.exceptions import UserError, unknown
from aqmlab.run import inputs, trace
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find, is_file
from aqmlab.run.settings import Settings

from .demo_workloads import TODAY, Workload, workload

SETS = ROOT / "netns-scenarios" / "sets"
#: Types of the keys. [defaults] has values for all workloads of a file.
KEYS: dict[str, type] = {
    "scenario": str,
    "settings": dict,
    "buffer": int,
    "rate": int,
    "rivals": list,
    "title": str,
    "note": str,
}
NEEDS = {
    str: "a text",
    dict: "a table, { flows = 4 }",
    int: "a whole number",
    list: "a list of qdiscs",
}
REQUIRED = ("scenario", "buffer", "rate")


def load(name: str) -> dict[str, Workload]:
    """Return the workloads of a set by its name, or of a file, if `name` has a slash or a dot.

    Raises UserError.
    """
    path = Path(name) if "/" in name or "." in name else SETS / f"{name}.toml"
    if path.parent == SETS and not path.exists():
        raise unknown("set of workloads", name, [file.stem for file in SETS.glob("*.toml")])
    try:
        entries = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"workloads {path}: {error}") from error
    usual = entries.pop("defaults", {})
    for key, entry in (("defaults", usual), *entries.items()):
        if not isinstance(entry, dict):
            raise UserError(f"{path}: {key} = {entry!r}: a workload is a table, [{key}]")
        _check_types(f"{path}, {key}", entry)
    return {
        name: _workload(path, name, usual, point)
        for key, entry in entries.items()
        for name, point in _points(f"{path}, {key}", key, usual, entry)
    }


def _points(
    where: str, key: str, usual: dict[str, Any], entry: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a workload for each combination of settings that are lists, with its name.

    Raises UserError for an empty list.
    """
    settings = {**usual.get("settings", {}), **entry.get("settings", {})}
    if "rate" in settings:
        raise UserError(f"{where}: rate stands beside settings, not in them")
    lists = {word: value for word, value in settings.items() if isinstance(value, list)}
    if empty := [word for word, value in lists.items() if not value]:
        raise UserError(f"{where}: {empty[0]} = []: needs one value or more")
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        words = "".join(f" {word}={value}" for word, value in chosen.items())
        given = {**entry.get("settings", {}), **chosen}
        point = {**entry, "settings": given} if "settings" in entry or chosen else entry
        title = {"title": f"{entry['title']},{words}"} if "title" in entry and words else {}
        yield key + words, {**point, **title}


def _check_types(where: str, entry: dict[str, Any]) -> None:
    """Raise UserError for an unknown key, or for one with a value of another type."""
    for word, value in entry.items():
        if word not in KEYS:
            raise unknown(f"key in {where}", word, KEYS)
        if not isinstance(value, KEYS[word]) or isinstance(value, bool):
            sweep = "; only settings can be lists, so write a workload for each value"
            raise UserError(
                f"{where}: {word} = {value!r}: needs {NEEDS[KEYS[word]]}"
                f"{sweep if isinstance(value, list) else ''}"
            )


def _workload(path: Path, key: str, usual: dict[str, Any], entry: dict[str, Any]) -> Workload:
    values = {"rivals": [], **usual, **entry}
    if missing := [word for word in REQUIRED if word not in values]:
        raise UserError(f"{path}, {key}: needs {', '.join(missing)}")
    settings = {**usual.get("settings", {}), **entry.get("settings", {})}
    if "trace" not in settings:
        settings["rate"] = values["rate"]
    values["settings"] = settings
    # A run has another directory than the command.
    for name in settings.keys() & inputs.FILES:
        settings[name] = str((path.parent / settings[name]).resolve())
    if is_file(values["scenario"]):
        values["scenario"] = str((path.parent / values["scenario"]).resolve())
    try:
        scenario = find(values["scenario"])
        given = resolve(scenario.params, [f"{word}={value}" for word, value in settings.items()])
        compose(scenario, Settings(given, "pfifo", 1, "virtual"))
    except UserError as error:
        raise UserError(f"{path}, {key}: {error}") from error
    return workload(**values, options=TODAY)


def with_trace(original: Workload, name: str) -> Workload:
    """Return a workload whose bottleneck follows a trace."""
    found = trace.read(name)
    return replace(
        original,
        settings={word: value for word, value in original.settings.items() if word != "rate"}
        | {"trace": found.path},
        rate=max(1, round(found.mean_bps(0, found.seconds) / 1e6)),
    )
