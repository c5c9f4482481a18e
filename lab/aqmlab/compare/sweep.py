# SPDX-License-Identifier: GPL-2.0
"""Make the runs of a sweep that are missing, in forks of this process or by Snakemake."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tqdm import tqdm

from aqmlab import ROOT, run_command
from aqmlab.measure import logs
from aqmlab.run import run_directory
from aqmlab.run.execute import end_with, terminated_as_interrupt
from labkit import engines
from labkit.errors import LabError
from labkit.paths import OUT
from labkit.request import Request

SNAKEFILE = Path(__file__).with_name("sweep.smk")
PROFILES = ROOT / "lab" / "profiles"
LOG = "sweep.log"
#: How many lines of a failed run's errors are shown.
REASON = 8


@dataclass(frozen=True)
class Job:
    """One run, and where it belongs in tables and plots.

    words: the words after `run`
    name: of the discipline
    buffer: in packets, if buffers are compared
    workload: its name, if the sweep has several
    varied: parameters that differ within a table
    """

    words: list[str]
    name: str
    buffer: int | None = None
    workload: str = ""
    varied: Sequence[str] = ()


def parser(prog: str, description: str, out: Path, *, resume: bool) -> argparse.ArgumentParser:
    """Return a parser with the options that every sweep has.

    out, resume: defaults
    """
    added = argparse.ArgumentParser(prog=prog, description=description)
    added.add_argument(
        "--out",
        type=Path,
        default=out,
        metavar="DIR",
        help=f"default: {out.relative_to(OUT.parent)}",
    )
    added.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help=f"runs at a time; default: {os.cpu_count() or 1}, or the profile's",
    )
    added.add_argument("--profile", metavar="NAME", help="run on a cluster: docs/cluster.md")
    added.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=resume,
        help="keep finished runs of the same commands, even if sources changed",
    )
    return added


def settings(values: Mapping[str, float | str]) -> list[str]:
    """Words for `run` that set parameters."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def from_anywhere(words: Sequence[str]) -> list[str]:
    """Return the words for `run` with --module's directory, which is relative to the repository, as
    an absolute path."""
    return [
        str(ROOT / word) if before == "--module" else word
        for before, word in zip(("", *words), words, strict=False)
    ]


