# SPDX-License-Identifier: GPL-2.0
"""The demo: run every discipline of demo_workloads.py in its workloads, and write a report."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from aqmlab.report import load_runs, picture
from aqmlab.report.cards import card, text
from aqmlab.report.columns import text_table
from labkit.paths import OUT

from . import forks, sweep, sweep_job
from .demo_workloads import WORKLOADS, Discipline, Workload

SEEDS = (1, 2, 3)


def jobs_of(
    name: str,
    workload: Workload,
    disciplines: Iterable[Discipline],
    seeds: Iterable[int],
    words: Sequence[str] = (),
) -> dict[str, sweep_job.Job]:
    """Return the runs of some disciplines in a workload, by the name of their directory.

    name: of the workload
    words: further words for `run`
    """
    seeds = [*seeds]
    return {
        "-".join(
            [name, *re.findall(r"[\w.=%]+", discipline.name), str(buffer), str(seed)]
        ): sweep_job.Job(
            [
                workload.scenario,
                "--qdisc",
                discipline.qdisc(buffer),
                "--seed",
                str(seed),
                *sweep_job.settings(workload.settings),
                *words,
            ],
            discipline.name,
            buffer,
            name,
        )
        for discipline in disciplines
        for buffer in workload.buffers
        for seed in seeds
    }


def jobs() -> dict[str, sweep_job.Job]:
    """All runs, by the name of their directory."""
    return {
        directory: job
        for name, workload in WORKLOADS.items()
        for directory, job in jobs_of(
            name, workload, (*workload.rivals, *workload.disciplines), SEEDS
        ).items()
    }


def run_and_report(
    args: argparse.Namespace,
    prog: str,
    wanted: Mapping[str, sweep_job.Job],
    about: Mapping[str, Mapping[str, str]],
) -> list[load_runs.Section]:
    """Make the runs that are missing, and write their report. Return them as sections.

    Raises SystemExit with a message if a run failed, and with 130 if it was interrupted.
    """
    try:
        done = sweep.run(args, wanted, about)
    except KeyboardInterrupt:
        print(f"{prog}: interrupted; `{prog} --resume` keeps the finished runs", file=sys.stderr)
        raise SystemExit(130) from None
    if failed := [name for name in wanted if name not in done]:
        raise SystemExit(
            f"{prog}: {len(failed)} of {len(wanted)} runs failed, {failed[0]} first: "
            f"{forks.reason(args.out, failed[0])}"
        )
    found = load_runs.collect([args.out])
    write_report(args.out / "report.html", found)
    return found


def write_report(path: Path, found: Sequence[load_runs.Section]) -> None:
    """Write a report, or say what is missing for one: the wheel's core does not require it."""
    try:
        from aqmlab.report import html_report
    except ModuleNotFoundError as error:
        print(f"no {path.name}: it needs {error.name}: pip install 'sch-aqm[report]'")
        return
    html_report.write(path, found)


def wrong_advice(sections: Iterable[load_runs.Section]) -> Iterator[str]:
    """Yield a line for each discipline that the advice names and that is worse than the best."""
    for section in sections:
        answer = card(section)
        for name in WORKLOADS[section.workload].use:
            if not answer or name not in answer.as_good:
                yield (
                    f"the advice for {section.workload} in demo_workloads.py names {name}, "
                    "which is worse than the best"
                )


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0, 1 if a run failed or the advice is wrong, 130 if interrupted."""
    args = sweep.parser(
        "demo",
        "Compare each discipline with mainline's, in its workloads.",
        OUT / "demo",
        resume=False,
        example="--out demo --jobs 2",
    ).parse_args(argv)
    began = time.monotonic()
    found = run_and_report(
        args, "demo", jobs(), {name: workload.about() for name, workload in WORKLOADS.items()}
    )
    (args.out / "report.svg").write_text(picture.draw(found))
    rows = [row for section in found for row in section.rows]
    (args.out / "summary.json").write_text(
        json.dumps([row.as_json() for row in rows], indent=1) + "\n"
    )
    print()
    for section in found:
        print(f"{section.about['title']}, {text_table(section.rows)}")
    for section in found:
        if answer := card(section):
            print(f"{section.about['title']}\n{text(answer)}\n")
    wrong = [*wrong_advice(found)]
    for line in wrong:
        print(f"demo: {line}", file=sys.stderr)
    print(f"demo: {args.out / 'report.html'}, {time.monotonic() - began:.0f} s in all")
    return 1 if wrong else 0
