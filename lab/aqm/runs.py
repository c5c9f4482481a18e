# SPDX-License-Identifier: GPL-2.0
"""Run a scenario under some seeds, and read its logs as DataFrames."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from aqmlab.exceptions import UserError
from aqmlab.measure import logs
from aqmlab.qdiscs import names, xstats
from aqmlab.run import run_directory
from aqmlab.run.params import resolve
from aqmlab.run.scenario import find

from . import cache


@dataclass(frozen=True)
class Runs:
    """The runs of one setting, one per seed.

    name: the qdisc for people
    directories: where the files of each run are, see docs/scenarios.md; do not change them
    Each DataFrame has a column `seed`. Times are seconds of virtual time since the start.
    """

    name: str
    directories: Sequence[str | Path]

    def __post_init__(self) -> None:
        """Raise UserError if a run would count twice."""
        seen: set[Path] = set()
        for directory in self.directories:
            place = Path(directory).resolve()
            if place in seen:
                raise UserError(
                    f"directories: {directory} is given twice, so its run would count twice"
                )
            seen.add(place)

    @functools.cached_property
    def results(self) -> list[dict[str, Any]]:
        """result.json of each run."""
        return [logs.load_result(Path(directory)) for directory in self.directories]

    def _each(self, read: Callable[[Path, dict[str, Any]], pd.DataFrame]) -> pd.DataFrame:
        frames = []
        for directory, result in zip(self.directories, self.results, strict=True):
            frame = read(Path(directory), result)
            frame.insert(0, "seed", result["seed"])
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    @functools.cached_property
    def summary(self) -> pd.DataFrame:
        """The metrics of each run, such as `utilization` and `queue_delay_ms.p50`."""
        return self._each(lambda _, result: pd.json_normalize(result["summary"]))

    @functools.cached_property
    def groups(self) -> pd.DataFrame:
        """The metrics of each group of flows in each run."""
        return self._each(
            lambda _, result: pd.json_normalize(
                [
                    {
                        "group": name,
                        **{key: value for key, value in group.items() if value is not None},
                    }
                    for name, group in result["groups"].items()
                ]
            )
        )

    @functools.cached_property
    def flows(self) -> pd.DataFrame:
        """A row per flow at its end: bytes, retransmissions, RTT, window, what limited it."""
        return self._each(lambda directory, _: pd.read_csv(directory / run_directory.ENDS))

    def _of_flows(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        """Return a log with a column `flow`, and the group of each flow."""

        def read(directory: Path, _: object) -> pd.DataFrame:
            path = directory / name
            frame = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=columns)
            groups = pd.read_csv(directory / run_directory.ENDS).set_index("flow")["group"]
            return frame.assign(group=frame["flow"].map(groups))

        return self._each(read)

    @functools.cached_property
    def progress(self) -> pd.DataFrame:
        """Bytes that each flow has received in order, every `interval`."""
        return self._of_flows(run_directory.PROGRESS, ())

    @functools.cached_property
    def tcp(self) -> pd.DataFrame:
        """The state of each TCP connection every `interval`: cwnd, ssthresh, srtt_ms, pacing_mbps,
        delivered, retransmits and more. Empty unless the run has `tcp_state=True`."""
        return self._of_flows(run_directory.TCP, ("time_s", "flow"))

    @functools.cached_property
    def sojourn(self) -> pd.DataFrame:
        """Time of each packet with data in the bottleneck's queue: time_s of its arrival, flow,
        sojourn_ms, group. Empty unless the run has `sojourn=True`."""
        return self._of_flows(run_directory.SOJOURN, ("time_s", "flow", "sojourn_ms"))

    @functools.cached_property
    def delays(self) -> pd.DataFrame:
        """One-way delay of UDP datagrams: sent_s, flow, delay_ms, group."""
        return self._of_flows(run_directory.DELAYS, ("sent_s", "flow", "delay_ms"))

    @property
    def probe(self) -> pd.DataFrame:
        """The delay that queues add to a sparse flow; empty unless the run has `probe=True`."""
        delays = self.delays
        return delays[delays["group"] == "probe"].reset_index(drop=True)

    @functools.cached_property
    def requests(self) -> pd.DataFrame:
        """A row per web request; empty without web traffic."""
        return self._of_flows(run_directory.REQUESTS, ("flow",))

    @functools.cached_property
    def queue(self) -> pd.DataFrame:
        """Packets and bytes of the queue, and its counters, every `sample`."""
        return self._each(
            lambda directory, _: pd.read_csv(directory / run_directory.QUEUE).drop(columns="xstats")
        )

    @functools.cached_property
    def state(self) -> pd.DataFrame:
        """The qdisc's own statistics, a column each, every `sample`.

        Without columns if the qdisc has no statistics, or statistics that aqmlab cannot read.
        """

        def read(directory: Path, result: dict[str, Any]) -> pd.DataFrame:
            kind = names.kind(result["qdisc"])
            queue = logs.read_queue(directory / run_directory.QUEUE)
            own = logs.own_statistics(logs.read_run(directory))
            rows = [
                xstats.values(kind, raw, own) if raw and xstats.known(kind, own) else {}
                for raw in queue.xstats
            ]
            return pd.DataFrame(rows).assign(time_s=queue["time_s"])

        frame = self._each(read)
        return frame[["seed", "time_s", *frame.columns.difference(["seed", "time_s"], sort=False)]]

    def _repr_html_(self) -> str:
        return str(self.summary.to_html())


def _text(value: object) -> str:
    """Return a parameter's value as `run --set` takes it."""
    return (
        {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    )


def run(
    scenario: str,
    qdisc: str = "pfifo limit 200",
    *,
    seeds: int | Iterable[int] = 1,
    module: str | Path | Iterable[str | Path] = (),
    kernel: str = "",
    flavour: str = "",
    name: str = "",
    jobs: int | None = None,
    tcp_state: bool = False,
    sojourn: bool = False,
    **settings: int | float | str | bool,
) -> Runs:
    """Run a scenario in the lab, in virtual time, and return its runs.

    scenario: a name; `netns-scenarios/run --list` shows all; or the path of a file with one
    qdisc: kind and options at the bottleneck, as tc takes them
    seeds: how many, from 1 on, or which
    module: directories with modules to build and load, see docs/your-own.md
    kernel, flavour: of the lab, see docs/lab.md
    name: of the qdisc in plots, if not `qdisc` itself
    jobs: how many runs at a time; all processors by default
    tcp_state: whether to log the state of TCP connections, see Runs.tcp
    sojourn: whether to log the time of each packet in the queue, see Runs.sojourn
    settings: parameters of the scenario; True and False stand for on and off

    A run that was made before, from the same sources, is not made again.
    Raises UserError for a wrong argument, and RunError if a run fails.
    """
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={_text(value)}")]
    found = find(scenario)
    resolve(found.params, words[1::2])
    if not qdisc.split():
        raise UserError("qdisc: needs a kind, as in 'pfifo limit 200'")
    paths = [
        Path(path).resolve() for path in ([module] if isinstance(module, str | Path) else module)
    ]
    words = [scenario, "--qdisc", qdisc, *words]
    for option, value in (
        ("--kernel", kernel),
        ("--flavour", flavour),
        *(("--module", str(path)) for path in paths),
    ):
        words += [option, value] if value else []
    words += ["--tcp-state"] if tcp_state else []
    words += ["--sojourn"] if sojourn else []
    numbers = [*range(1, seeds + 1)] if isinstance(seeds, int) else [*seeds]
    if not numbers:
        raise UserError("seeds: needs at least one")
    if repeated := [seed for seed in numbers if numbers.count(seed) > 1]:
        raise UserError(f"seeds: {repeated[0]} given twice, needs each once")
    if jobs is not None and jobs < 1:
        raise UserError(f"jobs: {jobs} given, needs 1 or more")

    def run_of(seed: int) -> Path:
        asked = [*words, "--seed", str(seed)]
        directory = cache.place([*asked, found.file_hash], kernel, flavour, paths)
        if not run_directory.is_complete(directory):
            cache.call("run", asked, directory)
        return directory

    first = run_of(numbers[0])  # it builds what all need
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return Runs(name or qdisc, [first, *pool.map(run_of, numbers[1:])])
