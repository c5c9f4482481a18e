# SPDX-License-Identifier: GPL-2.0
"""What is built once and kept: named after what it was made from, made under a lock, marked."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .errors import LabError, say

#: The file that says that what is beside it is whole.
MARK = "complete"


def mark(folder: Path) -> None:
    """Say that FOLDER is whole: last of all."""
    (folder / MARK).touch()


def marked(folder: Path) -> bool:
    """Whether FOLDER was marked as whole."""
    return (folder / MARK).exists()


def built(path: Path, make: Callable[[Path], None],
          whole: Callable[[Path], bool] = marked) -> Path:
    """PATH, which MAKE makes if it is not WHOLE yet; once, however many ask at a time.

    MAKE leaves it whole, last of all: what was interrupted is made again.
    """
    if not whole(path):
        with lock(path.with_name(f"{path.name}.lock")):
            if not whole(path):
                make(path)
    touch(path)
    return path


def digest(parts: Iterable[bytes]) -> str:
    """Twelve hex digits over PARTS, each with its length, so that borders count."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()[:12]


def digest_files(files: Iterable[Path], base: Path, *more: str) -> str:
    """Digest over the names (relative to BASE) and contents of FILES, and MORE."""
    parts = [text.encode() for text in more]
    for file in sorted(files):
        parts += [os.fsencode(file.relative_to(base)), file.read_bytes()]
    return digest(parts)


def write_manifest(folder: Path) -> None:
    """Say in FOLDER/manifest which files it holds, last of all: it is whole now.

    With where it lies, for kernel builds write that down in many places.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    lines = [f"{path.stat().st_size} {path.relative_to(folder)}" for path in files
             if path.name != "manifest"]
    fresh = folder / "manifest.part"
    fresh.write_text("\n".join([str(folder), *lines]) + "\n")
    fresh.replace(folder / "manifest")


def whole(folder: Path) -> bool:
    """Whether FOLDER lies where it was made and has all files of its manifest, in their sizes."""
    try:
        place, *lines = (folder / "manifest").read_text().splitlines()
        pairs = (line.split(" ", 1) for line in lines)
        return place == str(folder) and all(
            (folder / name).lstat().st_size == int(size) for size, name in pairs
        )
    except (OSError, ValueError):
        return False


def files_under(*tops: Path) -> list[Path]:
    """Every regular file below TOPS (or TOPS themselves), without what builds leave behind."""
    found = []
    for top in tops:
        candidates = [top] if top.is_file() else sorted(top.rglob("*"))
        for path in candidates:
            if path.suffix in {".o", ".ko", ".so", ".mod", ".cmd", ".a", ".pyc", ".order"}:
                continue
            if path.name.endswith(".mod.c") or not path.is_file():
                continue
            found.append(path)
    return found


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold PATH exclusively against other labs; says so when it has to wait."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise LabError(f"cannot write to {path.parent}: {error.strerror}; LAB_CACHE names another "
                       "place for kernels") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another lab is at work on {path.stem}, waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def touch(path: Path) -> None:
    """Mark PATH as used just now, so that the oldest can be pruned."""
    with contextlib.suppress(OSError):
        os.utime(path)


def prune(folder: Path, pattern: str, keep: int, age: float = 3 * 86400.0) -> None:
    """Remove entries of FOLDER that match, unused for AGE seconds and not among the KEEP newest."""
    entries = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[keep:]:
        if time.time() - path.stat().st_mtime > age:
            shutil.rmtree(path, ignore_errors=True)
