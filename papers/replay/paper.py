# SPDX-License-Identifier: GPL-2.0
"""Read a paper's experiments.

`papers/NAME/sweep.toml` lists the cells, `claims.toml` has the paper's statements about them, and
`results.parquet` has a row for each cell that ran.

A cell is one experiment with one discipline at one point of its axes with one seed. An axis with
the name of a scenario's parameter sets this parameter, and a discipline's options can name any
axis. The axis `per_flow` gives the buffer in packets per flow. `set` has parameters of the scenario
for all experiments. An experiment's `where` has parameters for the cells that match its
`disciplines`, `at` and `tcp_profiles`.

`like` names an experiment whose scenario, `set`, axes, `where` and search this one has, too,
unless it gives its own; `set` replaces only the parameters in it. A list of names makes an
experiment of each.

An experiment has `seeds` seeds from `first_seed` on. Both default to the paper's, and `first_seed`
then to 1. No cell had run with these seeds when the bounds were set. With `others`, cells that no
claim and no ablation needs have that many seeds.

`modules` names the directory of a discipline that is neither in the kernel nor in this project
(docs/your-own.md).

Claims can be judged again with other TCP profiles: `tcp_profile.NAME` has parameters of the
scenario (`set`), and options with the disciplines that get them (`options`). With such a profile
only cells run that a claim needs, or a comparison that names the profile.
"""

from __future__ import annotations

import functools
import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab import ROOT
from aqmlab.compare import demo_workloads, sweep_job
from aqmlab.exceptions import nearest
from aqmlab.run.packets import frame_bytes
from aqmlab.run.params import Value
from aqmlab.run.scenario import find

from . import claim_types, claims, schema, search, store
from .experiment import Experiment, wheres, with_workloads
from .row import Row

PAPERS = ROOT / "papers"
BEFORE = "netns-scenarios/papers"  # where papers were until 2026-11
SWEEP = "sweep.toml"
OWN = "own"
MTU = 1500


@dataclass(frozen=True)
class Cell:
    """One run."""

    experiment: Experiment
    discipline: str
    at: Mapping[str, Value]
    seed: int
    words: tuple[str, ...]

    @property
    def round(self) -> int:
        """Which of the experiment's seeds it has, from 1 on."""
        return self.seed - self.experiment.first + 1

    @property
    def keeps_flows(self) -> bool:
        """Whether its row has the goodput of each flow."""
        at = self.experiment.flows
        return bool(at) and all(self.at[axis] in values for axis, values in at.items())

    @property
    def name(self) -> str:
        """Of its directory and of its row."""
        at = "".join(f"-{key}={value}" for key, value in self.at.items())
        return f"{self.experiment.name}-{self.discipline}{at}-{self.seed}".replace(" ", "_")


@dataclass(frozen=True)
class Paper:
    """Hold the contents of sweep.toml.

    absent: disciplines that are not available yet, with the reason
    profile: the TCP profile, OWN or another
    """

    name: str
    text: Mapping[str, Any]
    disciplines: Mapping[str, str]
    absent: Mapping[str, str]
    experiments: Sequence[Experiment]
    profile: str = OWN

    @property
    def directory(self) -> Path:
        """Its data."""
        return PAPERS / self.name

    @property
    def results(self) -> Path:
        """The rows of all cells that ran, with every TCP profile."""
        return self.directory / "results.parquet"

    @property
    def traces(self) -> Path:
        """The rows of its plots over time; traces.py."""
        return self.directory / "traces.parquet"

    @property
    def seeds(self) -> dict[str, range]:
        """Of each experiment."""
        return {experiment.name: experiment.numbers for experiment in self.experiments}

    @property
    def profiles(self) -> tuple[str, ...]:
        """Return the TCP profiles, the paper's own first."""
        return (OWN, *self.text.get("tcp_profile", {}))

    def cells(self) -> Iterator[Cell]:
        """All that can be run, one seed of each experiment after the other."""
        listed = claims.load(self.directory)
        if self.profile == OWN:
            listed += [
                claim.varied(ablation.by) for claim in listed for ablation in claim.ablations
            ]
        for at, experiment in itertools.product(
            range(max(map(len, self.seeds.values()))), self.experiments
        ):
            for point, name in itertools.product(experiment.points, experiment.disciplines):
                if (
                    at < experiment.seeds
                    and name not in self.absent
                    and (
                        at < (experiment.others if self.profile == OWN else 0)
                        or claims.needed(listed, experiment.name, name, point)
                        or self._compared(experiment.name, point)
                    )
                ):
                    seed = experiment.numbers[at]
                    module = self.text.get("modules", {}).get(name)
                    yield Cell(
                        experiment,
                        name,
                        point,
                        seed,
                        (
                            *words(experiment, self.disciplines, name, point, seed),
                            *(("--module", module) if module else ()),
                            *(("--sojourn",) if experiment.sojourn else ()),
                        ),
                    )

    def _compared(self, experiment: str, at: Mapping[str, Value]) -> bool:
        """Return whether a comparison that names this TCP profile is at this point."""
        return any(
            self.profile in comparison.get("tcp_profiles", ())
            and comparison["experiment"] == experiment
            and all(at[axis] == value for axis, value in comparison["at"].items())
            for question in self.text.get("question", ())
            for comparison in question["comparison"]
        )

    def commands(self) -> dict[str, str]:
        """Of all cells, by their names."""
        return {cell.name: shlex.join(cell.words) for cell in self.cells()}

    @property
    def searches(self) -> dict[str, search.Search]:
        """The searches, by the names of their experiments."""
        return {
            experiment.name: experiment.search
            for experiment in self.experiments
            if experiment.search
        }

    def ran(self) -> list[Row]:
        """Read the rows of its cells. Rows of cells or seeds that it no longer has are left out."""
        return store.of(self.stored(), self.commands())

    def rows(self) -> list[Row]:
        """Read the rows of its cells, with one row for each search."""
        return search.folded(self.ran(), self.searches)

    def stored(self) -> list[Row]:
        """Read all rows with this TCP profile."""
        return [row for row in store.rows(self.results) if row["tcp_profile"] == self.profile]


