# SPDX-License-Identifier: GPL-2.0
"""Fetch kernel headers from any Debian suite, also for other architectures, to build modules.

Nothing is installed and nothing is booted. Cross compilers come from packages of the host.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import fetch, stock
from .cache import built, mark
from .errors import LabError, need, say
from .paths import CACHE

#: Kernel's name of each of Debian's architectures, and the prefix of the cross compiler.
ARCHITECTURES = {
    "amd64": ("x86", ""),
    "arm64": ("arm64", "aarch64-linux-gnu-"),
    "armhf": ("arm", "arm-linux-gnueabihf-"),
    "s390x": ("s390", "s390x-linux-gnu-"),
}

#: Settings for newer programs than the host may have: gcc, pahole.
NEWER = ("CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "CONFIG_DEBUG_INFO_BTF_MODULES=")

#: Packages with libraries.
LIBRARY = re.compile(r"(lib|zlib)[\w.+-]+")

#: Programs of the headers that are built for a newer C library run with that library.
WRAPPER = """#!/bin/sh
exec {loader} --library-path {libraries} {program} "$@"
"""


@dataclass(frozen=True)
class Headers:
    """Describe a package of headers: Debian's suite, the package, and the architecture."""

    suite: str
    package: str
    arch: str = "amd64"

    @property
    def name(self) -> str:
        """Return a name for tests and directories."""
        return f"{self.suite}-{self.package.removeprefix('linux-headers-')}"


def unpack(headers: Headers, target: Path) -> None:
    """Make TARGET hold HEADERS, ready for building modules."""
    shutil.rmtree(target, ignore_errors=True)
    add(headers, target)
    mark(target)


def add(headers: Headers, target: Path) -> None:
    """Unpack HEADERS, and what they need to build modules on this host, under TARGET."""
    options = fetch.update(headers.suite, headers.arch)
    host = fetch.update(headers.suite)
    say(f"fetching {headers.package} from {headers.suite}")
    for package in closure(headers.package, stock.WANTED, options):
        # Programs that run during a build are for the host.
        kbuild = package.startswith("linux-kbuild")
        fetch.unpack_deb(fetch.download_with(package, host if kbuild else options), target)
        if kbuild:
            wrap_programs(target, stock.depends(package, host, LIBRARY), headers.suite)
    stock.relocate(target)


def closure(package: str, wanted: re.Pattern[str], options: list[str]) -> list[str]:
    """Return PACKAGE and all packages that it needs, as far as their names match WANTED."""
    todo, done = [package], list[str]()
    while todo:
        package = todo.pop()
        if package not in done:
            done.append(package)
            todo += stock.depends(package, options, wanted)
    return done


def wrap_programs(target: Path, needed: list[str], suite: str) -> None:
    """Let programs under TARGET run with the libraries NEEDED of SUITE if the host lacks some."""
    programs = [
        path
        for path in sorted(target.glob("usr/lib/linux-kbuild-*/**/*"))
        if not path.is_symlink() and path.is_file() and is_program(path) and lacks_library(path)
    ]
    if not programs:
        return
    folder = target / "libraries"
    # A suite of updates has only a part of the libraries.
    options = fetch.update(re.sub("-(backports|security)$", "", suite))
    for library in {name for first in needed for name in closure(first, LIBRARY, options)}:
        try:
            fetch.unpack_deb(fetch.download_with(library, options), folder)
        except LabError as problem:
            say(f"without {library}: {problem}")
    libraries = [folder / name / "x86_64-linux-gnu" for name in ("lib", "usr/lib")]
    loaders = [
        path for path in (place / "ld-linux-x86-64.so.2" for place in libraries) if path.exists()
    ]
    loader = loaders[0] if loaders else "/lib64/ld-linux-x86-64.so.2"
    for program in programs:
        real = program.with_name(f"{program.name}.real")
        program.rename(real)
        program.write_text(
            WRAPPER.format(loader=loader, libraries=":".join(map(str, libraries)), program=real)
        )
        program.chmod(0o755)


def lacks_library(program: Path) -> bool:
    """Return whether the host has not all libraries of PROGRAM, or too old ones."""
    done = subprocess.run(
        [need("ldd", "libc-bin"), program], capture_output=True, text=True, check=False
    )
    return "not found" in done.stdout + done.stderr


def is_program(path: Path) -> bool:
    """Return whether PATH is an ELF file that can be executed."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF" and bool(path.stat().st_mode & 0o111)


def ensure_headers(headers: Headers) -> list[str]:
    """Return make's arguments to build modules with HEADERS. Fetch them if needed."""
    target = built(CACHE / "headers" / headers.name, lambda place: unpack(headers, place))
    return arguments(headers, target)


def directory(headers: Headers, target: Path) -> Path:
    """Return the directory of HEADERS that were unpacked under TARGET. Raises LabError."""
    flavour = headers.package.rpartition("-")[2]
    found = [
        path
        for path in target.glob("usr/src/linux-headers-*")
        if (path / ".config").exists() and path.name.endswith(f"-{flavour}")
    ]
    if len(found) != 1:
        raise LabError(
            f"{headers.package} of {headers.suite} has no directory of headers: remove {target}"
        )
    return found[0]


def arguments(headers: Headers, target: Path) -> list[str]:
    """Return make's arguments to build modules with HEADERS that were unpacked under TARGET."""
    return ["-C", str(directory(headers, target)), *architecture(headers.arch)]


def architecture(debian: str) -> list[str]:
    """Return make's arguments to build modules for an architecture of Debian on this host."""
    arch, prefix = ARCHITECTURES[debian]
    compiler = need(f"{prefix}gcc", f"gcc-{prefix.removesuffix('-')}" if prefix else "gcc")
    return [
        f"ARCH={arch}",
        f"CROSS_COMPILE={prefix}",
        f"CC={compiler}",
        *NEWER,
    ]
