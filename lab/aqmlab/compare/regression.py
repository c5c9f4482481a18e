# SPDX-License-Identifier: GPL-2.0
"""Is a version worse than another one? For CI: a stored base, a threshold, and files for CI."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.exceptions import UserError
from aqmlab.measure import logs
from aqmlab.report.columns import Column
from aqmlab.report.comparison import candidates
from aqmlab.report.load_runs import Run, Section
from aqmlab.run import inputs

BASE = "base"
SAME = ("scenario", "clock", "seed")


@dataclass(frozen=True)
class MetricChange:
    """One metric of one workload, of a discipline beside another one.

    text: both means
    worse: whether it is worse than the threshold allows: for sure, by its 95 % interval
    perhaps: whether it is in the mean, and the interval includes less
    """

    workload: str
    column: Column
    mine: str
    other: str
    text: str
    worse: bool
    perhaps: bool

    def said(self, most: float) -> str:
        """Return a sentence about a metric that is worse."""
        how = "perhaps " if self.perhaps else ""
        more = "; the seeds differ too much, so use more --seeds" if self.perhaps else ""
        return (
            f"{self.workload}: {self.column.title} of {self.mine} is {how}more than "
            f"{100 * most:g} % worse than of {self.other}: {self.text}{more}"
        )


def threshold(text: str) -> float:
    """Return `20%` as 0.2. Raises UserError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
    if not found or not 0 < float(found[1]) < 100:
        raise UserError(f'--worse-than "{text}": needs a percentage between 0 and 100, as in 20%')
    return float(found[1]) / 100


def base_runs(directory: Path, names: Iterable[str]) -> dict[str, Run]:
    """Return runs of an earlier comparison with the same names.

    Raises UserError if one is missing.
    """
    found = {}
    for name in names:
        try:
            result = logs.load_result(directory / name, logs.RESULT_KEYS)
            found[name] = Run(directory / name, result)
        except (logs.BadLog, OSError, ValueError) as error:
            raise UserError(
                f"--base {directory}: has no run {name} ({error}); make the base by the same "
                "command without --base and with --out"
            ) from error
    return found


def _check_same(new: Mapping[str, Any], old: Mapping[str, Any], directory: Path) -> None:
    """Raise UserError if two runs differ in more than the version.

    A parameter that the version of one of them does not have is not compared.
    """
    shared = new["parameters"].keys() & old["parameters"].keys()
    differ = [key for key in SAME if new[key] != old[key]]
    differ += sorted(
        key for key in shared - {*inputs.FILES} if new["parameters"][key] != old["parameters"][key]
    )
    if differ:
        key = differ[0]
        was, now = (result["parameters"].get(key, result.get(key)) for result in (old, new))
        raise UserError(
            f"--base: {directory} has {key}={was}, and this comparison {key}={now}; "
            "make the base again"
        )


def add_base(sections: Sequence[Section], old: Mapping[str, Run], mine: str) -> None:
    """Add the runs of a base to the sections, as a discipline `base`. Raises UserError."""
    kernels = {
        (run.result["kernel"], old[run.directory.name].result["kernel"])
        for section in sections
        for run in section.runs.get(mine, ())
        if old
    }
    for new, before in sorted(kernels):
        if new != before:
            print(
                f"compare: the base was made with Linux {before}, and this with Linux {new}",
                file=sys.stderr,
            )
    for section in sections:
        for run in section.runs.get(mine, ()) if old else ():
            base = old[run.directory.name]
            _check_same(run.result, base.result, base.directory)
            section.runs.setdefault(BASE, []).append(base)


def judge(
    sections: Sequence[Section], columns: Sequence[Column], mine: Sequence[str], most: float
) -> Iterator[MetricChange]:
    """Judge each metric that two disciplines have, one of them of `mine`.

    most: part of the other's value by which mine may be worse
    """
    for section in sections:
        for column in columns:
            found = {candidate.name: candidate for candidate in candidates(section.rows, column)}
            for own in (found[name] for name in mine if name in found):
                for other in (found[name] for name in found if name not in mine):
                    beyond = own.beyond(other, 1 + own.sign * most)
                    means = (
                        own.mean.text(column.scale, column.digits),
                        other.mean.text(column.scale, column.digits),
                    )
                    worse = beyond.value - beyond.half > 0
                    yield MetricChange(
                        section.workload or str(section.any["scenario"]),
                        column,
                        own.name,
                        other.name,
                        f"{means[0]} instead of {means[1]}",
                        worse,
                        beyond.value > 0 and not worse,
                    )


def source_of(modules: Sequence[Path], kind: str) -> str:
    """Return the file of a qdisc, or of the first module's other source, relative to the working
    directory, in which a forge has the repository; "" if it is not there."""
    here = Path.cwd()
    found = [folder.resolve() / f"sch_{kind}.c" for folder in modules]
    found += [path for folder in modules[:1] for path in sorted(folder.resolve().glob("tcp_*.c"))]
    inside = (path for path in found if path.is_file() and path.is_relative_to(here))
    return next((path.relative_to(here).as_posix() for path in inside), "")


def write_junit(path: Path, judged: Sequence[MetricChange], most: float, source: str = "") -> None:
    """Write a test case for each metric, in JUnit's format, which CI systems show.

    A metric that is perhaps worse is a skipped test. source: the file that is compared
    """
    suite = ET.Element(
        "testsuite",
        name="compare",
        tests=str(len(judged)),
        failures=str(sum(change.worse for change in judged)),
        skipped=str(sum(change.perhaps for change in judged)),
    )
    for change in judged:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=change.workload,
            name=f"{change.column.title}: {change.mine} beside {change.other}",
        )
        if source:
            case.set("file", source)
        if change.worse or change.perhaps:
            ET.SubElement(case, "failure" if change.worse else "skipped", message=change.said(most))
    ET.ElementTree(suite).write(path, encoding="unicode", xml_declaration=True)


def write_sarif(path: Path, judged: Sequence[MetricChange], most: float, source: str = "") -> None:
    """Write a result for each metric that is worse, in SARIF 2.1.0, which code hosts show.

    A metric that is perhaps worse is a note. source: the file that is compared. A result is of a
    workload and not of a line, but GitHub shows only results that have a file.
    """
    file = {"physicalLocation": {"artifactLocation": {"uri": source}}} if source else {}
    bad = [change for change in judged if change.worse or change.perhaps]
    abouts = {change.column.title: change.column.about for change in bad}
    rules = [{"id": title, "shortDescription": {"text": about}} for title, about in abouts.items()]
    results = [
        {
            "ruleId": change.column.title,
            "level": "error" if change.worse else "note",
            "message": {"text": change.said(most)},
            "locations": [{**file, "logicalLocations": [{"name": change.workload}]}],
        }
        for change in bad
    ]
    driver = {"name": "aqm compare", "rules": rules}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")
