# SPDX-License-Identifier: GPL-2.0
"""What a guest gets from the checkout: modules for its kernel, tc plugins, tools.

All are built in private copies or directories named after the hash of their sources, so that
nothing stale is ever loaded, and several checkouts may share one build/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .cache import (
    altered,
    built,
    digest,
    digest_files,
    files_under,
    mark,
    prune,
    sums,
    write_sums,
)
from .errors import LabError, need, say
from .kernels import Kernel
from .paths import BUILD, LAB, LOGS, ROOT
from .progress import run_logged
from .toolchain import compiler, jobs

#: Where else than at the top Kbuild's files are.
MODULE_FOLDERS = ("include", "bench/module", "selftests/gate", "selftests/kunit",
                  "netns-scenarios/tcp")

KEEP = 12  # built trees to keep per kind, whatever their age

#: In a built tree, what make said.
MAKE_LOG = "make.log"


@dataclass(frozen=True)
class Extras:
    """Directories for the guest: tc's library directory (plugins, delay tables) and tools."""

    tc: Path
    tools: Path


def module_sources() -> list[Path]:
    """The files that make up the modules: all that Kbuild names."""
    return files_under(ROOT / "Kbuild", ROOT / "VERSION", *sorted(ROOT.glob("sch_*.c")),
                       *(ROOT / folder for folder in MODULE_FOLDERS))


def make_arguments(kernel: Kernel) -> list[str]:
    """What make needs to build modules for KERNEL."""
    arguments = ["-C", str(kernel.path)]
    if kernel.arch == "um":
        arguments.append("ARCH=um")
    elif not shutil.which(kernel.cc):
        # Debian's headers ask for the very compiler of the kernel; a newer one will do.
        arguments.append("CC=gcc")
    return arguments


def warnings(kernel: Kernel) -> list[str]:
    """make's word for more warnings where a test reads them: with Debian's headers."""
    return ["W=1"] if kernel.arch != "um" else []


def compile_copy(arguments: Sequence[str], root: Path, files: Sequence[Path], copy: Path,
                 *variables: str) -> str:
    """Copy FILES (below ROOT) to COPY and build them there, all test modules included, as modules
    of the kernel that ARGUMENTS name to make. Returns what make printed.
    """
    shutil.rmtree(copy, ignore_errors=True)
    for file in files:
        target = copy / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    log = LOGS / f"modules-{digest([bytes(copy)])}.log"
    log.unlink(missing_ok=True)
    run_logged(["make", *arguments, f"M={copy}", f"-j{jobs()}", "AQM_TESTS=1", *variables,
                "modules"], log, f"building modules in {copy}")
    return log.read_text(errors="replace")


def ensure_modules(kernel: Kernel) -> Path:
    """A module tree (as modprobe wants it) with KERNEL's modules and ours; built when needed.

    Returns the directory that belongs at /lib/modules. A stock kernel's own modules are not
    in it: it is to be laid over them.
    """
    files = module_sources()
    # The kernel's own modules are linked to, so where it lies counts, too.
    key = digest_files(files, ROOT, kernel.key, str(kernel.path), compiler(),
                       *warnings(kernel))
    path = built(BUILD / "modules" / f"{kernel.key}-{key}",
                 lambda place: build_modules(kernel, files, place),
                 lambda place: not altered(place))
    prune(path.parent, f"{kernel.name}-{kernel.flavour}-*[0-9a-f]", KEEP)
    return path / "lib" / "modules"


def link_tree(source: Path, target: Path) -> None:
    """Make TARGET a module directory with the modules of SOURCE, linked rather than copied.

    modprobe and depmod want real directories, and follow links to files.
    """
    for folder, _, files in os.walk(source):
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for file in files:
            if ".ko" in file:
                (here / file).symlink_to(Path(folder) / file)
            elif file in {"modules.order", "modules.builtin", "modules.builtin.modinfo"}:
                shutil.copy(Path(folder) / file, here)


