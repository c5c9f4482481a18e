# SPDX-License-Identifier: GPL-2.0
"""What a guest needs, built elsewhere: the part of a wheel that is not Python.

    linux, System.map     the kernel; sha256sums has its digest
    modules/RELEASE       a tree for modprobe
    bin, tc               static programs of the guest, and netem's tables
    init                  the guest's first process
    qdiscs.json           options and statistics of the qdiscs
    manifest.json         kernel, flavour, release, key, compiler, version

tools/wheel makes it. A checkout has none, and builds these parts when they are needed. A second
wheel (kit.py) has what builds modules, and another kernel.
"""

from __future__ import annotations

import functools
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

from . import kernels
from .cache import built, whole, write_sums
from .errors import LabError, need
from .kernels import Kernel
from .modules import Extras
from .paths import BUNDLE, CACHE, KIT, LOGS
from .progress import run_logged

MANIFEST = "manifest.json"
QDISCS = "qdiscs.json"

#: The flavour that the second wheel brings.
CHECKED = "checked"

#: Modules of tests.
UNUSED = ("aqm_gate.ko", "qdisc_bench.ko", "sch_oldparents.ko")

GET_KIT = "pip install 'sch-aqm[build]'"


@functools.cache
def manifest() -> dict[str, str]:
    """Return what the bundle was made of; empty without a bundle."""
    if BUNDLE is None:
        return {}
    return dict(json.loads((BUNDLE / MANIFEST).read_text()))


def kit(what: str) -> Path:
    """Return the second wheel's parts. Raises LabError, which says that WHAT needs them."""
    if KIT is None:
        raise LabError(f"{what} needs more than this package: {GET_KIT}")
    keys = json.loads((KIT / MANIFEST).read_text())
    if keys[manifest()["flavour"]] != manifest()["key"]:
        raise LabError(
            f"sch-aqm-build is of another build than sch-aqm: {GET_KIT} --force-reinstall"
        )
    return KIT


def programs() -> tuple[Extras, Path] | None:
    """Return the guest's programs and the directory of init; None without a bundle."""
    if BUNDLE is None:
        return None
    return Extras(BUNDLE / "tc", BUNDLE / "bin", BUNDLE / "bin"), BUNDLE


def parts(name: str, flavour: str) -> tuple[Kernel, Path, Extras, Path] | None:
    """Return kernel, module tree, programs and the directory of init; None without a bundle.

    Raises LabError for what only a checkout can build.
    """
    given = programs()
    if BUNDLE is None or given is None:
        return None
    known = manifest()
    place = BUNDLE
    if name == known["kernel"] and flavour == CHECKED:
        place = kit(f"flavour {flavour}") / flavour
    elif (name, flavour) != (known["kernel"], known["flavour"]):
        raise LabError(
            f"this package has Linux {known['kernel']} in flavour {known['flavour']} only; a "
            "checkout of the source builds others, see docs/lab.md"
        )
    kernel = described(place, name, flavour)
    return kernel, place / "modules", *given


def described(place: Path, name: str, flavour: str) -> Kernel:
    """Return the kernel that write_kernel() wrote to PLACE."""
    facts = json.loads((place / MANIFEST).read_text())
    image, tree = place / "linux", place / "modules" / facts["release"]
    return Kernel(name, flavour, facts["key"], place, facts["release"], image, tree)


def with_headers(kernel: Kernel) -> Kernel:
    """Return KERNEL with a directory to build modules in. A checkout with an equal compiler uses
    it, too, instead of building the kernel. Raises LabError."""
    if BUNDLE is None:
        return kernel
    source = kit("--module")
    for tool, package in (("gcc", "gcc"), ("make", "make"), ("ld", "binutils")):
        need(tool, package)

    def unpack(place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        for archive in ("headers", kernel.flavour):
            with tarfile.open(source / f"{archive}.tar.xz") as tar:
                tar.extractall(place, filter="data")
        kernels.adopt(kernel, place)

    return replace(kernel, path=built(CACHE / "kernels" / kernel.key, unpack, whole))


def write_kernel(place: Path, kernel: Kernel, tree: Path) -> None:
    """Write KERNEL and the modules of TREE to PLACE, without what only a debugger reads."""
    log = LOGS / "wheel.log"
    log.unlink(missing_ok=True)
    place.mkdir(parents=True)
    for file in (kernel.image, kernel.path / "System.map"):
        shutil.copy(file, place)
    run_logged([need("strip", "binutils"), place / "linux"], log, "stripping the kernel")
    modules = place / "modules"
    shutil.copytree(tree / kernel.release, modules / kernel.release, symlinks=False)
    for unused in UNUSED:
        (modules / kernel.release / "extra" / unused).unlink()
    for path in modules.rglob("*.ko"):
        run_logged([need("strip", "binutils"), "--strip-debug", path], log, f"stripping {path}")
    root = place / "depmod" / "lib"
    root.mkdir(parents=True)
    (root / "modules").symlink_to(modules)
    index = [need("depmod", "kmod"), "-b", str(root.parent), kernel.release]
    run_logged(index, log, "indexing modules")
    shutil.rmtree(place / "depmod")
    facts = {"key": kernel.key, "release": kernel.release}
    (place / MANIFEST).write_text(json.dumps(facts, indent=1) + "\n")
    write_sums(place, [path for path in place.rglob("*") if path.is_file()])
