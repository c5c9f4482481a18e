# SPDX-License-Identifier: GPL-2.0
"""Write the second wheel's parts: what builds modules, and the kernel that checks them.

    headers.tar.xz        of the kernel's source, to build modules
    FLAVOUR.tar.xz        what configuring that flavour adds to them
    tc/                   a tc without its last link step, for more plugins
    FLAVOUR/              a kernel other than the first wheel's, with its modules
    manifest.json         keys of the kernels, by flavour

bundle.py reads them. The host's compiler builds the modules, so this is no bigger than it must be.
"""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from . import bundle, engines, guest_programs, kernels, modules
from .kernels import Kernel
from .paths import LOGS
from .progress import run_logged
from .sources import ensure_source
from .toolchain import compiler_path

#: Of the kernel's source: what a build of modules for user mode reads.
SOURCE = ("Makefile", "Kbuild", "scripts", "include", "arch/um", "arch/x86")
#: Parts of these for drivers, and code.
LEFT_OUT = ("include/dt-bindings", "include/drm", "include/media", "include/sound", "include/soc")
CODE = (".c", ".S", ".o", ".s", ".cmd", ".rs", ".dts", ".dtsi")
#: Of the directory where it was built.
BUILT = (".config", "Module.symvers", "include", "scripts", "arch")
#: Programs that a build of modules runs, and their sources or objects.
FIXDEP = "scripts/basic/fixdep"
MODPOST = "scripts/mod/modpost"
MODPOST_PARTS = ("modpost", "file2alias", "sumversion", "symsearch")


def wanted(name: str) -> bool:
    """Return whether a file of the kernel's source or build is needed to build modules."""
    if name.startswith("arch/x86/") and not name.startswith(
        ("arch/x86/include", "arch/x86/um", "arch/x86/Makefile")
    ):
        return False
    if name.startswith(LEFT_OUT) or name in {FIXDEP, MODPOST}:
        return False
    return name.startswith("scripts/") or not name.endswith(CODE)


def pack(archive: Path, root: Path, tops: Iterable[str], more: Path | None = None) -> None:
    """Write the wanted files below ROOT, and all of MORE, to ARCHIVE. Equal files give equal bytes
    in every archive."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = 0
        return member

    with tarfile.open(archive, "w:xz", preset=3) as tar:
        for place, names in ((root, tops), (more, (".",))):
            if place is None:
                continue
            tops_of = (place / name for name in names)
            files = (
                path
                for top in tops_of
                for path in ([top] if top.is_file() else sorted(top.rglob("*")))
            )
            for path in files:
                name = str(path.relative_to(place))
                if path.is_file() and (place == more or wanted(name)):
                    tar.add(path, name, recursive=False, filter=plain)


def static_tools(kernel: Kernel, source: Path, place: Path) -> None:
    """Link the programs that a build runs so that they need no library of the host."""
    log = LOGS / "kit.log"
    for name in (FIXDEP, MODPOST):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
    cc: list[str | Path] = [compiler_path(), "-O2", "-static", "-s", "-o"]
    include = f"-I{source / 'scripts' / 'include'}"
    run_logged([*cc, place / FIXDEP, include, source / f"{FIXDEP}.c"], log, "linking fixdep")
    parts = [kernel.path / "scripts" / "mod" / f"{part}.o" for part in MODPOST_PARTS]
    run_logged([*cc, place / MODPOST, *parts], log, "linking modpost")


def copy_tc(place: Path) -> None:
    """Copy a tc that lacks its last link step to PLACE."""
    parts = guest_programs.ensure_iproute2()
    (place / guest_programs.READY).mkdir(parents=True)
    for name in guest_programs.TC_PARTS:
        shutil.copy(parts / name, place)
    for plugin in guest_programs.own_plugins():
        log = LOGS / "kit.log"
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(plugin.compile(Path(scratch), log), place / guest_programs.READY)


def make(place: Path, fast: Kernel) -> None:
    """Write all parts to PLACE, beside a first wheel with the kernel FAST."""
    name = engines.default_kernel()
    checked = kernels.ensure_uml(name, bundle.CHECKED)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    source = ensure_source(name).tree
    with tempfile.TemporaryDirectory() as scratch:
        static_tools(fast, source, Path(scratch))
        pack(place / "headers.tar.xz", source, SOURCE, Path(scratch))
    for kernel in (fast, checked):
        pack(place / f"{kernel.flavour}.tar.xz", kernel.path, BUILT)
    copy_tc(place / "tc")
    bundle.write_kernel(place / bundle.CHECKED, checked, modules.ensure_modules(checked))
    keys = {kernel.flavour: kernel.key for kernel in (fast, checked)}
    (place / bundle.MANIFEST).write_text(json.dumps(keys, indent=1) + "\n")
