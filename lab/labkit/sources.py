# SPDX-License-Identifier: GPL-2.0
"""Fetch Debian's kernel sources and unpack them, without files that user mode never compiles."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from . import fetch, records
from .cache import built, digest, lock
from .errors import LabError, need, say
from .paths import CACHE, LOGS
from .progress import run_logged
from .toolchain import jobs

#: Patterns of files that no user-mode kernel compiles. Kconfig files and Makefiles stay. There are
#: few patterns because tar tries each of them on each of 90 000 names.
UNUSED = (
    "Documentation/[!Kn]*",
    "Documentation/n[!e]*",
    "arch/[!ux]*.[chS]",
    "arch/[!ux]*.dts*",
    "arch/xtensa/*.[chS]",
    "rust/*.rs",
    "samples/*.[chS]",
    "sound/*.[chS]",
    *(
        f"drivers/{name}/*.[chS]"
        for name in (
            "accel",
            "clk",
            "crypto",
            "dma",
            "gpu",
            "hid",
            "hwmon",
            "iio",
            "infiniband",
            "input",
            "md",
            "media",
            "mtd",
            "net/ethernet",
            "net/wireless",
            "phy",
            "pinctrl",
            "platform",
            "scsi",
            "soc",
            "staging",
            "usb",
            "video",
        )
    ),
    "tools/perf/*.[chS]",
    "tools/perf/*.json",
)


@dataclass(frozen=True)
class Source:
    """Hold an unpacked kernel source: its tree and the exact Debian version."""

    tree: Path
    version: str


def source_place(name: str) -> Path:
    """Return the directory of source NAME. The key contains omitted files and edits."""
    edits = records.user_mode_of(name).edits
    recipe = repr((UNUSED, edits or None)).encode()
    return CACHE / "src" / f"{name}-{digest([recipe])}"


def unpacked(path: Path) -> bool:
    """Return whether PATH holds a complete source, which has its version."""
    return (path / "version").exists()


def ensure_source(name: str) -> Source:
    """Return Debian's kernel source NAME. Fetch and unpack it if it is missing."""
    path = built(source_place(name), lambda place: unpack_source(name, place), unpacked)
    return Source(path / f"linux-source-{name}", (path / "version").read_text().strip())


def unpack_source(name: str, path: Path) -> None:
    """Make PATH the directory of source NAME with its version, by a rename at the end."""
    deb = fetch.download(f"linux-source-{name}", records.user_mode_of(name).suites)
    version = deb.name.split("_")[1].replace("%3a", ":")
    say(f"unpacking Linux {version}")
    scratch, fresh = (path.with_name(f"{path.name}.{part}") for part in ("deb", "part"))
    for folder in (scratch, fresh, path):
        shutil.rmtree(folder, ignore_errors=True)
    fresh.mkdir(parents=True)
    fetch.unpack_deb(deb, scratch)
    need("xz", "xz-utils")
    excludes = [f"--exclude=linux-source-{name}/{pattern}" for pattern in UNUSED]
    # The package is compressed in blocks, so that xz can use several processors.
    tar = [
        "tar",
        "--wildcards",
        "--wildcards-match-slash",
        *excludes,
        f"--use-compress-program=xz -T{jobs()}",
        "-xf",
    ]
    run_logged(
        ["nice", *tar, scratch / "usr" / "src" / f"linux-source-{name}.tar.xz", "-C", fresh],
        LOGS / f"unpack-{name}.log",
        f"unpacking Linux {version}",
    )
    shutil.rmtree(scratch)
    edit_source(name, fresh / f"linux-source-{name}")
    (fresh / "version").write_text(version + "\n")
    fresh.rename(path)


def edit_source(name: str, tree: Path) -> None:
    """Apply the edits of NAME's record."""
    for file, old, new in records.user_mode_of(name).edits:
        path = tree / file
        text = path.read_text()
        if old not in text:
            raise LabError(
                f"{file} of Linux {name} does not contain {old!r}, which "
                f"lab/kernels/{name}.toml edits"
            )
        path.write_text(text.replace(old, new))


def substitute_note(name: str) -> Path:
    """Return the file in the cache that names the substitute for NAME."""
    return CACHE / "src" / f"instead-of-{name}"


def substitute(name: str) -> str:
    """Return the substitute for NAME, or ""."""
    note = substitute_note(name)
    return note.read_text().strip() if note.exists() else ""


def available_name(name: str) -> str:
    """Return NAME, or its substitute if Debian no longer has the source.

    A suite such as backports has only one kernel at a time.
    """
    if unpacked(source_place(name)) or fetch.cached(f"linux-source-{name}"):
        return name
    note = substitute_note(name)
    with lock(note.with_name(f"{note.name}.lock")):
        return substitute(name) or find_substitute(name, note)


def find_substitute(name: str, note: Path) -> str:
    """Ask the archive for NAME. If it is gone, choose the newest available kernel and say so.

    NOTE is written only if all suites of NAME answered, because an unreachable one may have it.
    """
    own = records.user_mode_of(name).suites
    problems: list[str] = []
    there = offered(own, problems)
    if name in there:
        return name
    gone = not problems
    if not any(map(records.boots, there)):
        suites = (records.user_mode_of(other).suites for other in records.names("uml"))
        others = dict.fromkeys(suite for each in suites for suite in each if suite not in own)
        there = offered(tuple(others), problems)
    newest = max(filter(records.boots, there), key=records.order, default=None)
    if not newest:
        reasons = "\n  ".join(problems or [f"it is not in {', '.join(own)}"])
        raise LabError(f"cannot fetch Linux {name}, nor another that boots:\n  {reasons}")
    why = "has gone on" if gone else f"cannot be reached ({problems[0]})"
    known = "" if newest in records.names("uml") else ", which has not been tried"
    again = "; --clean-cache forgets this" if gone else ""
    say(
        f"Linux {name} is no longer available, Debian {' and '.join(own)} {why}: "
        f"taking {newest}{known}{again}"
    )
    if gone:
        note.write_text(newest + "\n")
    return newest


def offered(suites: tuple[str, ...], problems: list[str]) -> set[str]:
    """Return versions of kernel sources in SUITES. Append unreachable suites to PROBLEMS."""
    found: set[str] = set()
    for suite in suites:
        try:
            packages = fetch.names("linux-source-", suite)
        except LabError as problem:
            problems.append(f"{suite}: {problem}")
        else:
            found |= {package.removeprefix("linux-source-") for package in packages}
    return found
