# SPDX-License-Identifier: GPL-2.0
"""Build the wheel that needs no compiler: the bundle (bundle.py), and Python's packages around it.

    python -m labkit.wheel [DIRECTORY]

Writes it to DIRECTORY, or build/dist.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import bundle, engines, uml
from .cache import lock, write_sums
from .errors import LabError, need, say
from .paths import BUILD, LOGS, ROOT
from .progress import run_logged
from .toolchain import compiler, version

#: Most bytes that the wheel may have.
LIMIT = 12_000_000

FLAVOUR = "fast"

#: Modules of tests.
UNUSED = ("aqm_gate.ko", "qdisc_bench.ko", "sch_oldparents.ko")


def describe_qdiscs() -> str:
    """Return the options and statistics of the qdiscs in JSON. A module above this one knows."""
    code = "from aqmlab.qdiscs import interface; print(interface.describe(interface.HEADERS))"
    return subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout


def make(place: Path) -> None:
    """Write the bundle of the checkout to PLACE."""
    name = engines.default_kernel()
    kernel, tree, extras, helpers = uml.built(name, FLAVOUR, ())
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    log = LOGS / "wheel.log"
    log.unlink(missing_ok=True)
    for file in (kernel.image, kernel.path / "System.map", helpers / "init"):
        shutil.copy(file, place)
    run_logged([need("strip", "binutils"), place / "linux", place / "init"], log, "stripping")
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
    shutil.copytree(extras.bin, place / "bin")
    (place / "tc").mkdir()
    for table in extras.tc.glob("*.dist"):
        shutil.copy(table, place / "tc")
    (place / bundle.QDISCS).write_text(describe_qdiscs())
    facts = {
        "kernel": name,
        "flavour": FLAVOUR,
        "release": kernel.release,
        "key": kernel.key,
        "compiler": compiler(),
        "version": version(),
    }
    (place / bundle.MANIFEST).write_text(json.dumps(facts, indent=1) + "\n")
    write_sums(place, [path for path in place.rglob("*") if path.is_file()])


def build(target: Path) -> Path:
    """Build the wheel into the directory TARGET, one at a time. Raises LabError."""
    place = BUILD / "bundle"
    words = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(target), str(ROOT)]
    with lock(BUILD / "bundle.lock"):
        make(place)
        shutil.rmtree(BUILD / "python", ignore_errors=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", *words],
            env={**os.environ, "AQM_BUNDLE": str(place)},
            check=True,
        )
    (wheel,) = target.glob(f"sch_aqm-{version()}-*.whl")
    return wheel


def main() -> int:
    """Build the wheel, and print its path and size. Return the exit status."""
    try:
        wheel = build(Path(sys.argv[1]) if sys.argv[1:] else BUILD / "dist")
    except LabError as error:
        say(str(error))
        return 1
    size = wheel.stat().st_size
    print(f"{wheel} {size / 1e6:.1f} MB")
    return int(size > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
