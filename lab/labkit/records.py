# SPDX-License-Identifier: GPL-2.0
"""Read the kernels that the lab knows: one file lab/kernels/VERSION.toml each.

Sections and keys:

    [uml]           boots in user mode, built here
    suites          Debian suites that may have linux-source-VERSION, tried in this order
    deterministic   equal seeds give equal bytes with the virtual clock
    seccomp         runs processes by seccomp(2), which is faster than by ptrace(2)
    words           additions to the kernel's command line
    smp             the kernel can have more than one CPU, with the wall clock
    config          settings in addition to the fragments of lab/config
    lacks           settings of the fragments that this version does not have
    edits           changes of the source: file, old, new
    flags           compiler flags for the kernel in flavour fast

    [qemu]          boots in QEMU as Debian ships it
    packages        pairs of a suite and the suffix of its package names there
    seldom          only tests that name this kernel boot it

    [cloud]         boots in QEMU with the virtual clock, as Debian ships it for clouds
    packages        as above
    arm64           Debian's kernel for arm64 boots, too, as VERSION-arm64
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import LabError
from .paths import LAB
from .targets import ARM64_SUFFIX

#: The oldest kernel known to boot in user mode with the settings of the lab.
OLDEST = "6.12"

TABLES = ("uml", "qemu", "cloud")


@dataclass(frozen=True)
class UserMode:
    """Describe how a kernel is built for user mode and booted."""

    suites: tuple[str, ...]
    deterministic: bool = False
    words: tuple[str, ...] = ()
    config: str = ""
    lacks: frozenset[str] = frozenset()
    edits: tuple[tuple[str, str, str], ...] = ()
    flags: tuple[str, ...] = ()
    smp: bool = False
    seccomp: bool = False


@dataclass(frozen=True)
class Stock:
    """Describe where to find Debian's build of a kernel."""

    packages: tuple[tuple[str, str], ...]
    seldom: bool = False
    arm64: bool = False


@dataclass(frozen=True)
class Record:
    """Describe one kernel. A field is None if that engine cannot boot it."""

    name: str
    uml: UserMode | None = None
    qemu: Stock | None = None
    cloud: Stock | None = None


def order(name: str) -> tuple[int, ...]:
    """Return a sort key for versions: 6.9 comes before 6.12."""
    return tuple(int(number) for number in name.split("."))


def read(path: Path) -> Record:
    """Return the record in file PATH. Raise LabError if it is invalid."""
    try:
        data = tomllib.loads(path.read_text())
        uml, qemu, cloud = (data.pop(table, None) for table in TABLES)
        if data or not (uml or qemu or cloud):
            raise TypeError(
                f"unknown tables {sorted(data)}; allowed are {', '.join(TABLES)}"
                if data
                else f"none of the tables {', '.join(TABLES)}"
            )
        order(path.stem)
        return Record(
            path.stem,
            user_mode(**uml) if uml else None,
            stock(**qemu) if qemu else None,
            stock(**cloud) if cloud else None,
        )
    except (TypeError, KeyError, ValueError) as error:
        raise LabError(f"{path} does not describe a kernel: {error}") from error


def user_mode(
    *,
    suites: list[str],
    deterministic: bool = False,
    words: tuple[str, ...] = (),
    config: str = "",
    lacks: tuple[str, ...] = (),
    edits: tuple[dict[str, str], ...] = (),
    flags: tuple[str, ...] = (),
    smp: bool = False,
    seccomp: bool = False,
) -> UserMode:
    """Return the table [uml] of a record."""
    changes = tuple((edit["file"], edit["old"], edit["new"]) for edit in edits)
    return UserMode(
        tuple(suites),
        deterministic,
        tuple(words),
        config,
        frozenset(lacks),
        changes,
        tuple(flags),
        smp,
        seccomp,
    )


def stock(*, packages: list[tuple[str, str]], seldom: bool = False, arm64: bool = False) -> Stock:
    """Return the table [qemu] or [cloud] of a record."""
    return Stock(tuple((suite, ending) for suite, ending in packages), seldom, arm64)


@functools.cache
def records(folder: Path = LAB / "kernels") -> dict[str, Record]:
    """Return all records by name, the newest kernel first."""
    found = [read(path) for path in folder.glob("*.toml")]
    return {r.name: r for r in sorted(found, key=lambda r: order(r.name), reverse=True)}


def names(engine: str, *, seldom: bool = False) -> tuple[str, ...]:
    """Return the kernels that ENGINE boots, the newest first. The first is the default.

    SELDOM: also kernels that few tests boot
    """
    found = [(name, getattr(record, engine)) for name, record in records().items()]
    return tuple(
        name for name, how in found if how and (seldom or not getattr(how, "seldom", False))
    )


def arm64_names() -> tuple[str, ...]:
    """Return the kernels for arm64 that QEMU boots with the virtual clock, the newest first."""
    found = [(name, record.cloud) for name, record in records().items()]
    return tuple(f"{name}{ARM64_SUFFIX}" for name, cloud in found if cloud and cloud.arm64)


def boots(name: str) -> bool:
    """Return whether version NAME can be expected to boot in user mode."""
    return bool(re.fullmatch(r"\d+\.\d+", name)) and order(name) >= order(OLDEST)


def user_mode_of(name: str) -> UserMode:
    """Return how to build kernel NAME for user mode.

    A substitute for a kernel that is no longer available has no record. It is built like the
    next older kernel that has one, and is not promised to be deterministic.
    """
    known = records().get(name)
    if known and known.uml:
        return known.uml
    if not boots(name):
        raise LabError(f"no kernel {name} boots in user mode; there are {', '.join(names('uml'))}")
    before = next(other for other in names("uml") if order(other) <= order(name))
    uml = records()[before].uml
    assert uml
    return replace(uml, deterministic=False, edits=())


def packages_of(name: str) -> tuple[tuple[str, str], ...]:
    """Return the suites that have Debian's kernel NAME, with the suffix of its package names."""
    found = records()[name].qemu
    assert found, f"{name} is not a kernel of Debian"
    return found.packages


def cloud_packages(name: str) -> tuple[tuple[str, str], ...]:
    """Return the suites that have Debian's kernel NAME for clouds, as packages_of() does."""
    found = records()[name].cloud
    assert found, f"{name} is no kernel for clouds"
    return found.packages
