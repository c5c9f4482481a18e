# SPDX-License-Identifier: GPL-2.0
"""Build user-mode kernels: from a source to a small tree in the cache."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import records, trees
from .cache import (
    altered,
    built,
    digest,
    mark,
    misplaced,
    prune,
    sums,
    whole,
    write_manifest,
    write_sums,
)
from .errors import LabError, need, say
from .paths import CACHE, LAB, LOGS
from .progress import run_logged
from .sources import Source, ensure_source
from .toolchain import MAKE_CC, compiler, compiler_path, jobs

#: Fragments of lab/config for each flavour, in addition to base.config and hosts.config.
FRAGMENTS: dict[str, tuple[str, ...]] = {
    "fast": ("static",),
    "kasan": ("kasan",),
    "lockdep": ("lockdep",),
    "checked": ("kasan", "lockdep"),
    "smp": ("smp",),
}

#: Number of kernels to keep at any age; the others are removed after AGE seconds without use.
KEEP, AGE = 6, 30 * 86400.0

#: Approximate number of objects of a build, for the progress line.
EXPECTED = {"fast": 1420, "kasan": 1440, "lockdep": 1440, "checked": 1470, "smp": 1440}

#: Files of a build that are needed neither to boot nor to build modules.
LEFTOVERS = re.compile(
    r"\.(o|a|cmd|ko|mod|mod\.c)$|^(vmlinux\.unstripped|\.vmlinux.*|\.tmp_vmlinux.*)$"
)


UML = ("ARCH=um", *MAKE_CC)

#: Parts of lab/src that are linked into each user-mode kernel.
LINKED = ("seeded", "huge", "leash")

#: A setting as the kernel writes it. Other lines with # are comments.
SETTING = re.compile(r"^(?:(CONFIG_\w+)=.*|# (CONFIG_\w+) is not set)$", flags=re.MULTILINE)

#: Old and new messages of merge_config.sh about a setting with a different result.
LOST = re.compile(
    r"^(?:WARNING: )?(?:Value requested for (\w+) not in final|(\w+) differs)", flags=re.MULTILINE
)


@dataclass(frozen=True)
class Kernel:
    """Describe a kernel to boot. `key` names it in every directory that depends on it.

    Modules are built against `path`; `modules` is the directory of the kernel's modules.
    """

    name: str
    flavour: str
    key: str
    path: Path
    release: str
    image: Path
    modules: Path
    arch: str = "um"
    cc: str = "cc"


def user_mode_of(name: str) -> records.UserMode:
    """Return how to build kernel NAME, a version or a tree, for user mode."""
    return trees.user_mode(name) if trees.is_tree(name) else records.user_mode_of(name)


def settings(name: str, flavour: str) -> str:
    """Return the settings of kernel NAME on top of tinyconfig. No setting appears twice."""
    texts = [
        (LAB / "config" / f"{fragment}.config").read_text()
        for fragment in ("base", "hosts", *FRAGMENTS[flavour])
    ]
    texts.append(user_mode_of(name).config)
    found = {match[1] or match[2]: match[0] for text in texts for match in SETTING.finditer(text)}
    return "".join(f"{setting}\n" for setting in found.values())


def flavours(name: str) -> tuple[str, ...]:
    """Return the flavours of kernel NAME. Two CPUs need a record with smp."""
    return tuple(flavour for flavour in FRAGMENTS if flavour != "smp" or user_mode_of(name).smp)


def flags(name: str, flavour: str) -> tuple[str, ...]:
    """Return compiler flags in addition to the kernel's own. Not used for modules."""
    return user_mode_of(name).flags if flavour == "fast" else ()


def linked_sources() -> list[Path]:
    """Return the C files that are linked into each user-mode kernel."""
    return [LAB / "src" / f"{name}.c" for name in LINKED]


