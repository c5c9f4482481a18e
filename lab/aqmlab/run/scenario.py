# SPDX-License-Identifier: GPL-2.0
"""Define scenarios, find them, and make a run of one.

A scenario returns groups of flows. The commands of the run and the fair shares follow from them.
"""

from __future__ import annotations

import random
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from aqmlab import ROOT
from aqmlab.exceptions import UserError, unknown

from . import flows, inputs, program_hosts, programs, quiet, readings, render
from .fair_shares import Facts, facts
from .group import Group
from .network import Network
from .params import Param
from .recipe import Hop, Recipe, Sample
from .settings import Settings
from .topology import Built, build, default_network
from .trace import paths_of

T = TypeVar("T")
SCENARIOS = ROOT / "netns-scenarios" / "scenarios"


def _as_given(settings: Settings) -> float:
    return settings.number("duration")


@dataclass(frozen=True)
class Scenario:
    """name and summary for people; params with units; groups makes them from what was asked for
    and from its random numbers. duration: measured seconds, if that is no parameter."""

    name: str
    summary: str
    params: tuple[Param, ...]
    groups: Callable[[Settings, random.Random], Sequence[Group]]
    duration: Callable[[Settings], float] = _as_given
    network: Callable[[Settings], Network] | None = None
    file_hash: str = ""  # of one from a file outside the checkout
    file: str = ""  # its path


def find_all() -> dict[str, Scenario]:
    """Return all scenarios of this project, by name."""
    found = [_ours(path) for path in SCENARIOS.glob("*.py")]
    return {scenario.name: scenario for scenario in sorted(found, key=lambda s: s.name)}


def _ours(path: Path) -> Scenario:
    """Return a scenario of this project. The checkout's version stands for its file."""
    return replace(load(path), file_hash="", file="")


def _said(path: str | Path, error: Exception) -> UserError:
    """Return the message to a user about an error in a scenario's file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).absolute() == Path(path).absolute()]
    at = (own or frames)[-1]
    return UserError(
        f"scenario {path}: {type(error).__name__}: {error} ({at.filename}, line {at.lineno})"
    )


def _called(scenario: Scenario, make: Callable[[], T], kind: type) -> T:
    """Return what a function of a scenario returns.

    kind: class of the returned object, or of each object in a returned list
    Raises UserError if the scenario is a user's file and the function fails.
    """
    try:
        made = make()
    except UserError:
        raise
    except Exception as error:
        if not scenario.file:
            raise
        raise _said(scenario.file, error) from error
    for one in made if isinstance(made, Sequence) else [made]:
        if not isinstance(one, kind):
            raise UserError(
                f"scenario {scenario.file or scenario.name}: returned {one!r:.60}, needs a "
                f"{kind.__name__}"
            )
    return made


def load(path: Path) -> Scenario:
    """Return the SCENARIO of a file. Raises UserError if it is missing or cannot be loaded."""
    try:
        text = path.read_bytes()
        module = types.ModuleType(f"scenario_{path.stem}")
        sys.modules[module.__name__] = module  # where its dataclasses look for it
        exec(compile(text, str(path), "exec"), module.__dict__)
    except OSError as error:
        raise UserError(f"scenario {path}: {error.strerror}") from error
    except Exception as error:
        raise _said(path, error) from error
    found = module.__dict__.get("SCENARIO")
    if not isinstance(found, Scenario):
        raise UserError(
            f"scenario {path}: has no SCENARIO = Scenario(...); docs/your-own.md has an example"
        )
    hashed = inputs.hash_of(text)
    return replace(found, file_hash=hashed, file=str(path.absolute()))


def is_file(name: str) -> bool:
    """Return whether a scenario's name is a path."""
    return "/" in name or name.endswith(".py")


def find(name: str) -> Scenario:
    """Return the scenario `name`, or the one in a file, if `name` has a slash or ends with .py.

    Raises UserError with the most similar names if it is unknown.
    """
    if is_file(name):
        return load(Path(name))
    path = SCENARIOS / f"{name.replace('-', '_')}.py"
    if not path.exists():
        raise unknown("scenario", name, find_all())
    return _ours(path)


def _check_times(groups: Sequence[Group], settings: Settings) -> None:
    """Raise UserError if a group cannot start and stop at its times.

    Otherwise the fair shares would count flows that never send, or that always send.
    """
    for group in groups:
        if not group.start_ns:
            raise UserError(f"group {group.name}: has no flows; leave out a group without flows")
        first_ns = min(group.start_ns)
        if first_ns >= settings.end_ms * 1e6:
            raise UserError(
                f"group {group.name}: its first flow starts at {first_ns / 1e9:g} s, but the "
                f"run, with its warm-up, ends at {settings.end_ms / 1000:g} s: start the group "
                "earlier, or raise duration"
            )
        if settings.generator == "iperf3" and (group.from_s, group.to_s) != (None, None):
            raise UserError(
                f"group {group.name}: generator=iperf3 cannot start or stop a group at a given "
                "time: use generator=flowgen"
            )


