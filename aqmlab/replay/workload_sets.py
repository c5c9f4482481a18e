# SPDX-License-Identifier: GPL-2.0
"""Workloads from a file. netns-scenarios/sets has sets with a name, such as RFC 7928's."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from aqmlab import ROOT
from aqmlab.exceptions import UserError, unknown
from aqmlab.run import trace

from .demo_workloads import TODAY, Workload, workload

SETS = ROOT / "netns-scenarios" / "sets"
KEYS = ("scenario", "settings", "buffer", "rate", "rivals", "title", "note")


def load(name: str) -> dict[str, Workload]:
    """Return the workloads of a set by its name, or of a file, if `name` has a slash or a dot.

    Raises UserError.
    """
    path = Path(name) if "/" in name or "." in name else SETS / f"{name}.toml"
    if path.parent == SETS and not path.exists():
        raise unknown("set of workloads", name, [one.stem for one in SETS.glob("*.toml")])
    try:
        entries = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"workloads {path}: {error}") from error
    usual = entries.pop("defaults", {})
    return {key: _workload(path, key, usual, entry) for key, entry in entries.items()}


def _workload(path: Path, key: str, usual: dict[str, Any], entry: dict[str, Any]) -> Workload:
    values = {**usual, **entry, "settings": {**usual.get("settings", {}), **entry["settings"]}}
    for word in values:
        if word not in KEYS:
            raise unknown(f"key in {path}, {key}", word, KEYS)
    if missing := [word for word in KEYS[:5] if word not in values]:
        raise UserError(f"{path}, {key}: needs {', '.join(missing)}")
    values["settings"]["rate"] = values["rate"]
    if "trace" in values["settings"]:
        values["settings"]["trace"] = str(path.parent / values["settings"]["trace"])
    return workload(**values, options=TODAY)


def with_trace(one: Workload, name: str) -> Workload:
    """Return a workload whose bottleneck follows a trace."""
    found = trace.read(name)
    return replace(one, settings={**one.settings, "trace": found.path},
                   rate=max(1, round(found.mean_bps(0, found.seconds) / 1e6)))
