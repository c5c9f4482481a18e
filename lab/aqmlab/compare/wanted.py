# SPDX-License-Identifier: GPL-2.0
"""Turn the options of `compare` into runs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aqmlab.exceptions import UserError, unknown
from aqmlab.qdiscs import names
from aqmlab.qdiscs.metadata import all_metadata
from aqmlab.run.objects import Interface
from aqmlab.run.queues import queue
from aqmlab.run.render import qdisc_lines
from aqmlab.run.steps import in_guest
from labkit import engines, outside, trees
from labkit.errors import LabError
from labkit.request import Request

from . import demo, module_rivals, sweep_job, variants, verdicts, workload_sets
from .demo_workloads import TODAY, WORKLOADS, Discipline, Workload, fields


def known_kind(option: str, kind: str, modules: Sequence[Path]) -> None:
    """Raise UserError if neither the lab's kernel nor a module has a kind."""
    outer = [name for path in modules for name in outside.names(path, "sch_")]
    if kind not in (known := {*names.ours(), *names.mainline(), *outer}):
        raise unknown(f"qdisc for {option}", kind, known)


def others_in(workload: Workload, against: Sequence[str]) -> list[Discipline]:
    """Return the disciplines that mine is compared with; without `against` mainline's."""
    mainline = {
        kind: rival
        for rival in workload.rivals
        if (kind := rival.name.split()[0]) not in all_metadata()
    }
    if not against and not mainline:
        raise UserError(f"{workload.title}: has no rivals, so give --against")
    if not against:
        return [*mainline.values()]
    options = TODAY | {kind: card["DEMO"] for kind, card in all_metadata().items()}
    found = []
    for line in against:
        kind, _, rest = line.partition(" ")
        if rest:
            found.append(replace(workload.line(kind, rest), name=line))
        elif kind in mainline:
            found.append(mainline[kind])
        else:
            found.append(workload.line(kind, options.get(kind, "")))
    return found


def versions(
    args: Any, workloads: Mapping[str, Workload], called: Mapping[str, Sequence[str]]
) -> tuple[dict[str, sweep_job.Job], list[str]]:
    """Return the runs of one qdisc with the words of each version, and the first one's name."""
    line = args.mine
    jobs: dict[str, sweep_job.Job] = {}
    for key, workload in workloads.items():
        discipline = workload.line(*line.split(" ", 1)) if " " in line else workload.line(line, "")
        for name, words in called.items():
            seeds = range(1, args.seeds + 1)
            jobs |= demo.jobs_of(key, workload, [replace(discipline, name=name)], seeds, words)
    return jobs, [next(iter(called))]


