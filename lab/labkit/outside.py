# SPDX-License-Identifier: GPL-2.0
"""Modules and tc plugins from a directory outside the checkout.

A directory holds qdiscs (sch_NAME.c) and congestion controls (tcp_NAME.c), with headers beside them
or in include/, and may have a Kbuild. A qdisc may have a tc plugin, q_NAME.c. Without a plugin the
lab builds tc/lab/generic.c, which takes options as netlink attributes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import guest_programs
from .bundle import kit, with_headers
from .cache import built, digest, digest_files, file_digest, files_under, mark, prune
from .errors import LabError
from .kernels import Kernel
from .modules import (
    KEEP,
    Extras,
    add_modules,
    compile_copy,
    ensure_extras,
    ensure_modules,
    extras_in,
    link_tree,
    make_arguments,
)
from .paths import BUILD, LOGS, ROOT
from .progress import run_logged
from .toolchain import compiler, compiler_path

KBUILD = """\
ccflags-y += -I$(src) -I$(src)/include
obj-m := $(patsubst $(src)/%.c,%.o,$(filter-out %.mod.c,$(wildcard $(src)/sch_*.c $(src)/tcp_*.c)))
"""

GENERIC = ROOT / "tc" / "lab" / "generic.c"
ABI = ROOT / "tc" / "tc_abi.h"


def sources(folder: Path) -> list[Path]:
    """Return the files of FOLDER, without version control and what builds leave behind."""
    return [
        path
        for path in files_under(folder)
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def names(folder: Path, prefix: str) -> list[str]:
    """Return NAME of each file PREFIX_NAME.c in FOLDER."""
    return sorted(
        path.stem.removeprefix(prefix)
        for path in folder.glob(f"{prefix}*.c")
        if not path.name.endswith(".mod.c")
    )


def hash_of(folder: Path) -> str:
    """Return twelve hex digits over the names and contents of FOLDER's files."""
    return digest_files(sources(folder), folder)


def check(folder: Path) -> None:
    """Raise LabError if FOLDER has no module, or if a guest could not load a module by its name."""
    if not folder.is_dir():
        raise LabError(f"--module {folder}: there is no such directory")
    kinds = names(folder, "sch_")
    if not kinds and not names(folder, "tcp_"):
        raise LabError(f"--module {folder}: there is neither a sch_NAME.c nor a tcp_NAME.c in it")
    for kind in kinds:
        if (ROOT / f"sch_{kind}.c").exists():
            raise LabError(
                f"--module {folder}: this checkout has a qdisc {kind}, too; choose another name"
            )
        text = (folder / f"sch_{kind}.c").read_text(errors="replace")
        if f'MODULE_ALIAS_NET_SCH("{kind}")' not in text and f"net-sch-{kind}" not in text:
            raise LabError(
                f'--module {folder}: sch_{kind}.c needs MODULE_ALIAS("net-sch-{kind}"), '
                "by which the kernel finds it"
            )


def ensure_objects(kernel: Kernel, folder: Path) -> list[Path]:
    """Return the modules of FOLDER, built for KERNEL when needed."""
    check(folder)
    files = sources(folder)
    key = digest_files(files, folder, kernel.key, str(kernel.path), compiler(), KBUILD)

    def make(place: Path) -> None:
        compile_copy(make_arguments(kernel), folder, files, place / "src", kbuild=KBUILD)
        mark(place)

    path = built(BUILD / "modules" / f"outside-{kernel.key}-{key}", make)
    taken = {file.name for file in kernel.modules.rglob("*.ko*")}
    taken |= {
        Path(line).name for line in (kernel.modules / "modules.builtin").read_text().splitlines()
    }
    objects = sorted((path / "src").rglob("*.ko"))
    for file in objects:
        if file.name in taken:
            raise LabError(
                f"--module {folder}: the kernel has a module {file.stem}, too; choose another name"
            )
    return objects


def plugins(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each qdisc of FOLDER with the source of its plugin."""
    for kind in names(folder, "sch_"):
        own = folder / f"q_{kind}.c"
        yield kind, own if own.exists() else GENERIC


def ensure_plugins(folders: Sequence[Path], given: Extras | None = None) -> Extras:
    """Return plugins and tools, the checkout's or those GIVEN, with the plugins of FOLDERS."""
    extras = given or ensure_extras()
    if not folders:
        return extras
    parts = [
        str(extras.tc.parent),
        compiler(),
        GENERIC.read_text(),
        ABI.read_text(),
        *map(hash_of, folders),
    ]

    def make(place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(extras.tc, extras_in(place).tc)
        log = LOGS / f"outside-{place.name}.log"
        log.unlink(missing_ok=True)
        for folder in folders if given is None else ():  # the wheel's tc loads no plugin
            for kind, source in plugins(folder):
                run_logged(
                    [
                        compiler_path(),
                        "-O2",
                        "-Wall",
                        "-fPIC",
                        "-shared",
                        f'-DKIND="{kind}"',
                        f"-DKIND_UTIL={kind}_qdisc_util",
                        "-I",
                        ABI.parent,
                        "-I",
                        folder,
                        "-I",
                        folder / "include",
                        "-o",
                        extras_in(place).tc / f"q_{kind}.so",
                        source,
                    ],
                    log,
                    f"building the tc plugin of {kind}",
                )
        shutil.copytree(extras.bin, extras_in(place).bin)
        more = [plugin for folder in folders for plugin in static_plugins(folder)]
        tc = None if given is None else kit("--module") / "tc"
        guest_programs.link_tc(extras_in(place).bin / "tc", more, log, tc)
        mark(place)

    place = built(BUILD / "guest" / f"outside-{digest(part.encode() for part in parts)}", make)
    mine = extras_in(place)
    return Extras(mine.tc, extras.tools if given is None else mine.bin, mine.bin)


def static_plugins(folder: Path) -> Iterator[guest_programs.Plugin]:
    """Yield the plugins of FOLDER for the lab's own tc, which loads none."""
    for kind, source in plugins(folder):
        yield guest_programs.Plugin(
            kind, (source,), (ABI.parent, folder, folder / "include"), generic=source == GENERIC
        )


def ensure_tree(kernel: Kernel, folders: Sequence[Path], given: Path | None = None) -> Path:
    """Return a guest's module tree, ensure_modules()'s or GIVEN, with the modules of FOLDERS."""
    ours = given or ensure_modules(kernel)
    if not folders:
        return ours
    kernel = with_headers(kernel)
    objects = [
        *sorted((ours / kernel.release / "extra").glob("*.ko")),
        *(file for folder in folders for file in ensure_objects(kernel, folder)),
    ]
    key = digest(part.encode() for file in objects for part in (file.name, file_digest(file)))

    def make(place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        tree = place / "lib" / "modules" / kernel.release
        link_tree(kernel.modules, tree, copies=kernel.arch == "um")
        add_modules(kernel, place, objects)
        mark(place)

    path = built(BUILD / "modules" / f"outside-tree-{kernel.key}-{key}", make)
    prune(path.parent, "outside-*[0-9a-f]", KEEP)
    return path / "lib" / "modules"
