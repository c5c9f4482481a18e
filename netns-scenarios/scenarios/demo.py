# SPDX-License-Identifier: GPL-2.0
"""The demo: every discipline of kinds.py at two buffers under some seeds, a table, a report."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from .execute import ROOT, terminated_as_interrupt
from .kinds import KINDS, slug

SNAKEFILE = ROOT / "netns-scenarios" / "demo.smk"
BUFFERS = (200, 1000)  # packets
SEEDS = (1, 2, 3)
WARMUP, DURATION = 8, 15  # seconds of virtual time


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="demo", description="Compare queue disciplines on the papers' dumbbell."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "demo", metavar="DIR",
                        help="default: out/demo")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="runs at a time (%(default)s)")
    parser.add_argument("--resume", action="store_true",
                        help="keep the runs that an interrupted demo has finished")
    return parser


def _runs() -> dict[str, tuple[str, int, int, list[str]]]:
    """Directory name to discipline, buffer, seed, and the words after `run`."""
    runs = {}
    for kind in KINDS:
        for buffer in BUFFERS:
            for seed in SEEDS:
                words = ["dumbbell", "--qdisc", kind.qdisc(buffer), "--seed", str(seed),
                         "--set", f"warmup={WARMUP}", "--set", f"duration={DURATION}"]
                runs[f"{slug(kind.name)}-{buffer}-{seed}"] = (kind.name, buffer, seed, words)
    return runs


def _sweep(directory: Path, names: Sequence[str], config: Path, jobs: int) -> int:
    """Run Snakemake, with a bar that counts results; its exit status."""
    log = directory / "snakemake.log"
    argv = [str(Path(sys.prefix) / "bin" / "snakemake"), "--snakefile", str(SNAKEFILE),
            "--configfile", str(config), "--directory", str(directory), "--cores", str(jobs),
            "--keep-going", "--rerun-incomplete", "--nolock"]
    with log.open("wb") as out:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)

        def done() -> int:
            return sum((directory / name / "result.json").exists() for name in names)

        form = "{l_bar}{bar}| {n_fmt}/{total_fmt} runs, {elapsed} gone, {remaining} left"
        # In a file or a pipe a line now and then does.
        every = 0.5 if sys.stderr.isatty() else 15.0
        try:
            with tqdm(total=len(names), initial=done(), bar_format=form, ascii=" =") as bar:
                ended = False
                while not ended:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(every)
                        ended = True
                    bar.n = done()
                    bar.refresh()
        except KeyboardInterrupt:
            # To Snakemake and to the runs, each of which ends its guest.
            os.killpg(child.pid, signal.SIGINT)
            child.wait()
            raise
    return child.returncode


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 when a run failed, 130 interrupted."""
    args = _parser().parse_args(argv)
    began = time.monotonic()
    runs = _runs()
    directory = args.out.resolve() / "runs"
    if directory.exists() and not args.resume:
        shutil.rmtree(directory)
    directory.mkdir(parents=True, exist_ok=True)
    print("demo: the lab's kernel, modules and tools", flush=True)
    if subprocess.run([ROOT / "lab" / "boot", "--build"]).returncode:
        return 1
    config = args.out / "runs.json"
    config.write_text(json.dumps({"runs": {n: words for n, (*_, words) in runs.items()}}))
    print(f"demo: {len(runs)} runs of {WARMUP + DURATION} s, {args.jobs} at a time", flush=True)
    try:
        with terminated_as_interrupt():
            status = _sweep(directory, list(runs), config.resolve(), args.jobs)
    except KeyboardInterrupt:
        print("demo: interrupted; `demo --resume` keeps the finished runs", file=sys.stderr)
        return 130
    if status:
        print(f"demo: a run failed; see {directory / 'snakemake.log'} and the run's log",
              file=sys.stderr)
        return 1

    from analysis import logs, report
    from analysis.compare import Row, text_table

    collected: dict[tuple[str, int], list[report.Run]] = {}
    for name, (kind, buffer, _, _) in runs.items():
        place = directory / name
        collected.setdefault((kind, buffer), []).append(
            report.Run(place, logs.load_result(place))
        )
    rows = [Row(kind, buffer, [r.result for r in several])
            for (kind, buffer), several in collected.items()]
    summary = [row.as_json() for row in rows]
    (args.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    report.write(args.out / "report.html", collected)
    print()
    print(text_table(rows))
    print(f"demo: {args.out / 'report.html'}, {time.monotonic() - began:.0f} s in all")
    return 0