def on_kernels(args: Any, words: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of each kernel by the name of the qdisc on it."""
    kind = names.kind(args.mine)
    called = {
        f"{args.name or kind} on {trees.label(kernel)}": [*words, "--kernel", kernel]
        for kernel in args.kernel
    }
    if len(called) < len(args.kernel):
        raise UserError("--kernel: two of them are the same")
    return called


def of_modules(
    args: Any, rivals: Mapping[str, Sequence[Path]], words: Sequence[str]
) -> dict[str, list[str]]:
    """Return the words of each version of a module by the name of the qdisc in it."""
    kind = names.kind(args.mine)
    return {
        f"{args.name or kind} of {name}": [*own, *words]
        for name, own in module_rivals.words(rivals).items()
    }


def check_options(
    lines: Sequence[str],
    modules: Sequence[Path],
    kernels: Sequence[str] = ("",),
    engine: str = "",
) -> None:
    """Boot each kernel and add each qdisc to a device. Raises UserError with tc's complaint."""
    tc = in_guest("tc") if engine == "qemu" else "tc"  # busybox's shell would run its own
    script = ["exec 2>&1"]
    for line in dict.fromkeys(lines):
        commands = [
            f"{tc} {command}" for command in qdisc_lines(queue(Interface("", "lo"), "root", line))
        ]
        script += [
            f"{command} || {{ echo {shlex.quote(command)}; exit 1; }}" for command in commands
        ]
        script += [f"{tc} qdisc del dev lo root"]
    for kernel in kernels:
        request = Request(
            ["sh", "-c", "\n".join(script)],
            engine=engine or Request.engine,
            clock="virtual",
            modules=modules,
            kernel=kernel,
        )
        try:
            booted = engines.run(request, capture=True)
        except LabError as error:
            raise UserError(str(error)) from error
        if booted.status:
            raise UserError(
                f"{booted.stdout.decode(errors='replace').strip()}\n"
                "nothing was run" + (f"; {booted.reason}" if booted.reason else "")
            )


def wanted_workloads(args: Any) -> dict[str, Workload]:
    """Return the workloads by name. Raises UserError."""
    known = workload_sets.load(args.workloads) if args.workloads else WORKLOADS
    for name in args.workload:
        if name not in known:
            raise unknown("workload", name, known)
    *_, fixed = variants.split(args.mine, args.set)
    found = {}
    for name in known:
        if name in (args.workload or known):
            one = known[name]
            one = variants.for_all(one, fixed, args.module) if fixed else one
            found[name] = workload_sets.with_trace(one, args.trace) if args.trace else one
    return found


def wanted_runs(
    args: Any, workloads: Mapping[str, Workload]
) -> tuple[dict[str, sweep_job.Job], list[str]]:
    """Return all runs, and the names of the disciplines that are compared.

    A name of --set is a placeholder of the line, or else a parameter of the runs. Parameters with
    one value each are already in the workloads.
    Raises UserError.
    """
    for path in args.module:
        try:
            outside.check(path)
        except LabError as error:
            raise UserError(str(error)) from error
    if args.engine not in ("", *engines.ENGINES):
        raise unknown("engine", args.engine, engines.ENGINES)
    if args.clock != "virtual":
        raise UserError(f"--clock {args.clock}: compare runs in virtual time only; leave it out")
    if not args.mine.split():
        raise UserError('--mine: needs a kind, as in --mine "pfifo limit {buffer}"')
    kind = names.kind(args.mine)
    known_kind("--mine", kind, args.module)
    against = [word.strip() for word in args.against.split(",") if word.strip()]
    known = {*fields(1), "rate"}
    for line in against:
        known_kind("--against", names.kind(line), ())
        if word := next((w for w in variants.placeholders(line) if w not in known), None):
            raise unknown("placeholder in --against", word, known)
    of_line, of_runs, fixed = variants.split(args.mine, args.set)
    if fixed and args.base:
        raise UserError(
            f"--set {next(iter(fixed))}: leave it out beside --base, or write a file for "
            "--workloads"
        )
    if of_runs and (against or args.base or of_line):
        raise UserError(
            f"--set {next(iter(of_runs))}: compares the first value with the others, "
            "so leave out --against, --base, and values for placeholders"
        )
    lines = variants.lines(args.mine, of_line, args.name or f"{kind} (yours)")
    if len(args.kernel) > 1 and (against or args.base or args.set):
        raise UserError(
            "--kernel: several are compared with each other, so leave out --against, "
            "--base and --set"
        )
    engine = ["--engine", args.engine] if args.engine else []
    engine += verdicts.options(args.metric)
    kernel = [*engine, "--kernel", *args.kernel] if len(args.kernel) == 1 else engine
    words = [word for path in args.module for word in ("--module", str(path.resolve()))]
    if len(args.kernel) > 1:
        jobs, mine = versions(args, workloads, on_kernels(args, [*words, *engine]))
        return {name: replace(job, varied=["kernel"]) for name, job in jobs.items()}, mine
    if rivals := module_rivals.rivals(args.module):
        if against or args.base or args.set:
            raise UserError(
                "--module: versions of a module (directories, or --base COMMIT) are compared with "
                "each other, so leave out --against, a second --base, and --set. Write a setting "
                "of all runs, such as cc, into settings of a file for --workloads"
            )
        return versions(args, workloads, of_modules(args, rivals, kernel))
    words += kernel
    jobs = {}
    mine = [*lines]
    for key, workload in workloads.items():
        seeds = range(1, args.seeds + 1)
        settings = variants.workloads(workload, of_runs, mine[0], args.module)
        for name, variant in settings.items():
            disciplines = [
                replace(
                    variant.line(*line.split(" ", 1)) if " " in line else variant.line(line, ""),
                    name=name if of_runs else called,
                )
                for called, line in lines.items()
            ]
            made = demo.jobs_of(key, variant, disciplines, seeds, words)
            jobs |= {job: replace(made[job], varied=[*of_runs]) for job in made}
        if of_runs:
            mine = [*settings][:1]
        elif against or not args.base:
            jobs |= demo.jobs_of(key, workload, others_in(workload, against), seeds, kernel)
    if args.base and len(mine) > 1:
        raise UserError(f"--base: {len(mine)} variants given, needs one")
    return jobs, mine
