# SPDX-License-Identifier: GPL-2.0
"""Check the TOML files of a paper against their JSON schemas, which also document every key."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab import ROOT
from aqmlab.exceptions import nearest

SCHEMAS = ROOT / "papers"

#: Keys of a plot that a plot like it does not have.
OF_ONE = ("like", "main", "head", "about")


@functools.cache
def _validator(kind: str) -> Any:
    import jsonschema  # late: a run needs none of it

    text = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    return jsonschema.Draft202012Validator(text)


def _place(text: Any, path: list[Any]) -> str:
    """Name the part of a file at `path` by the ids and names on the way to it."""
    words = []
    for key in path:
        text = text[key]
        if isinstance(key, int):
            name = text.get("id", text.get("name")) if isinstance(text, Mapping) else None
            words.append(name or f"{key + 1}")
        else:
            words.append(str(key))
    return ".".join(words)


def check(kind: str, text: Mapping[str, Any]) -> None:
    """Check a parsed file.

    kind: `claims` or `sweep`
    Raises ValueError that names the place, the mistake and what is allowed.
    """
    for error in _validator(kind).iter_errors(text):
        path = list(error.absolute_path)
        place = _place(text, path)
        if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
            known = error.schema["properties"]
            (wrong, *_) = (key for key in error.instance if key not in known)
            raise ValueError(f"{place}: {nearest('key', wrong, known)}")
        if error.validator == "anyOf":
            needed = [
                key
                for alternative in error.validator_value
                for key in alternative.get("required", ())
            ]
            if needed:
                raise ValueError(f"{place}: needs {' or '.join(needed)}")
        if error.validator == "enum":
            what = "key" if "propertyNames" in error.absolute_schema_path else "value"
            message = nearest(what, str(error.instance), error.validator_value)
            raise ValueError(f"{place}: {message}")
        raise ValueError(f"{place}: {error.message}")


def read(path: Path) -> dict[str, Any]:
    """Read and check `claims.toml` or `sweep.toml`. ValueError: see `check`.

    Experiments and plots become lists, in the order of the file.
    """
    text = tomllib.loads(path.read_text())
    plots: dict[str, dict[str, Any]] = text.get("plot", {})
    for name, plot in plots.items():
        if (like := plot.get("like", name)) not in plots:
            raise ValueError(f"plot.{name}: {nearest('plot', like, plots)}")
        plots[name] = {
            **{key: value for key, value in plots[like].items() if key not in OF_ONE},
            **plot,
        }
    check(path.stem, text)
    for part in {"experiment", "plot"} & text.keys():
        text[part] = [{"name": name, **entry} for name, entry in text[part].items()]
    return text
