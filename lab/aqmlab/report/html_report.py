# SPDX-License-Identifier: GPL-2.0
"""Write the report of any runs: one HTML file that needs nothing else."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from aqmlab.exceptions import UserError
from aqmlab.measure import logs
from aqmlab.run import run_directory
from aqmlab.run.params import Param
from aqmlab.run.scenario import find
from labkit.record import RECORD
from labkit.usage import Parser

from . import figure_data, interactive_plots, record_report, scatter, tables
from .cards import card, of_interest, summary
from .load_runs import Section, collect
from .styles import styles

TEMPLATE = Path(__file__).with_name("report.html.j2")


def _params(scenario: str) -> dict[str, Param]:
    """Return the parameters of a scenario by name; none if this checkout does not have it."""
    try:
        return {p.name: p for p in find(scenario).params}
    except UserError:
        return {}


def _changed(result: Mapping[str, Any]) -> str:
    """Return the parameters that are not the defaults, for a heading."""
    known = _params(result["scenario"])
    return " ".join(
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in result["parameters"].items()
        if key not in known or known[key].default != value
    )


def _heading(section: Section, sections: Sequence[Section]) -> str:
    """Return the title of a workload, or the scenario, its buffer, and, if that is not enough to
    distinguish it from other sections, its settings."""
    if title := section.about.get("title"):
        return title
    scenario, changed = section.any["scenario"], _changed(section.any)
    alike = [
        other
        for other in sections
        if (other.any["scenario"], other.buffer) == (scenario, section.buffer)
    ]
    words = (
        [scenario]
        if section.buffer is None or len({other.any["scenario"] for other in sections}) > 1
        else []
    )
    words += [] if section.buffer is None else [f"buffer {section.buffer} packets"]
    words += [changed] if len(alike) > 1 and changed else []
    heading = ", ".join(words)
    return heading if words[0] == scenario else heading[0].upper() + heading[1:]


def _text(section: Section) -> str:
    """Describe a section in one line."""
    result = section.any
    summary = (
        find(result["scenario"]).summary if _params(result["scenario"]) else result["scenario"]
    )
    flows = sum(group["flows"] for name, group in result["groups"].items() if name != "probe")
    buffer = f", {section.buffer} packets of buffer" if section.buffer else ""
    seeds = max(len(several) for several in section.runs.values())
    return (
        f"{summary[:1].upper()}{summary[1:]}: {flows} flows, "
        f"{result['parameters']['rate']:g} Mb/s{buffer}; {seeds} "
        f"seed{'s' if seeds > 1 else ''}."
    )


def _commands(section: Section) -> Iterator[str]:
    """Yield the command of each run, without the place of its directory, and its digest."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--out")
    for several in section.runs.values():
        for run in several:
            _, *words = run.result["provenance"]["argv"]
            _, words = parser.parse_known_args(words)
            yield (
                shlex.join(["netns-scenarios/run", *words]) + f"\n  digest {run.result['digest']}"
            )


def write(path: Path, sections: Sequence[Section]) -> None:
    """Write the report of some sections."""
    names = list(dict.fromkeys(name for s in sections for name in s.runs))
    headings = [_heading(section, sections) for section in sections]
    what = f"{len(names)} queue disciplines" if len(names) > 1 else names[0]
    where = f"{len(sections)} workloads" if len(sections) > 1 else headings[0]
    engine = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    cards = [card(section) for section in sections]
    main_tables = [tables.of_disciplines(section.rows) for section in sections]
    shown = of_interest(sections)
    looks = styles([*shown, *names])
    data = interactive_plots.data(sections, headings, looks, shown)
    path.write_text(
        engine.from_string(TEMPLATE.read_text()).render(
            title=f"{what} in {where}",
            summary=summary([answer for answer in cards if answer]),
            sections=[
                {
                    "heading": heading,
                    "text": _text(section),
                    "about": section.about,
                    "card": answer,
                    "scatter": scatter.picture(
                        scatter.panel(section.rows, looks, answer.column if answer else None),
                        label=f"{heading}: delay against the metric of the card, a mark for each "
                        "discipline. The table below has the numbers.",
                    ),
                    "table": table,
                    "csv": tables.csv_link(table),
                    "file": f"{re.sub(r'[^a-z0-9]+', '-', heading.lower())}.csv",
                    "more": tables.of_parts(section),
                }
                for section, heading, answer, table in zip(
                    sections, headings, cards, main_tables, strict=True
                )
            ],
            settings=tables.settings(sections, headings, _params),
            commands=[line for section in sections for line in _commands(section)],
            provenance=tables.provenance(sections),
            data=interactive_plots.script_json(data),
            left_out=data["left_out"],
            models=interactive_plots.pictures(),
            library=interactive_plots.library(),
            script=interactive_plots.SCRIPT.read_text(),
        )
        + "\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0, 1 if a run is incomplete, 2 if the arguments are wrong."""
    parser = Parser(
        "report",
        "Draw any run or runs as one HTML file: docs/scenarios.md.",
        "DIR...",
        "--out mine.html out/compare",
    )
    parser.add_argument(
        "directories",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="a run's directory, or one that holds some",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="default: report.html beside DIR, or in a sweep's",
    )
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="write one figure instead, as FILE.pdf, .svg, .pgf or .png",
    )
    parser.add_argument(
        "--plot",
        default="queue",
        metavar="WHAT",
        help=f"{', '.join([*figure_data.SERIES, *figure_data.SHARES])}; a metric "
        "against the parameter in which runs differ; docs/scenarios.md",
    )
    parser.add_argument(
        "--size",
        default="120x75",
        metavar="MMxMM",
        help="of each plot of the figure (%(default)s)",
    )
    parser.add_argument("--log", action="store_true", help="a logarithmic axis in the figure")
    args = parser.parse_args(argv)
    first = args.directories[0]
    out = (
        args.out
        or (first if not (first / run_directory.RESULT).exists() else first.resolve().parent)
        / "report.html"
    )
    try:
        if (first / RECORD).exists():
            out = args.out or first / "report.html"
            record_report.write(out, first)
        elif args.figure:
            from . import figures  # needs matplotlib, which a report does not

            out, sections = args.figure, collect(args.directories)
            headings = [_heading(section, sections) for section in sections]
            shown = figure_data.panels(sections, headings, args.plot)
            figures.write(out, shown, figures.size_mm(args.size), log=args.log)
        else:
            write(out, collect(args.directories))
    except UserError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    except logs.BadLog as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"report: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(out)
    return 0
