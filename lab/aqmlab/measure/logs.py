# SPDX-License-Identifier: GPL-2.0
"""Read the logs of one run: run.json, and the CSV files of flowgen and qsample."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.qdiscs import names
from aqmlab.qdiscs.own_statistics import Field
from aqmlab.run import run_directory

#: File that compare/sweep.py writes beside its runs.
SWEEP = "sweep.json"

#: What every result has.
RESULT_KEYS = ("scenario", "qdisc", "seed", "clock", "kernel", "parameters", "summary", "groups")

COUNTERS = ("dropped", "overlimits", "requeues", "sent_packets", "sent_bytes")


class BadLog(Exception):
    """A log is missing, empty or malformed. The message names it."""


@dataclass(frozen=True)
class FlowProgress:
    """Bytes that each flow's sink has received.

    time_s: (samples,), s since the start
    flows: (flows,), numbers of the flows
    bytes: (samples, flows), bytes received in order since the start
    """

    time_s: NDArray[np.float64]
    flows: NDArray[np.int64]
    bytes: NDArray[np.float64]


@dataclass(frozen=True)
class Queue:
    """Samples of the bottleneck's queue.

    columns: (samples,) for each numeric column of queue.csv; lab/traffic/qsample.c describes them
    xstats: for each sample the discipline's own statistics, as the kernel sent them
    last_row: the last sample as text
    """

    columns: dict[str, NDArray[np.float64]]
    xstats: list[bytes]
    last_row: dict[str, str]

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return the column `name`."""
        return self.columns[name]


@dataclass(frozen=True)
class Logs:
    """All logs of one run.

    run: run.json: the request, and facts about the scenario
    ends: flows.csv, one row of text per flow
    datagrams, delays, requests: (rows, columns) of these CSV files, which lab/traffic/flowgen
        describes. No rows if there was no such traffic. NaN is an empty field, such as the
        completion time of an unfinished request
    tcp: the columns of tcp.csv; none without --tcp-state
    sojourn: (rows, 3) of sojourn.csv: arrival in s, flow, ms in the queue
    """

    run: dict[str, Any]
    ends: list[dict[str, str]]
    progress: FlowProgress
    queue: Queue
    datagrams: NDArray[np.float64]
    delays: NDArray[np.float64]
    requests: NDArray[np.float64]
    tcp: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    sojourn: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 3)))

    @property
    def own_statistics(self) -> Sequence[Field]:
        """The layout of the qdisc's statistics if it comes from outside the checkout."""
        return own_statistics(self.run)


def own_statistics(run: Mapping[str, Any]) -> Sequence[Field]:
    """Return the layout of the statistics of a run's qdisc from run.json; empty if it has none."""
    found: Sequence[Field] = run.get("statistics", {}).get(names.kind(run["qdisc"]), ())
    return found


def read_progress(path: Path) -> FlowProgress:
    """Read progress.csv. Raises BadLog if it is empty or cut short."""
    table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    if not table.size:
        raise BadLog(f"{path}: no samples")
    flows = np.unique(table[:, 1])
    if len(table) % len(flows):
        raise BadLog(f"{path}: the last sample is cut short")
    samples = table.reshape(-1, len(flows), 3)
    order = np.argsort(samples[0, :, 1])
    if not (samples[:, order, 1] == flows).all():
        raise BadLog(f"{path}: a sample must have each flow once, and one does not")
    return FlowProgress(samples[:, 0, 0], flows.astype(np.int64), samples[:, order, 2])


def read_queue(path: Path) -> Queue:
    """Read queue.csv. Raises BadLog if it is empty or cut short."""
    text = path.read_text()
    head, *rows = list(csv.reader(text.splitlines())) or [[]]
    if not rows:
        raise BadLog(f"{path}: no samples")
    if not text.endswith("\n") or any(len(row) != len(head) for row in rows):
        raise BadLog(f"{path}: a row does not have {len(head)} fields, or the last is cut short")
    texts = dict(zip(head, zip(*rows, strict=True), strict=True))
    xstats = [bytes.fromhex(in_hex) for in_hex in texts.pop("xstats")]
    columns = {name: np.array([float(value) for value in column]) for name, column in texts.items()}
    return Queue(columns, xstats, dict(zip(head, rows[-1], strict=True)))


def read_ends(path: Path) -> list[dict[str, str]]:
    """Read flows.csv, sorted by flow number."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise BadLog(f"{path}: no flows")
    return sorted(rows, key=lambda row: int(row["flow"]))


def read_table(path: Path, columns: int) -> NDArray[np.float64]:
    """Read a CSV file of numbers: (rows, columns).

    An empty field is NaN. A missing file has no rows.
    """
    if not path.exists():
        return np.empty((0, columns))
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    if any(len(row) != columns for row in rows):
        raise BadLog(f"{path}: a row does not have {columns} fields")
    return np.array([[float(x or "nan") for x in row] for row in rows]).reshape(-1, columns)


def read_tcp(path: Path) -> dict[str, NDArray[np.float64]]:
    """Read the numeric columns of tcp.csv, NaN for an empty field; none without the file."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        head, *rows = list(csv.reader(file)) or [[]]
    if any(len(row) != len(head) for row in rows):
        raise BadLog(f"{path}: a row does not have {len(head)} fields, or the last is cut short")
    columns = zip(*rows, strict=True) if rows else ((),) * len(head)
    return {
        name: np.array([float(value or "nan") for value in column])
        for name, column in zip(head, columns, strict=True)
        if name != "state"
    }


def read_run(directory: Path) -> dict[str, Any]:
    """Read run.json."""
    run: dict[str, Any] = json.loads((directory / run_directory.RUN).read_text())
    return run


def read(directory: Path) -> Logs:
    """Read all logs of a run. The run may be unfinished; load_result() rejects such runs."""
    for name in (
        run_directory.RUN,
        run_directory.ENDS,
        run_directory.PROGRESS,
        run_directory.QUEUE,
    ):
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
        read_tcp(directory / run_directory.TCP),
        read_table(directory / run_directory.SOJOURN, 3),
    )


def load_result(directory: Path, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Read result.json, which must have these keys. Raises BadLog unless the run is complete."""
    path = directory / run_directory.RESULT
    if not path.exists():
        raise BadLog(f"{path} is missing")
    if not run_directory.is_complete(directory):
        raise BadLog(f"{directory} is incomplete: its run was interrupted, failed, or still runs")
    try:
        result = json.loads(path.read_text())
    except ValueError as error:
        raise BadLog(f"{path} is damaged: {error}") from error
    if not isinstance(result, dict):
        raise BadLog(f"{path} is damaged: it holds no result")
    if absent := [key for key in keys if key not in result]:
        raise BadLog(f"{path} is damaged, or of another version: it has no {absent[0]}")
    return result
