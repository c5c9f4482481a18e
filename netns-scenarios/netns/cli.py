# SPDX-License-Identifier: GPL-2.0
"""Command line of netns-scenarios/run."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from . import execute, rundir
from .errors import RunError, UserError
from .params import resolve
from .scenario import compose, find, find_all
from .settings import Settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run", description="Run one scenario with one discipline at its bottleneck."
    )
    parser.add_argument("scenario", nargs="?", help="its name; --list shows them")
    parser.add_argument("--qdisc", default="pfifo limit 200", metavar="'KIND OPTIONS'",
                        help="the discipline at the bottleneck, as tc calls it (%(default)s); "
                             "after semicolons its classes and filters, its handle being 2:")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="set a parameter; may be given again")
    parser.add_argument("--clock", choices=("virtual", "wall"),
                        help="virtual, or with --here wall, is the default")
    parser.add_argument("--here", action="store_true",
                        help="on this machine's kernel, as root, instead of in the lab")
    parser.add_argument("--seed", type=int, default=1, metavar="N",
                        help="of start offsets and of the guest's entropy (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: out/SCENARIO-QDISC-SEED")
    parser.add_argument("--engine", help="given to lab/boot")
    parser.add_argument("--kernel", help="given to lab/boot")
    parser.add_argument("--flavour", help="given to lab/boot")
    parser.add_argument("--list", action="store_true", help="show scenarios and parameters")
    return parser


def _list() -> None:
    for item in find_all().values():
        print(f"{item.name}: {item.summary}")
        for p in item.params:
            default = f"{p.default:g}" if isinstance(p.default, float) else str(p.default)
            value = f"{default} {p.unit}".strip()
            print(f"  {p.name:<10} {value:<14} {p.help} ({p.allowed()})")


def _default_out(name: str, settings: Settings) -> Path:
    slug = re.sub(r"[^A-Za-z0-9]+", "-", settings.qdisc).strip("-")
    return execute.ROOT / "out" / f"{name}-{slug}-{settings.seed}"


def _run(args: argparse.Namespace) -> None:
    if args.list:
        _list()
        return
    if not args.scenario:
        raise UserError("no scenario given; --list shows them")
    found = find(args.scenario)
    clock = args.clock or ("wall" if args.here else "virtual")
    if args.here and clock == "virtual":
        raise UserError("--here has this machine's clock: leave out --clock virtual")
    if args.seed < 0:
        raise UserError(f"--seed: {args.seed} given, allowed: 0 and up")
    if not args.qdisc.split():
        raise UserError("--qdisc: needs a kind, as in --qdisc 'pfifo limit 200'")
    settings = Settings(resolve(found.params, args.set), args.qdisc, args.seed, clock)
    recipe, facts = compose(found, settings)
    directory = args.out or _default_out(found.name, settings)
    lab_options = [word for option in ("engine", "kernel", "flavour")
                   if (value := getattr(args, option)) for word in (f"--{option}", value)]
    if args.here and lab_options:
        raise UserError(f"{lab_options[0]} chooses the lab's kernel: leave it out with --here")
    # Late, so that --list and every mistake above need no numpy.
    from analysis import logs, result

    cost = execute.run(recipe, facts, settings, found.name, directory, here=args.here,
                       lab_options=lab_options)
    try:
        summary = result.write(directory, cost)
    except logs.BadLog as error:
        raise RunError(str(error)) from error
    rundir.finish(directory)
    print(result.describe(summary))
    print(f"{directory}")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed, 2 when it was asked wrongly, 130 interrupted."""
    args = _parser().parse_args(argv)
    try:
        _run(args)
    except UserError as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    except RunError as error:
        print(f"run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("run: interrupted; the directory is marked as incomplete", file=sys.stderr)
        return 130
    return 0
