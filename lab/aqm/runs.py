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
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings

from . import arguments, cache


@dataclass(frozen=True)
class Runs:
    """The runs of one setting, one per seed.

    name: the qdisc for people
    directories: where the files of each run are, see docs/scenarios.md; do not change them
    Each DataFrame has a column `seed`. Times are seconds of virtual time since the start.
    Raises UserError without a directory, and `results` if one does not hold a whole run.
    """

    name: str
    directories: Sequence[str | Path]

    def __post_init__(self) -> None:
        """Take any iterable of directories. Logs are read later, perhaps from elsewhere.

        Raises UserError without a directory, or if a run would count twice.
        """
        given = arguments.texts("directories", self.directories)
        if not given:
            raise UserError("directories: needs at least one")
        places = [Path(one).absolute() for one in given]
        real = [place.resolve() for place in places]
        for number, directory in enumerate(given):
            if real[number] in real[:number]:
                raise UserError(
                    f"directories: {directory} is given twice, so its run would count twice"
                )
        object.__setattr__(self, "directories", places)

    @functools.cached_property
    def results(self) -> list[dict[str, Any]]:
        """result.json of each run."""
        try:
            return [
                logs.load_result(Path(directory), logs.RESULT_KEYS)
                for directory in self.directories
            ]
        except logs.BadLog as error:
            raise UserError(str(error)) from error

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


def run(
    scenario: str | Path,
    qdisc: str = "pfifo limit 200",
    *,
    seeds: int | Iterable[int] = 1,
    module: str | Path | Iterable[str | Path] = (),
    kernel: str | Path = "",
    flavour: str = "",
    name: str = "",
    jobs: int | None = None,
    tcp_state: bool = False,
    sojourn: bool = False,
    **settings: int | float | str | Path | bool,
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
    numbers = arguments.seeds(seeds)
    at_once = (os.cpu_count() or 1) if jobs is None else arguments.whole("jobs", jobs)
    if at_once < 1:
        raise UserError(f"jobs: {at_once} given, needs 1 or more")
    scenario, qdisc = arguments.text("scenario", scenario), arguments.text("qdisc", qdisc)
    kernel = arguments.text("kernel", kernel)
    given = [f"{key}={arguments.setting(key, value)}" for key, value in settings.items()]
    if not qdisc.split():
        raise UserError("qdisc: needs a kind, as in 'pfifo limit 200'")
    found = find(scenario)
    recipe, _ = compose(found, Settings(resolve(found.params, given), qdisc, numbers[0], "virtual"))
    read = [found.file_hash, *recipe.traces.values()]
    paths = [Path(path).resolve() for path in arguments.texts("module", module)]
    words = [scenario, "--qdisc", qdisc, *(word for one in given for word in ("--set", one))]
    for option, value in (
        ("--kernel", kernel),
        ("--flavour", flavour),
        *(("--module", str(path)) for path in paths),
    ):
        words += [option, value] if value else []
    words += ["--tcp-state"] if tcp_state else []
    words += ["--sojourn"] if sojourn else []

    def run_of(seed: int) -> Path:
        asked = [*words, "--seed", str(seed)]
        directory = cache.place([*asked, *read], kernel, flavour, paths)
        return cache.kept(directory, run_directory.RESULT, "run", asked)

    first = run_of(numbers[0])  # it builds what all need
    with ThreadPoolExecutor(at_once) as pool:
        return Runs(name or qdisc, [first, *pool.map(run_of, numbers[1:])])