@functools.cache
def _parameters(scenario: str) -> frozenset[str]:
    return frozenset(name for p in find(scenario).params for name in p.names)


def words(
    experiment: Experiment, listed: Mapping[str, str], name: str, at: Mapping[str, Value], seed: int
) -> tuple[str, ...]:
    """What follows `run`. listed: disciplines, as tc has them, by name; name: which of them."""
    known, discipline = _parameters(experiment.scenario), listed[name]
    values = {
        **experiment.of_cell(name, at),
        **{k: v for k, v in at.items() if k in known},
        **experiment.profile,
    }
    fields: dict[str, Any] = {**values, **at}
    if "buffer" in at or "per_flow" in at:
        buffer = int(
            at["buffer"] if "buffer" in at else float(values["flows"]) * float(at["per_flow"])
        )
        frame = frame_bytes(int(values.get("mtu", MTU)))
        fields |= demo_workloads.fields(buffer, frame)
        if "{burst}" in discipline:
            fields["burst"] = demo_workloads.red_burst(buffer)
    return (
        experiment.scenario,
        "--qdisc",
        discipline.format(**fields),
        *sweep_job.settings(values),
        "--seed",
        str(seed),
    )


def load(name: str, *, quick: bool = False, profile: str = OWN) -> Paper:
    """Read a paper with one of its TCP profiles. Raises ValueError if the files have mistakes."""
    text = schema.read(PAPERS / name / SWEEP)
    changed = text["quick"] if quick else {}
    other = {} if profile == OWN else text["tcp_profile"][profile]
    # In `set` too, where it stands before the axes: a row is of its cell by the order of the words.
    theirs = other.get("set", {})
    known = dict(text["disciplines"])
    for option, takers in other.get("options", {}).items():
        known |= {taker: f"{known[taker]} {option}" for taker in takers}
    of_all = text.get("set", {})
    experiments = []
    seeds = changed.get("seeds", text["seeds"])
    listed = {entry["name"]: entry for entry in with_workloads(text["experiment"])}
    for unknown in set(text["quick"].get("experiments", ())) - listed.keys():
        raise ValueError(f"quick: {nearest('experiment', unknown, listed)}")
    for entry in listed.values():
        kept = changed.get("axes", {})
        axes = {
            axis: [value for value in values if value in kept.get(axis, values)]
            for axis, values in entry.get("axes", {}).items()
        }
        if entry["name"] in changed.get("experiments", [entry["name"]]):
            own = seeds if quick else entry.get("seeds", seeds)
            if profile != OWN:
                own = min(own, seeds)
            experiments.append(
                Experiment(
                    name=entry["name"],
                    scenario=entry["scenario"],
                    set={**of_all, **entry.get("set", {}), **changed.get("set", {}), **theirs},
                    axes=axes,
                    disciplines=entry["disciplines"],
                    seeds=own,
                    first=entry.get("first_seed", text.get("first_seed", 1)),
                    others=min(own, entry.get("others", own)),
                    flows=claim_types.lists(entry.get("flows", {})),
                    step_s=entry.get("step_s", 0),
                    delay=entry.get("delay", False),
                    sojourn=entry.get("sojourn", False),
                    lengths=entry.get("lengths", ()),
                    profile=theirs,
                    where=wheres(
                        entry, profile, (OWN, *text.get("tcp_profile", {})), changed.get("set", {})
                    ),
                    search=search.Search(**entry["search"]) if "search" in entry else None,
                )
            )
    return Paper(name, text, known, text.get("absent", {}), experiments, profile)


def names() -> list[str]:
    """All papers."""
    return sorted(path.parent.name for path in PAPERS.glob(f"*/{SWEEP}"))
