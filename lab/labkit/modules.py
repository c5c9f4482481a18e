# SPDX-License-Identifier: GPL-2.0
"""Build the parts of the checkout that a guest uses: modules, tc plugins, tools.

They are built in directories named by the hash of their sources. So nothing stale is loaded, and
several checkouts can share one build/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import guest_programs, headers
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
from .paths import BUILD, BUNDLE, LAB, LOGS, ROOT
from .progress import run_logged
from .toolchain import MAKE_CC, compiler, compiler_path, jobs, version

#: Directories of Kbuild's files in addition to the top.
MODULE_FOLDERS = ("frame", "include", "bench/module", "selftests/gate", "lab/tcp", "lab/trace")

#: Libraries of lab/src for QEMU.
PRELOADED = ("leash", "count")

KEEP = 12  # number of built trees to keep at any age

#: Output of make in a built tree.
MAKE_LOG = "make.log"


@dataclass(frozen=True)
class Extras:
    """Hold the guest's directories of tc (plugins, delay tables), tools, and static programs."""

    tc: Path
    tools: Path
    bin: Path


def module_sources() -> list[Path]:
    """Return the source files of the modules: all files that Kbuild names."""
    return files_under(
        ROOT / "Kbuild",
        ROOT / "VERSION",
        *sorted(ROOT.glob("sch_*.c")),
        *(ROOT / folder for folder in MODULE_FOLDERS),
    )


def make_arguments(kernel: Kernel) -> list[str]:
    """Return make's arguments to build modules for KERNEL."""
    arguments = ["-C", str(kernel.path)]
    if kernel.arch == "um":
        arguments += ["ARCH=um", *MAKE_CC]
    elif kernel.arch == "arm64":
        arguments += headers.architecture("arm64")
    elif not shutil.which(kernel.cc):
        # Debian's headers require the kernel's own compiler. A newer one works, too.
        arguments.append("CC=gcc")
    return arguments


def warnings(kernel: Kernel) -> list[str]:
    """Return make's argument for more warnings, with Debian's headers only; a test reads them."""
    return ["W=1"] if kernel.arch != "um" else []


def protections() -> list[str]:
    """Return make's argument for the protections of older kernels, if the user wants them."""
    return ["AQM_OLD_PARENTS=1"] if os.environ.get("AQM_OLD_PARENTS") else []


def compile_copy(
    arguments: Sequence[str],
    root: Path,
    files: Sequence[Path],
    copy: Path,
    *variables: str,
    kbuild: str = "",
) -> str:
    """Copy FILES (below ROOT) to COPY and build them there, including test modules.

    ARGUMENTS tell make the kernel. KBUILD is the text of a Kbuild for FILES without one. Returns
    the output of make.
    """
    shutil.rmtree(copy, ignore_errors=True)
    for file in files:
        target = copy / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    if kbuild and not (copy / "Kbuild").exists():
        (copy / "Kbuild").write_text(kbuild)
    log = LOGS / f"modules-{digest([bytes(copy)])}.log"
    log.unlink(missing_ok=True)
    run_logged(
        ["make", *arguments, f"M={copy}", f"-j{jobs()}", "AQM_TESTS=1", *variables, "modules"],
        log,
        f"building modules in {copy}",
    )
    return log.read_text(errors="replace")


def ensure_modules(kernel: Kernel) -> Path:
    """Return a module tree for modprobe with KERNEL's modules and ours. Build it if needed.

    The directory belongs at /lib/modules. For a stock kernel it contains only our modules and
    must be mounted over the kernel's.
    """
    files = module_sources()
    # The tree has links to the kernel's modules, so its path is part of the key.
    key = digest_files(
        files, ROOT, kernel.key, str(kernel.path), compiler(), *warnings(kernel), *protections()
    )
    path = built(
        BUILD / "modules" / f"{kernel.key}-{key}",
        lambda place: build_modules(kernel, files, place),
        lambda place: not altered(place),
    )
    prune(path.parent, f"{kernel.key.rpartition('-')[0]}-*[0-9a-f]", KEEP)
    return path / "lib" / "modules"


def link_tree(source: Path, target: Path, *, copies: bool) -> None:
    """Make TARGET a module directory with links to the modules of SOURCE, or COPIES of them.

    modprobe and depmod need real directories and follow links to files. A guest with its own root
    cannot follow links.
    """
    for folder, _, files in os.walk(source):
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for file in files:
            if ".ko" in file and copies:
                shutil.copy(Path(folder) / file, here)
            elif ".ko" in file:
                (here / file).symlink_to(Path(folder) / file)
            elif file in {"modules.order", "modules.builtin", "modules.builtin.modinfo"}:
                shutil.copy(Path(folder) / file, here)


