# SPDX-License-Identifier: GPL-2.0
"""Make runs in forks of this process, which has everything imported already."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from aqmlab import run_command
from aqmlab.run import run_directory
from aqmlab.run.execute import end_with

from .sweep_job import LOG, Job

#: How many lines of a failed run's errors are shown.
REASON = 8


class RunProgress:
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


def forked(
    directory: Path, jobs: Mapping[str, Job], at_once: int, taken: Callable[[str], None] | None
) -> None:
    """Make what is missing in copies of this process, which has everything imported already."""
    progress = RunProgress(directory, jobs, taken)
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
