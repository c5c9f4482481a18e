# SPDX-License-Identifier: GPL-2.0
"""Many runs, by Snakemake: several at a time, those that are there already not again."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from aqmlab import ROOT
from aqmlab.measure import logs
from aqmlab.run import run_directory
from aqmlab.run.execute import terminated_as_interrupt

SNAKEFILE = Path(__file__).with_name("sweep.smk")
PROFILES = ROOT / "netns-scenarios" / "profiles"
LOG = "snakemake.log"


@dataclass(frozen=True)
class Job:
    """One run: the words after `run`; and where it belongs in tables and pictures: the
    discipline's name, and its buffer in packets, if that is what is compared."""

    words: list[str]
    name: str
    buffer: int | None = None


def parser(prog: str, description: str, out: Path, *, resume: bool) -> argparse.ArgumentParser:
    """The options that every sweep has; `resume` is a default."""
    made = argparse.ArgumentParser(prog=prog, description=description)
    made.add_argument("--out", type=Path, default=out, metavar="DIR",
                      help=f"default: {out.relative_to(ROOT)}")
    made.add_argument("--jobs", type=int, metavar="N",
                      help=f"runs at a time ({os.cpu_count() or 1}; with a profile what it says)")
    made.add_argument("--profile", metavar="NAME",
                      help="run on a cluster: docs/cluster.md")
    made.add_argument("--resume", action=argparse.BooleanOptionalAction, default=resume,
                      help="keep the runs of the same words that are there already, whatever they "
                      "were made with")
    return made


def settings(values: Mapping[str, float | str]) -> list[str]:
    """Words for `run` that set parameters."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def run(args: argparse.Namespace, jobs: Mapping[str, Job], note: str = "",
        taken: Callable[[str], None] | None = None) -> dict[str, dict[str, Any]]:
    """result.json of each job, by the name of its directory in `args.out`; of a run that failed,
    none. `note` is for who reads the report; `taken` gets the name of each run that is whole, as
    soon as it is."""
    directory: Path = args.out.resolve()
    if not args.resume and (directory / logs.SWEEP).exists():
        for name in json.loads((directory / logs.SWEEP).read_text())["runs"]:
            shutil.rmtree(directory / name, ignore_errors=True)
    for name, job in jobs.items():
        if of_other_words(directory / name, job.words):
            shutil.rmtree(directory / name)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / logs.SWEEP).write_text(json.dumps(
        {"note": note, "runs": {name: asdict(job) for name, job in jobs.items()}}, indent=1) + "\n")
    print("the lab's kernel, modules and tools", file=sys.stderr, flush=True)
    if subprocess.run([ROOT / "lab" / "boot", "--build"]).returncode:
        raise SystemExit(1)
    with terminated_as_interrupt():
        _snakemake(directory, list(jobs), where(args.profile, args.jobs), taken)
    results = {}
    for name in jobs:
        with contextlib.suppress(logs.BadLog):
            results[name] = logs.load_result(directory / name)
    return results


def of_other_words(directory: Path, words: list[str]) -> bool:
    """Whether there is a run in `directory` that a job of this name made when it was another, or
    that does not say."""
    try:
        _, *made, _out, _name = logs.read_run(directory)["made_with"]["argv"]
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    return made != words


def where(profile: str | None, jobs: int | None) -> list[str]:
    """Snakemake's options for where runs are made, and how many at a time. A profile that is not
    ours Snakemake looks for itself: a directory, or one in ~/.config/snakemake."""
    if not profile:
        return ["--cores", str(jobs or os.cpu_count() or 1)]
    ours = PROFILES / profile
    return ["--profile", str(ours if ours.is_dir() else profile),
            *(["--jobs", str(jobs)] if jobs else [])]


def _snakemake(directory: Path, names: list[str], options: list[str],
               taken: Callable[[str], None] | None) -> None:
    """Make what is missing, with a bar that counts results."""
    argv = [str(Path(sys.prefix) / "bin" / "snakemake"), "--snakefile", str(SNAKEFILE),
            "--configfile", str(directory / logs.SWEEP), "--directory", str(directory),
            *options, "--keep-going", "--rerun-incomplete", "--nolock"]
    with (directory / LOG).open("wb") as out:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)

        waited_for = list(names)

        def done() -> int:
            for name in list(waited_for):
                if run_directory.is_whole(directory / name):
                    waited_for.remove(name)
                    if taken:
                        taken(name)
            return len(names) - len(waited_for)

        form = "{l_bar}{bar}| {n_fmt}/{total_fmt} runs, {elapsed} gone, {remaining} left"
        # In a file or a pipe a line now and then does; and to look for many costs a file server.
        every = 0.5 if sys.stderr.isatty() and len(names) < 1000 else 15.0
        try:
            with tqdm(total=len(names), initial=done(), bar_format=form, ascii=" =") as bar:
                ended = False
                while not ended:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(every)
                        ended = True
                    bar.n = done()
                    bar.refresh()
        except BaseException:
            # An interrupt, or what `taken` raised. To Snakemake and to the runs, each of which ends
            # its guest.
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGINT)
                child.wait()
            raise
