# SPDX-License-Identifier: GPL-2.0
"""A guest does what a shell would: runs the command, passes on what it says, returns its status."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from labkit.paths import CACHE

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]

ROOT = Path(__file__).resolve().parents[2]

AWKWARD = [
    "", " ", "two words", "a  b", "it's", 'say "hi"', "$HOME", "`id`", "back\\slash", "tab\there",
    "new\nline", "*", "-n", "--", "é ✓", "semi;colon", "a=b", "#no comment", "%s",
]


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_exit_status(lab: Lab, status: int) -> None:
    done = lab("--", "sh", "-c", f"exit {status}")
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


def test_killed_command(lab: Lab) -> None:
    assert lab("--", "sh", "-c", "kill -9 $$").returncode == 128 + 9


def test_missing_command(lab: Lab) -> None:
    done = lab("--", "no-such-command")
    assert done.returncode == 127
    assert b"no-such-command" in done.stderr


def test_arguments(lab: Lab) -> None:
    """Every argument arrives byte for byte, bytes that are no UTF-8 included."""
    words = [os.fsencode(word) for word in AWKWARD] + [b"\xff\xfe"]
    done = lab("--", "printf", "%s\\0", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(b"\0")[:-1] == words


def test_streams_stay_apart(lab: Lab) -> None:
    done = lab("--", "sh", "-c", "echo out; echo err >&2; echo both > /dev/stderr")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\nboth\n")


def test_much_output(lab: Lab) -> None:
    done = lab("--", "sh", "-c", "seq 1 300000")
    assert done.stdout == b"".join(b"%d\n" % n for n in range(1, 300001))


def test_environment(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the host's environment but AQM_*."""
    monkeypatch.setenv("AQM_TRIAL", "yes")
    monkeypatch.setenv("UNRELATED", "no")
    done = lab("--seed", "9", "--", "env")
    values = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert values["AQM_TRIAL"] == "yes"
    assert "UNRELATED" not in values
    assert values["LAB_SEED"] == "9"
    assert values["LAB_CLOCK"] == "virtual"
    assert (values["LANG"], values["LAB"]) == ("C.UTF-8", "1")
    # Where selftests/tdc/run looks for tdc: the guest's HOME is not the host's.
    assert values["LAB_CACHE"] == str(CACHE)


def test_place(lab: Lab) -> None:
    """Root, in the checkout, with a /dev of its own and an empty stdin."""
    script = "id -u; pwd; ls -A /dev/shm; cat; readlink /proc/self/fd/0"
    done = lab("--", "sh", "-c", script)
    assert done.stdout.decode().splitlines() == ["0", str(ROOT), "/dev/null"]


def test_files(lab: Lab, tmp_path: Path) -> None:
    """The checkout's build/ and shared directories can be written, the rest of the host cannot."""
    inside = ROOT / "build" / f"lab-test-{os.getpid()}"
    outside = Path(f"/etc/lab-test-{os.getpid()}")
    script = f"echo one > {inside} && echo two > '{tmp_path}/shared file' && ! touch {outside}"
    try:
        done = lab("--share", str(tmp_path), "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        assert inside.read_text() == "one\n"
        assert (tmp_path / "shared file").read_text() == "two\n"
        assert not outside.exists()
    finally:
        inside.unlink(missing_ok=True)


def test_modules_and_tables(lab: Lab) -> None:
    """modprobe finds the lab kernel's modules; tc finds netem's tables."""
    script = (
        "modprobe pktgen && test -d /proc/net/pktgen && "
        "tc qdisc add dev lo root netem delay 1ms 1ms distribution normal"
    )
    done = lab("--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr


def test_self_tests_find_their_tools_in_a_fresh_checkout(lab: Lab) -> None:
    done = lab("--", "sh", "-c", 'cd "$TOOLS_DIR" && ls burst rawqdisc && which burst rawqdisc')
    assert done.returncode == 0, done.stderr


def test_wall_clock(lab: Lab) -> None:
    """By the wall clock a second is a second; by the virtual one it is nothing."""
    begin = time.monotonic()
    done = lab("--clock", "wall", "--", "sh", "-c", "date +%s; sleep 1")
    assert time.monotonic() - begin > 1
    assert abs(int(done.stdout) - time.time()) < 60
    begin = time.monotonic()
    assert lab("--", "sleep", "1000").returncode == 0
    assert time.monotonic() - begin < 20


def test_several_at_once(lab: Lab) -> None:
    command = [str(ROOT / "lab" / "boot"), "--", "sh", "-c", "sleep 5; echo done"]
    guests = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    assert [guest.communicate(timeout=120)[0] for guest in guests] == [b"done\n"] * 3


def test_time_limit(lab: Lab) -> None:
    begin = time.monotonic()
    done = lab("--clock", "wall", "--time-limit", "1.5", "--", "sleep", "100")
    assert done.returncode == 124
    assert b"time limit" in done.stderr
    assert b"/boot-" in done.stderr
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(
    lab: Lab, leftovers: Callable[[str], list[str]], number: signal.Signals
) -> None:
    """A signal ends the guest and leaves no process, mount, or directory."""
    boot = subprocess.Popen(
        [str(ROOT / "lab" / "boot"), "--clock", "wall", "--", "sh", "-c",
         "sleep 300 & echo up; sleep 300"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    assert boot.stdout
    assert boot.stdout.readline() == b"up\n"
    marker = f"lab-boot-{boot.pid}-"
    assert len(leftovers(marker)) > 2  # the kernel, its processes, the directory
    boot.send_signal(number)
    boot.communicate(timeout=20)
    assert boot.returncode == 128 + number
    assert leftovers(marker) == []


def test_killed_outright(lab: Lab, leftovers: Callable[[str], list[str]]) -> None:
    """Even SIGKILL of lab/boot leaves no process; the next run sweeps its directory away."""
    boot = subprocess.Popen(
        [str(ROOT / "lab" / "boot"), "--clock", "wall", "--", "sh", "-c", "echo up; sleep 300"],
        stdout=subprocess.PIPE,
    )
    assert boot.stdout
    assert boot.stdout.readline() == b"up\n"
    marker = f"lab-boot-{boot.pid}-"
    assert len(leftovers(marker)) > 2
    boot.kill()
    boot.wait()
    boot.stdout.close()
    end = time.monotonic() + 10
    while any(what.startswith("process") for what in leftovers(marker)):
        assert time.monotonic() < end, leftovers(marker)
        time.sleep(0.05)
    assert lab("--", "true").returncode == 0
    assert leftovers(marker) == []


def test_is_quick(lab: Lab) -> None:
    """Boot and a trivial command: well under a second on an idle machine."""
    times = []
    for _ in range(3):
        begin = time.monotonic()
        assert lab("--", "true").returncode == 0
        times.append(time.monotonic() - begin)
    assert min(times) < 3
