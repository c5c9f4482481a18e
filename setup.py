# SPDX-License-Identifier: GPL-2.0
"""Put what the lab reads into the package `aqm`: a copy of the checkout, or a built bundle.

A plain install has the checkout, because its lab builds from the sources. If AQM_BUNDLE names a
bundle (tools/wheel makes it), the wheel has that and the few data files that a run reads.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

TOP = Path(__file__).resolve().parent
BUNDLE = os.environ.get("AQM_BUNDLE")
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
#: What a run reads beside a bundle; of the papers also experiments and claims, without rows.
DATA = (
    "docs/your-own/",
    "tc/lab/generic.c",
    "tc/tc_abi.h",
    "lab/config/",
    "lab/kernels/",
    "lab/profiles/",
    "lab/tcp/",
    "lab/trace/",
    "netns-scenarios/scenarios/",
    "netns-scenarios/sets/",
    "selftests/kinds/",
    "LICENSE",
    "VERSION",
)


OF_PAPERS = re.compile(r"papers/(\w+/)?[\w.]+\.(toml|j2|json)")


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
            wanted = (
                name.startswith(DATA) or OF_PAPERS.fullmatch(name)
                if BUNDLE
                else not name.startswith(LEFT_OUT)
            )
            if wanted and (TOP / name).is_file():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TOP / name, place / name)
        if BUNDLE:
            shutil.copytree(BUNDLE, place / "bundle")


class OfOnePlatform(bdist_wheel):
    """Name the platform of a wheel with a bundle. Its programs are static."""

    def get_tag(self):  # noqa: ANN201
        """Return the tags of Python, its interface to C, and the platform."""
        if not BUNDLE:
            return super().get_tag()
        return "py3", "none", "manylinux2014_x86_64.musllinux_1_1_x86_64"


(TOP / "build").mkdir(exist_ok=True)
setup(
    cmdclass={"build_py": WithCheckout, "bdist_wheel": OfOnePlatform},
    options={"egg_info": {"egg_base": "build"}, "build": {"build_base": "build/python"}},
)
