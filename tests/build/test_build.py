# SPDX-License-Identifier: GPL-2.0
"""Modules build without a warning for every supported target."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from aqmlab.qdiscs import names
from labkit import records
from labkit.engines import default_kernel
from labkit.kernels import ensure_prepared
from labkit.modules import MAKE_LOG, compile_copy, ensure_modules, module_sources
from labkit.stock import ensure_stock
from tests.selftests import USUAL

TOP = Path(__file__).resolve().parents[2]
KINDS = names.ours()
# Settings that our modules need, on top of tinyconfig.
CONFIG = """
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
    """Return make's argument LLVM= for a clang with its linker, or None."""
    for suffix in ("", *(f"-{version}" for version in range(30, 14, -1))):
        if shutil.which(f"clang{suffix}") and shutil.which(f"ld.lld{suffix}"):
            return suffix or "1"
    return None


def build(arguments: Sequence[str], copy: Path) -> str:
    """Build the modules in ``copy`` for a kernel. Return make's output."""
    return compile_copy(arguments, TOP, module_sources(), copy, "W=1")


def own_warnings(output: str) -> list[str]:
    """Return warnings about our files, without warnings about the target's headers."""
    files = r"(sch_\w+\.c|frame/\w+\.[ch]|include/aqm/[\w/]+\.h|compat\.h|(bench|selftests)/\S+\.c)"
    ours = re.compile(rf"{files}:.*warning:")
    return [line for line in output.splitlines() if ours.search(line)]


def modules(copy: Path) -> list[Path]:
    """Return the built modules. Every discipline must be among them."""
    built = sorted(copy.rglob("*.ko"))
    assert {"sch_aqm", *(path.stem for path in TOP.glob("sch_*.c"))} <= {
        path.stem for path in built
    }
    return built


@pytest.mark.parametrize("version", USUAL)
def test_builds_without_warnings_for_stock_kernels(version: str) -> None:
    """Build for the kernels that guests load."""
    built = ensure_modules(ensure_stock(version)).parents[1]
    assert not own_warnings((built / MAKE_LOG).read_text())
    assert modules(built / "src")


@pytest.mark.extra
def test_builds_without_warnings_with_clang(tmp_path: Path) -> None:
    """Build for a kernel configured for clang. Debian's kernels need gcc."""
    suffix = clang_suffix()
    if suffix is None:
        pytest.skip("no clang with lld: apt-get install clang lld llvm")
    clang = f"clang{suffix.removeprefix('1')}"
    version = subprocess.run([clang, "--version"], check=True, capture_output=True, text=True)
    oldest = records.names("uml")[-1]
    arguments = ensure_prepared(oldest, CONFIG, ["ARCH=x86_64", f"LLVM={suffix}"], version.stdout)
    assert "CONFIG_CC_IS_CLANG=y" in Path(arguments[1], ".config").read_text()
    output = build(arguments, tmp_path)
    assert not own_warnings(output)
    assert modules(tmp_path)


def imitate(kernel: Path, where: Path, version: str) -> Path:
    """Copy a prepared kernel as a distribution may have it: an old version, and new functions.

    The copy has no qdisc_dequeue_internal(). Other files are links. Returns its directory.
    """
    source = (kernel / "source").resolve()
    header = "include/net/sch_generic.h"
    for folder, own in ((".", "include"), ("include", "net"), ("include/net", "sch_generic.h")):
        (where / "source" / folder).mkdir(parents=True, exist_ok=True)
        for part in (source / folder).iterdir():
            if part.name not in (own, "Makefile"):
                (where / "source" / folder / part.name).symlink_to(part)
    text = (source / header).read_text()
    assert "qdisc_dequeue_internal" in text
    (where / "source" / header).write_text(text.replace("qdisc_dequeue_internal", "unknown"))
    text = (source / "Makefile").read_text()
    fields = ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    for field, number in zip(fields, version.split("."), strict=True):
        text = re.sub(rf"^{field} = .*", f"{field} = {number}", text, flags=re.MULTILINE)
    (where / "source" / "Makefile").write_text(text)
    shutil.copytree(kernel, where / "kernel", symlinks=True)
    for path in (where / "kernel" / "Makefile", where / "kernel" / "source"):
        path.unlink()
    (where / "kernel" / "source").symlink_to(where / "source")
    text = (kernel / "Makefile").read_text()
    for old, new in ((source, where / "source"), (kernel, where / "kernel")):
        assert str(old) in text
        text = text.replace(str(old), str(new))
    (where / "kernel" / "Makefile").write_text(text)
    return where / "kernel"


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Build for a distribution's kernel of 32 bit. Return make's output, and the directory."""
    where = tmp_path_factory.mktemp("distribution")
    arguments = ensure_prepared(default_kernel(), CONFIG, ["ARCH=i386"])
    kernel = imitate(Path(arguments[1]), where, "5.14.0")
    return build(["-C", str(kernel), *arguments[2:]], where / "modules"), where / "modules"


def test_builds_for_32_bit_without_64_bit_division(distribution: tuple[str, Path]) -> None:
    """On 32 bit, a plain / or % on u64 compiles to a call that no kernel has."""
    output, copy = distribution
    assert not own_warnings(output)
    for module in modules(copy):
        symbols = subprocess.run(
            ["nm", "-u", module], check=True, capture_output=True, text=True
        ).stdout
        assert not re.search(r"__u?(div|mod)di3", symbols), module.name


def test_builds_for_a_distribution_kernel_with_backports(distribution: tuple[str, Path]) -> None:
    """The version is 5.14.0, functions are of the newest kernel, and the fixes are missing."""
    output, copy = distribution
    assert output.count("sch-aqm: this kernel lacks fixes of 2025") == 1
    for kind in KINDS:
        assert b"protections=old_parents" in (copy / f"sch_{kind}.ko").read_bytes(), kind


SET = "net/sch_generic.h: static inline void tcf_set_drop_reason(const struct sk_buff *skb,"
DROP_REASONS = {
    "6.1": ((), set()),
    "6.12": ((SET,), {"HAVE_TCF_SET_DROP_REASON"}),
    "6.15": (
        (SET, "net/dropreason-core.h: SKB_DROP_REASON_QDISC_OVERLIMIT,"),
        {"HAVE_SKB_DROP_REASON_QDISC", "HAVE_TCF_SET_DROP_REASON"},
    ),
    "7.3": (
        ("net/sch_generic.h: static inline void tcf_set_qdisc_drop_reason(",),
        {"HAVE_QDISC_DROP_REASON"},
    ),
}


@pytest.mark.parametrize("kernel", DROP_REASONS)
def test_drop_reasons_are_those_that_the_headers_have(kernel: str, tmp_path: Path) -> None:
    """Kernels with no drop reasons, one for all qdiscs, several shared ones, and separate ones."""
    found, expected = DROP_REASONS[kernel]
    for line in found:
        name, text = line.split(": ")
        path = tmp_path / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"\t{text}\n")
    (tmp_path / "Makefile").write_text(
        "VERSION = {}\nPATCHLEVEL = {}\n".format(*kernel.split("."))
        + f"src = {TOP}\nsrctree = {tmp_path}\ninclude $(src)/Kbuild\nall:\n\t@echo $(ccflags-y)\n"
    )
    flags = subprocess.run(
        ["make", "-s", "-C", tmp_path], capture_output=True, text=True, check=True
    ).stdout
    assert {flag for flag in re.findall(r"HAVE_\w+", flags) if "DROP" in flag} == expected
