# SPDX-License-Identifier: GPL-2.0
"""Variants of what `compare` compares: lines of a qdisc, and settings of its runs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import Formatter

from aqmlab.exceptions import UserError, unknown
from aqmlab.run import congestion_control, inputs
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings

from .demo_workloads import Workload, fields


def placeholders(template: str) -> list[str]:
    """Return the names in braces. Raises UserError if the braces do not match."""
    try:
        return [word for _, word, _, _ in Formatter().parse(template) if word is not None]
    except ValueError as error:
        raise UserError(f'"{template}": {error}; a placeholder is written {{buffer}}') from error


def choices(settings: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each name of --set NAME=VALUE,VALUE. Raises UserError."""
    found: dict[str, list[str]] = {}
    for setting in settings:
        key, _, listed = setting.partition("=")
        if not listed:
            raise UserError(f'--set "{setting}": needs NAME=VALUE,VALUE,...')
        if key in found:
            raise UserError(
                f'--set "{setting}": {key} is set before; give all values once: '
                f"{key}={','.join(found[key])},{listed}"
            )
        values = listed.split(",")
        # A run has another directory than the command.
        found[key] = (
            [str(Path(one).absolute()) for one in values] if key in inputs.FILES else values
        )
    return found


def split(
    template: str, settings: Sequence[str]
) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, str]]:
    """Return the values of --set for placeholders of the template, and for parameters of the runs.

    The third is for all runs: parameters, if each of them has one value and so nothing is varied.
    Raises UserError.
    """
    given, wanted = choices(settings), placeholders(template)
    of_line = {name: values for name, values in given.items() if name in wanted}
    of_runs = {name: values for name, values in given.items() if name not in wanted}
    if any(len(values) > 1 for values in of_runs.values()):
        return of_line, of_runs, {}
    return of_line, {}, {name: values[0] for name, values in of_runs.items()}


def for_all(workload: Workload, chosen: Mapping[str, str], modules: Sequence[Path]) -> Workload:
    """Return a workload with settings that hold for mine and its rivals. Raises UserError."""
    if known := [name for name in ("rate", "mtu") if name in chosen]:
        raise UserError(
            f"--set {known[0]}: options of the rivals follow from it, so give it two values or "
            "more, or write a file for --workloads"
        )
    (found,) = workloads(workload, {k: [v] for k, v in chosen.items()}, "", modules).values()
    words = " ".join(f"{key}={value}" for key, value in chosen.items())
    return replace(found, title=f"{workload.title or workload.scenario}, {words}")


def _combinations(of: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    return [dict(zip(of, values, strict=True)) for values in itertools.product(*of.values())]


def _named(name: str, chosen: Mapping[str, str]) -> str:
    return " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])


def lines(template: str, given: Mapping[str, Sequence[str]], name: str) -> dict[str, str]:
    """Return each line that a template stands for, by its name: all combinations.

    given: values of the placeholders in the template
    Raises UserError.
    """
    known = {*fields(1), "rate", *given}
    for word in placeholders(template):
        if word not in known:
            raise unknown("placeholder in --mine", word, known)
    found = {}
    for chosen in _combinations(given):
        line = template
        for key, value in chosen.items():
            line = line.replace(f"{{{key}}}", value)
        found[_named(name, chosen)] = line
    return found


def workloads(
    workload: Workload, given: Mapping[str, Sequence[str]], name: str, modules: Sequence[Path]
) -> dict[str, Workload]:
    """Return a workload with each combination of settings, by the name that a table has for it.

    Raises UserError for a parameter or a value that the scenario does not have.
    """
    scenario = find(workload.scenario)
    known = [name for p in scenario.params for name in p.names]
    for key in given:
        if key not in known:
            raise UserError(
                f"--set {key}: --mine has no {{{key}}}, so nothing would change, and "
                f"{workload.scenario} has {unknown('parameter', key, known)}"
            )
    found = {}
    for chosen in _combinations(given):
        changed = replace(workload, settings={**workload.settings, **chosen})
        values = resolve(scenario.params, [f"{k}={v}" for k, v in changed.settings.items()])
        recipe, _ = compose(scenario, Settings(values, "pfifo", 1, "virtual"))
        congestion_control.check(recipe, here=False, modules=modules)
        found[_named(name, chosen)] = changed
    return found