def compose(
    scenario: Scenario, settings: Settings, executed: Sequence[programs.Program] = ()
) -> tuple[Recipe, Facts]:
    """Return a run and the facts that its analysis needs.

    executed: programs of --exec
    """
    values = {**settings.values, "duration": scenario.duration(settings)}
    settings = replace(settings, values=values)
    if settings.on("pacing") and not settings.values.get("access"):
        raise UserError(
            "pacing=on: has no effect with access=0, because fq paces, and only access "
            "links have it; set access"
        )
    groups = _groups(scenario, settings, executed)
    network = _network(scenario, settings, groups)
    built = build(groups, settings.bottleneck, settings.hosts, settings.packets, network)
    recipe = _recipe(settings, built, executed)
    for name in inputs.FILES:
        file = str(settings.values.get(name, ""))
        if file and str(Path(file).absolute()) not in network.traces:
            raise UserError(f"{name}: {scenario.name} gives no link this trace; leave it out")
    there_and_back = [
        replace(
            group, rtt_ms=group.rtt_ms + network.delay_ms(network.path(group.enters, group.leaves))
        )
        for group in groups
    ]
    known = facts(
        network.links[network.measured].there.rate_bps,
        settings.number("warmup"),
        settings.end_ms / 1000,
        there_and_back,
        settings.count("interval") / 1000,
        network,
    )
    spans = [(phase.from_s, phase.to_s) for phase in known.phases]
    for name in ("interval", "sample"):
        readings.check(
            name, settings.count(name), [(known.warmup_s, known.end_s), *spans], settings.end_ms
        )
    return recipe, known


def _groups(
    scenario: Scenario, settings: Settings, executed: Sequence[programs.Program]
) -> list[Group]:
    """Return the groups of a scenario, of programs, and of the probe."""
    rng = random.Random(settings.seed)
    groups = [*_called(scenario, lambda: scenario.groups(settings, rng), Group)]
    if executed:
        groups += programs.groups(executed, settings, groups)
    if not groups:
        counts = [p.name for p in scenario.params if p.unit in ("flows", "clients")]
        raise UserError(
            f"no flows: set {' or '.join(counts)}"
            if counts
            else "no flows, and so no hosts: give programs with --exec, or take another scenario"
        )
    groups += flows.probe(settings, rng)
    names = [group.name for group in groups]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(
            f"group {twice}: there are two of this name; give each its own, and counted_in if "
            "metrics should take them together"
        )
    _check_times(groups, settings)
    return groups


def _network(scenario: Scenario, settings: Settings, groups: Sequence[Group]) -> Network:
    """Return the network of a scenario, with the mean rates of its traces."""
    trace, trace_back = (str(settings.values.get(name, "")) for name in inputs.FILES)
    rate_back_bps = 0.0 if trace_back else float(settings.values.get("rate_back", 0)) * 1e6
    given = {value for value in settings.values.values() if isinstance(value, str)}
    with paths_of(scenario.file, given):
        make = scenario.network
        network = (
            _called(scenario, lambda: make(settings), Network)
            if make
            else default_network(
                settings.bottleneck.rate_bps, groups, trace, rate_back_bps, trace_back
            )
        )
    if rate_back_bps and not any(
        link.back.rate_bps == rate_back_bps or (link.back.trace and not link.back.trace.path)
        for link in network.links
    ):
        raise UserError(f"rate_back: {scenario.name} gives no link this rate; leave it out")
    network.average(settings.number("warmup"), settings.end_ms / 1000)
    return network


def _recipe(settings: Settings, built: Built, executed: Sequence[programs.Program]) -> Recipe:
    """Return what creates a topology, and its traffic."""
    pairs = program_hosts.pairs(built, executed)
    parts = program_hosts.topologies(built, pairs, settings)
    executing = [pair.place for pair in pairs]
    bottleneck, at = settings.bottleneck, built.measured
    of_flowgen = [place for place in built.places if place not in executing]
    return Recipe(
        namespaces=render.namespaces(parts),
        sysctls=render.sysctls(parts),
        batches=render.batches(parts, settings.packets),
        offloads=render.offloads(parts, settings.packets),
        flows=[flow for place in of_flowgen for flow in place.flows()],
        duration_ms=settings.end_ms,
        interval_ms=settings.count("interval"),
        sample=Sample(at.node, at.dev, "1:1", settings.count("sample")),
        hops=[Hop(at.node, at.dev, link) for at, link in built.bottlenecks],
        lossy=[Hop(at.node, at.dev) for at in built.lossy],
        starts=render.starts(parts),
        changes=[
            render.change(at, bottleneck.qdisc, options, at_ns)
            for at in built.studied
            for at_ns, options in bottleneck.changes
        ],
        traces=built.network.traces,
        generator=settings.generator,
        memory_gib=settings.count("memory"),
        programs=program_hosts.commands(executed, pairs, settings),
        meters=[pair.meter for pair in pairs],
        share=programs.shared_directories(executed),
        # Programs may send after the end, so that the network is never silent.
        quiet_ms=0 if executed else quiet.after_end_ms(built, of_flowgen, settings.packets.mtu),
    )
