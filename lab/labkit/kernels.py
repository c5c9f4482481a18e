# SPDX-License-Identifier: GPL-2.0
"""The user-mode kernels: from Debian's source package to a pruned tree in the cache."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import fetch
from .common import (
    BUILD,
    CACHE,
    LAB,
    LabError,
    compiler,
    digest,
    lock,
    need,
    prune,
    run_logged,
    say,
    touch,
    whole,
    write_manifest,
)

#: Each flavour's fragments of lab/config beside base.config.
FRAGMENTS = {
    "fast": (),
    "kasan": ("kasan",),
    "lockdep": ("lockdep",),
    "checked": ("kasan", "lockdep"),
}
FLAVOURS = tuple(FRAGMENTS)

#: Kernels to keep, whatever their age, and seconds without use after which others go.
KEEP, AGE = 6, 30 * 86400.0

#: Suites that may carry each source package, tried in this order.
UML_SOURCES = {
    "7.3": ("trixie-backports",),
    "6.12": ("bookworm-security", "trixie-security", "trixie"),
}

#: Edits to a source before it is built: file, text, what takes its place.
EDITS = {
    # The host's floating-point state, in bytes. 6.12 knows sizes up to AVX-512 only and its
    # first process dies on a processor with AMX, which has 11 KiB of it (later kernels ask).
    "6.12": (
        (
            "arch/x86/um/user-offsets.c",
            "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
            "DEFINE_LONGS(HOST_FP_SIZE, 16384);",
        ),
    ),
}

#: Symbols that one version needs beside the fragments.
EXTRA_CONFIG = {
    # Signal handlers keep that state on the kernel's stack: 64 KiB rather than 16.
    # /proc/sys, which later kernels have without being asked.
    "6.12": {"CONFIG_KERNEL_STACK_ORDER": "4", "CONFIG_PROC_SYSCTL": "y"},
}

#: Symbols of the fragments that one version has not yet.
LATER_SYMBOLS = {"6.12": {"CONFIG_NET_SCH_DUALPI2"}}

#: Directories whose C files no user-mode kernel compiles; their Kconfig files stay.
UNUSED = (
    "arch/[!ux]*", "arch/xtensa", "sound", "Documentation", "samples", "rust",
    "drivers/gpu", "drivers/media", "drivers/staging", "drivers/infiniband", "drivers/scsi",
    "drivers/net/ethernet", "drivers/net/wireless", "drivers/iio", "drivers/clk",
    "drivers/pinctrl", "drivers/usb", "drivers/accel", "drivers/soc", "tools/perf",
)
UNUSED_SUFFIXES = ("[chS]", "dts", "dtsi", "rst", "yaml", "svg", "json", "rs", "txt")

#: Objects that a build makes, for the progress line; wrong by a few does no harm.
EXPECTED = {"fast": 1160, "kasan": 1180, "lockdep": 1180, "checked": 1210}

#: What a build leaves and nothing needs: modules are built against the rest.
LEFTOVERS = re.compile(
    r"\.(o|a|cmd|ko|mod|mod\.c)$|^(vmlinux\.unstripped|\.vmlinux.*|\.tmp_vmlinux.*)$"
)


@dataclass(frozen=True)
class Source:
    """An unpacked kernel source: its tree and the exact Debian version."""

    tree: Path
    version: str


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


def source_place(name: str) -> Path:
    """The directory of the source NAME, keyed by what is left out of it and edited in it."""
    recipe = repr((UNUSED, UNUSED_SUFFIXES, EDITS.get(name))).encode()
    return CACHE / "src" / f"{name}-{digest([recipe])}"


def source_at_hand(name: str) -> Source | None:
    """The source NAME if it is in the cache."""
    path = source_place(name)
    stamp = path / "version"
    if not stamp.exists():
        return None
    return Source(path / f"linux-source-{name}", stamp.read_text().strip())


def ensure_source(name: str) -> Source:
    """Debian's kernel source NAME in the cache, fetched and unpacked when missing."""
    path = source_place(name)
    source = source_at_hand(name)
    if not source:
        with lock(path.parent / f"{path.name}.lock"):
            source = source_at_hand(name)
            if not source:
                unpack_source(name, path)
    return source or ensure_source(name)


def unpack_source(name: str, path: Path) -> None:
    """Make PATH the directory with the source NAME and its version; renamed into place whole."""
    deb = fetch.download(f"linux-source-{name}", UML_SOURCES[name])
    version = deb.name.split("_")[1].replace("%3a", ":")
    say(f"unpacking Linux {version}")
    scratch, fresh = path.with_suffix(".deb"), path.with_suffix(".part")
    for folder in (scratch, fresh, path):
        shutil.rmtree(folder, ignore_errors=True)
    fresh.mkdir(parents=True)
    fetch.unpack_deb(deb, scratch)
    need("xz", "xz-utils")
    excludes = [
        f"--exclude=linux-source-{name}/{folder}/*.{suffix}"
        for folder in UNUSED
        for suffix in UNUSED_SUFFIXES
    ]
    tar = ["tar", "--wildcards", "--wildcards-match-slash", *excludes, "-xJf"]
    run_logged(
        ["nice", *tar, scratch / "usr" / "src" / f"linux-source-{name}.tar.xz", "-C", fresh],
        BUILD / "logs" / f"unpack-{name}.log",
        f"unpacking Linux {version}",
    )
    shutil.rmtree(scratch)
    edit_source(name, fresh / f"linux-source-{name}")
    (fresh / "version").write_text(version + "\n")
    fresh.rename(path)


