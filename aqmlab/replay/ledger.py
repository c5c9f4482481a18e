# SPDX-License-Identifier: GPL-2.0
"""docs/results: a page for each paper, made of its claims and of the rows of its cells, and of
nothing else: whoever makes it again gets the same bytes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from aqmlab import ROOT

from . import claim_verdict, claims, judgement, pages
from .paper import Paper, load, names

RESULTS = ROOT / "docs" / "results"

Row = Mapping[str, Any]


def quick(paper: Paper, made: Sequence[Row]) -> str:
    """A line for each claim, of what a quick look has."""
    out, cells = [], claim_verdict.by_cell(made)
    axes = {experiment.name: experiment.axes for experiment in paper.experiments}
    for claim in claims.load(paper.directory):
        try:
            judged = claim_verdict.judge(claim, axes, cells, paper.seeds)
        except KeyError:
            continue
        if judged.value:
            out.append(f"{claim.id:<8} {claim.shown(judged.value):>12}  accepted "
                       f"{claim.accepted()}: {claim.says}")
    return "\n".join(out)


def write(name: str) -> None:
    """A paper's page and its pictures, and what tells of all papers."""
    _put(files([name]))


def files(wanted: Collection[str]) -> dict[str, str]:
    """What the pages of these papers are, with their pictures, and what tells of all papers: texts
    by name."""
    every = [judgement.of(load(name)) for name in names()]
    made = {"README.md": pages.index(every)}
    for one in every:
        if one.paper.asks or one.paper.name in wanted:
            made |= pages.page(one, every)
    return made


def _put(made: Mapping[str, str]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (RESULTS / name).write_text(text)
    for name in _no_more(made):
        (RESULTS / name).unlink()


def _no_more(made: Mapping[str, str]) -> list[str]:
    """Pictures in docs/results that the pages among these had and have no more."""
    return [path.name for name in made if name.endswith(".md")
            for path in sorted(RESULTS.glob(f"{name.removesuffix('.md')}-*.svg"))
            if path.name not in made]


def stale(made: Mapping[str, str]) -> list[str]:
    """Those that are not in docs/results as they are here, or should not be there."""
    return [*(name for name, text in made.items()
              if not (RESULTS / name).exists() or (RESULTS / name).read_text() != text),
            *_no_more(made)]


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 with --check when a file is not what it would be."""
    parser = argparse.ArgumentParser(prog="ledger", description="Write docs/results from the rows "
                                     "and claims of the papers; runs nothing.")
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs")
    args = parser.parse_args(argv)
    made = files(names())
    wrong = stale(made) if args.check else []
    if not args.check:
        _put(made)
    for name in wrong:
        print(f"ledger: docs/results/{name} is not what the rows and claims give: make ledger",
              file=sys.stderr)
    return 1 if wrong else 0