def link_helpers(flavour: str, path: Path, log: Path) -> str:
    """Compile LINKED into PATH/lab.o. Return make's argument that links it into the kernel."""
    objects = [path / f"{source.stem}.lab.o" for source in linked_sources()]
    cc: list[str | Path] = [compiler_path(), "-O2", "-Wall", "-Wextra", "-fno-pie"]
    for source, target in zip(linked_sources(), objects, strict=True):
        run_logged([*cc, "-c", "-o", target, source], log, f"compiling {source.name}")
    merged = path / "lab.o"
    run_logged([need("ld", "binutils"), "-r", "-o", merged, *objects], log, "linking lab.o")
    return f"LINK-y={'-static' if 'static' in FRAGMENTS[flavour] else '-no-pie'} {merged}"


def ensure_uml(name: str, flavour: str) -> Kernel:
    """Return the user-mode kernel NAME in FLAVOUR. Build it if it is missing or damaged.
    The key contains source version, configuration, architecture and compiler. If one of them
    changes, the new kernel is stored beside the old one.
    """
    source = ensure_source(name)
    edits = records.user_mode_of(name).edits
    key = digest(
        part.encode()
        for part in (
            source.version,
            settings(name, flavour),
            repr(edits or None),
            *flags(name, flavour),
            os.uname().machine,
            compiler(),
            *(source.read_text() for source in linked_sources()),
        )
    )
    path = CACHE / "kernels" / f"{name}-{flavour}-{key}"
    built(path, lambda place: build_uml(name, flavour, source, place), whole)
    prune(path.parent, "*-*-*[0-9a-f]", KEEP, AGE)
    release = (path / "release").read_text().strip()
    modules = path / "installed" / "lib" / "modules" / release
    return Kernel(name, flavour, path.name, path, release, path / "linux", modules)


def check_tools() -> None:
    """Raise LabError for the first missing build tool."""
    for tool, package in (
        ("make", "make"),
        ("flex", "flex"),
        ("bison", "bison"),
        ("bc", "bc"),
        ("ld", "binutils"),
        ("perl", "perl"),
        ("depmod", "kmod"),
    ):
        need(tool, package)


def make_kernel(source: Source, path: Path, arguments: Sequence[str]) -> list[str | Path]:
    """Return the command that builds SOURCE in PATH. Its result is independent of host and time."""
    return [
        "nice",
        "make",
        "-C",
        source.tree,
        f"O={path}",
        f"-j{jobs()}",
        *arguments,
        "KBUILD_BUILD_TIMESTAMP=2001-06-04",
        "KBUILD_BUILD_USER=lab",
        "KBUILD_BUILD_HOST=lab",
        "KBUILD_BUILD_VERSION=1",
    ]


def configure(
    source: Source, path: Path, wanted: str, arguments: Sequence[str], what: str
) -> set[str]:
    """Make PATH/.config: tinyconfig, and the settings WANTED by the kernel's own merge_config.sh.

    ARGUMENTS are make's. Returns the settings that this kernel did not accept.
    """
    log = LOGS / f"config-{path.name}.log"
    log.unlink(missing_ok=True)
    config, fragment = path / ".config", path / "lab.config"
    config.unlink(missing_ok=True)
    fragment.write_text(wanted)
    run_logged([*make_kernel(source, path, arguments), "tinyconfig"], log, f"{what}: configuring")
    run_logged(
        ["sh", "scripts/kconfig/merge_config.sh", "-O", path, config, fragment],
        log,
        f"{what}: configuring",
        cwd=source.tree,
        variables=dict(argument.split("=", 1) for argument in arguments),
    )
    return lost_settings(log.read_text(), wanted)