def build_modules(kernel: Kernel, files: Sequence[Path], path: Path) -> None:
    """Build FILES for KERNEL and install them beside the kernel's own modules under PATH."""
    tree = path / "lib" / "modules" / kernel.release
    if sums(path):
        say(f"{path.name} is damaged: {altered(path)}")
    shutil.rmtree(path, ignore_errors=True)
    link_tree(kernel.modules, tree, copies=kernel.arch == "um")
    names = " ".join(file.stem for file in files if file.name.startswith("sch_"))
    say(f"building modules for Linux {kernel.release} ({kernel.flavour}): {names}")
    output = compile_copy(
        make_arguments(kernel), ROOT, files, path / "src", *warnings(kernel), *protections()
    )
    (path / MAKE_LOG).write_text(output)
    add_modules(kernel, path, sorted((path / "src").rglob("*.ko")))
    own = [*(tree / "extra").iterdir(), *tree.glob("modules.*")]
    write_sums(path, own)


def add_modules(kernel: Kernel, path: Path, objects: Sequence[Path]) -> None:
    """Copy OBJECTS beside the kernel's own modules under PATH, and tell modprobe of all."""
    tree = path / "lib" / "modules" / kernel.release
    extra = tree / "extra"
    extra.mkdir(exist_ok=True)
    for module in objects:
        shutil.copy(module, extra)
    depmod = subprocess.run(
        [
            *([BUNDLE / "bin" / "busybox", "depmod"] if BUNDLE else [need("depmod", "kmod")]),
            *("-b", path, kernel.release),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if depmod.returncode:
        raise LabError(f"depmod failed: {depmod.stderr.strip()}")
    if kernel.arch != "um":
        # In the guest this is mounted over the stock modules; only depmod needed the links.
        shutil.rmtree(tree / "kernel")


def ensure_module(kernel: Kernel, folder: Path) -> Path:
    """Build the modules of FOLDER, which has its own Kbuild (for tests), in a copy. Return it."""
    files = files_under(folder)
    key = digest_files(files, folder, kernel.key, compiler())

    def make(place: Path) -> None:
        compile_copy(make_arguments(kernel), folder, files, place / "src")
        mark(place)

    return built(BUILD / "modules" / f"{kernel.key}-{folder.name}-{key}", make) / "src"


def delay_tables() -> list[Path]:
    """Return netem's distribution tables, which tc expects beside its plugins."""
    for folder in (Path("/usr/lib/tc"), *Path("/usr/lib").glob("*/tc"), Path("/usr/share/tc")):
        found = sorted(folder.glob("*.dist"))
        if found:
            return found
    return []


def ensure_extras() -> Extras:
    """Return the checkout's tc plugins and tools. Build them if needed."""
    tops = (
        *("tc", "lab/traffic", "lab/src/libmnl", "include"),
        *("Makefile", "VERSION", "selftests/Makefile"),
    )
    files = [
        *files_under(*(ROOT / top for top in tops)),
        *(ROOT / "selftests").glob("*.c"),
        Path(guest_programs.__file__).resolve(),
    ]
    path = built(BUILD / "guest" / digest_files(files, ROOT, compiler()), build_extras)
    prune(path.parent, "*[0-9a-f]", KEEP)
    return extras_in(path)


def extras_in(path: Path) -> Extras:
    """Return the GuestExtras in directory PATH."""
    return Extras(path / "tc", path / "tools", path / "bin")


def build_extras(path: Path) -> None:
    """Build the checkout's plugins and tools into PATH."""
    extras = extras_in(path)
    shutil.rmtree(path, ignore_errors=True)
    extras.tc.mkdir(parents=True)
    extras.tools.mkdir()
    for table in delay_tables():
        shutil.copy(table, extras.tc)
    say("building plugins and tools")
    log = LOGS / f"guest-{path.name}.log"
    log.unlink(missing_ok=True)
    make: list[str | Path] = ["make", "-s", "-C", ROOT, f"AQM_VERSION={version()}"]
    run_logged([*make, "plugins", f"PLUGINS_DIR={extras.tc}"], log, "building plugins")
    tools = [f"TOOLS_DIR={extras.tools}", "LDFLAGS=-static"]
    run_logged([*make, "tools", *tools], log, "building tools")
    guest_programs.build(extras.tools, extras.bin, log)
    run_logged(
        ["make", "-s", "-C", ROOT / "selftests", f"TOOLS_DIR={extras.tools}"],
        log,
        "building the self-tests' tools",
    )
    run_logged(
        ["make", "-s", "-C", ROOT / "tc", "lab", f"PLUGINS_DIR={extras.tc}"],
        log,
        "building the lab's own plugins",
    )
    mark(path)


def ensure_helpers() -> Path:
    """Build init, and the libraries that are preloaded into QEMU. Return their directory."""
    files = [LAB / "src" / name for name in ("init.c", *(f"{name}.c" for name in PRELOADED))]
    return built(BUILD / "lab" / digest_files(files, LAB, compiler()), build_helpers)


def build_helpers(path: Path) -> None:
    """Compile them into PATH."""
    source = LAB / "src"
    path.mkdir(parents=True, exist_ok=True)
    cc: list[str | Path] = [compiler_path(), "-O2", "-Wall", "-Wextra"]
    log = LOGS / "helpers.log"
    run_logged([*cc, "-static", "-o", path / "init", source / "init.c"], log, "building init")
    for name in PRELOADED:
        library = [*cc, "-shared", "-fPIC", "-o", path / f"{name}.so", source / f"{name}.c"]
        run_logged(library, log, f"building {name}.so")
    mark(path)
