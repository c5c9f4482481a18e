# SPDX-License-Identifier: GPL-2.0
"""The user-mode kernels: from a source to a pruned tree in the cache."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import records
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
from .toolchain import compiler, jobs

#: Each flavour's fragments of lab/config beside base.config.
FRAGMENTS = {
    "fast": (),
    "kasan": ("kasan",),
    "lockdep": ("lockdep",),
    "checked": ("kasan", "lockdep"),
    "smp": ("smp",),
}

#: Kernels to keep, whatever their age, and seconds without use after which others go.
KEEP, AGE = 6, 30 * 86400.0

#: Objects that a build makes, for the progress line; wrong by a few does no harm.
EXPECTED = {"fast": 1160, "kasan": 1180, "lockdep": 1180, "checked": 1210,
            "smp": 1180}

#: What a build leaves and nothing needs: modules are built against the rest.
LEFTOVERS = re.compile(
    r"\.(o|a|cmd|ko|mod|mod\.c)$|^(vmlinux\.unstripped|\.vmlinux.*|\.tmp_vmlinux.*)$"
)


UML = ("ARCH=um",)

#: A setting as the kernel writes it. What else begins with # is a comment.
SETTING = re.compile(r"^(?:(CONFIG_\w+)=.*|# (CONFIG_\w+) is not set)$", flags=re.MULTILINE)

#: What merge_config.sh says of a setting that came out otherwise, in words old and new.
LOST = re.compile(
    r"^(?:WARNING: )?(?:Value requested for (\w+) not in final|(\w+) differs)", flags=re.MULTILINE
)


@dataclass(frozen=True)
class Kernel:
    """A kernel to boot. `key` names it in every directory that depends on it.

    `path` is what modules are built against, `modules` the directory of its own modules.
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


def settings(name: str, flavour: str) -> str:
    """What the lab sets in kernel NAME, on top of tinyconfig; no setting twice."""
    texts = [(LAB / "config" / f"{fragment}.config").read_text()
             for fragment in ("base", *FRAGMENTS[flavour])]
    texts.append(records.user_mode_of(name).config)
    found = {match[1] or match[2]: match[0]
             for text in texts for match in SETTING.finditer(text)}
    return "".join(f"{setting}\n" for setting in found.values())


def flavours(name: str) -> tuple[str, ...]:
    """The flavours of kernel NAME. Only a kernel whose record says so has two CPUs."""
    return tuple(flavour for flavour in FRAGMENTS
                 if flavour != "smp" or records.user_mode_of(name).smp)


def flags(name: str, flavour: str) -> tuple[str, ...]:
    """The compiler's, beside the kernel's own; not for modules."""
    return records.user_mode_of(name).flags if flavour == "fast" else ()


def ensure_uml(name: str, flavour: str) -> Kernel:
    """The user-mode kernel NAME in FLAVOUR, built when missing or damaged.

    Keyed by source version, configuration, architecture and compiler, so a change of any of
    them gives another kernel beside the old one.
    """
    source = ensure_source(name)
    edits = records.user_mode_of(name).edits
    key = digest(part.encode() for part in (
        source.version, settings(name, flavour), repr(edits or None), *flags(name, flavour),
        os.uname().machine, compiler()))
    path = CACHE / "kernels" / f"{name}-{flavour}-{key}"
    built(path, lambda place: build_uml(name, flavour, source, place), whole)
    prune(path.parent, "*-*-*[0-9a-f]", KEEP, AGE)
    release = (path / "release").read_text().strip()
    modules = path / "installed" / "lib" / "modules" / release
    return Kernel(name, flavour, path.name, path, release, path / "linux", modules)


def check_tools() -> None:
    """Raise LabError for the first tool a kernel build lacks."""
    for tool, package in (
        ("make", "make"), ("flex", "flex"), ("bison", "bison"), ("bc", "bc"), ("ld", "binutils"),
        ("perl", "perl"), ("depmod", "kmod"),
    ):
        need(tool, package)


def make_kernel(source: Source, path: Path, arguments: Sequence[str]) -> list[str | Path]:
    """The command that builds SOURCE in PATH; nothing of the host, the hour or PATH shows in it."""
    return [
        "nice", "make", "-C", source.tree, f"O={path}", f"-j{jobs()}", *arguments,
        "KBUILD_BUILD_TIMESTAMP=2001-06-04", "KBUILD_BUILD_USER=lab", "KBUILD_BUILD_HOST=lab",
        "KBUILD_BUILD_VERSION=1",
    ]


