# SPDX-License-Identifier: GPL-2.0
"""Put the second wheel together, in a directory with its parts in aqm_build (labkit/wheel.py)."""

import os
import platform

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class OfOnePlatform(bdist_wheel):
    """Name the platform. The checked kernel needs this machine's C library or a later one."""

    def get_tag(self):  # noqa: ANN201
        """Return the tags of Python, its interface to C, and the platform."""
        release = platform.libc_ver()[1].replace(".", "_")
        return "py3", "none", f"manylinux_{release}_x86_64"


setup(
    name="sch-aqm-build",
    version=os.environ["AQM_VERSION"],
    description="What sch-aqm needs to build kernel modules, and its checked kernel",
    long_description="For `pip install 'sch-aqm[build]'`: `aqm run --module DIR`, with gcc and "
    "make, and `aqm boot --flavour checked`. GPL-2.0; the sources are beside each release.",
    long_description_content_type="text/markdown",
    license="GPL-2.0-only",
    packages=["aqm_build"],
    package_data={"aqm_build": ["**/*"]},
    cmdclass={"bdist_wheel": OfOnePlatform},
)
