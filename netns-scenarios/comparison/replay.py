# SPDX-License-Identifier: GPL-2.0
"""Runs the cells of a paper that are missing, and keeps a row of each in the repository."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis import claims, rows
from netns.execute import ROOT

from . import ledger, sweep
from .paper import Cell, Paper, load, names


def missing(paper: Paper) -> dict[str, Cell]:
    """Cells that have no row, or one of another command, by name."""
    have = {row["cell"]: row["command"] for row in rows.read(paper.results)}
    return {cell.name: cell for cell in paper.cells()
            if have.get(cell.name) != shlex.join(cell.words)}


def row_of(paper: Paper, cell: Cell, directory: Path) -> dict[str, Any]:
    """The row of a run."""
    bounds = {claim.id: claim.bounds for claim in claims.load(paper.directory)
              if claim.judges(cell.experiment.name, cell.discipline, cell.at)}
    return rows.compact(
        {"cell": cell.name, "experiment": cell.experiment.name, "discipline": cell.discipline,
         "at": dict(cell.at), "seed": cell.seed, "command": shlex.join(cell.words),
         "bounds": bounds},
        directory, flows=cell.experiment.flows, step_s=cell.experiment.step_s)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed, 130 interrupted."""
    parser = sweep.parser("paper", "Run what is missing of a paper's cells, and write its page.",
                          ROOT / "out" / "papers", resume=True)
    parser.add_argument("name", choices=names())
    parser.add_argument("--quick", action="store_true",
                        help="a small part, in minutes; leaves the repository alone")
    parser.add_argument("--only", nargs="+", metavar="EXPERIMENT", help="only these experiments")
    parser.add_argument("--seeds", type=int, metavar="N", help="only the first N seeds")
    parser.add_argument("--at", action="append", default=[], metavar="AXIS=VALUE,...",
                        help="only these values of an axis; may be given again")
    parser.add_argument("--disciplines", nargs="+", metavar="NAME", help="only these")
    args = parser.parse_args(argv)
    paper = load(args.name, quick=args.quick)
    args.out = args.out / (f"{args.name}-quick" if args.quick else args.name)
    wanted = {cell.name: cell for cell in paper.cells()} if args.quick else missing(paper)
    wanted = {name: cell for name, cell in wanted.items()
              if _asked(args, cell)}
    made: list[dict[str, Any]] = []
    failed: list[str] = []
    try:
        for seed in sorted({cell.seed for cell in wanted.values()}):
            failed += _round(args, paper, {n: c for n, c in wanted.items() if c.seed == seed}, made)
    except KeyboardInterrupt:
        print("paper: interrupted; the same command goes on", file=sys.stderr)
        return 130
    if args.quick:
        print(ledger.quick(paper, made))
    else:
        rows.tidy(paper.results, {cell.name: shlex.join(cell.words) for cell in paper.cells()})
        ledger.write(paper)
    if failed:
        print(f"paper: {len(failed)} runs failed, {failed[0]} first: see its log in {args.out}",
              file=sys.stderr)
    return 1 if failed else 0


def _asked(args: argparse.Namespace, cell: Cell) -> bool:
    """Whether the options leave a cell in."""
    for words in args.at:
        axis, _, values = words.partition("=")
        if axis in cell.at and str(cell.at[axis]) not in values.split(","):
            return False
    return ((not args.only or cell.experiment.name in args.only)
            and (not args.disciplines or cell.discipline in args.disciplines)
            and (not args.seeds or cell.seed <= args.seeds))


def _round(args: argparse.Namespace, paper: Paper, cells: Mapping[str, Cell],
           made: list[dict[str, Any]]) -> list[str]:
    """Run these, and append their rows; the names of those that failed."""
    def taken(name: str) -> None:
        row = row_of(paper, cells[name], args.out / name)
        made.append(row)
        if not args.quick:
            rows.append(paper.results, row)

    jobs = {name: sweep.Job(list(cell.words), cell.discipline) for name, cell in cells.items()}
    done = sweep.run(args, jobs, taken=taken)
    if not args.quick:
        # The row has what is needed, the command that makes the rest again included.
        for name in done:
            shutil.rmtree(args.out / name)
    return [name for name in jobs if name not in done]


