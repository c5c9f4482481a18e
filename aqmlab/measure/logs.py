# SPDX-License-Identifier: GPL-2.0
"""Reads the logs of one run: run.json, flows.csv, progress.csv, queue.csv."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.run import run_directory

#: What replay/sweep.py leaves beside its runs.
SWEEP = "sweep.json"

COUNTERS = ("dropped", "overlimits", "requeues", "sent_packets", "sent_bytes")


class BadLog(Exception):
    """A log that is missing, empty or not what its tool writes; the message names it."""


@dataclass(frozen=True)
class Progress:
    """time_s: (samples,); bytes: (samples, flows), received in order since the start, the
    columns in the order of `flows`, the flows' numbers."""

    time_s: NDArray[np.float64]
    flows: NDArray[np.int64]
    bytes: NDArray[np.float64]


@dataclass(frozen=True)
class Queue:
    """One array (samples,) per numeric column of queue.csv, see qsample; the discipline's own
    statistics of each sample as they came; last_row as text."""

    columns: dict[str, NDArray[np.float64]]
    xstats: list[bytes]
    last_row: dict[str, str]

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """The column `name`."""
        return self.columns[name]


@dataclass(frozen=True)
class Logs:
    """run: what was asked for and the facts. ends: a row per flow, as text. datagrams, delays and
    requests: (rows, columns) of those logs as flowgen describes them, without rows where there
    was no such traffic; a request without a completion time has NaN there."""

    run: dict[str, Any]
    ends: list[dict[str, str]]
    progress: Progress
    queue: Queue
    datagrams: NDArray[np.float64]
    delays: NDArray[np.float64]
    requests: NDArray[np.float64]


def read_progress(path: Path) -> Progress:
    """progress.csv; BadLog when it is empty or cut short."""
    table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    if not table.size:
        raise BadLog(f"{path}: no samples")
    flows = np.unique(table[:, 1])
    if len(table) % len(flows):
        raise BadLog(f"{path}: the last sample is cut short")
    samples = table.reshape(-1, len(flows), 3)
    order = np.argsort(samples[0, :, 1])
    if not (samples[:, order, 1] == flows).all():
        raise BadLog(f"{path}: not every sample has every flow once")
    return Progress(samples[:, 0, 0], flows.astype(np.int64), samples[:, order, 2])


def read_queue(path: Path) -> Queue:
    """queue.csv; BadLog when it is empty or cut short."""
    text = path.read_text()
    head, *rows = list(csv.reader(text.splitlines())) or [[]]
    if not rows:
        raise BadLog(f"{path}: no samples")
    if not text.endswith("\n") or any(len(row) != len(head) for row in rows):
        raise BadLog(f"{path}: a row that has not {len(head)} fields, or not all of the last")
    texts = dict(zip(head, zip(*rows, strict=True), strict=True))
    xstats = [bytes.fromhex(one) for one in texts.pop("xstats")]
    columns = {name: np.array([float(one) for one in column]) for name, column in texts.items()}
    return Queue(columns, xstats, dict(zip(head, rows[-1], strict=True)))


def read_ends(path: Path) -> list[dict[str, str]]:
    """flows.csv, by flow number."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise BadLog(f"{path}: no flows")
    return sorted(rows, key=lambda row: int(row["flow"]))


def read_table(path: Path, columns: int) -> NDArray[np.float64]:
    """A log of numbers, (rows, columns); empty fields are NaN, a missing file has no rows."""
    if not path.exists():
        return np.empty((0, columns))
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    if any(len(row) != columns for row in rows):
        raise BadLog(f"{path}: a row that has not {columns} fields")
    return np.array([[float(x or "nan") for x in row] for row in rows]).reshape(-1, columns)


def read_run(directory: Path) -> dict[str, Any]:
    """run.json."""
    run: dict[str, Any] = json.loads((directory / run_directory.RUN).read_text())
    return run


def read(directory: Path) -> Logs:
    """The logs in `directory`, finished or not: whoever reads results calls `load_result`."""
    for name in (run_directory.RUN, run_directory.ENDS, run_directory.PROGRESS,
                 run_directory.QUEUE):
        if not (directory / name).exists():
            raise BadLog(f"{directory / name} is missing")
    return Logs(
        read_run(directory),
        read_ends(directory / run_directory.ENDS),
        read_progress(directory / run_directory.PROGRESS),
        read_queue(directory / run_directory.QUEUE),
        read_table(directory / run_directory.DATAGRAMS, 4),
        read_table(directory / run_directory.DELAYS, 3),
        read_table(directory / run_directory.REQUESTS, 5),
    )


def load_result(directory: Path) -> dict[str, Any]:
    """result.json of a run that is whole; BadLog for one that is not."""
    path = directory / run_directory.RESULT
    if not path.exists():
        raise BadLog(f"{path} is missing")
    if not run_directory.is_whole(directory):
        raise BadLog(f"{directory} is not whole: the run was interrupted, failed, or is going on")
    return json.loads(path.read_text())
