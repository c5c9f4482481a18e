# SPDX-License-Identifier: GPL-2.0
"""Runs the cells of a paper that are missing, and keeps a row of each in the repository."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aqmlab.compare import forks, sweep, sweep_job
from aqmlab.exceptions import UserError, unknown
from aqmlab.report import html_report, load_runs
from aqmlab.run.execute import EDITION
from labkit.paths import BUNDLE, OUT

from . import choice, claims, elsewhere, ledger, repeat, rows, search, store, time_plots
from .paper import OWN, Cell, Paper, load, names
from .row import Row


def missing(paper: Paper, *, again: bool = False) -> dict[str, Cell]:
    """Return the cells without a row of their command, by name.

    Of a search, return only the cells that it asks for next.

    again: rows of an earlier edition do not count
    """
    rows = [row for row in paper.ran() if not again or row["made"]["edition"] == EDITION]
    have = {row["cell"] for row in rows}
    found = search.by_search(rows, paper.searches)
    by_name = {}
    for cell in paper.cells():
        if bisection := cell.experiment.search:
            of, value = bisection.key(cell.experiment.name, cell.discipline, cell.seed, cell.at)
            if value not in bisection.following(found.get(of, {})):
                continue
        if cell.name not in have:
            by_name[cell.name] = cell
    return by_name


def row_of(paper: Paper, cell: Cell, directory: Path) -> Row:
    """Return the row of a run."""
    bounds = {
        claim.id: claim.bounds
        for claim in claims.load(paper.directory)
        if claim.judges(cell.experiment.name, cell.discipline, cell.at)
    }
    measured = rows.compact(
        directory,
        flows=cell.keeps_flows,
        worst=bool(cell.experiment.search),
        step_s=cell.experiment.step_s,
        delay=cell.experiment.delay,
        band=cell.experiment.lengths,
    )
    return {
        "tcp_profile": paper.profile,
        "cell": cell.name,
        "experiment": cell.experiment.name,
        "discipline": cell.discipline,
        "at": dict(cell.at),
        "seed": cell.seed,
        "command": shlex.join(cell.words),
        "bounds": bounds,
        **measured,
    }


def tidy(paper: Paper) -> None:
    """Keep the last row of each cell, in the order of the sweep, for each TCP profile."""
    there = store.rows(paper.results)
    kept: list[Row] = []
    for profile in paper.profiles:
        commands = load(paper.name, profile=profile).commands()
        mine = store.of((row for row in there if row["tcp_profile"] == profile), commands)
        kept += search.newest(mine, paper.searches)
    if kept:
        store.write(paper.results, kept)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed, or when some are no report together, 130 interrupted."""
    parser = sweep.parser(
        "paper",
        "Run what is missing of a paper's cells, and write its page.",
        OUT / "papers",
        resume=True,
        operands="PAPER",
        example="kantawala2001 --quick",
    )
    parser.add_argument("name", choices=names(), metavar="PAPER", help=", ".join(names()))
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small part, in minutes, with a report of its runs",
    )
    parser.add_argument(
        "--tcp-profile",
        metavar="NAME",
        help=f'only this one; with --quick default: "{OWN}"',
    )
    parser.add_argument("--era", dest="tcp_profile", help=argparse.SUPPRESS)
    parser.add_argument("--figures", action="store_true", help="only runs for plots over time")
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument(
        "--again", action="store_true", help="also cells that an earlier edition ran"
    )
    alone.add_argument("--repeat", metavar="CELL", help="only this row, to see whether it is equal")
    alone.add_argument(
        "--kernel", metavar="NAME", help="store nothing; compare the verdicts on this kernel"
    )
    choice.add_options(parser)
    args = parser.parse_args(argv)
    if BUNDLE and not args.quick:
        parser.error("this package has no stored rows: give --quick, or use a checkout")
    profiles, asked = load(args.name).profiles, args.tcp_profile
    if asked and asked not in profiles:
        parser.error(f"--tcp-profile: {asked} given, {args.name} has {', '.join(profiles)}")
    if args.figures and asked not in (None, OWN):
        parser.error(f"--figures: plots over time have the paper's own TCP profile, not {asked}")
    if args.figures and (args.claims or args.quick):
        parser.error("--figures: no claim and no quick look needs plots over time")
    try:
        choice.check(args, load(args.name))
    except UserError as error:
        parser.error(str(error))
    failed = []
    own_alone = args.quick or args.figures
    try:
        if args.repeat:
            return _repeat(args)
        if args.kernel:
            return _elsewhere(args)
        for profile in (asked,) if asked else profiles[:1] if own_alone else profiles:
            failed += _replay(args, load(args.name, quick=args.quick, profile=profile))
    except KeyboardInterrupt:
        print("paper: interrupted; the same command goes on", file=sys.stderr)
        return 130
    except UserError as error:
        print(f"paper: {error}", file=sys.stderr)
        return 1
    if failed:
        print(
            f"paper: {len(failed)} runs failed, {failed[0]} first: "
            f"{forks.reason(failed[0].parent, failed[0].name)}",
            file=sys.stderr,
        )
    return 1 if failed else 0


