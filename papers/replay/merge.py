# SPDX-License-Identifier: GPL-2.0
"""Merge the results of another branch or machine into the results of this checkout."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from aqmlab import ROOT
from aqmlab.exceptions import UserError
from labkit.usage import Parser

from . import run_cells, store, time_plots
from .paper import BEFORE, Paper, load, names


def _stored(source: str, name: Path) -> list[store.Record]:
    """Read a file of a checkout, or of a git revision. Returns no rows if it does not exist."""
    if Path(source).is_dir():
        return [*store.read(Path(source) / name)]
    shown = subprocess.run(
        ["git", "show", f"{source}:{name}"], cwd=ROOT, capture_output=True, check=False
    )
    return [*store.parse(shown.stdout)] if not shown.returncode else []


def _rows(paper: Paper, source: str) -> tuple[list[store.Record], list[store.Record]]:
    """Read the results and the plots over time of a checkout, or of a git revision."""
    both: list[list[store.Record]] = []
    for path in (paper.results, paper.traces):
        names = (path.relative_to(ROOT), Path(BEFORE) / paper.name / path.name)
        rows = (_stored(source, name) for name in names)
        both.append(next(filter(None, rows), []))
    if not both[0]:
        raise UserError(
            f"{source}: neither a checkout nor a git revision with results of {paper.name}"
        )
    return both[0], both[1]


def merge(paper: Paper, sources: Sequence[str]) -> None:
    """Add the rows of each source. Of several rows of a cell the last one stays."""
    results: list[store.Record] = [*store.read(paper.results)]
    over_time: list[store.Record] = [*store.read(paper.traces)]
    for source in sources:
        more, more_over_time = _rows(paper, source)
        results += more
        over_time += more_over_time
    store.write(paper.results, results)
    run_cells.tidy(paper)
    if over_time:
        store.write(paper.traces, over_time)
        time_plots.tidy(paper)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 when a source has no results."""
    parser = Parser(
        "merge",
        "Merge the results of other checkouts or git revisions into this checkout.",
        "PAPER SOURCE...",
        "kantawala2001 ../other-checkout",
    )
    parser.add_argument("paper", choices=names(), metavar="PAPER")
    parser.add_argument(
        "source",
        nargs="+",
        metavar="SOURCE",
        help="checkout or git revision; the last wins",
    )
    args = parser.parse_args(argv)
    try:
        merge(load(args.paper), args.source)
    except UserError as error:
        print(f"merge: {error}", file=sys.stderr)
        return 1
    return 0
