# SPDX-License-Identifier: GPL-2.0
"""What a guest gets from the checkout: modules for its kernel, tc plugins, tools.

All are built in private copies or directories named after the hash of their sources, so that
nothing stale is ever loaded, and several checkouts may share one build/.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .common import (
    BUILD,
    LAB,
    ROOT,
    LabError,
    compiler,
    digest_files,
    files_under,
    lock,
    need,
    prune,
    run_logged,
    say,
    touch,
)
from .kernels import Kernel, jobs

KEEP = 12  # built trees to keep per kind, whatever their age


@dataclass(frozen=True)
class Extras:
    """Directories for the guest: tc's library directory (plugins, delay tables) and tools."""

    tc: Path
    tools: Path


def module_sources(root: Path) -> list[Path]:
    """The files that make up the modules: all that the top Kbuild can name."""
    kbuild = root / "Kbuild"
    if not kbuild.exists():
        return []
    folders = re.findall(r"\b((?:selftests|bench)/[\w/]+?)/(?:\s|$|\w+\.o)", kbuild.read_text())
    tops = [root / "include", *(root / folder for folder in sorted(set(folders)))]
    return [kbuild, *root.glob("VERSION"), *sorted(root.glob("sch_*.c")),
            *files_under(*(top for top in tops if top.is_dir()))]


def make_arguments(kernel: Kernel) -> list[str]:
    """What make needs to build modules for KERNEL."""
    arguments = ["-C", str(kernel.path)]
    if kernel.arch == "um":
        arguments.append("ARCH=um")
    elif not shutil.which(kernel.cc):
        # Debian's headers ask for the very compiler of the kernel; a newer one will do.
        arguments.append("CC=gcc")
    return arguments


def compile_copy(kernel: Kernel, root: Path, files: list[Path], copy: Path, what: str) -> None:
    """Copy FILES (below ROOT) to COPY and build them there as modules of KERNEL."""
    shutil.rmtree(copy, ignore_errors=True)
    for file in files:
        target = copy / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    log = BUILD / "logs" / f"modules-{copy.parent.name}.log"
    log.unlink(missing_ok=True)
    make = ["make", *make_arguments(kernel), f"M={copy}", f"-j{jobs()}", "AQM_TESTS=1", "modules"]
    run_logged(make, log, what)


def ensure_modules(kernel: Kernel, root: Path = ROOT) -> Path:
    """A module tree (as modprobe wants it) with KERNEL's modules and ours; built when needed.

    Returns the directory that belongs at /lib/modules. A stock kernel's own modules are not
    in it: it is to be laid over them.
    """
    files = module_sources(root)
    key = digest_files(files, root, kernel.key, compiler())
    path = BUILD / "modules" / f"{kernel.key}-{key}"
    tree = path / "lib" / "modules"
    mark = path / "complete"
    if not mark.exists():
        with lock(BUILD / "modules" / f"{path.name}.lock"):
            if not mark.exists():
                build_modules(kernel, root, files, path)
                mark.touch()
        prune(BUILD / "modules", f"{kernel.name}-{kernel.flavour}-*[0-9a-f]", KEEP)
    touch(path)
    return tree


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


def build_modules(kernel: Kernel, root: Path, files: list[Path], path: Path) -> None:
    """Build FILES for KERNEL and install them beside the kernel's own modules under PATH."""
    tree = path / "lib" / "modules" / kernel.release
    shutil.rmtree(path, ignore_errors=True)
    link_tree(kernel.modules, tree)
    if files:
        names = " ".join(file.stem for file in files if file.name.startswith("sch_"))
        say(f"building modules for Linux {kernel.release} ({kernel.flavour}): {names}")
        compile_copy(kernel, root, files, path / "src", "building the modules")
        extra = tree / "extra"
        extra.mkdir()
        built = sorted((path / "src").rglob("*.ko"))
        if not built:
            raise LabError(f"the build left no module in {path / 'src'}")
        for module in built:
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


