# SPDX-License-Identifier: GPL-2.0
"""Where things are, what the lab says, and the small tools all its parts share."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Resolved: kernel builds write their own paths down, and build/ may be a link.
BUILD = (ROOT / "build").resolve()
LAB = ROOT / "lab"


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where kernels, their sources and fetched packages live, for all checkouts of a user."""
    named = environment.get("LAB_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    home = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return (Path(home).expanduser() / "sch-aqm").resolve()


CACHE = cache_directory(os.environ)

EXIT_USAGE = 2
EXIT_UNAVAILABLE = 69  # EX_UNAVAILABLE: the lab itself could not be set up
EXIT_GUEST = 70  # EX_SOFTWARE: oops, report, panic, or a guest that died
EXIT_TIME = 124  # as timeout(1)


class LabError(Exception):
    """The lab cannot do what was asked; the text says why and what to do about it."""


def say(text: str) -> None:
    """Tell the person what is going on, beside the command's own output."""
    print(f"lab: {text}", file=sys.stderr, flush=True)


def need(tool: str, package: str) -> str:
    """Path of TOOL, or an error that says how to get it."""
    path = shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")
    if not path:
        raise LabError(f"{tool} is missing: apt-get install {package}  (or run lab/setup)")
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


def run_logged(
    command: Sequence[str | Path],
    log: Path,
    what: str,
    *,
    cwd: Path | None = None,
    expected: int = 0,
    counts: tuple[str, ...] = ("  CC", "  LD", "  AR", "  AS"),
) -> None:
    """Run COMMAND into LOG, showing how far it is out of EXPECTED lines that begin with COUNTS.

    Raises LabError with the log's last lines when it fails.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(what, expected)
    with log.open("a", buffering=1, encoding="utf-8", errors="replace") as out:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            text=True,
            errors="replace",
        )
        assert process.stdout
        try:
            for line in process.stdout:
                out.write(line)
                if line.startswith(counts):
                    progress.step()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        status = process.wait()
    progress.close()
    if status:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise LabError(f"{what} failed (status {status}); the end of {log}:\n{tail}")


class Progress:
    """Steps done of steps expected: one live line on a terminal, a line a quarter elsewhere."""

    def __init__(self, what: str, expected: int) -> None:
        self.what = what
        self.expected = expected
        self.done = 0
        self.start = time.monotonic()
        self.shown = -1
        self.live = sys.stderr.isatty()

    def step(self) -> None:
        """One more step is done."""
        self.done += 1
        if not self.expected:
            return
        percent = min(99, 100 * self.done // self.expected)
        if self.live and percent != self.shown:
            spent = time.monotonic() - self.start
            left = spent * (self.expected - self.done) / self.done
            sys.stderr.write(
                f"\rlab: {self.what}: {percent:2d} %, {max(0, left):.0f} s left \033[K"
            )
            sys.stderr.flush()
        elif not self.live and percent // 25 != self.shown // 25 and percent >= 25:
            say(f"{self.what}: {percent} %, {time.monotonic() - self.start:.0f} s so far")
        self.shown = percent

    def close(self) -> None:
        """Clear the live line."""
        if self.live and self.shown >= 0:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def compiler() -> str:
    """What the C compiler calls itself; part of every key of compiled things."""
    output = subprocess.run(
        [need("cc", "gcc"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    return output.splitlines()[0]


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
