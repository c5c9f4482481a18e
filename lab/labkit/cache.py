# SPDX-License-Identifier: GPL-2.0
"""The cache: entries named by a hash of their inputs, built under a lock and then marked."""

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
from .paths import CACHE

#: This file marks its directory as complete.
MARK = "complete"

#: SHA-256 of each file in its directory that a guest runs, in the format of sha256sum(1).
SUMS = "sha256sums"


def mark(folder: Path) -> None:
    """Mark FOLDER as complete. Must be the last step."""
    (folder / MARK).touch()


def marked(folder: Path) -> bool:
    """Return whether FOLDER is marked as complete."""
    return (folder / MARK).exists()


def built(path: Path, make: Callable[[Path], None], whole: Callable[[Path], bool] = marked) -> Path:
    """Return PATH, after calling MAKE if it is not WHOLE. Concurrent callers build it once.

    MAKE must mark PATH as complete at its end, so an interrupted build is repeated.
    """
    if not whole(path):
        with lock(path.with_name(f"{path.name}.lock")):
            if not whole(path):
                make(path)
    touch(path)
    return path


def digest(parts: Iterable[bytes]) -> str:
    """Return a hash of PARTS as twelve hex digits. Lengths are hashed, too."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()[:12]


def digest_files(files: Iterable[Path], base: Path, *more: str) -> str:
    """Return a hash of the names (relative to BASE) and contents of FILES, and of MORE."""
    parts = [text.encode() for text in more]
    for file in sorted(files):
        parts += [os.fsencode(file.relative_to(base)), file.read_bytes()]
    return digest(parts)


def write_manifest(folder: Path) -> None:
    """Write FOLDER/manifest, which lists its files. Must be the last step.

    It includes the path, because kernel builds contain absolute paths.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    lines = [
        f"{path.stat().st_size} {path.relative_to(folder)}"
        for path in files
        if path.name != "manifest"
    ]
    fresh = folder / "manifest.part"
    fresh.write_text("\n".join([str(folder), *lines]) + "\n")
    fresh.replace(folder / "manifest")


def misplaced(folder: Path) -> str:
    """Return how FOLDER differs from its manifest (path, names, sizes), or ""."""
    try:
        place, *lines = (folder / "manifest").read_text().splitlines()
        if place != str(folder):
            return f"it was moved here from {place}"
        for line in lines:
            size, name = line.split(" ", 1)
            if (folder / name).lstat().st_size != int(size):
                return f"{name} has another size"
    except FileNotFoundError as error:
        return f"{error.filename} is missing"
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def file_digest(file: Path) -> str:
    """Return the SHA-256 of FILE."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_sums(folder: Path, files: Iterable[Path]) -> None:
    """Write FOLDER's sha256sums with one line per file of FILES."""
    fresh = folder / f"{SUMS}.part"
    fresh.write_text(
        "".join(f"{file_digest(file)}  {file.relative_to(folder)}\n" for file in sorted(files))
    )
    fresh.replace(folder / SUMS)


def sums(folder: Path) -> dict[str, str]:
    """Return the digests in FOLDER's sha256sums by name; empty if the file is missing."""
    try:
        lines = (folder / SUMS).read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {name: value for value, _, name in (line.partition("  ") for line in lines)}


def altered(folder: Path) -> str:
    """Return a file whose digest differs from sha256sums, with the reason, or ""."""
    recorded = sums(folder)
    if not recorded:
        return f"{SUMS} is missing"
    for name, value in recorded.items():
        try:
            if file_digest(folder / name) != value:
                return f"{name} has another SHA-256"
        except OSError as error:
            return f"{name}: {error.strerror}"
    return ""


def whole(folder: Path) -> bool:
    """Return whether FOLDER still matches its manifest and sha256sums."""
    return not (misplaced(folder) or altered(folder))


def files_under(*tops: Path) -> list[Path]:
    """Return all regular files below TOPS, except build products."""
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
    """Hold an exclusive lock on PATH. Print a message while waiting for another lab."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        hint = (
            "set LAB_CACHE to a writable directory"
            if path.is_relative_to(CACHE)
            else "the lab needs a writable build/ in the checkout; it may be a symbolic link"
        )
        raise LabError(f"cannot write to {path.parent}: {error.strerror}; {hint}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another lab that builds {path.stem}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def touch(path: Path) -> None:
    """Mark PATH as used now, so that old entries can be removed."""
    with contextlib.suppress(OSError):
        os.utime(path)


def prune(folder: Path, pattern: str, keep: int, age: float = 3 * 86400.0) -> None:
    """Remove matching entries of FOLDER unused for AGE seconds, except the KEEP newest."""
    entries = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[keep:]:
        if time.time() - path.stat().st_mtime > age:
            shutil.rmtree(path, ignore_errors=True)
