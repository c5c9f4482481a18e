# SPDX-License-Identifier: GPL-2.0
"""Options that choose cells of a paper."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from aqmlab.exceptions import unknown
from aqmlab.run.params import Value

from . import claims
from .claim_types import Claim
from .paper import Cell, Paper


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of a command."""
    parser.add_argument("--claims", nargs="+", metavar="ID", help="only cells that these need")
    parser.add_argument("--only", nargs="+", metavar="EXPERIMENT", help="only these experiments")
    parser.add_argument("--seeds", type=int, metavar="N", help="only the first N seeds")
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="AXIS=VALUE,...",
        help="only these values of an axis",
    )
    parser.add_argument("--disciplines", nargs="+", metavar="NAME", help="only these")


def check(args: argparse.Namespace, paper: Paper) -> None:
    """Check the options against the paper, and set `args.axes` to values by axis.

    Raises UserError if an option names something that the paper lacks.
    """
    axes: dict[str, list[Value]] = {}
    for experiment in paper.experiments:
        for axis, values in experiment.axes.items():
            axes.setdefault(axis, []).extend(values)
    for what, given, known in (
        ("claim", args.claims, [claim.id for claim in claims.load(paper.directory)]),
        ("experiment", args.only, [experiment.name for experiment in paper.experiments]),
        ("discipline", args.disciplines, paper.disciplines),
    ):
        for name in given or ():
            if name not in known:
                raise unknown(what, name, known)
    args.axes = {}
    for words in args.at:
        axis, _, values = words.partition("=")
        if axis not in axes:
            raise unknown("axis", axis, axes)
        by_text = {
            text: value
            for value in axes[axis]
            for text in (str(value), f"{value:g}" if isinstance(value, float) else str(value))
        }
        for value in values.split(","):
            if value not in by_text:
                raise unknown(axis, value, by_text)
            args.axes.setdefault(axis, []).append(by_text[value])


def selects(args: argparse.Namespace, for_: Sequence[Claim], cell: Cell) -> bool:
    """Return whether the options select a cell; for_: the selected claims."""
    if args.claims and not claims.needed(for_, cell.experiment.name, cell.discipline, cell.at):
        return False
    if any(cell.at[axis] not in values for axis, values in args.axes.items() if axis in cell.at):
        return False
    return (
        (not args.only or cell.experiment.name in args.only)
        and (not args.disciplines or cell.discipline in args.disciplines)
        and (not args.seeds or cell.round <= args.seeds)
    )
