# SPDX-License-Identifier: GPL-2.0
"""Build the wheel that needs no compiler: the bundle (bundle.py), and Python's packages around it.

    python -m labkit.wheel [--build] [DIRECTORY]

Writes it to DIRECTORY, or build/dist; with --build also the wheel that kit.py describes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import bundle, engines, kit, uml
from .cache import lock, write_sums
from .errors import LabError, need, say
from .kernels import Kernel
from .paths import BUILD, LAB, LOGS, ROOT
from .progress import run_logged
from .toolchain import compiler, version

#: Most bytes that the wheel may have.
LIMIT = 12_000_000

FLAVOUR = "fast"


def describe_qdiscs() -> str:
    """Return the options and statistics of the qdiscs in JSON. A module above this one knows."""
    code = "from aqmlab.qdiscs import interface; print(interface.describe(interface.HEADERS))"
    return subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout


def make(place: Path) -> Kernel:
    """Write the bundle of the checkout to PLACE. Return its kernel."""
    name = engines.default_kernel()
    kernel, tree, extras, helpers = uml.built(name, FLAVOUR, ())
    shutil.rmtree(place, ignore_errors=True)
    bundle.write_kernel(place, kernel, tree)
    shutil.copy(helpers / "init", place)
    run_logged([need("strip", "binutils"), place / "init"], LOGS / "wheel.log", "stripping init")
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
    return kernel


def pip_wheel(source: Path, target: Path, **variables: str) -> None:
    """Build the wheel of the project in SOURCE into the directory TARGET."""
    words = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(target)]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *words, str(source)],
        env={**os.environ, **variables},
        check=True,
    )


def build(target: Path, *, second: bool) -> list[Path]:
    """Build the wheel into the directory TARGET, and the SECOND if asked; one build at a time.
    Return the wheels. Raises LabError."""
    place = BUILD / "bundle"
    with lock(BUILD / "bundle.lock"):
        kernel = make(place)
        shutil.rmtree(BUILD / "python", ignore_errors=True)
        pip_wheel(ROOT, target, AQM_BUNDLE=str(place))
        if second:
            project = BUILD / "kit"
            shutil.rmtree(project, ignore_errors=True)
            shutil.copytree(LAB / "kit", project)
            kit.make(project / "aqm_build", kernel)
            (project / "aqm_build" / "__init__.py").write_text('"""Data of labkit."""\n')
            pip_wheel(project, target, AQM_VERSION=version())
    names = ("sch_aqm", "sch_aqm_build")[: 1 + second]
    return [next(target.glob(f"{name}-{version()}-*.whl")) for name in names]


def main() -> int:
    """Build the wheels, and print paths and sizes. Return the exit status."""
    p = argparse.ArgumentParser(prog="tools/wheel", description=__doc__)
    p.add_argument("target", nargs="?", type=Path, default=BUILD / "dist", metavar="DIRECTORY")
    p.add_argument("--build", action="store_true", help="the second one, too")
    asked = p.parse_args()
    try:
        wheels = build(asked.target, second=asked.build)
    except LabError as error:
        say(str(error))
        return 1
    sizes = [wheel.stat().st_size for wheel in wheels]
    for wheel, size in zip(wheels, sizes, strict=True):
        print(f"{wheel} {size / 1e6:.1f} MB")
    return int(sizes[0] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
