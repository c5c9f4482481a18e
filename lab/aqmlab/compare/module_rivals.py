# SPDX-License-Identifier: GPL-2.0
"""Versions of a module that are compared with each other: directories, or commits of one."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path

from aqmlab.exceptions import UserError
from labkit import outside

KINDS = ("sch_", "tcp_")


def _names(folder: Path) -> set[str]:
    return {f"{prefix}{name}" for prefix in KINDS for name in outside.names(folder, prefix)}


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)


def at_commit(folder: Path, commit: str, place: Path) -> Path:
    """Return a copy of a module's directory as it was at a commit.

    place: where the copy goes
    Raises UserError if the directory is in no repository of git, or was not there at the commit.
    """
    found = _git(folder, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if found.returncode:
        raise UserError(
            f"--base {commit}: is no directory, and no commit of the repository of {folder}"
        )
    short = found.stdout.decode().strip()[:12]
    # Without a prefix, archive takes the directory in which it runs.
    packed = _git(folder, "archive", "--format=tar", short)
    copy = place / f"{folder.resolve().name}-{short}"
    if packed.returncode == 0:
        copy.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(copy, filter="data")
    if packed.returncode or not _names(copy):
        raise UserError(f"--base {commit}: {folder} had no sch_NAME.c or tcp_NAME.c then")
    return copy


def rivals(modules: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the directories of each version by the version's name; none if all can be loaded
    together.

    Directories with a module of the same name are versions. The others belong to each version.
    """
    versions = [
        folder
        for folder in modules
        if any(_names(folder) & _names(other) for other in modules if other != folder)
    ]
    shared = [folder for folder in modules if folder not in versions]
    return {name: [folder, *shared] for folder, name in _called(versions)}


def _called(folders: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the shortest end of each directory's path that no other one has."""
    for folder in folders:
        parts = folder.resolve().parts
        ends = ["/".join(parts[-n:]) for n in range(1, len(parts))]
        others = [other.resolve().as_posix() for other in folders if other != folder]
        yield folder, next(end for end in ends if not any(o.endswith(f"/{end}") for o in others))


def words(rivals: Mapping[str, Sequence[Path]]) -> dict[str, list[str]]:
    """Return the options of `run` for each version."""
    return {
        name: [word for path in folders for word in ("--module", str(path.resolve()))]
        for name, folders in rivals.items()
    }