def ensure_prepared(
    name: str, wanted: str = "", arguments: Sequence[str] = UML, by: str = ""
) -> list[str]:
    """Return make's arguments to compile modules for kernel NAME, which is not built itself.

    WANTED: settings; empty: the settings of flavour fast. ARGUMENTS: make's. BY: the compiler, if
    it is not the host's. Cached.
    """
    source = ensure_source(name)
    wanted = wanted or settings(name, "fast")
    key = digest(part.encode() for part in (source.version, wanted, by or compiler(), *arguments))

    def make(place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        what = f"Linux {name}, headers"
        configure(source, place, wanted, arguments, what)
        run_logged(
            [*make_kernel(source, place, arguments), "modules_prepare"],
            LOGS / f"config-{place.name}.log",
            what,
        )
        mark(place)

    return module_arguments(built(CACHE / "kernels" / f"{name}-prepared-{key}", make), arguments)


def module_arguments(path: Path, arguments: Sequence[str]) -> list[str]:
    """Return make's arguments to compile modules against the prepared kernel in PATH."""
    # Without vmlinux there is no list of exported symbols.
    return ["-C", str(path), *arguments, "KBUILD_MODPOST_WARN=1"]


def report_lost(name: str, lost: set[str]) -> None:
    """Print settings that kernel NAME did not accept, except those in its record's `lacks`."""
    surprising = sorted(lost - user_mode_of(name).lacks)
    if surprising:
        say(f"not in Linux {name} as configured: {', '.join(surprising)}")


def lost_settings(log: str, wanted: str) -> set[str]:
    """Return the WANTED settings that LOG of merge_config.sh reports as different.

    The log also reports settings of tinyconfig.
    """
    names = {match[1] or match[2] for match in SETTING.finditer(wanted)}
    lost = {match[1] or match[2] for match in LOST.finditer(log)}
    return {name.removeprefix("CONFIG_") for name in names & lost}


def build_uml(name: str, flavour: str, source: Source, path: Path) -> None:
    """Configure and build the kernel, install its modules, and remove unneeded files.

    An interrupted build continues. A kernel that was complete and is now damaged is built
    again. An old kernel without digests gets them if its files have the right sizes. The
    manifest is written last.
    """
    damage = misplaced(path)
    if not damage and not sums(path):
        write_sums(path, runnable(path))
        return
    check_tools()
    if " " in str(path) or ":" in str(path):
        raise LabError(
            f"kernels cannot be built below {CACHE}: the path has a blank or colon; "
            "set LAB_CACHE to another directory"
        )
    if (path / "manifest").exists():
        say(f"{path.name} is damaged: {damage or altered(path)}")
        shutil.rmtree(path)
    say(f"building Linux {source.version} ({flavour}) for user mode (once, a few minutes)")
    path.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"kernel-{path.name}.log"
    log.unlink(missing_ok=True)
    what = f"Linux {name} {flavour}"
    make = [*make_kernel(source, path, UML), f"CFLAGS_KERNEL={' '.join(flags(name, flavour))}"]
    report_lost(name, configure(source, path, settings(name, flavour), UML, what))
    link = link_helpers(flavour, path, log)
    run_logged([*make, link, "all"], log, what, expected=EXPECTED[flavour])
    run_logged(
        [*make, "modules_install", f"INSTALL_MOD_PATH={path / 'installed'}"],
        log,
        f"{what}: its modules",
    )
    release = (path / "include" / "config" / "kernel.release").read_text()
    prune_build(path)
    complete(path, release.strip())
    say(f"{what} is ready")


def adopt(kernel: Kernel, path: Path) -> None:
    """Complete PATH, which has the headers of KERNEL, to what build_uml() leaves there."""
    for file in (kernel.image, kernel.path / "System.map"):
        shutil.copy(file, path)
    installed = path / "installed" / "lib" / "modules" / kernel.release
    shutil.copytree(kernel.modules, installed, ignore=shutil.ignore_patterns("extra", "modules.*"))
    for file in kernel.modules.glob("modules.[bo]*"):
        shutil.copy(file, installed)
    complete(path, kernel.release)


def complete(path: Path, release: str) -> None:
    """Write the files that say what PATH holds; the manifest last."""
    (path / "release").write_text(f"{release}\n")
    write_sums(path, runnable(path))
    write_manifest(path)


def runnable(path: Path) -> list[Path]:
    """Return the files of the kernel in PATH that a guest runs: image and modules."""
    return [path / "linux", *(path / "installed").rglob("*.ko")]


def prune_build(path: Path) -> None:
    """Remove files that module builds do not need. The tools in scripts/ stay."""
    for folder, dirs, files in os.walk(path):
        if Path(folder) == path:
            dirs[:] = [d for d in dirs if d not in {"scripts", "installed"}]
        for file in files:
            if LEFTOVERS.search(file):
                (Path(folder) / file).unlink()
