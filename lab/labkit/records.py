# SPDX-License-Identifier: GPL-2.0
"""The kernels that the lab knows: a file of lab/kernels each, named after the version.

    [uml]           boots in user mode, built here
    suites          Debian's suites that may carry linux-source-VERSION, tried in this order
    deterministic   equal seeds give equal bytes by the virtual clock
    words           of the kernel's command line
    smp             it can have more than one CPU, by the wall clock
    config          settings beside the fragments of lab/config
    lacks           settings of the fragments that this version has not got
    edits           what is changed in the source: file, old, new
    flags           of the compiler, for the kernel itself in the flavour that is to be fast

    [qemu]          boots in QEMU as Debian ships it
    packages        pairs: a suite that carries it, and what its packages' names end in there
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import LabError
from .paths import LAB

#: The oldest kernel that is known to boot in user mode with what the lab asks of it.
OLDEST = "6.12"


@dataclass(frozen=True)
class UserMode:
    """How a kernel is built for user mode and booted."""

    suites: tuple[str, ...]
    deterministic: bool = False
    words: tuple[str, ...] = ()
    config: str = ""
    lacks: frozenset[str] = frozenset()
    edits: tuple[tuple[str, str, str], ...] = ()
    flags: tuple[str, ...] = ()
    smp: bool = False


@dataclass(frozen=True)
class Stock:
    """Where Debian's build of a kernel is."""

    packages: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Record:
    """One kernel; None for an engine that does not boot it."""

    name: str
    uml: UserMode | None = None
    qemu: Stock | None = None


def order(name: str) -> tuple[int, ...]:
    """Sorts versions by age: 6.9 before 6.12."""
    return tuple(int(number) for number in name.split("."))


def read(path: Path) -> Record:
    """The record in the file PATH; a wrong one raises LabError."""
    try:
        data = tomllib.loads(path.read_text())
        uml, qemu = data.pop("uml", None), data.pop("qemu", None)
        if data or not (uml or qemu):
            raise TypeError(f"there are {sorted(data)} beside [uml] and [qemu]"
                            if data else "neither [uml] nor [qemu]")
        order(path.stem)
        return Record(path.stem, user_mode(**uml) if uml else None,
                      stock(**qemu) if qemu else None)
    except (TypeError, KeyError, ValueError) as error:
        raise LabError(f"{path} is no kernel's record: {error}") from error


def user_mode(*, suites: list[str], deterministic: bool = False, words: tuple[str, ...] = (),
              config: str = "", lacks: tuple[str, ...] = (),
              edits: tuple[dict[str, str], ...] = (),
              flags: tuple[str, ...] = (), smp: bool = False) -> UserMode:
    """The table [uml] of a record."""
    changes = tuple((edit["file"], edit["old"], edit["new"]) for edit in edits)
    return UserMode(tuple(suites), deterministic, tuple(words), config, frozenset(lacks), changes,
                    tuple(flags), smp)


def stock(*, packages: list[tuple[str, str]]) -> Stock:
    """The table [qemu] of a record."""
    return Stock(tuple((suite, ending) for suite, ending in packages))


@functools.cache
def records(folder: Path = LAB / "kernels") -> dict[str, Record]:
    """All records by name, the newest kernel first."""
    found = [read(path) for path in folder.glob("*.toml")]
    return {r.name: r for r in sorted(found, key=lambda r: order(r.name), reverse=True)}


def names(engine: str) -> tuple[str, ...]:
    """The kernels that ENGINE boots, the newest first: it is the default."""
    return tuple(name for name, record in records().items() if getattr(record, engine))


def boots(name: str) -> bool:
    """Whether NAME is a version that may be expected to boot in user mode."""
    return bool(re.fullmatch(r"\d+\.\d+", name)) and order(name) >= order(OLDEST)


def user_mode_of(name: str) -> UserMode:
    """How kernel NAME is built for user mode: as its record says.

    A newer or older kernel that stands in for one that is gone has no record. It is built as
    the one is that comes before it, and nobody has seen that its bytes are the same each time.
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
    """Where Debian's build of kernel NAME is: suites, and what the packages' names end in."""
    found = records()[name].qemu
    assert found, f"{name} is none of Debian's"
    return found.packages