def configure(
    source: Source, path: Path, wanted: str, arguments: Sequence[str], what: str
) -> set[str]:
    """Make PATH/.config: tinyconfig, and the settings WANTED by the kernel's own merge_config.sh.

    ARGUMENTS are make's. Returns the settings that this kernel did not take.
    """
    log = LOGS / f"config-{path.name}.log"
    log.unlink(missing_ok=True)
    config, fragment = path / ".config", path / "lab.config"
    config.unlink(missing_ok=True)
    fragment.write_text(wanted)
    run_logged([*make_kernel(source, path, arguments), "tinyconfig"], log, f"{what}: configuring")
    run_logged(["sh", "scripts/kconfig/merge_config.sh", "-O", path, config, fragment], log,
               f"{what}: configuring", cwd=source.tree,
               variables=dict(argument.split("=", 1) for argument in arguments))
    return lost_settings(log.read_text(), wanted)


def prepare(name: str, path: Path, wanted: str, arguments: Sequence[str]) -> list[str]:
    """Make the directory PATH fit to compile modules for kernel NAME with the settings WANTED.

    The kernel itself is not built. Returns what make needs to know for modules, ARGUMENTS and all.
    """
    source = ensure_source(name)
    what = f"Linux {name}, headers"
    configure(source, path, wanted, arguments, what)
    run_logged([*make_kernel(source, path, arguments), "modules_prepare"],
               LOGS / f"config-{path.name}.log", what)
    return module_arguments(path, arguments)


def ensure_prepared(name: str) -> list[str]:
    """As `prepare` for user mode, with the settings of the flavour fast; kept in the cache."""
    wanted = settings(name, "fast")
    key = digest(part.encode() for part in (ensure_source(name).version, wanted, compiler()))

    def make(place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        prepare(name, place, wanted, UML)
        mark(place)

    return module_arguments(built(CACHE / "kernels" / f"{name}-prepared-{key}", make), UML)


def module_arguments(path: Path, arguments: Sequence[str]) -> list[str]:
    """What make needs to know to compile modules in PATH, where a kernel was prepared."""
    # There is no vmlinux that could list what it exports.
    return ["-C", str(path), *arguments, "KBUILD_MODPOST_WARN=1"]


def tell_lost(name: str, lost: set[str]) -> None:
    """Tell of settings that kernel NAME did not take and is not known to lack."""
    surprising = sorted(lost - records.user_mode_of(name).lacks)
    if surprising:
        say(f"not in Linux {name} as configured: {', '.join(surprising)}")


def lost_settings(log: str, wanted: str) -> set[str]:
    """Which settings that were WANTED came out otherwise by the LOG of merge_config.sh.

    It complains of tinyconfig's, too.
    """
    names = {match[1] or match[2] for match in SETTING.finditer(wanted)}
    lost = {match[1] or match[2] for match in LOST.finditer(log)}
    return {name.removeprefix("CONFIG_") for name in names & lost}


def build_uml(name: str, flavour: str, source: Source, path: Path) -> None:
    """Configure, build, install the kernel's own modules, prune; its manifest marks the end.

    What an interrupted build left is taken up again: the key says it was for the same. What was
    whole once and is not any more is built anew. A kernel from before there were digests gets
    them now, if its files have their sizes.
    """
    damage = misplaced(path)
    if not damage and not sums(path):
        write_sums(path, runnable(path))
        return
    check_tools()
    if " " in str(path) or ":" in str(path):
        raise LabError(f"kernels cannot be built below {CACHE}: a blank or a colon in the name; "
                       "LAB_CACHE names another place")
    if (path / "manifest").exists():
        say(f"{path.name} is not what was built: {damage or altered(path)}")
        shutil.rmtree(path)
    say(f"building Linux {source.version} ({flavour}) for user mode: once, some minutes")
    path.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"kernel-{path.name}.log"
    log.unlink(missing_ok=True)
    what = f"Linux {name} {flavour}"
    make = [*make_kernel(source, path, UML), f"CFLAGS_KERNEL={' '.join(flags(name, flavour))}"]
    tell_lost(name, configure(source, path, settings(name, flavour), UML, what))
    run_logged([*make, "all"], log, what, expected=EXPECTED[flavour])
    run_logged([*make, "modules_install", f"INSTALL_MOD_PATH={path / 'installed'}"], log,
               f"{what}: its modules")
    release = (path / "include" / "config" / "kernel.release").read_text()
    prune_build(path)
    (path / "release").write_text(release)
    write_sums(path, runnable(path))
    write_manifest(path)
    say(f"{what} is ready")


def runnable(path: Path) -> list[Path]:
    """The files of the kernel in PATH that a guest runs: its image and its modules."""
    return [path / "linux", *(path / "installed").rglob("*.ko")]


def prune_build(path: Path) -> None:
    """Remove what no module build needs; the build tools in scripts/ stay whole."""
    for folder, dirs, files in os.walk(path):
        if Path(folder) == path:
            dirs[:] = [d for d in dirs if d not in {"scripts", "installed"}]
        for file in files:
            if LEFTOVERS.search(file):
                (Path(folder) / file).unlink()


