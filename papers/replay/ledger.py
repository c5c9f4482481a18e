# SPDX-License-Identifier: GPL-2.0
"""Write docs/results, and the site in out/results, from the papers' claims and rows alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from aqmlab import ROOT
from labkit.usage import Parser

from . import claim_verdict, claims, judgement, markdown, page_model, pages
from .paper import Paper, load, names
from .row import Row

RESULTS = ROOT / "docs" / "results"
SITE = ROOT / "out" / "results"


def quick(paper: Paper, rows: Sequence[Row]) -> str:
    """Return a line for each claim that a quick look has cells of."""
    out, cells = [], claim_verdict.by_cell(rows)
    axes = {experiment.name: experiment.axes for experiment in paper.experiments}
    for claim in claims.load(paper.directory):
        try:
            judged = claim_verdict.judge(claim, axes, cells, paper.seeds)
        except KeyError:
            continue
        if judged.value:
            out.append(
                f"{claim.id:<8} {claim.shown(judged.value):>12}  accepted "
                f"{claim.accepted()}: {claim.says}"
            )
    return "\n".join(out)


def verdicts(paper: Paper) -> str:
    """Return a line for each claim that has a value: its verdict by the rows that there are."""
    model = page_model.PageModel(judgement.of(paper))
    return "\n".join(
        f"{key:<8} {one.measured:>22}  {one.verdict}"
        for key, one in model.every.items()
        if one.judged.value
    )


def models() -> list[page_model.PageModel]:
    """Compute the model of each paper."""
    return [page_model.PageModel(judgement.of(load(name))) for name in names()]


def files(every: Sequence[page_model.PageModel]) -> dict[str, str]:
    """Render everything in docs/results: texts by file name."""
    pages_by_name = pages.overview(every)
    for model in every:
        pages_by_name |= pages.page(model, every)
    return pages_by_name


def write(directory: Path, pages_by_name: Mapping[str, str]) -> None:
    """Write these files, and remove pictures and pages that are made no more."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages_by_name.items():
        (directory / name).write_text(text)
    for path in _no_more(directory, pages_by_name):
        path.unlink()


def _no_more(directory: Path, pages_by_name: Mapping[str, str]) -> list[Path]:
    return [
        path
        for path in sorted(directory.iterdir())
        if path.suffix in (".svg", ".md", ".html") and path.name not in pages_by_name
    ]


def stale(directory: Path, pages_by_name: Mapping[str, str]) -> list[str]:
    """List the files in `directory` that are not as they are here, or should not be there."""
    return [
        *(
            name
            for name, text in pages_by_name.items()
            if not (directory / name).exists() or (directory / name).read_text() != text
        ),
        *(path.name for path in _no_more(directory, pages_by_name)),
    ]


def write_all() -> None:
    """Write docs/results and the site, and print each sentence that lacks rows."""
    every = models()
    written = files(every)
    write(RESULTS, written)
    write(SITE, pages.site(every))
    for name, text in written.items():
        for sentence in markdown.without_rows(text) if name.endswith(".md") else ():
            print(f"ledger: docs/results/{name} has no rows for: {sentence}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 with --check if a file differs from what would be written."""
    parser = Parser(
        "ledger",
        "Write docs/results, and the site in out/results, from the claims and rows of the papers.",
        "",
        "--check",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; list what differs")
    args = parser.parse_args(argv)
    if not args.check:
        write_all()
        print(f"ledger: {SITE / 'index.html'}")
        return 0
    wrong = stale(RESULTS, files(models()))
    for name in wrong:
        print(
            f"ledger: docs/results/{name} differs from what the rows and claims give; run "
            "make ledger",
            file=sys.stderr,
        )
    return 1 if wrong else 0
