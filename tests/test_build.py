# SPDX-License-Identifier: GPL-2.0
"""The modules build without a warning for every target that the design names."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from labkit.kernels import ensure_source

TOP = Path(__file__).resolve().parent.parent
HEADERS = {name: f"/lib/modules/{name}.*/build" for name in ("6.1", "6.12")}
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


def build(kdir: Path, copy: Path, *arguments: str) -> str:
    """Build the modules in ``copy``, an empty directory; make's output."""
    for path in [TOP / "Kbuild", *TOP.glob("sch_*.c")]:
        shutil.copy(path, copy)
    for name in ("include", "selftests"):
        shutil.copytree(TOP / name, copy / name)
    done = subprocess.run(
        ["make", "-C", kdir, f"M={copy}", "W=1", *arguments],
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
@pytest.mark.parametrize("version", HEADERS)
def test_builds_without_warnings_for_stock_kernels(
    version: str, compiler: str, tmp_path: Path
) -> None:
    targets = sorted(Path("/").glob(HEADERS[version].lstrip("/")))
    if not targets:
        pytest.skip(f"no headers of {version}: apt-get install linux-headers-amd64")
    arguments = []
    if compiler == "clang":
        suffix = clang_suffix()
        if suffix is None:
            pytest.skip("no clang with lld: apt-get install clang lld llvm")
        arguments = [f"LLVM={suffix}"]
    output = build(targets[-1], tmp_path, *arguments)
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
    output = build(kernel_32, tmp_path, "ARCH=i386", "KBUILD_MODPOST_WARN=1")
    assert not own_warnings(output)
    for module in modules(tmp_path):
        symbols = subprocess.run(
            ["nm", "-u", module], check=True, capture_output=True, text=True
        ).stdout
        assert not re.search(r"__u?(div|mod)di3", symbols), module.name
