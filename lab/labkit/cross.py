# SPDX-License-Identifier: GPL-2.0
"""Build the parts of a guest of another architecture: programs, init, and our modules.

The compiler is Debian's cross compiler. The programs are static, so a guest needs no library.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from . import guest_programs, modules, targets
from .cache import built, digest_files, files_under, mark, prune
from .kernels import Kernel
from .modules import KEEP, Extras
from .paths import BUILD, LAB, LOGS, ROOT
from .progress import run_logged
from .targets import Target

#: Debian's package of libnl: headers and a static library.
LIBNL = "libnl-3-dev"

#: Programs of the self-tests, and the shell that runs them.
SELFTESTS = ("burst", "rawqdisc", "qdrive")
SHELL = "bash-static"


def sources() -> list[Path]:
    """Return the files from which programs are built."""
    tops = ("tc", "lab/traffic", "lab/src", "include", "VERSION", "selftests/Makefile")
    return [
        *files_under(*(ROOT / top for top in tops)),
        *(ROOT / "selftests").glob("*.c"),
        Path(guest_programs.__file__).resolve(),
        Path(__file__).resolve(),
    ]


def ensure_programs(target: Target) -> tuple[Extras, Path]:
    """Return the guest's programs, and its init. Built when needed."""
    key = digest_files(sources(), ROOT, target.compiler())
    place = BUILD / "guest" / f"{target.debian}-{key}"
    path = built(place, lambda made: build_programs(target, made))
    prune(path.parent, f"{target.debian}-*[0-9a-f]", KEEP)
    return modules.extras_in(path), path / "init"


def build_programs(target: Target, path: Path) -> None:
    """Build all programs into PATH."""
    extras = modules.extras_in(path)
    shutil.rmtree(path, ignore_errors=True)
    extras.tc.mkdir(parents=True)
    extras.tools.mkdir()
    for table in modules.delay_tables():
        shutil.copy(table, extras.tc)
    log = LOGS / f"guest-{path.name}.log"
    log.unlink(missing_ok=True)
    libnl = guest_programs.ensure_package(LIBNL, target)
    include = f"-I{libnl}/usr/include/libnl3"
    library = f"{libnl}/lib/{target.prefix.rstrip('-')}/libnl-3.a -lpthread"
    make: list[str | Path] = ["make", "-s", f"TOOLS_DIR={extras.tools}", f"CC={target.tool('cc')}"]
    make += ["LDFLAGS=-static", "-C"]
    traffic: list[str | Path] = [LAB / "traffic", f"NL_CFLAGS={include}", f"NL_LIBS={library}"]
    run_logged([*make, *traffic], log, "building tools")
    tests: list[str | Path] = [ROOT / "selftests", f"CPPFLAGS={include}", f"LDLIBS={library}"]
    run_logged([*make, *tests], log, "building the self-tests' tools")
    guest_programs.build(extras.tools, extras.bin, log, target)
    for name in SELFTESTS:
        shutil.copy(extras.tools / name, extras.bin)
    shutil.copy(guest_programs.ensure_package(SHELL, target) / "bin" / SHELL, extras.bin / "bash")
    guest_programs.strip([extras.bin / name for name in SELFTESTS], log, target)
    for program in sorted(extras.bin.iterdir()):
        guest_programs.check_static(program)
    cc: list[str | Path] = [target.tool("cc"), "-O2", "-Wall", "-Wextra", "-static"]
    run_logged([*cc, "-o", path / "init", LAB / "src" / "init.c"], log, "building init")
    mark(path)


def strip_modules(paths: Iterable[Path], target: Target, log: Path) -> None:
    """Remove from modules what depends on the directory of the checkout.

    That is debug information, which has paths, and the build ID, which is a hash over it. A guest
    reads both, and what it reads changes its times.
    """
    words = [target.tool("strip"), "--strip-debug", "--remove-section=.note.gnu.build-id"]
    run_logged([*words, *paths], log, "stripping modules")


def ensure_modules(kernel: Kernel) -> list[Path]:
    """Return our modules for a kernel of another architecture. Built when needed."""
    tree = modules.ensure_modules(kernel)
    target = targets.of_architecture(kernel.arch)

    def make(place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(tree / kernel.release / "extra", place)
        strip_modules(place.glob("*.ko"), target, LOGS / f"strip-{kernel.key}.log")
        mark(place)

    return sorted(built(tree.parent.parent / "without-paths", make).glob("*.ko"))
