# SPDX-License-Identifier: GPL-2.0
"""The C tests of include/aqm: in user space with sanitizers, and as KUnit in the lab."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from labkit import kernels, modules
from labkit.engines import default_kernel

TOP = Path(__file__).resolve().parents[2]
UNIT = TOP / "selftests" / "unit"
SEEDS = (1, 2)


def tap_failures(text: str) -> list[str]:
    """Return the failed lines of TAP or KTAP output. No result at all is a failure, too."""
    lines = [line.strip() for line in text.splitlines()]
    if not any(line.startswith("ok ") for line in lines):
        return ["no test ran"]
    return [line for line in lines if line.startswith("not ok ")]


def headers(file: Path) -> set[str]:
    """Return the names of the headers of include/aqm that a file includes, also indirectly."""
    names = set(re.findall(r'^#include (?:<aqm/|")([\w/]+\.h)', file.read_text(), re.MULTILINE))
    inner = (TOP / "include" / "aqm" / name for name in names)
    return names.union(*(headers(path) for path in inner if path.exists()))


def named(source: Path) -> str:
    """Name a test, with the qdiscs whose headers it tests: `make try` selects by these."""
    tested = {name for name in headers(source) if (TOP / "include" / "aqm" / name).exists()}
    return "-".join(
        [
            source.stem,
            *(
                path.stem.removeprefix("sch_")
                for path in sorted(TOP.glob("sch_*.c"))
                if tested <= headers(path)
            ),
        ]
    )


@pytest.mark.parametrize("source", sorted(UNIT.glob("test_*.c")), ids=named)
def test_header_in_userspace(source: Path, tmp_path: Path) -> None:
    program = tmp_path / source.stem
    subprocess.run(
        [
            "cc",
            "-std=gnu11",
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            f"-I{UNIT / 'shim'}",
            f"-I{UNIT / 'packets'}",
            f"-I{TOP / 'include'}",
            f"-I{UNIT}",
            source,
            "-o",
            program,
            "-lm",
        ],
        check=True,
    )
    for seed in SEEDS:
        done = subprocess.run([program, str(seed)], capture_output=True, text=True, check=False)
        print(f"seed {seed}:", done.stdout, done.stderr)
        assert not tap_failures(done.stdout)
        assert done.returncode == 0


def runs_in_the_kernel(source: Path) -> bool:
    """Return whether a test can run in the kernel: without floating point and made-up packets."""
    return not re.search(r"double|<math.h>|sk_buff", source.read_text())


def test_header_in_the_kernel(tmp_path: Path) -> None:
    """KUnit suites of the same tests, with the kernel's own helpers."""
    sources = [path for path in sorted(UNIT.glob("test_*.c")) if runs_in_the_kernel(path)]
    assert len(sources) >= 10
    folder = tmp_path / "kunit"
    for name in ("include", "frame"):
        shutil.copytree(TOP / name, folder / name)
    where = UNIT.relative_to(TOP)
    (folder / where).mkdir(parents=True)
    for file in (*sources, UNIT / "unit.h"):
        shutil.copy(file, folder / where)
    objects = " ".join(f"{where / source.stem}.o" for source in sources)
    flags = "-I$(src)/include -Wframe-larger-than=4096"
    (folder / "Kbuild").write_text(f"obj-m := {objects}\nccflags-y := {flags}\n")
    built = modules.ensure_module(kernels.ensure_uml(default_kernel(), "fast"), folder)
    script = "; ".join(
        [
            "dmesg -C",
            *(f"insmod {built / where / source.stem}.ko" for source in sources),
            "dmesg -t",
        ]
    )
    done = subprocess.run(
        [TOP / "lab" / "boot", "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert not tap_failures(done.stdout)
    passed = set(re.findall(r"^ok \d+ (\w+)$", done.stdout, re.MULTILINE))
    assert passed == {source.stem for source in sources}
