# SPDX-License-Identifier: GPL-2.0
"""Fixtures for tests of the lab."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

Done = subprocess.CompletedProcess[bytes]


def boot(*arguments: str | bytes, timeout: float = 300) -> Done:
    """Run lab/boot and wait for its end."""
    return subprocess.run(
        [str(ROOT / "lab" / "boot"), *arguments],
        capture_output=True,
        check=False,
        timeout=timeout,
        cwd="/",
    )


@pytest.fixture(scope="session")
def call() -> Callable[..., Done]:
    """Return a function that runs lab/boot, without building anything before."""
    return boot


@pytest.fixture(scope="session")
def lab() -> Callable[..., Done]:
    """Return a function that runs lab/boot, after everything was built."""
    done = boot("--build", timeout=3600)
    assert done.returncode == 0, done.stderr.decode()
    return boot


@pytest.fixture(scope="session")
def oops_module() -> Callable[[str], str]:
    """Return a function that gives the path of lab_oops.ko for a flavour of the kernel."""
    from labkit import engines, kernels, modules

    def build(flavour: str) -> str:
        kernel = kernels.ensure_uml(engines.default_kernel(), flavour)
        return str(modules.ensure_module(kernel, ROOT / "selftests" / "lab_oops") / "lab_oops.ko")

    return build


@pytest.fixture(scope="session")
def leftovers() -> Callable[[str], list[str]]:
    """Return a function that lists remaining processes, mounts and directories of a guest.

    A process belongs to the guest if the marker is in its command line, or if it works in the job's
    directory. Processes that shared a session with such a process at the last call count, too.
    """
    sessions: dict[str, set[int]] = {}

    def find(marker: str) -> list[str]:
        known = sessions.setdefault(marker, set())
        running = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes()
                folder = str((entry / "cwd").readlink())
                state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if state == "Z":
                continue
            running[entry.name] = (int(session), words)
            if marker.encode() in words or marker in folder:
                known.add(int(session))
        found = [
            f"process {pid}: {words.decode(errors='replace')}"
            for pid, (session, words) in running.items()
            if session in known
        ]
        found += [line for line in Path("/proc/mounts").read_text().splitlines() if marker in line]
        found += [str(path) for path in Path("/dev/shm").glob(f"{marker}*")]
        return found

    return find
