# SPDX-License-Identifier: GPL-2.0
"""Store the rows of a paper in one Parquet file: `pandas.read_parquet("results.parquet")`.

A row is a nested dictionary. In the file each number has its own column, named by its path:
metrics as claims name them (`summary.utilization`), axes as `at.buffer`, provenance as `made.tc`.
Lists, and dictionaries whose keys vary from row to row, are JSON text. Six digits of a number
survive in 32 bits, and metrics have five: `read` returns the numbers that were written. Of a run's
digest the first 64 bits are kept.

While a sweep runs, each new row is appended to a journal beside the file, so that an interruption
loses no row. `write` empties the journal.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from .row import Row

#: A row, or the lines of a plot over time.
Record = Mapping[str, Any]
R = TypeVar("R", bound=Record)

#: Columns that are no metrics. Whole numbers in the other columns are integers in a row.
HEAD = (
    "tcp_profile",
    "cell",
    "experiment",
    "discipline",
    "at",
    "seed",
    "command",
    "bounds",
    "made",
    "digest",
    "cpu_s",
    "virtual_s",
    "figure",
    "of",
    "from_s",
    "to_s",
    "lines",
)
#: Dictionaries whose keys differ between rows.
EDITION = "made.edition"
AS_TEXT = {"bounds", "made.modules", "lines"}
DIGEST = 16  # hexadecimal digits that are kept
OLD = "hops"  # a column of older files
RENAMED = {"figures": "metrics"}  # in journals of before 2026-11-27


def journal(path: Path) -> Path:
    """Name the journal of a file."""
    return path.with_name(f".{path.stem}-new.jsonl")


def _flatten(value: Any, path: str, into: dict[str, Any]) -> None:
    if not isinstance(value, dict | list):
        into[path] = value
    elif value == {} and path not in AS_TEXT:
        into[f"{path}."] = 1  # empty: a name without a key behind it
    elif (
        path in AS_TEXT or not value or not (isinstance(value, dict) or isinstance(value[0], dict))
    ):
        into[path] = json.dumps(value, separators=(",", ":"))
    else:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _flatten(inner, f"{path}.{key}" if path else str(key), into)


def _flat(row: Record) -> dict[str, Any]:
    """Turn a row into columns. Rows of older versions have more keys, and whole digests."""
    columns: dict[str, Any] = {}
    head = {key: value for key, value in row.items() if key in HEAD}
    _flatten({**head, "digest": row["digest"][:DIGEST]}, "", columns)
    if "metrics" in row:
        _flatten(dict(row["metrics"]), "", columns)
    if columns.get(EDITION) == 1:
        del columns[EDITION]  # rows of edition 1 do not have it
    return columns


#: Stands before a number in a column that has texts, too.
NUMBER = "#"

#: What a row has at a place: a column's values, or more places by their keys.
Tree = dict[str, "Tree | list[Any]"]


def _reader(values: list[Any], metric: bool) -> Callable[[Any], Any]:
    """Choose how to read the values of a column."""
    if isinstance(values[0], str):
        return lambda text: (
            json.loads(text.removeprefix(NUMBER)) if text[:1] in ("[", "{", NUMBER) else text
        )
    if metric:
        return lambda number: int(number) if number == int(number) else number
    return float if isinstance(values[0], float) else int


def _short(number: float) -> float:
    """Return the number of up to six digits that was stored in 32 bits."""
    return float(f"{number:.6g}")


def _tree(frame: Any) -> Tree:
    """Sort the columns into the places that they have in a row."""
    top: Tree = {name: {} for name in (*HEAD, "metrics")}
    for name in frame.columns:
        path = name.split(".")
        metric, column = path[0] not in HEAD, frame[name]
        there = column.notna().to_numpy().nonzero()[0]
        known = column.iloc[there].tolist()
        if column.dtype == "float32":
            known = [_short(number) for number in known]
        read = _reader(known, metric)
        values: list[Any] = [None] * len(frame)
        for at, value in zip(there, known, strict=True):
            values[at] = read(value)
        into: Any = top["metrics"] if metric else top
        for key in path[:-1]:
            into = into.setdefault(key, {})
        into[path[-1]] = values
    return top


def _at(tree: Tree, row: int) -> Any:
    """Build what row number `row` has at a place; None if nothing."""
    built: dict[str, Any] = {}
    for key, inner in tree.items():
        value = inner[row] if isinstance(inner, list) else _at(inner, row)
        if value is not None:
            if not key:
                return {}
            built[key] = value
    if built and next(iter(built)).isdigit():
        return list(built.values())
    return built or None


def _parse(file: IO[bytes]) -> list[dict[str, Any]]:
    import fastparquet  # late: a run needs none of it

    stored = fastparquet.ParquetFile(file)
    frame = stored.to_pandas([name for name in stored.columns if name != OLD])
    tree = _tree(frame)
    return [_at(tree, row) for row in range(len(frame))]


def parse(data: bytes) -> list[dict[str, Any]]:
    """Read all rows from the bytes of a file."""
    return _parse(io.BytesIO(data))


def _journal(path: Path) -> list[dict[str, Any]]:
    """Read the journal; a last line that was cut short is left out."""
    file = journal(path)
    if not file.exists():
        return []
    text = file.read_text()
    rows = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    return [{RENAMED.get(key, key): value for key, value in row.items()} for row in rows]


def read(path: Path) -> list[dict[str, Any]]:
    """Read all rows, the journal's last; none if there is no file."""
    found = [*(parse(path.read_bytes()) if path.exists() else []), *_journal(path)]
    for row in found:
        if "made" in row:
            row["made"] = {"edition": 1, **row["made"]}
    return found


