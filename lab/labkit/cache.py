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
from .paths import CACHE

#: The file that says that what is beside it is whole.
MARK = "complete"

#: Holds the SHA-256 of each file beside it that a guest runs, as sha256sum(1) writes it.
SUMS = "sha256sums"


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


def misplaced(folder: Path) -> str:
    """Say how FOLDER differs from its manifest in place, names or sizes; "" if it does not."""
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
    """Write FOLDER's sha256sums, with a line for each of FILES."""
    fresh = folder / f"{SUMS}.part"
    fresh.write_text("".join(f"{file_digest(file)}  {file.relative_to(folder)}\n"
                             for file in sorted(files)))
    fresh.replace(folder / SUMS)


def sums(folder: Path) -> dict[str, str]:
    """Return what FOLDER's sha256sums has: digests by name. It is empty if there is none."""
    try:
        lines = (folder / SUMS).read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {name: value for value, _, name in (line.partition("  ") for line in lines)}


def altered(folder: Path) -> str:
    """Say which file is not as FOLDER's sha256sums has it; "" if all are."""
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
    """Whether FOLDER is as it was when its manifest and its sha256sums were written."""
    return not (misplaced(folder) or altered(folder))


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
        hint = ("LAB_CACHE names another place for kernels" if path.is_relative_to(CACHE) else
                "the lab needs a build/ in the checkout that it can write to; it may be a link")
        raise LabError(f"cannot write to {path.parent}: {error.strerror}; {hint}") from error
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