def ensure_module(kernel: Kernel, folder: Path) -> Path:
    """Build the modules of one FOLDER with a Kbuild of its own (a test's); returns that copy."""
    files = files_under(folder)
    key = digest_files(files, folder, kernel.key, compiler())
    path = BUILD / "modules" / f"{kernel.key}-{folder.name}-{key}"
    mark = path / "complete"
    if not mark.exists():
        with lock(BUILD / "modules" / f"{path.name}.lock"):
            if not mark.exists():
                compile_copy(kernel, folder, files, path / "src", f"building {folder.name}")
                mark.touch()
    return path / "src"


def targets(makefile: Path) -> set[str]:
    """Names of the rules in MAKEFILE, empty when there is none."""
    if not makefile.exists():
        return set()
    rules = re.findall(r"^([a-z][\w ]*):(?!=)", makefile.read_text(), flags=re.MULTILINE)
    return {name for rule in rules for name in rule.split()}


def delay_tables() -> list[Path]:
    """netem's distribution tables, which tc looks for beside its plugins."""
    for folder in (Path("/usr/lib/tc"), *Path("/usr/lib").glob("*/tc"), Path("/usr/share/tc")):
        found = sorted(folder.glob("*.dist"))
        if found:
            return found
    return []


def ensure_extras(root: Path = ROOT) -> Extras:
    """tc plugins and tools of the checkout, built by its own Makefile when needed."""
    known = targets(root / "Makefile")
    wanted = [
        name for name, folder in (("plugins", "tc"), ("tools", "tools"))
        if name in known and (root / folder / "Makefile").exists()
    ]
    tops = [root / name for name in ("tc", "tools", "include", "Makefile", "VERSION")]
    files = files_under(*(top for top in tops if top.exists()))
    key = digest_files(files, root, compiler(), *wanted)
    path = BUILD / "guest" / key
    extras = Extras(path / "tc", path / "tools")
    mark = path / "complete"
    if not mark.exists():
        with lock(BUILD / "guest" / f"{key}.lock"):
            if not mark.exists():
                build_extras(root, wanted, path, extras)
                mark.touch()
        prune(BUILD / "guest", "*[0-9a-f]", KEEP)
    touch(path)
    return extras


def build_extras(root: Path, wanted: list[str], path: Path, extras: Extras) -> None:
    """Make the WANTED targets of the checkout into EXTRAS' directories."""
    shutil.rmtree(path, ignore_errors=True)
    extras.tc.mkdir(parents=True)
    extras.tools.mkdir()
    for table in delay_tables():
        shutil.copy(table, extras.tc)
    if wanted:
        say(f"building {' and '.join(wanted)}")
        log = BUILD / "logs" / f"guest-{path.name}.log"
        log.unlink(missing_ok=True)
        run_logged(
            ["make", "-s", "-C", root, *wanted, f"PLUGINS_DIR={extras.tc}",
             f"TOOLS_DIR={extras.tools}", "AQM_VERSION=$(shell cat VERSION)"],
            log, f"building {' and '.join(wanted)}",
        )


def ensure_helpers() -> Path:
    """The lab's own C programs, init, seeded.so and leash.so; returns their directory."""
    source = LAB / "src"
    files = files_under(source)
    path = BUILD / "lab" / digest_files(files, source, compiler())
    mark = path / "complete"
    if not mark.exists():
        with lock(BUILD / "lab" / f"{path.name}.lock"):
            if not mark.exists():
                path.mkdir(parents=True, exist_ok=True)
                cc: list[str | Path] = [need("cc", "gcc"), "-O2", "-Wall", "-Wextra"]
                log = BUILD / "logs" / "helpers.log"
                run_logged([*cc, "-o", path / "init", source / "init.c"], log, "building init")
                for name in ("seeded", "leash"):
                    words = [*cc, "-shared", "-fPIC", "-o", path / f"{name}.so"]
                    run_logged([*words, source / f"{name}.c"], log, f"building {name}.so")
                mark.touch()
    return path
