# SPDX-License-Identifier: GPL-2.0
"""The C tests of include/aqm: in user space with sanitizers, and as KUnit in the lab."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
UNIT = TOP / "selftests" / "unit"
KUNIT = TOP / "selftests" / "kunit"
SEEDS = (1, 2)


def tap_failures(text: str) -> list[str]:
    """Return the failed lines of TAP or KTAP output. No result at all is a failure, too."""
    lines = [line.strip() for line in text.splitlines()]
    if not any(line.startswith("ok ") for line in lines):
        return ["no test ran"]
    return [line for line in lines if line.startswith("not ok ")]


def headers(file: Path) -> set[str]:
    """Return the names of the headers of include/aqm that a file includes, also indirectly."""
    names = set(re.findall(r'^#include (?:<aqm/|")(\w+\.h)', file.read_text(), re.MULTILINE))
    inner = (TOP / "include" / "aqm" / name for name in names)
    return names.union(*(headers(path) for path in inner if path.exists()))


def named(source: Path) -> str:
    """Name a test, with the qdiscs whose headers it tests: `make try` selects by these."""
    tested = {name for name in headers(source) if (TOP / "include" / "aqm" / name).exists()}
    return "-".join([source.stem, *(path.stem.removeprefix("sch_")
                                    for path in sorted(TOP.glob("sch_*.c"))
                                    if tested <= headers(path))])


@pytest.mark.parametrize("source", sorted(UNIT.glob("test_*.c")), ids=named)
def test_header_in_userspace(source: Path, tmp_path: Path) -> None:
    program = tmp_path / source.stem
    subprocess.run(
        [
            "cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
            "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
            f"-I{UNIT / 'shim'}", f"-I{TOP / 'include'}", f"-I{UNIT}",
            source, "-o", program, "-lm",
        ],
        check=True,
    )  # fmt: skip
    for seed in SEEDS:
        done = subprocess.run([program, str(seed)], capture_output=True, text=True, check=False)
        print(f"seed {seed}:", done.stdout, done.stderr)
        assert not tap_failures(done.stdout)
        assert done.returncode == 0


def test_kunit_suites_pass_in_the_lab() -> None:
    modules = sorted(path.stem for path in KUNIT.glob("*_kunit.c"))
    script = "; ".join(["dmesg -C", *(f"modprobe {m} || exit 1" for m in modules), "dmesg -t"])
    done = subprocess.run(
        [TOP / "lab" / "boot", "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert not tap_failures(done.stdout)
    for module in modules:
        suite = "aqm_" + module.removesuffix("_kunit")
        assert re.search(rf"^ok \d+ {suite}\b", done.stdout, re.MULTILINE), suite
