# SPDX-License-Identifier: GPL-2.0
"""What a scenario is, which there are, and a run made of one.

A scenario says who sends: groups of flows. What has to be carried out and what would be fair
follow from them.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import scenarios

from aqmlab.exceptions import UserError, unknown

from . import flows, programs
from .fair_shares import Facts, facts
from .params import Param
from .recipe import Recipe
from .settings import Settings
from .topology import Group, build


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


def find_all() -> dict[str, Scenario]:
    """All scenarios, by name."""
    modules = (importlib.import_module(f"{scenarios.__name__}.{module.name}")
               for module in pkgutil.iter_modules(scenarios.__path__))
    found = [module.SCENARIO for module in modules]
    return {scenario.name: scenario for scenario in sorted(found, key=lambda s: s.name)}


def find(name: str) -> Scenario:
    """The scenario `name`; UserError with the nearest names when there is none."""
    known = find_all()
    if name not in known:
        raise unknown("scenario", name, known)
    return known[name]


def compose(scenario: Scenario, settings: Settings,
            executed: Sequence[programs.Program] = ()) -> tuple[Recipe, Facts]:
    """Return the run, and what its analysis must know. executed: programs of --exec."""
    values = {**settings.values, "duration": scenario.duration(settings)}
    settings = replace(settings, values=values)
    rng = random.Random(settings.seed)
    groups = [*scenario.groups(settings, rng)]
    if executed:
        groups += programs.groups(executed, settings, groups)
    if not groups:
        names = [p.name for p in scenario.params if p.unit in ("flows", "clients")]
        raise UserError(f"no flows: set {' or '.join(names)}" if names else
                        "no flows: give programs with --exec")
    groups += flows.probe(settings, rng)
    recipe = build(
        groups, settings.bottleneck, settings.era,
        ecn=settings.on("ecn"), ip=settings.ip, mtu=settings.count("mtu"),
        duration_ms=settings.end_ms, interval_ms=settings.count("interval"),
        sample_ms=settings.count("sample"), offloads=settings.on("offloads"),
    )
    if executed:
        recipe = programs.attach(recipe, executed, settings)
    recipe = replace(recipe, generator=settings.generator, memory_gib=settings.count("memory"))
    return recipe, facts(
        settings.bottleneck.rate_bps, settings.number("warmup"), settings.end_ms / 1000, groups,
        settings.count("interval") / 1000)
