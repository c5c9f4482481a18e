# SPDX-License-Identifier: GPL-2.0
"""Describe what theory predicts for a run of the lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.compare import sweep_job
from aqmlab.measure import logs

#: Bytes of a packet with its Ethernet header, of UDP and of TCP.
UDP_FRAME, TCP_FRAME = 1014, 1514

Result = Mapping[str, Any]

#: Key of a result: what of_logs of the cell found.
OF_LOGS = "of_logs"


@dataclass(frozen=True)
class CalibrationRun:
    """A run: the words of `netns-scenarios/run`, without a seed.

    quick: a test runs it, too
    asks: words that ask for more logs
    of_logs: what the laws need of the logs, beside the result
    """

    scenario: str
    qdisc: str
    values: Mapping[str, float | str]
    quick: bool = True
    asks: Sequence[str] = ()
    of_logs: Callable[[logs.Logs], Mapping[str, float]] | None = None

    def job(self, seed: int) -> sweep_job.Job:
        """Return the run with this seed."""
        return sweep_job.Job(
            [
                self.scenario,
                "--qdisc",
                self.qdisc,
                *sweep_job.settings(self.values),
                *self.asks,
                "--seed",
                str(seed),
            ],
            self.qdisc,
        )

    def result(self, directory: Path) -> Result:
        """Return the result of a finished run, with OF_LOGS. Raises BadLog without one."""
        found = logs.load_result(directory)
        return found | {OF_LOGS: self.of_logs(logs.read(directory))} if self.of_logs else found


@dataclass(frozen=True)
class Prediction:
    """What theory predicts for a cell.

    head, setup: for people
    theory, measured: functions of the cell's result
    within: largest relative error that the page and the test accept
    bound: "at most" or "at least" if theory gives a bound, and "" if it gives a value
    missed: whether the error is larger than `within`, which was set before the runs
    """

    head: str
    setup: str
    cell: str
    unit: str
    theory: Callable[[Result], float]
    measured: Callable[[Result], float]
    within: float
    digits: int = 3
    bound: str = ""
    missed: bool = False

    def error(self, theory: float, measured: float) -> float:
        """Return the relative error of a measurement; 0 if it respects the bound."""
        error = measured / theory - 1
        if self.bound == "at most":
            return max(0.0, error)
        if self.bound == "at least":
            return min(0.0, error)
        return error


def of_logs(name: str) -> Callable[[Result], float]:
    """Return a function that reads a number of CalibrationRun.of_logs."""
    return lambda result: float(result[OF_LOGS][name])