def rows(path: Path) -> list[Row]:
    """Read all rows of a file that has no other records."""
    return cast("list[Row]", read(path))


def append(path: Path, row: Record) -> None:
    """Add a row to the journal at once."""
    with journal(path).open("a+b") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write((json.dumps(row) + "\n").encode())


def write(path: Path, rows: Iterable[Record]) -> None:
    """Replace the file by these rows, and empty the journal. Not for two processes at a time."""
    import pandas as pd  # late: a run needs none of it
    from fastparquet import writer

    flat = [_flat(row) for row in rows]
    names = dict.fromkeys(name for columns in flat for name in columns)
    order = sorted(
        names,
        key=lambda name: (
            HEAD.index(first) if (first := name.split(".")[0]) in HEAD else len(HEAD),
            name,
        ),
    )
    series = {}
    for name in order:
        values = [columns.get(name) for columns in flat]
        types = {type(value) for value in values if value is not None}
        if str in types and len(types) > 1:
            values = [
                value if value is None or isinstance(value, str) else NUMBER + json.dumps(value)
                for value in values
            ]
        kind = "object" if str in types else "Int64" if types == {int} else "float64"
        series[name] = pd.Series(values, dtype=kind)
        if kind == "float64":
            shorter = series[name].astype("float32")
            if all(
                value is None or _short(again) == value
                for value, again in zip(values, shorter, strict=True)
            ):
                series[name] = shorter
    new = path.with_name(f".{path.name}.new")
    frame = pd.DataFrame(series)
    description = writer.make_metadata(frame, has_nulls=True, object_encoding="utf8")
    # Up to a fifth of the file would tell pandas of each column what it knows without that.
    description.key_value_metadata = []
    writer.write_simple(
        str(new),
        frame,
        description,
        row_group_offsets=10**9,
        stats=False,
        compression={"_default": {"type": "ZSTD", "args": {"level": 19}}},
    )
    new.replace(path)
    journal(path).unlink(missing_ok=True)


def of(rows: Iterable[R], commands: Mapping[str, str]) -> list[R]:
    """Select the last row of each cell that was made by its command, in the order of `commands`."""
    have = {row["cell"]: row for row in rows if commands.get(row["cell"]) == row["command"]}
    return [have[name] for name in commands if name in have]