def run(
    args: argparse.Namespace,
    jobs: Mapping[str, Job],
    about: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    taken: Callable[[str], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """Make the runs that are missing. Return result.json of each job that did not fail, by the name
    of its directory in `args.out`.

    about: for the report, by workload: title, advice and note
    taken: called with the name of each run as soon as it is whole
    """
    directory: Path = args.out.resolve()
    if not args.resume and (directory / logs.SWEEP).exists():
        for name in json.loads((directory / logs.SWEEP).read_text())["runs"]:
            shutil.rmtree(directory / name, ignore_errors=True)
    for name, job in jobs.items():
        if of_other_words(directory / name, job.words):
            shutil.rmtree(directory / name)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / logs.SWEEP).write_text(
        json.dumps(
            {
                "workloads": {name: dict(texts) for name, texts in about.items()},
                "runs": {name: asdict(job) for name, job in jobs.items()},
            },
            indent=1,
        )
        + "\n"
    )
    print("the lab's kernel, modules and tools", file=sys.stderr, flush=True)
    try:
        booted = engines.run(Request(["true"]))
    except LabError as error:
        raise SystemExit(f"lab: {error}") from error
    if booted.status:
        raise SystemExit(f"lab: {booted.reason}; kernel log: {booted.log}")
    with terminated_as_interrupt():
        if args.profile:
            _snakemake(directory, list(jobs), where(args.profile, args.jobs), taken)
        else:
            _forked(directory, jobs, args.jobs or os.cpu_count() or 1, taken)
    results = {}
    for name in jobs:
        with contextlib.suppress(logs.BadLog):
            results[name] = logs.load_result(directory / name)
    for text, names in _warnings(results).items():
        print(
            f"warning: {names[0]}"
            + (f" and {len(names) - 1} more" if len(names) > 1 else "")
            + f": {text}",
            file=sys.stderr,
        )
    return results


def _warnings(results: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the runs that have each warning."""
    found: dict[str, list[str]] = {}
    for name, result in results.items():
        for text in result.get("warnings", ()):
            found.setdefault(re.sub(r"dropped \d+", "dropped some", text), []).append(name)
    return found


def of_other_words(directory: Path, words: list[str]) -> bool:
    """Return whether the run in `directory` has other words, or does not tell its words."""
    try:
        _, *words_of_run, _out, _name = logs.read_run(directory)["made_with"]["argv"]
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    return bool(words_of_run != words)


def where(profile: str, jobs: int | None) -> list[str]:
    """Return Snakemake's options for where runs are made, and how many at a time.

    A profile that is not ours Snakemake looks for itself: a directory, or one in
    ~/.config/snakemake.
    """
    ours = PROFILES / profile
    return [
        "--profile",
        str(ours if ours.is_dir() else profile),
        *(["--jobs", str(jobs)] if jobs else []),
    ]


class _Progress:
    """A bar that counts the results in a sweep's directory, and tells of each new one."""

    def __init__(
        self, directory: Path, names: Collection[str], taken: Callable[[str], None] | None
    ) -> None:
        self.directory, self.taken = directory, taken
        self.waited_for = set(names)
        self.bar = tqdm(
            total=len(names),
            ascii=" =",
            bar_format=("{l_bar}{bar}| {n_fmt}/{total_fmt} runs, {elapsed} gone, {remaining} left"),
        )
        self.bar.initial = sum(run_directory.is_complete(directory / name) for name in names)

    def look(self, names: Collection[str] = ()) -> None:
        """Count the results that are whole; only look at `names`, if any are given."""
        for name in names or tuple(self.waited_for):
            if name in self.waited_for and run_directory.is_complete(self.directory / name):
                self.waited_for.remove(name)
                if self.taken:
                    self.taken(name)
        self.bar.n = self.bar.total - len(self.waited_for)
        self.bar.refresh()


def _forked(
    directory: Path, jobs: Mapping[str, Job], at_once: int, taken: Callable[[str], None] | None
) -> None:
    """Make what is missing in copies of this process, which has everything imported already."""
    progress = _Progress(directory, jobs, taken)
    waiting = [name for name in jobs if not run_directory.is_complete(directory / name)]
    running: dict[int, str] = {}

    def ended(pid: int) -> str:
        name = running.pop(pid)
        errors = _errors(directory, name)
        log.write(errors.read_bytes() if errors.exists() else b"")
        if run_directory.is_complete(directory / name):
            errors.unlink(missing_ok=True)
        return name

    def fill() -> None:
        while waiting and len(running) < at_once:
            name = waiting.pop(0)
            running[_begin(directory, name, jobs[name].words)] = name

    with progress.bar, (directory / LOG).open("ab") as log:
        try:
            fill()
            progress.look()
            while running:
                name = ended(os.wait()[0])
                fill()
                progress.look([name])
        finally:
            # An interrupt, or what `taken` raised. Each run ends its guest.
            for pid in running:
                os.kill(pid, signal.SIGTERM)
            for pid in [*running]:
                os.waitpid(pid, 0)
                ended(pid)


def _errors(directory: Path, name: str) -> Path:
    """Return the file with the errors of a run; a successful run leaves none."""
    return directory / f"{name}.err"


def reason(directory: Path, name: str) -> str:
    """Return why a run failed: its last lines, or where they are."""
    path = _errors(directory, name)
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return "\n".join(["", *lines[-REASON:]]) if lines else f"see {directory / LOG}"


def _begin(directory: Path, name: str, words: Sequence[str]) -> int:
    """Start the run `name`; return its process."""
    parent = os.getpid()
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    status = 1
    try:
        end_with(parent)
        os.chdir(directory)
        for number, file in ((0, os.devnull), (1, os.devnull)):
            os.dup2(os.open(file, os.O_RDWR), number)
        with _errors(directory, name).open("wb") as errors:
            os.dup2(errors.fileno(), 2)
        sys.argv = ["run", *words, "--out", name]
        status = run_command.main(sys.argv[1:])
    except BaseException:
        traceback.print_exc()
    finally:
        # Nothing of the parent's is flushed or cleaned up here.
        sys.stderr.flush()
        os._exit(status)


def _snakemake(
    directory: Path, names: list[str], options: list[str], taken: Callable[[str], None] | None
) -> None:
    """Make what is missing on a cluster."""
    argv = [
        str(Path(sys.prefix) / "bin" / "snakemake"),
        "--snakefile",
        str(SNAKEFILE),
        "--configfile",
        str(directory / logs.SWEEP),
        "--directory",
        str(directory),
        *options,
        "--keep-going",
        "--rerun-incomplete",
        "--nolock",
    ]
    with (directory / LOG).open("wb") as out:
        try:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise SystemExit("--profile needs Snakemake: make setup-sweeps") from error
        # In a file or a pipe a line now and then does; and to look for many costs a file server.
        every = 0.5 if sys.stderr.isatty() and len(names) < 1000 else 15.0
        try:
            progress = _Progress(directory, names, taken)
            with progress.bar:
                ended = False
                while not ended:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(every)
                        ended = True
                    progress.look()
        except BaseException:
            # An interrupt, or an error of `taken`. Snakemake ends the runs and they their guests.
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGINT)
                child.wait()
            raise
