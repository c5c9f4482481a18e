# SPDX-License-Identifier: GPL-2.0
"""What mutants-c and mutants-python share: a copy of the checkout, and pytest in forks."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def checkout(place: Path) -> None:
    """Copy the tracked files to `place`, with the virtual environment."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    (place / "build").mkdir()
    (place / "build" / "venv").symlink_to((ROOT / "build" / "venv").resolve())


def run_tests(place: Path, words: list[str], cpu_s: int, wall_s: float) -> tuple[int, str]:
    """Run pytest in a fork of this process, which has already imported the slow modules.

    Return its exit status and output. The status is 1 if it took longer than allowed.
    """
    output = place / "build" / "pytest.log"
    child = os.fork()
    if not child:
        # An exception must not leave this branch: it would end the copy of our caller, and
        # that would delete `place`.
        try:
            os.setsid()
            os.chdir(place)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            log = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
            options = ["-q", "-p", "no:cacheprovider", "-n", "0", "--tb=no"]
            os._exit(int(pytest.main([*options, *words])))
        except BaseException:
            traceback.print_exc()
            os._exit(pytest.ExitCode.INTERNAL_ERROR)
    deadline = time.monotonic() + wall_s
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), output.read_text(errors="replace")
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1, ""


def passing(place: Path, words: list[str], wall_s: float = 3600) -> dict[str, float]:
    """Run tests once. Return the CPU seconds of each passing test by name."""
    report = place / "build" / "junit.xml"
    report.unlink(missing_ok=True)
    status, output = run_tests(
        place,
        [*words, "--maxfail=100000", f"--junitxml={report}", "-o", "junit_family=xunit1"],
        int(wall_s),
        wall_s,
    )
    if not report.exists():
        sys.exit(f"pytest ended with {status} and without a report: {words}\n{output[-2000:]}")
    found: dict[str, float] = {}
    for case in ET.parse(report).iter("testcase"):
        if not any(element.tag in ("failure", "error", "skipped") for element in case):
            # tests/conftest.py records the property.
            cpu_s = next(
                (
                    float(entry.attrib["value"])
                    for entry in case.iter("property")
                    if entry.attrib["name"] == "cpu_seconds"
                ),
                0.0,
            )
            # The attribute "file" is where the function is, which several test files may share.
            file = case.attrib["classname"].replace(".", "/") + ".py"
            found[f"{file}::{case.get('name')}"] = cpu_s
    return found
