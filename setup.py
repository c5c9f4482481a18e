# SPDX-License-Identifier: GPL-2.0
"""Put a copy of the checkout into the package `aqm`, because its lab builds from the sources."""

import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

TOP = Path(__file__).resolve().parent
#: Parts that no run needs.
LEFT_OUT = (
    "lab/aqm/",
    "docs/",
    "tests/",
    "bench/figures",
    "papers/",
    "build/",
    "out/",
    ".git",
)


class WithCheckout(build_py):
    """Build the package, and copy the checkout beside it unless the install is editable."""

    def run(self):  # noqa: ANN201
        """Run the step."""
        super().run()
        if self.editable_mode:
            return
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True)
        names = (
            listed.stdout.split("\0")
            if listed.returncode == 0
            else [str(path.relative_to(TOP)) for path in TOP.rglob("*")]
        )
        place = Path(self.build_lib) / "aqm" / "checkout"
        shutil.rmtree(place, ignore_errors=True)
        for name in names:
            if not name.startswith(LEFT_OUT) and (TOP / name).is_file():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TOP / name, place / name)


(TOP / "build").mkdir(exist_ok=True)
setup(
    cmdclass={"build_py": WithCheckout},
    options={"egg_info": {"egg_base": "build"}, "build": {"build_base": "build/python"}},
)
