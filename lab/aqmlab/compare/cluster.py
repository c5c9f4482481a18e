# SPDX-License-Identifier: GPL-2.0
"""Make runs by Snakemake, on a cluster."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from aqmlab import ROOT
from aqmlab.measure import logs

from .forks import RunProgress
from .sweep_job import LOG

SNAKEFILE = Path(__file__).with_name("sweep.smk")


PROFILES = ROOT / "lab" / "profiles"


def where(profile: str, jobs: int | None) -> list[str]:
    """Return Snakemake's options for where runs are made, and how many at a time.

    A profile that is not ours Snakemake looks for itself: a directory, or one in
    ~/.config/snakemake.
    """
    ours = PROFILES / profile
    if ours.name == "slurm" and not shutil.which("sbatch"):
        raise SystemExit("--profile slurm: this machine has no sbatch: see docs/cluster.md")
    return [
        "--profile",
        str(ours if ours.is_dir() else profile),
        *(["--jobs", str(jobs)] if jobs else []),
    ]


def snakemake(
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
            progress = RunProgress(directory, names, taken)
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