def parse_config(text: str) -> dict[str, str]:
    """Symbols and values of a configuration; 'is not set' reads as n."""
    values = {}
    for line in text.splitlines():
        off = re.match(r"# (CONFIG_\w+) is not set", line)
        on = re.match(r"(CONFIG_\w+)=(.*)", line)
        if off:
            values[off[1]] = "n"
        elif on:
            values[on[1]] = on[2]
    return values


def write_config(values: dict[str, str]) -> str:
    """VALUES as a configuration; the inverse of parse_config."""
    return "".join(
        f"# {name} is not set\n" if value == "n" else f"{name}={value}\n"
        for name, value in values.items()
    )


def wanted_config(name: str, flavour: str) -> dict[str, str]:
    """The symbols that the lab sets in kernel NAME, in the order of the fragments."""
    wanted: dict[str, str] = {}
    for fragment in ("base", *FRAGMENTS[flavour]):
        wanted |= parse_config((LAB / "config" / f"{fragment}.config").read_text())
    return wanted | EXTRA_CONFIG.get(name, {})


def jobs() -> int:
    """How many compilers to run at once."""
    return max(1, len(os.sched_getaffinity(0)))


def ensure_uml(name: str, flavour: str) -> Kernel:
    """The user-mode kernel NAME in FLAVOUR, built when missing or damaged.

    Keyed by source version, configuration, architecture and compiler, so a change of any of
    them gives another kernel beside the old one.
    """
    source = ensure_source(name)
    config = write_config(wanted_config(name, flavour))
    key = digest(part.encode() for part in (
        source.version, config, repr(EDITS.get(name)), os.uname().machine, compiler()))
    path = CACHE / "kernels" / f"{name}-{flavour}-{key}"
    if not whole(path):
        with lock(path.parent / f"{path.name}.lock"):
            if not whole(path):
                build_uml(name, flavour, source, path)
        prune(path.parent, "*-*-*[0-9a-f]", KEEP, AGE)
    touch(path)
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


def edit_source(name: str, tree: Path) -> None:
    """Carry out EDITS, which may have been done already."""
    for file, old, new in EDITS.get(name, ()):
        path = tree / file
        text = path.read_text()
        if old in text:
            path.write_text(text.replace(old, new))
        elif new not in text:
            raise LabError(f"{file} of Linux {name} is not as expected: {old!r} is missing")


def build_uml(name: str, flavour: str, source: Source, path: Path) -> None:
    """Configure, build, install the kernel's own modules, prune; its manifest marks the end.

    What an interrupted build left is taken up again: the key says it was for the same. What was
    whole once and is not any more is built anew.
    """
    check_tools()
    if " " in str(path) or ":" in str(path):
        raise LabError(f"kernels cannot be built below {CACHE}: a blank or a colon in the name; "
                       "LAB_CACHE names another place")
    if (path / "manifest").exists():
        say(f"{path.name} is not what was built: files are missing or the directory was moved")
        shutil.rmtree(path)
    say(f"building Linux {source.version} ({flavour}) for user mode: once, some minutes")
    path.mkdir(parents=True, exist_ok=True)
    log = BUILD / "logs" / f"kernel-{path.name}.log"
    log.unlink(missing_ok=True)
    what = f"Linux {name} {flavour}"
    make: list[str | Path] = [
        "nice", "make", "-C", source.tree, f"O={path}", "ARCH=um", f"-j{jobs()}",
        "KBUILD_BUILD_TIMESTAMP=2001-06-04", "KBUILD_BUILD_USER=lab", "KBUILD_BUILD_HOST=lab",
        "KBUILD_BUILD_VERSION=1",
    ]
    config = path / ".config"
    config.unlink(missing_ok=True)
    run_logged([*make, "tinyconfig"], log, f"{what}: configuring")
    wanted = wanted_config(name, flavour)
    tiny = parse_config(config.read_text())
    # The fragments come last: of the members of a choice, the last one set wins.
    rest = {symbol: value for symbol, value in tiny.items() if symbol not in wanted}
    config.write_text(write_config(rest | wanted))
    run_logged([*make, "olddefconfig"], log, f"{what}: configuring")
    report_lost(name, wanted, parse_config(config.read_text()), path)
    run_logged([*make, "all"], log, what, expected=EXPECTED[flavour])
    run_logged([*make, "modules_install", f"INSTALL_MOD_PATH={path / 'installed'}"], log,
               f"{what}: its modules")
    release = (path / "include" / "config" / "kernel.release").read_text()
    prune_build(path)
    (path / "release").write_text(release)
    write_manifest(path)
    say(f"{what} is ready")


def report_lost(name: str, wanted: dict[str, str], got: dict[str, str], path: Path) -> None:
    """Write down which symbols of the fragments this version does not take, and tell of those
    that it is expected to take."""
    lost = {symbol: value for symbol, value in wanted.items() if got.get(symbol, "n") != value}
    (path / "config.lost").write_text(
        "".join(f"{symbol}: wanted {value}, is {got.get(symbol, 'n')}\n"
                for symbol, value in sorted(lost.items()))
    )
    surprising = sorted(set(lost) - LATER_SYMBOLS.get(name, set()))
    if surprising:
        names = ", ".join(surprising).replace("CONFIG_", "")
        say(f"not in this version as configured: {names}")


def prune_build(path: Path) -> None:
    """Remove what no module build needs; the build tools in scripts/ stay whole."""
    for folder, dirs, files in os.walk(path):
        if Path(folder) == path:
            dirs[:] = [d for d in dirs if d not in {"scripts", "installed"}]
        for file in files:
            if LEFTOVERS.search(file):
                (Path(folder) / file).unlink()


