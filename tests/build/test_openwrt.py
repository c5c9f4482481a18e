# SPDX-License-Identifier: GPL-2.0
"""The packages for OpenWrt, built by stand-ins for its build system, and plugins for arm64."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from aqmlab.qdiscs import names
from labkit import engines, kernels, modules

TOP = Path(__file__).resolve().parents[2]

#: The definitions of OpenWrt that the packages use.
RULES = """
INCLUDE_DIR := $(TOPDIR)
PKG_BUILD_DIR := $(TOPDIR)/build
INSTALL_DIR := install -d
INSTALL_DATA := install -m 644
TARGET_CC := cc
TARGET_CFLAGS := -Os
"""
PACKAGE = """
AutoProbe = $(1)
define KernelPackage
$(eval $(KernelPackage/$(1)))
kmod-$(1): ; $(Build/Prepare)
\t$(Build/Compile)
\tinstall -D -t $(TOPDIR)/image/modules $(FILES)
endef
define BuildPackage
$(1): ; $(call Package/$(1)/install,$(TOPDIR)/image)
endef
"""


@pytest.mark.extra
def test_packages_have_each_module_and_plugin(tmp_path: Path) -> None:
    kernel = kernels.ensure_uml(engines.default_kernel(), "fast")
    arguments = " ".join(modules.make_arguments(kernel))
    (tmp_path / "rules.mk").write_text(RULES)
    (tmp_path / "kernel.mk").write_text(f"KERNEL_MAKE := $(MAKE) {arguments}\n")
    (tmp_path / "package.mk").write_text(PACKAGE)
    done = subprocess.run(
        [
            "make",
            "-C",
            TOP / "openwrt" / "sch-aqm",
            f"TOPDIR={tmp_path}",
            "kmod-sched-aqm",
            "tc-mod-aqm",
        ],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = names.ours()
    assert {path.name for path in (tmp_path / "image" / "modules").iterdir()} == {
        f"sch_{name}.ko" for name in ("aqm", *kinds)
    }
    assert {path.name for path in (tmp_path / "image" / "usr" / "lib" / "tc").iterdir()} == {
        f"q_{kind}.so" for kind in kinds
    }


def test_plugins_for_arm64_parse_and_print_their_options(tmp_path: Path) -> None:
    """The plugins run in a tc that exports only the functions of OpenWrt's."""
    needed = ("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
    if missing := [program for program in needed if not shutil.which(program)]:
        pytest.skip(
            f"{', '.join(missing)} is not installed: apt-get install "
            "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"
        )
    subprocess.run(
        ["make", "-s", "-C", TOP / "tc", f"CC={needed[0]}", f"PLUGINS_DIR={tmp_path}"], check=True
    )
    subprocess.run(
        [
            needed[0],
            f"-I{TOP}/tc",
            f"-Wl,--dynamic-list={TOP}/tests/tc/openwrt.list",
            "-o",
            tmp_path / "small_tc",
            TOP / "tests" / "tc" / "small_tc.c",
            "-ldl",
        ],
        check=True,
    )
    for kind, words in (("tdrr", "time_constant 0.2s"), ("cbt", "dscp ef"), ("blue", "limit 7")):
        done = subprocess.run(
            [
                needed[1],
                "-L",
                "/usr/aarch64-linux-gnu",
                tmp_path / "small_tc",
                tmp_path,
                kind,
                *words.split(),
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert (
            done.stdout.strip()
            == {"tdrr": "time_constant 200ms", "cbt": "dscp ef", "blue": "limit 7p"}[kind]
        )
