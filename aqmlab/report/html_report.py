# SPDX-License-Identifier: GPL-2.0
"""The report of any run or runs: one HTML file that needs nothing else. All of it is computed."""

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

from . import interactive_plots, static_plots, tables
from .intervals import column_of, ranked
from .load_runs import Section, collect
from .sentences import group_sentences

TEMPLATE = Path(__file__).with_name("report.html.j2")


def _params(scenario: str) -> dict[str, Param]:
    """The parameters of a scenario, by name; none of one that this checkout does not know."""
    try:
        return {p.name: p for p in find(scenario).params}
    except UserError:
        return {}


def _changed(result: Mapping[str, Any]) -> str:
    """The parameters that are not the defaults, for a heading."""
    known = _params(result["scenario"])
    return " ".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                    for key, value in result["parameters"].items()
                    if key not in known or known[key].default != value)


def _heading(section: Section, sections: Sequence[Section]) -> str:
    """What tells it from the other sections: the scenario, its buffer, and, of several with these,
    what is set."""
    scenario, changed = section.any["scenario"], _changed(section.any)
    alike = [one for one in sections
             if (one.any["scenario"], one.buffer) == (scenario, section.buffer)]
    words = [scenario] if section.buffer is None or len(
        {one.any["scenario"] for one in sections}) > 1 else []
    words += [] if section.buffer is None else [f"buffer {section.buffer} packets"]
    words += [changed] if len(alike) > 1 and changed else []
    heading = ", ".join(words)
    return heading if words[0] == scenario else heading[0].upper() + heading[1:]


def _text(section: Section) -> str:
    """The setting, in words."""
    result, known = section.any, _params(section.any["scenario"])
    values = ", ".join(
        f"{key} {f'{value:g}' if isinstance(value, float) else value}"
        f"{' ' + known[key].unit if key in known and known[key].unit not in key else ''}"
        for key, value in result["parameters"].items())
    summary = f"{find(result['scenario']).summary}. " if known else ""
    fair = result["summary"]["fair_share_bps"]
    share = f" The fair share of a flow is {fair / 1e6:.3g} Mb/s of payload." if fair else ""
    seeds = max(len(several) for several in section.runs.values())
    return (f"{summary[:1].upper()}{summary[1:]}{values}. By the {result['clock']} clock on Linux "
            f"{result['kernel']}; {seeds} seed{'s' if seeds > 1 else ''}.{share}")


def _commands(section: Section) -> Iterator[str]:
    """Each run's own, but for where its directory was to be."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--out")
    for several in section.runs.values():
        for run in several:
            _, *words = run.result["provenance"]["argv"]
            _, words = parser.parse_known_args(words)
            yield (shlex.join(["netns-scenarios/run", *words])
                   + f"\n  digest {run.result['digest']}")


def _shown_first(sections: Sequence[Section]) -> list[str]:
    """Twelve lines are none to read: the first discipline, and the best at what the sentences
    speak of."""
    rows = sections[0].rows
    best = [of[0][0].name
            for title in ("utilization", "sd", "queue delay p50", "queue delay p99")
            if (of := ranked(rows, column_of(title)))]
    names = list(dict.fromkeys(name for section in sections for name in section.runs))
    return names if len(names) <= 4 else list(dict.fromkeys([names[0], *best]))


def write(path: Path, sections: Sequence[Section]) -> None:
    """The report of these."""
    scenarios = sorted({s.any["scenario"] for s in sections})
    names = dict.fromkeys(name for s in sections for name in s.runs)
    what = f"{len(names)} queue disciplines" if len(names) > 1 else next(iter(names))
    engine = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
                                lstrip_blocks=True)
    headings = [_heading(section, sections) for section in sections]
    main_tables = [tables.of_disciplines(section.rows) for section in sections]
    data = interactive_plots.data(sections, headings, _shown_first(sections))
    path.write_text(engine.from_string(TEMPLATE.read_text()).render(
        title=f"{what}: {', '.join(scenarios)}",
        sections=[{
            "heading": heading,
            "text": _text(section),
            "found": group_sentences(section) if len(section.runs) > 1 else "",
            "table": table,
            "csv": tables.csv_link(table),
            "file": f"{re.sub(r'[^a-z0-9]+', '-', heading.lower())}.csv",
            "more": tables.of_parts(section),
            "plots": static_plots.of_section(section),
        } for section, heading, table in zip(sections, headings, main_tables, strict=True)],
        notes=list(dict.fromkeys(note for s in sections for note in s.notes)),
        commands=[line for section in sections for line in _commands(section)],
        provenance=tables.provenance(sections),
        data=interactive_plots.script_json(data),
        left_out=data["left_out"],
        models=interactive_plots.pictures(),
        library=interactive_plots.library(),
        script=interactive_plots.SCRIPT.read_text(),
    ) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run is not whole, 2 when it was asked wrongly."""
    parser = argparse.ArgumentParser(
        prog="report", description="Draw any run or runs as one HTML file.")
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR",
                        help="a run's directory, or one that holds some")
    parser.add_argument("--out", type=Path, metavar="FILE",
                        help="default: report.html in the first DIR's parent, or in a sweep's DIR")
    args = parser.parse_args(argv)
    first = args.directories[0]
    out = args.out or (first if not (first / run_directory.RESULT).exists() else
                       first.resolve().parent) / "report.html"
    try:
        write(out, collect(args.directories))
    except UserError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    except logs.BadLog as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    print(out)
    return 0