def build_modules(kernel: Kernel, files: Sequence[Path], path: Path) -> None:
    """Build FILES for KERNEL and install them beside the kernel's own modules under PATH."""
    tree = path / "lib" / "modules" / kernel.release
    if sums(path):
        say(f"{path.name} is not what was built: {altered(path)}")
    shutil.rmtree(path, ignore_errors=True)
    link_tree(kernel.modules, tree)
    names = " ".join(file.stem for file in files if file.name.startswith("sch_"))
    say(f"building modules for Linux {kernel.release} ({kernel.flavour}): {names}")
    said = compile_copy(make_arguments(kernel), ROOT, files, path / "src", *warnings(kernel))
    (path / MAKE_LOG).write_text(said)
    extra = tree / "extra"
    extra.mkdir()
    for module in sorted((path / "src").rglob("*.ko")):
        shutil.copy(module, extra)
    depmod = subprocess.run(
        [need("depmod", "kmod"), "-b", str(path), kernel.release],
        capture_output=True, text=True, check=False,
    )
    if depmod.returncode:
        raise LabError(f"depmod failed: {depmod.stderr.strip()}")
    if kernel.arch != "um":
        # Laid over the stock modules in the guest; the links were for depmod.
        shutil.rmtree(tree / "kernel")
    write_sums(path, (file for file in tree.rglob("*") if file.is_file() and not file.is_symlink()))


def ensure_module(kernel: Kernel, folder: Path) -> Path:
    """Build the modules of one FOLDER with a Kbuild of its own (a test's); returns that copy."""
    files = files_under(folder)
    key = digest_files(files, folder, kernel.key, compiler())

    def make(place: Path) -> None:
        compile_copy(make_arguments(kernel), folder, files, place / "src")
        mark(place)

    return built(BUILD / "modules" / f"{kernel.key}-{folder.name}-{key}", make) / "src"


def delay_tables() -> list[Path]:
    """netem's distribution tables, which tc looks for beside its plugins."""
    for folder in (Path("/usr/lib/tc"), *Path("/usr/lib").glob("*/tc"), Path("/usr/share/tc")):
        found = sorted(folder.glob("*.dist"))
        if found:
            return found
    return []


def ensure_extras() -> Extras:
    """tc plugins and tools of the checkout, built by its own Makefile when needed."""
    tops = ("tc", "tools", "include", "Makefile", "VERSION", "selftests/Makefile")
    files = [*files_under(*(ROOT / top for top in tops)), *(ROOT / "selftests").glob("*.c")]
    path = built(BUILD / "guest" / digest_files(files, ROOT, compiler()), build_extras)
    prune(path.parent, "*[0-9a-f]", KEEP)
    return extras_in(path)


def extras_in(path: Path) -> Extras:
    """What lies in the directory PATH."""
    return Extras(path / "tc", path / "tools")


def build_extras(path: Path) -> None:
    """Make the checkout's plugins and tools into PATH."""
    extras = extras_in(path)
    shutil.rmtree(path, ignore_errors=True)
    extras.tc.mkdir(parents=True)
    extras.tools.mkdir()
    for table in delay_tables():
        shutil.copy(table, extras.tc)
    say("building plugins and tools")
    log = LOGS / f"guest-{path.name}.log"
    log.unlink(missing_ok=True)
    run_logged(
        ["make", "-s", "-C", ROOT, "plugins", "tools", f"PLUGINS_DIR={extras.tc}",
         f"TOOLS_DIR={extras.tools}", "AQM_VERSION=$(shell cat VERSION)"],
        log, "building plugins and tools",
    )
    run_logged(["make", "-s", "-C", ROOT / "selftests", f"TOOLS_DIR={extras.tools}"], log,
               "building the self-tests' tools")
    run_logged(["make", "-s", "-C", ROOT / "tc", "lab", f"PLUGINS_DIR={extras.tc}"], log,
               "building the lab's own plugins")
    mark(path)


def ensure_helpers() -> Path:
    """The lab's own C programs, init and what is preloaded; returns their directory."""
    source = LAB / "src"
    return built(BUILD / "lab" / digest_files(files_under(source), source, compiler()),
                 build_helpers)


def build_helpers(path: Path) -> None:
    """Compile them into PATH."""
    source = LAB / "src"
    path.mkdir(parents=True, exist_ok=True)
    cc: list[str | Path] = [need("cc", "gcc"), "-O2", "-Wall", "-Wextra"]
    log = LOGS / "helpers.log"
    run_logged([*cc, "-o", path / "init", source / "init.c"], log, "building init")
    for name in ("seeded", "huge", "leash"):
        words = [*cc, "-shared", "-fPIC", "-o", path / f"{name}.so"]
        run_logged([*words, source / f"{name}.c"], log, f"building {name}.so")
    mark(path)
