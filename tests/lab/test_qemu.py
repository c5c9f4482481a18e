# SPDX-License-Identifier: GPL-2.0
"""Debian's kernels under QEMU give the same guarantees. A guest tests much, as boots are slow."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.selftests import USUAL

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.qemu

AWKWARD = ["", "two words", "it's", 'say "hi"', "$HOME", "new\nline", "*", "é ✓"]


@pytest.fixture(scope="session")
def qemu(lab: Lab) -> Lab:
    """Return a function that runs lab/boot with QEMU."""

    def run(*arguments: str | bytes) -> Done:
        return lab("--engine", "qemu", "--time-limit", "900", *arguments, timeout=1000)

    return run


@pytest.mark.parametrize("kernel", USUAL)
def test_stock_kernel_works_like_the_labs(qemu: Lab, kernel: str, tmp_path: Path) -> None:
    """One guest tests arguments, output, files, modules, also from outside, and status."""
    script = f"""
        uname -r
        modprobe -n --show-depends sch_qsdrr | grep -q extra/sch_qsdrr.ko || exit 10
        modprobe sch_qsdrr || exit 11
        tc qdisc add dev lo root netem delay 1ms 1ms distribution normal || exit 12
        tc qdisc replace dev lo root qsdrr || exit 13
        tc qdisc replace dev lo root mine 1 u32 7 || exit 16
        echo mine > /proc/sys/net/ipv4/tcp_congestion_control || exit 17
        echo shared > '{tmp_path}/a file' || exit 14
        touch /etc/lab-was-here || exit 15
        pwd >&2
        printf '%s\\0' "$@"
        exit 42
    """
    done = qemu(
        "--kernel",
        kernel,
        "--share",
        str(tmp_path),
        "--module",
        str(ROOT / "docs" / "your-own"),
        "--",
        "sh",
        "-c",
        script,
        "sh",
        *AWKWARD,
    )
    assert done.returncode == 42, done.stderr
    release, _, words = done.stdout.partition(b"\n")
    assert release.decode().startswith(f"{kernel}.")
    assert release.endswith(b"-amd64")
    assert words.decode().split("\0")[:-1] == AWKWARD
    assert done.stderr.decode().splitlines()[-1] == str(ROOT)
    assert (tmp_path / "a file").read_text() == "shared\n"
    assert not Path("/etc/lab-was-here").exists()


def test_crash_differs_from_a_failing_command(qemu: Lab) -> None:
    """A crash of the stock kernel has its own exit status."""
    done = qemu("--", "sh", "-c", "echo c > /proc/sysrq-trigger")
    assert done.returncode == 70
    assert b"kernel log: " in done.stderr


def test_time_limit(qemu: Lab) -> None:
    begin = time.monotonic()
    done = qemu("--time-limit", "5", "--", "sleep", "1000")
    assert done.returncode == 124
    assert time.monotonic() - begin < 60


def test_interrupted(lab: Lab, leftovers: Callable[[str], list[str]]) -> None:
    """Ctrl-C during the boot leaves nothing behind."""
    boot = subprocess.Popen(
        [str(ROOT / "lab" / "boot"), "--engine", "qemu", "--", "sleep", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    marker = f"lab-boot-{boot.pid}-"
    end = time.monotonic() + 60
    while not any("qemu-system" in what for what in leftovers(marker)):
        assert time.monotonic() < end
        time.sleep(0.1)
    os.kill(boot.pid, signal.SIGINT)
    boot.communicate(timeout=20)
    assert boot.returncode == 128 + signal.SIGINT
    assert leftovers(marker) == []


@pytest.mark.extra
def test_sleep_takes_no_time_with_icount(qemu: Lab) -> None:
    """With --icount, sleeping takes time in the guest but not on the host."""
    # While the host reads a file for the guest, the guest's clock jumps by seconds. So one process
    # sleeps and reads the clock twice. The second time nothing more needs to be read from disk.
    script = (
        "from time import monotonic, sleep\n"
        "for length in (0.01, 2000):\n"
        "    began = monotonic()\n"
        "    sleep(length)\n"
        "    ended = monotonic()\n"
        "print(ended - began)\n"
    )
    begin = time.monotonic()
    done = qemu("--icount", "--", "python3", "-c", script)
    assert done.returncode == 0, done.stderr
    host = time.monotonic() - begin
    assert 2000 <= float(done.stdout) <= 2001
    assert host < 1000