def _repeat(args: argparse.Namespace) -> int:
    """Run the cell of a stored row again. Exit status: 0 when it gives the row, else 1."""
    of_profiles = [load(args.name, profile=name) for name in load(args.name).profiles]
    found = [
        (paper, row)
        for paper in of_profiles
        for row in paper.ran()
        if row["cell"] == args.repeat and args.tcp_profile in (None, paper.profile)
    ]
    if not found:
        raise unknown("row", args.repeat, [row["cell"] for p in of_profiles for row in p.ran()])
    paper, old = found[0]
    cell = next(cell for cell in paper.cells() if cell.name == args.repeat)
    new: list[Row] = []
    there = argparse.Namespace(**vars(args) | {"out": args.out / "repeat", "resume": False})
    _runs(there, {cell.name: cell}, lambda name: new.append(row_of(paper, cell, there.out / name)))
    if not new:
        return 1
    print(repeat.table(old, new[0]))
    return 0 if repeat.equal(old, new[0]) else 1


def _elsewhere(args: argparse.Namespace) -> int:
    """Judge the claims on another kernel, but for searches. Exit status: 1 when a run failed."""
    paper = load(args.name, profile=args.tcp_profile or OWN)
    for_ = [claim for claim in claims.load(paper.directory) if claim.id in (args.claims or ())]
    cells = {
        cell.name: replace(cell, words=(*cell.words, "--kernel", args.kernel))
        for cell in paper.cells()
        if not cell.experiment.search and choice.selects(args, for_, cell)
    }
    there = argparse.Namespace(
        **vars(args) | {"out": args.out / f"{paper.name}-{args.kernel}", "quick": True}
    )
    made: list[Row] = []
    failed = _runs(
        there, cells, lambda name: made.append(row_of(paper, cells[name], there.out / name))
    )
    print(elsewhere.table(paper, made))
    return 1 if failed else 0


def _replay(args: argparse.Namespace, paper: Paper) -> list[Path]:
    """Run the missing cells with one TCP profile, write the pages, and return failed runs."""
    words = [
        paper.name,
        *(["quick"] if args.quick else []),
        *([paper.profile] if paper.profile != OWN else []),
    ]
    there = argparse.Namespace(**vars(args) | {"out": args.out / "-".join(words)})
    for_ = [
        claim
        for claim in claims.load(paper.directory)
        if not args.claims or claim.id in args.claims
    ]
    new_rows: list[Row] = []
    failed: list[str] = []

    def wanted() -> dict[str, Cell]:
        cells = (
            {cell.name: cell for cell in paper.cells()}
            if args.quick
            else missing(paper, again=args.again)
        )
        return {
            name: cell
            for name, cell in cells.items()
            if not args.figures
            and name not in {*failed, *(row["cell"] for row in new_rows)}
            and choice.selects(args, for_, cell)
        }

    while cells := wanted():
        for at in sorted({cell.round for cell in cells.values()}):
            failed += _round(
                there, paper, {n: c for n, c in cells.items() if c.round == at}, new_rows
            )
    if args.quick:
        print(ledger.quick(paper, new_rows))
        if done := [there.out / row["cell"] for row in new_rows]:
            html_report.write(there.out / "report.html", load_runs.collect(done))
            print(f"paper: {there.out / 'report.html'}")
    else:
        tidy(paper)
        if paper.profile == OWN and not args.claims:
            failed += _traces(there, paper)
        print(ledger.verdicts(paper))
        ledger.write_all()
    return [there.out / name for name in failed]


def _traces(args: argparse.Namespace, paper: Paper) -> list[str]:
    """Run the cells that plots over time lack, keep their lines, and return names that failed."""
    cells = {
        name: cell
        for name, cell in time_plots.missing(paper).items()
        if choice.selects(args, (), cell)
    }
    failed = _runs(args, cells, lambda name: time_plots.keep(paper, cells[name], args.out / name))
    time_plots.tidy(paper)
    return failed


def _round(
    args: argparse.Namespace,
    paper: Paper,
    cells: Mapping[str, Cell],
    new_rows: list[Row],
) -> list[str]:
    """Run these cells, append their rows and missing lines of plots over time, and return the
    names of the cells that failed."""
    drawn = {} if args.quick or paper.profile != OWN else time_plots.missing(paper)

    def taken(name: str) -> None:
        row = row_of(paper, cells[name], args.out / name)
        new_rows.append(row)
        if not args.quick:
            store.append(paper.results, row)
        if name in drawn:
            time_plots.keep(paper, drawn[name], args.out / name)

    return _runs(args, cells, taken)


def _runs(
    args: argparse.Namespace, cells: Mapping[str, Cell], taken: Callable[[str], None]
) -> list[str]:
    """Run these cells, if any, and return the names of the cells that failed."""
    if not cells:
        return []
    jobs = {
        name: sweep_job.Job(
            sweep_job.from_anywhere(cell.words),
            cell.discipline,
            int(cell.at["buffer"]) if "buffer" in cell.at else None,
        )
        for name, cell in cells.items()
    }
    done = sweep.run(args, jobs, taken=taken)
    if not args.quick:
        # The row has the command that makes the directory again.
        for name in done:
            shutil.rmtree(args.out / name)
    return [name for name in jobs if name not in done]
