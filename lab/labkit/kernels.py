# SPDX-License-Identifier: GPL-2.0
"""The user-mode kernels: from Debian's source package to a pruned tree under build/kernels."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import fetch
from .common import (
    BUILD,
    LAB,
    LabError,
    compiler,
    digest,
    lock,
    need,
    run_logged,
    say,
    touch,
)

FLAVOURS = ("fast", "kasan", "lockdep")

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
    "6.12": {"CONFIG_KERNEL_STACK_ORDER": "4"},
}

#: Directories whose C files no user-mode kernel compiles; their Kconfig files stay.
UNUSED = (
    "arch/[!ux]*", "arch/xtensa", "sound", "Documentation", "samples", "rust",
    "drivers/gpu", "drivers/media", "drivers/staging", "drivers/infiniband", "drivers/scsi",
    "drivers/net/ethernet", "drivers/net/wireless", "drivers/iio", "drivers/clk",
    "drivers/pinctrl", "drivers/usb", "drivers/accel", "drivers/soc", "tools/perf",
)
UNUSED_SUFFIXES = ("[chS]", "dts", "dtsi", "rst", "yaml", "svg", "json", "rs", "txt")

#: Objects that a build makes, for the progress line; wrong by a few does no harm.
EXPECTED = {"fast": 1000, "kasan": 1250, "lockdep": 1100}

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


def ensure_source(name: str) -> Source:
    """Debian's kernel source NAME under build/src, fetched and unpacked when missing."""
    tree = BUILD / "src" / f"linux-source-{name}"
    stamp = BUILD / "src" / f"linux-source-{name}.version"
    if stamp.exists():
        return Source(tree, stamp.read_text().strip())
    with lock(BUILD / "src" / f"linux-source-{name}.lock"):
        if stamp.exists():
            return Source(tree, stamp.read_text().strip())
        deb = fetch.download(f"linux-source-{name}", UML_SOURCES[name])
        version = deb.name.split("_")[1].replace("%3a", ":")
        say(f"unpacking Linux {version}")
        scratch = BUILD / "src" / f"unpack-{name}"
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(tree, ignore_errors=True)
        fetch.unpack_deb(deb, scratch)
        need("xz", "xz-utils")
        excludes = [
            f"--exclude=linux-source-{name}/{folder}/*.{suffix}"
            for folder in UNUSED
            for suffix in UNUSED_SUFFIXES
        ]
        tar = ["tar", "--wildcards", "--wildcards-match-slash", *excludes, "-xJf"]
        archive = scratch / "usr" / "src" / f"linux-source-{name}.tar.xz"
        run_logged(
            ["nice", *tar, archive, "-C", BUILD / "src"],
            BUILD / "logs" / f"unpack-{name}.log",
            f"unpacking Linux {version}",
        )
        shutil.rmtree(scratch)
        stamp.write_text(version + "\n")
    return Source(tree, version)


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


def fragments(flavour: str) -> list[Path]:
    """The configuration fragments of FLAVOUR, in order."""
    names = ["base"] if flavour == "fast" else ["base", flavour]
    return [LAB / "config" / f"{name}.config" for name in names]


def jobs() -> int:
    """How many compilers to run at once."""
    return max(1, len(os.sched_getaffinity(0)))


def ensure_uml(name: str, flavour: str) -> Kernel:
    """The user-mode kernel NAME in FLAVOUR, built when missing.

    Keyed by source version, configuration, architecture and compiler, so a change of any of
    them gives another kernel beside the old one.
    """
    source = ensure_source(name)
    wanted = [path.read_bytes() for path in fragments(flavour)]
    special = [repr((EDITS[name], EXTRA_CONFIG[name])).encode()] if name in EDITS else []
    key = digest([source.version.encode(), *wanted, os.uname().machine.encode(),
                  compiler().encode(), *special])
    path = BUILD / "kernels" / f"{name}-{flavour}-{key}"
    release = path / "release"
    if not release.exists():
        with lock(path.parent / f"{path.name}.lock"):
            if not release.exists():
                build_uml(name, flavour, source, path)
    touch(path)
    text = release.read_text().strip()
    modules = path / "installed" / "lib" / "modules" / text
    return Kernel(name, flavour, path.name, path, text, path / "linux", modules)


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
    """Configure, build, install the kernel's own modules, prune; PATH/release marks the end.

    What an interrupted build left is taken up again: the key says it was for the same.
    """
    check_tools()
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
    edit_source(name, source.tree)
    config = path / ".config"
    config.unlink(missing_ok=True)
    run_logged([*make, "tinyconfig"], log, f"{what}: configuring")
    wanted: dict[str, str] = {}
    for fragment in fragments(flavour):
        wanted |= parse_config(fragment.read_text())
    wanted |= EXTRA_CONFIG.get(name, {})
    tiny = parse_config(config.read_text())
    # The fragments come last: of the members of a choice, the last one set wins.
    rest = {name: value for name, value in tiny.items() if name not in wanted}
    config.write_text(write_config(rest | wanted))
    run_logged([*make, "olddefconfig"], log, f"{what}: configuring")
    report_lost(wanted, parse_config(config.read_text()), path)
    run_logged([*make, "all"], log, what, expected=EXPECTED[flavour])
    run_logged([*make, "modules_install", f"INSTALL_MOD_PATH={path / 'installed'}"], log,
               f"{what}: its modules")
    release = (path / "include" / "config" / "kernel.release").read_text()
    prune_build(path)
    (path / "release").write_text(release)
    say(f"{what} is ready")


def report_lost(wanted: dict[str, str], got: dict[str, str], path: Path) -> None:
    """Write down which symbols of the fragments this version does not take."""
    lost = {name: value for name, value in wanted.items() if got.get(name, "n") != value}
    (path / "config.lost").write_text(
        "".join(f"{name}: wanted {value}, is {got.get(name, 'n')}\n" for name, value in
                sorted(lost.items()))
    )
    if lost:
        names = ", ".join(sorted(lost)).replace("CONFIG_", "")
        say(f"not in this version as configured: {names}")


def prune_build(path: Path) -> None:
    """Remove what no module build needs; the build tools in scripts/ stay whole."""
    for folder, dirs, files in os.walk(path):
        if Path(folder) == path:
            dirs[:] = [d for d in dirs if d not in {"scripts", "installed"}]
        for file in files:
            if LEFTOVERS.search(file):
                (Path(folder) / file).unlink()


