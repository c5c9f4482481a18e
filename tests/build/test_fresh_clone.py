# SPDX-License-Identifier: GPL-2.0
"""A fresh clone without `make setup`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.scenarios.shortrun import copied, edit

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = copied(tmp_path_factory.mktemp("clone"))
    (checkout / "build").unlink()
    return checkout


def start(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=clone, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "words",
    [
        ["netns-scenarios/run", "dumbbell"],
        ["netns-scenarios/report", "out"],
        ["bench/run", "--help"],
    ],
)
def test_commands_say_how_to_get_the_virtual_environment(clone: Path, words: list[str]) -> None:
    done = start(clone, *words)
    assert done.returncode == 1
    assert done.stderr.endswith(": make setup\n")
    assert len(done.stderr.splitlines()) == 1
    assert not (clone / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["lab/boot", "--help"],
        ["lab/boot", "--list"],
    ],
)
def test_the_lab_needs_no_packages(clone: Path, words: list[str]) -> None:
    done = start(clone, *words)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 3


def test_commands_of_a_checkout_run_its_code_even_if_it_shares_a_virtual_environment(
    tmp_path: Path,
) -> None:
    checkout = copied(tmp_path)
    edit(checkout / "lab" / "aqmlab" / "start.py", "usage: ", "usage of the copy: ")
    done = start(checkout, "lab/python", "-m", "aqmlab")
    assert "\nusage of the copy: aqm COMMAND" in done.stderr


def test_clean_removes_what_make_built_without_the_kernels_headers(tmp_path: Path) -> None:
    built = (
        "sch_x.o",
        "sch_x.ko",
        "sch_x.mod",
        "sch_x.mod.c",
        ".sch_x.o.cmd",
        "modules.order",
        "Module.symvers",
        "bench/module/q.o",
        "bench/module/.q.o.cmd",
        "build/plugins/q_x.so",
    )
    kept = ("sch_x.c", "tools/x.c", "build/modules/sch_x.ko", "out/r/x.o", ".git/x.o")
    for name in (*built, *kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(
        [
            "make",
            "-s",
            "-f",
            TOP / "Makefile",
            "-C",
            tmp_path,
            "clean",
            "KDIR=/nonexistent",
            "AQM_VERSION=0",
        ],
        check=True,
    )
    there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert there == set(kept)
