# SPDX-License-Identifier: GPL-2.0
"""Name results by all that they depend on, so that the same question is answered without a boot."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import aqmlab
from aqmlab import ROOT
from aqmlab.exceptions import RunError, UserError
from labkit import engines, outside, uml
from labkit.cache import built, digest, digest_files
from labkit.errors import LabError
from labkit.paths import CACHE

RESULTS = CACHE / "results"


@functools.cache
def _sources() -> str:
    """Return a hash of the Python code that makes a result."""
    packages = Path(aqmlab.__file__).parents[1]
    ours = [path for path in (packages / "aqmlab").rglob("*") if path.suffix in (".py", ".c")]
    return digest([digest_files(ours, packages).encode(), scenarios().encode()])


def scenarios() -> str:
    """Return a hash of the scenarios."""
    place = ROOT / "netns-scenarios" / "scenarios"
    return digest_files([*place.glob("*.py")], place)


def place(words: Sequence[str], kernel: str, flavour: str, modules: Sequence[Path]) -> Path:
    """Return the directory of the result of a command. Builds what its guest needs.

    Raises UserError if the lab refuses the kernel or a module.
    """
    try:
        for path in modules:
            outside.check(path)
        kernel_files, tree, extras, helpers = uml.built(
            kernel or engines.default_kernel(), flavour or "fast", tuple(modules)
        )
    except LabError as error:
        raise UserError(str(error)) from error
    key = digest(
        part.encode()
        for part in (
            *words,
            os.environ.get(engines.PTRACE, ""),
            *map(outside.hash_of, modules),
            _sources(),
            kernel_files.key,
            tree.parents[1].name,
            extras.tc.parent.name,
            helpers.name,
        )
    )
    return RESULTS / key


def kept(directory: Path, last: str, program: str, words: Sequence[str]) -> Path:
    """Return the directory of a result, after one of the commands has made it if it is missing.

    last: the file that the command writes last. If another process is making the result, wait.
    """
    return built(
        directory,
        lambda out: call(program, words, out),
        lambda out: (out / last).exists(),
    )


def call(program: str, words: Sequence[str], out: Path) -> None:
    """Run one of the commands with its result in OUT, as a process.

    Raises UserError or RunError with what it said, by its exit status.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "aqmlab", program, *words, "--out", out],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise (UserError if done.returncode == 2 else RunError)(done.stderr.strip())
