# SPDX-License-Identifier: GPL-2.0
"""lab/boot runs a command like a shell: arguments, output and exit status are passed on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.paths import CACHE

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]

ROOT = Path(__file__).resolve().parents[2]

AWKWARD = [
    "",
    " ",
    "two words",
    "a  b",
    "it's",
    'say "hi"',
    "$HOME",
    "`id`",
    "back\\slash",
    "tab\there",
    "new\nline",
    "*",
    "-n",
    "--",
    "é ✓",
    "semi;colon",
    "a=b",
    "#no comment",
    "%s",
]


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_exit_status_is_returned(lab: Lab, status: int) -> None:
    done = lab("--", "sh", "-c", f"exit {status}")
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


def test_signal_of_a_killed_command_is_returned(lab: Lab) -> None:
    assert lab("--", "sh", "-c", "kill -9 $$").returncode == 128 + 9


def test_missing_command_has_status_127(lab: Lab) -> None:
    done = lab("--", "no-such-command")
    assert done.returncode == 127
    assert b"no-such-command" in done.stderr


def test_arguments_arrive_byte_for_byte(lab: Lab) -> None:
    """This includes bytes that are not valid UTF-8."""
    words = [os.fsencode(word) for word in AWKWARD] + [b"\xff\xfe"]
    done = lab("--", "printf", "%s\\0", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(b"\0")[:-1] == words


def test_stdout_and_stderr_stay_separate(lab: Lab) -> None:
    done = lab("--", "sh", "-c", "echo out; echo err >&2; echo both > /dev/stderr")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\nboth\n")


def test_large_output_is_complete(lab: Lab) -> None:
    done = lab("--", "sh", "-c", "seq 1 300000")
    assert done.stdout == b"".join(b"%d\n" % n for n in range(1, 300001))


def test_only_aqm_variables_are_passed_on(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other variable of the host's environment is in the guest."""
    monkeypatch.setenv("AQM_TRIAL", "yes")
    monkeypatch.setenv("UNRELATED", "no")
    done = lab("--seed", "9", "--", "env")
    values = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert values["AQM_TRIAL"] == "yes"
    assert "UNRELATED" not in values
    assert values["LAB_SEED"] == "9"
    assert values["LAB_CLOCK"] == "virtual"
    assert (values["LANG"], values["LAB"]) == ("C.UTF-8", "1")
    # selftests/tdc/run looks for tdc here, because the guest's HOME is not the host's.
    assert values["LAB_CACHE"] == str(CACHE)


def test_command_runs_as_root_in_the_checkout(lab: Lab) -> None:
    """It has its own /dev and an empty stdin."""
    script = "id -u; pwd; ls -A /dev/shm; cat; readlink /proc/self/fd/0"
    done = lab("--", "sh", "-c", script)
    assert done.stdout.decode().splitlines() == ["0", str(ROOT), "/dev/null"]


def test_only_shared_directories_are_writable(lab: Lab, tmp_path: Path) -> None:
    """The guest can write to the checkout's build/ and to shared directories, nowhere else."""
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


def test_modules_and_tables_are_found(lab: Lab) -> None:
    """modprobe finds the lab kernel's modules, and tc finds netem's tables."""
    script = (
        "modprobe pktgen && test -d /proc/net/pktgen && "
        "tc qdisc add dev lo root netem delay 1ms 1ms distribution normal"
    )
    done = lab("--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr


def test_self_tests_find_their_tools_in_a_fresh_checkout(lab: Lab) -> None:
    done = lab("--", "sh", "-c", 'cd "$TOOLS_DIR" && ls burst rawqdisc && which burst rawqdisc')
    assert done.returncode == 0, done.stderr


def test_sleep_takes_no_time_with_the_virtual_clock(lab: Lab) -> None:
    """With the wall clock a second takes a second."""
    begin = time.monotonic()
    done = lab("--clock", "wall", "--", "sh", "-c", "date +%s; sleep 1")
    assert time.monotonic() - begin > 1
    assert abs(int(done.stdout) - time.time()) < 60
    begin = time.monotonic()
    assert lab("--", "sleep", "1000").returncode == 0
    assert time.monotonic() - begin < 20


def test_guests_can_run_in_parallel(lab: Lab) -> None:
    command = [str(ROOT / "lab" / "boot"), "--", "sh", "-c", "sleep 5; echo done"]
    guests = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    assert [guest.communicate(timeout=120)[0] for guest in guests] == [b"done\n"] * 3


def test_time_limit_ends_the_guest(lab: Lab) -> None:
    begin = time.monotonic()
    done = lab("--clock", "wall", "--time-limit", "1.5", "--", "sleep", "100")
    assert done.returncode == 124
    assert b"time limit" in done.stderr
    assert b"/boot-" in done.stderr
    assert time.monotonic() - begin < 20


def test_program_that_stops_the_virtual_clock_is_named(lab: Lab) -> None:
    """A loop that only computes takes no virtual time, and nothing interrupts it."""
    done = lab("--time-limit", "10", "--", "sh", "-c", "sleep 5; while :; do :; done")
    assert done.returncode == 124
    assert b"time limit of 10 s reached; the guest's clock stood still for " in done.stderr
    assert b"because sh neither slept nor read the clock" in done.stderr
    # Only the limit is named if the clock moves: here by itself, and where reading moves it.
    for words in (("--clock", "wall"), ()):
        done = lab(
            *words,
            "--time-limit",
            "6",
            "--",
            sys.executable,
            "-c",
            "import time\nwhile True: time.monotonic()",
        )
        assert done.returncode == 124
        assert b"time limit of 6 s reached; kernel log" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_leaves_nothing_behind(
    lab: Lab, leftovers: Callable[[str], list[str]], number: signal.Signals
) -> None:
    """A signal ends the guest and leaves no process, mount, or directory."""
    boot = subprocess.Popen(
        [
            str(ROOT / "lab" / "boot"),
            "--clock",
            "wall",
            "--",
            "sh",
            "-c",
            "sleep 300 & echo up; sleep 300",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert boot.stdout
    assert boot.stdout.readline() == b"up\n"
    marker = f"lab-boot-{boot.pid}-"
    assert len(leftovers(marker)) > 2  # the kernel, its processes, the directory
    boot.send_signal(number)
    boot.communicate(timeout=20)
    assert boot.returncode == 128 + number
    assert leftovers(marker) == []


def test_sigkill_leaves_no_process(lab: Lab, leftovers: Callable[[str], list[str]]) -> None:
    """The next run removes the directory."""
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


def test_boot_is_fast(lab: Lab) -> None:
    """A trivial command takes well under a second on an idle machine."""
    times = []
    for _ in range(3):
        begin = time.monotonic()
        assert lab("--", "true").returncode == 0
        times.append(time.monotonic() - begin)
    assert min(times) < 3
