# SPDX-License-Identifier: GPL-2.0
"""The command netns-scenarios/run."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aqmlab.exceptions import RunError, UserError, unknown
from aqmlab.qdiscs import own_statistics
from aqmlab.run import (
    congestion_control,
    execute,
    host_requirements,
    play,
    programs,
    run_directory,
    unchanged_kernel,
)
from aqmlab.run.arguments import LAB_OPTIONS, QDISC, parser
from aqmlab.run.params import replaced, resolve
from aqmlab.run.recipe import Recipe
from aqmlab.run.scenario import Scenario, compose, find, find_all
from aqmlab.run.settings import Settings
from labkit import engines, outside
from labkit.errors import LabError
from labkit.paths import OUT
from labkit.request import Request
from labkit.usage import command

#: Maximum length of the readable part of a default directory name. A file name has at most
#: 255 bytes.
READABLE = 150


def _list(shown: Iterable[Scenario]) -> None:
    for item in shown:
        print(f"{item.name}: {item.summary}")
        for p in item.params:
            default = f"{p.default:g}" if isinstance(p.default, float) else str(p.default)
            value = f"{default} {p.unit}".strip()
            print(f"  {p.name:<10} {value:<14} {p.help} ({p.allowed()})")


def default_out(scenario: Scenario, asked: Mapping[str, Any]) -> Path:
    """Return the default directory of a run, named by everything that identifies the run.

    asked: see _asked
    """
    usual = {p.name: p.default for p in scenario.params} | {"clock": "virtual", "here": False}
    given = asked["parameters"] | {name: asked[name] for name in ("clock", "here", *LAB_OPTIONS)}
    given |= {
        "module": "+".join(hashed for hashed in asked["module"].values()),
        "file": asked["file"],
    }
    given |= {"pcap": " ".join(asked.get("pcap", ()))}
    given |= {"tcp-state": "on" if asked.get("tcp_state") else ""}
    given |= {"sojourn": "on" if asked.get("sojourn") else ""}
    given |= {"exec": " ".join(asked["exec"])}
    words = [
        asked["scenario"],
        asked["qdisc"],
        *(
            f"{name}={f'{value:.15g}' if isinstance(value, float) else value}"
            for name, value in given.items()
            if value != usual.get(name, "")
        ),
        str(asked["seed"]),
    ]
    whole = " ".join(words)
    readable = "-".join(re.sub(r"[^\w.=%]+", "-", word).strip("-") for word in words)
    if len(readable) > READABLE or re.search(r"[^\w.=% -]", whole):
        hashed = hashlib.sha256(whole.encode()).hexdigest()[:8]
        readable = f"{readable[:READABLE]}-{hashed}"
    return OUT / readable


def _asked(
    args: argparse.Namespace, scenario: Scenario, settings: Settings, recipe: Recipe
) -> dict[str, Any]:
    """Return the request: everything that distinguishes this run from others."""
    return {
        "scenario": scenario.name,
        "file": scenario.file_hash,
        "qdisc": settings.qdisc,
        "seed": settings.seed,
        "clock": settings.clock,
        "parameters": dict(settings.values),
        "here": args.here,
        "exec": args.exec,
        "module": {str(path.resolve()): outside.hash_of(path) for path in args.module},
        **({"statistics": own} if (own := own_statistics.of_modules(args.module)) else {}),
        **({"trace": recipe.traces} if recipe.traces else {}),
        **({"pcap": args.pcap} if args.pcap else {}),
        **({"tcp_state": True} if args.tcp_state else {}),
        **({"sojourn": True} if args.sojourn else {}),
        **{option: getattr(args, option) for option in LAB_OPTIONS},
    }


def _checked(check: Callable[[Any], None], what: object) -> None:
    """Call one of the lab's checks and turn its error into a UserError."""
    try:
        check(what)
    except LabError as error:
        raise UserError(str(error)) from error


