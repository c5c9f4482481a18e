# SPDX-License-Identifier: GPL-2.0
"""Make the runs of a sweep that are missing, in forks of this process or by Snakemake."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aqmlab.measure import logs
from aqmlab.run import inputs
from aqmlab.run.execute import terminated_as_interrupt
from labkit import engines
from labkit.errors import LabError
from labkit.request import Request
from labkit.usage import Parser

from .cluster import snakemake, where
from .forks import forked
from .sweep_job import Job

#: Words of a run that does not boot user mode.
QEMU = ("--engine", "qemu")


def at_least_one(text: str) -> int:
    """Return a number of runs at a time. Raises ArgumentTypeError if it is not 1 or more."""
    if not re.fullmatch("[0-9]+", text) or not int(text):
        raise argparse.ArgumentTypeError(f"{text} given, needs a whole number from 1 on")
    return int(text)


def parser(
    prog: str, description: str, out: Path, *, resume: bool, operands: str = "", example: str = ""
) -> Parser:
    """Return a parser with the options that every sweep has.

    out, resume: defaults
    operands, example: see Parser
    """
    added = Parser(prog, description, operands, example)
    added.add_argument(
        "--out", type=Path, default=out, metavar="DIR", help=f"of the results (out/{out.name})"
    )
    added.add_argument(
        "--jobs",
        type=at_least_one,
        metavar="N",
        help=f"runs at a time ({os.cpu_count() or 1}, or the profile's)",
    )
    added.add_argument("--profile", metavar="NAME", help="run on a cluster: docs/cluster.md")
    added.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=resume,
        help=f"keep finished runs ({'yes' if resume else 'no'})",
    )
    return added


def run(
    args: argparse.Namespace,
    jobs: Mapping[str, Job],
    about: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    taken: Callable[[str], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """Make the runs that are missing. Return result.json of each job that did not fail, by the name
    of its directory in `args.out`.

    about: for the report, by workload: title, advice and note
    taken: called with the name of each run as soon as it is whole
    """
    directory: Path = args.out.resolve()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemExit(f"--out {args.out}: {error.strerror}") from error
    if not args.resume and (directory / logs.SWEEP).exists():
        try:
            before = [*json.loads((directory / logs.SWEEP).read_text())["runs"]]
        except (ValueError, LookupError, TypeError) as error:
            raise SystemExit(
                f"{directory / logs.SWEEP} is damaged, so remove {directory}: {error}"
            ) from error
        for name in before:
            shutil.rmtree(directory / name, ignore_errors=True)
    for name, job in jobs.items():
        if is_of_another_run(directory / name, job.words):
            shutil.rmtree(directory / name)
    (directory / logs.SWEEP).write_text(
        json.dumps(
            {
                "workloads": {name: dict(texts) for name, texts in about.items()},
                "runs": {name: asdict(job) for name, job in jobs.items()},
            },
            indent=1,
        )
        + "\n"
    )
    if any(QEMU not in itertools.pairwise(job.words) for job in jobs.values()):
        _boot_once()
    with terminated_as_interrupt():
        if args.profile:
            snakemake(directory, list(jobs), where(args.profile, args.jobs), taken)
        else:
            forked(directory, jobs, args.jobs or os.cpu_count() or 1, taken)
    results = {}
    for name in jobs:
        with contextlib.suppress(logs.BadLog):
            results[name] = logs.load_result(directory / name)
    for text, names in _warnings(results).items():
        print(
            f"warning: {names[0]}"
            + (f" and {len(names) - 1} more" if len(names) > 1 else "")
            + f": {text}",
            file=sys.stderr,
        )
    return results


def _boot_once() -> None:
    """Boot user mode, so that its kernel is built before the runs. Raises SystemExit."""
    print("the lab's kernel, modules and tools", file=sys.stderr, flush=True)
    try:
        booted = engines.run(Request(["true"]))
    except LabError as error:
        raise SystemExit(f"lab: {error}") from error
    if booted.status:
        raise SystemExit(f"lab: {booted.reason}; kernel log: {booted.log}")


def _warnings(results: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the runs that have each warning."""
    found: dict[str, list[str]] = {}
    for name, result in results.items():
        for text in result.get("warnings", ()):
            found.setdefault(re.sub(r"dropped \d+", "dropped some", text), []).append(name)
    return found


def is_of_another_run(directory: Path, words: list[str]) -> bool:
    """Return whether the run in `directory` has other words, read other files than it would now,
    such as a module's sources, or does not tell."""
    try:
        run = logs.read_run(directory)
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    try:
        _, *words_of_run, _out, _name = run["made_with"]["argv"]
        return bool(words_of_run != words or inputs.changed(run, words[0]))
    except (KeyError, ValueError):
        return True
