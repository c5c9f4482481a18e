# SPDX-License-Identifier: GPL-2.0
"""The modules build without a warning for every target that the design names."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from labkit.kernels import ensure_source
from labkit.modules import make_arguments
from labkit.stock import STOCK, ensure_stock

TOP = Path(__file__).resolve().parent.parent
# What a 32-bit kernel needs for our modules to compile, on top of tinyconfig.
CONFIG_32 = """
CONFIG_MODULES=y
CONFIG_NET=y
CONFIG_INET=y
CONFIG_IPV6=y
CONFIG_NETDEVICES=y
CONFIG_NET_SCHED=y
CONFIG_NET_CLS=y
CONFIG_NET_CLS_ACT=y
CONFIG_SYSFS=y
"""


def clang_suffix() -> str | None:
    """The argument of make LLVM= for a clang with its linker, or None."""
    for suffix in ("", *(f"-{version}" for version in range(30, 14, -1))):
        if shutil.which(f"clang{suffix}") and shutil.which(f"ld.lld{suffix}"):
            return suffix or "1"
    return None


def build(command: Sequence[str], copy: Path) -> str:
    """Build the modules in ``copy``, an empty directory, for a kernel; make's output."""
    for path in [TOP / "Kbuild", *TOP.glob("sch_*.c")]:
        shutil.copy(path, copy)
    for name in ("include", "selftests"):
        shutil.copytree(TOP / name, copy / name)
    done = subprocess.run(
        [*command, f"M={copy}", "W=1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def own_warnings(output: str) -> list[str]:
    """Warnings about our files; the target's headers have warnings of their own."""
    ours = re.compile(r"(sch_\w+\.c|include/aqm/\w+\.h|compat\.h|selftests/\S+\.c):.*warning:")
    return [line for line in output.splitlines() if ours.search(line)]


def modules(copy: Path) -> list[Path]:
    """What was built; every discipline must be among it."""
    built = sorted(copy.rglob("*.ko"))
    assert {path.stem for path in TOP.glob("sch_*.c")} <= {path.stem for path in built}
    return built


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("version", STOCK)
def test_builds_without_warnings_for_stock_kernels(
    version: str, compiler: str, tmp_path: Path
) -> None:
    kernel = ensure_stock(version)
    if compiler == "clang":
        suffix = clang_suffix()
        if suffix is None:
            pytest.skip("no clang with lld: apt-get install clang lld llvm")
        command = ["make", "-C", str(kernel.path), f"LLVM={suffix}"]
    else:
        command = ["make", *make_arguments(kernel)]
    output = build(command, tmp_path)
    assert not own_warnings(output)
    assert modules(tmp_path)


@pytest.fixture(scope="module")
def kernel_32(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 32-bit kernel's build directory, prepared for external modules."""
    tree = ensure_source("7.3").tree
    kdir = tmp_path_factory.mktemp("i386")
    make = ["make", "-s", "-C", tree, "ARCH=i386", f"O={kdir}"]
    subprocess.run([*make, "tinyconfig"], check=True)
    with (kdir / ".config").open("a") as config:
        config.write(CONFIG_32)
    subprocess.run([*make, "olddefconfig"], check=True)
    subprocess.run([*make, "modules_prepare"], check=True)
    return kdir


def test_builds_for_32_bit_without_64_bit_division(kernel_32: Path, tmp_path: Path) -> None:
    """A plain / or % on u64 compiles there but leaves a call that no kernel has."""
    command = ["make", "-C", str(kernel_32), "ARCH=i386", "KBUILD_MODPOST_WARN=1"]
    output = build(command, tmp_path)
    assert not own_warnings(output)
    for module in modules(tmp_path):
        symbols = subprocess.run(
            ["nm", "-u", module], check=True, capture_output=True, text=True
        ).stdout
        assert not re.search(r"__u?(div|mod)di3", symbols), module.name