def _play(
    args: argparse.Namespace, recipe: Recipe, asked: Mapping[str, Any], options: Mapping[str, Any]
) -> int:
    """Give the user a shell in the network of a run, and return its exit status."""
    keys = ("here", "exec", "pcap", "tcp_state", "sojourn", "out")
    given = {f"--{key.replace('_', '-')}": getattr(args, key) for key in keys}
    play.check(recipe, {**given, "--clock virtual": args.clock == "virtual"})
    request = Request(["true"], clock="wall", terminal=True, seed=args.seed, **options)
    _checked(engines.check, request)
    return play.run(recipe, asked, options)


def _run(args: argparse.Namespace) -> int:
    if args.list:
        _list([find(args.scenario)] if args.scenario else find_all().values())
        return 0
    if not args.scenario:
        raise UserError("no scenario given; --list shows the scenarios")
    found = find(args.scenario)
    clock = args.clock or ("wall" if args.here or args.shell else "virtual")
    if args.here and clock == "virtual":
        raise UserError("--here always runs on this machine's clock: leave out --clock virtual")
    if args.seed < 0:
        raise UserError(f"--seed: {args.seed} given, allowed: 0 or more")
    qdisc, *others = args.qdisc or [QDISC]
    if others:
        raise UserError(
            f"--qdisc: given {1 + len(others)} times, a run has one: start a run for each, or "
            f"use {command('compare')}"
        )
    if not qdisc.split():
        raise UserError("--qdisc: nothing given, needs a kind, as in --qdisc 'pfifo limit 200'")
    settings = Settings(resolve(found.params, args.set), qdisc, args.seed, clock)
    for sentence in replaced(found.params, args.set):
        print(f"run: {sentence}", file=sys.stderr)
    recipe, facts = compose(found, settings, programs.parse(args.exec))
    if recipe.starts and args.here:
        raise UserError(
            "a link that follows a trace, or sends packets together, needs the lab: no --here"
        )
    for path in args.module:
        _checked(outside.check, path)
    congestion_control.check(recipe, here=args.here, modules=args.module)
    for node in args.pcap:
        if node not in recipe.namespaces:
            raise unknown("node for --pcap", node, recipe.namespaces)
    if args.tcp_state and recipe.generator != "flowgen":
        raise UserError("--tcp-state: needs generator=flowgen")
    if args.tcp_state and not any(flow.get("cc") for flow in recipe.flows):
        raise UserError(
            "--tcp-state: logs the connections of the scenario's own TCP flows, and this run has "
            "none. Connections of --exec are not logged: let the program print its TCP_INFO, or "
            "use --pcap"
        )
    recipe = replace(
        recipe,
        captures=[*dict.fromkeys(args.pcap)],
        tcp_state=args.tcp_state,
        sojourn=args.sojourn,
        needs_ecn=congestion_control.needing_ecn(recipe, args.module),
    )
    asked = _asked(args, found, settings, recipe)
    lab_options = {option: asked[option] for option in LAB_OPTIONS if asked[option]}
    if args.module:
        lab_options["modules"] = [path.resolve() for path in args.module]
    if args.here and lab_options:
        option = next(iter(lab_options)).removesuffix("s")
        raise UserError(f"--{option} chooses the lab's kernel: leave it out with --here")
    if args.shell:
        return _play(args, recipe, asked, lab_options)
    # Imported here, so that --list and the errors above do not load numpy.
    from aqmlab.measure import logs, result

    if args.here:
        host_requirements.check(recipe)
    else:
        _checked(engines.check, Request(["true"], clock=clock, seed=args.seed, **lab_options))
        if unchanged_kernel.counted(clock, lab_options):
            unchanged_kernel.check(recipe, args.kernel)
    directory = args.out or default_out(found, asked)
    with run_directory.claimed(directory, asked) as place:
        cost = execute.run(recipe, facts, asked, place, None if args.here else lab_options)
        try:
            summary = result.write(place.directory, cost)
        except logs.BadLog as error:
            raise RunError(str(error)) from error
    print(result.describe(summary))
    print(f"{directory}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status.

    0: success; 1: the run failed; 2: the request was wrong; 130: interrupted. With --shell, the
    status of the shell
    """
    args = parser().parse_args(argv)
    try:
        return _run(args)
    except UserError as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    except RunError as error:
        print(f"run: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        print(f"run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("run: interrupted", file=sys.stderr)
        return 130
