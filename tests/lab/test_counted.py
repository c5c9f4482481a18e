# SPDX-License-Identifier: GPL-2.0
"""QEMU with the virtual clock: what it refuses, and that two runs have the same bytes."""

from __future__ import annotations

import contextlib
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aqmlab.run import unchanged_kernel
from aqmlab.run.steps import Failure
from labkit import busy, engines, icount, images, process, records, targets
from labkit.errors import LabError
from labkit.request import Request, Result

Boot = Callable[..., subprocess.CompletedProcess[bytes]]

NEWEST, *_, OLDEST = records.names("cloud")
ARM64 = records.arm64_names()[0]


def skip_without_tools(kernel: str) -> targets.Target:
    """Return KERNEL's architecture; skip the test if this machine lacks what it needs."""
    target = targets.of_kernel(kernel)
    if not shutil.which(target.emulator) or not shutil.which(f"{target.prefix}gcc"):
        pytest.skip(f"needs {target.package} and {target.prefix}gcc")
    return target


def request(**more: object) -> Request:
    given = {"command": ["true"], "engine": "qemu", "clock": "virtual", **more}
    return Request(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"modules": [Path("/x")]}, "kernels with their own modules only"),
        ({"nics": 1}, "no devices"),
        ({"icount": True}, "leave out --icount"),
        ({"memory": "512M"}, "1G at least"),
        ({"kernel": "9.99"}, "clock virtual"),
        ({"kernel": "/etc/passwd"}, "no kernel image"),
        ({"flavour": "kasan"}, "no flavour kasan"),
        ({"clock": "wall", "kernel": "/etc/passwd"}, "needs --engine qemu --clock virtual"),
        ({"engine": "uml", "kernel": OLDEST}, f"--engine qemu .* has {OLDEST}"),
    ],
)
def test_impossible_request_is_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(LabError, match=words):
        engines.check(request(**more))


def bzimage(text: bytes) -> bytes:
    head = bytearray(0x400)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = struct.pack("<H", 0x100)
    head[0x300 : 0x300 + len(text)] = text
    return bytes(head)


def test_image_needs_its_modules(tmp_path: Path) -> None:
    image = tmp_path / "boot" / "vmlinuz"
    image.parent.mkdir()
    image.write_bytes(bzimage(b"9.9-mine (me@here) #1 SMP"))
    with pytest.raises(LabError, match=r"modules of Linux 9\.9-mine"):
        images.of_file(str(image))
    (tmp_path / "lib" / "modules" / "9.9-mine" / "kernel").mkdir(parents=True)
    kernel = images.of_file(str(image))
    assert (kernel.name, kernel.image) == ("9.9-mine", image)
    assert kernel.modules == tmp_path / "lib" / "modules" / "9.9-mine"
    image.write_bytes(bzimage(b"9.9-mine (me@here) #2 SMP"))
    assert images.of_file(str(image)).key != kernel.key


#: Where a window begins in a file of memory.
PLACE = 4096


def test_results_are_read_from_the_window(tmp_path: Path) -> None:
    memory = tmp_path / icount.MEMORY
    text = b"\0".join((b"/run/lab/status", b"4", b"end\n/run/share0/a", b"0", b""))
    memory.write_bytes(bytes(PLACE) + struct.pack("<Q", len(text)) + text + bytes(100))
    sent = [*icount.sent(memory, PLACE)]
    assert sent == [("/run/lab/status", b"end\n"), ("/run/share0/a", b"")]
    memory.write_bytes(bytes(2 * PLACE))
    assert [*icount.sent(memory, PLACE)] == []
    memory.write_bytes(bytes(PLACE) + b"\xff" * 8)
    with pytest.raises(LabError, match="in a window of"):
        [*icount.sent(memory, PLACE)]


def test_guest_cannot_write_outside_its_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(icount, "sent", lambda *_: iter([("/run/share0/../x", b"")]))
    with pytest.raises(LabError, match="sent /run/share0/"):
        icount.collect(request(share=[tmp_path]), tmp_path, PLACE)


@pytest.mark.qemu
def test_busybox_runs_what_the_guest_has_no_file_for(lab: Boot) -> None:
    """A stranger types a program's name, and --build gives no program at all."""
    skip_without_tools(NEWEST)
    place = ["--engine", "qemu", "--clock", "virtual", "--kernel", NEWEST]
    assert lab(*place, "--build").returncode == 0
    assert lab(*place, "--", "uname", "-s").stdout == b"Linux\n"
    assert b"iproute2" in lab(*place, "--", "tc", "-V").stdout
    missing = lab(*place, "--", "no-such-program")
    assert missing.returncode == 127
    assert b"no-such-program: applet not found" in missing.stdout + missing.stderr


def test_busy_processor_fails_a_run() -> None:
    stat = "cpu  100 0 150 2700 0 0 50 0 0 0\n"
    assert unchanged_kernel.busy("", "", 1000) == {}
    assert unchanged_kernel.busy("31.00 27.00\n", stat, 20_000) == {"busy": 0.15}
    with pytest.raises(Failure, match="busy for 75 % of the run"):
        unchanged_kernel.busy("31.00 15.00\n", stat, 20_000)


def test_idle_time_that_there_was_not_hides_no_busy_processor() -> None:
    """16 s of ticks are busy, 1 s of them is the boot, and the kernel claims 28 s of idling."""
    stat = "cpu  200 100 900 2800 0 150 250 0 0 0\n"
    with pytest.raises(Failure, match="busy for 75 % of the run"):
        unchanged_kernel.busy("31.00 28.00\n", stat, 20_000)


def test_count_of_qemu_overrules_the_kernel() -> None:
    """The kernel claims 15 busy seconds of 20, its boot included; QEMU counted 3 after the boot."""
    stat = "cpu  1600 0 0 1500 0 0 0 0 0 0\n"
    with pytest.raises(Failure, match="busy for 75 % of the run"):
        unchanged_kernel.busy("31.00 15.00\n", stat, 20_000, None)
    assert unchanged_kernel.busy("31.00 15.00\n", stat, 20_000, 3.0) == {"busy": 0.15}
    with pytest.raises(Failure, match="busy for 65 % of the run"):
        unchanged_kernel.busy("31.00 31.00\n", stat, 20_000, 13.0)


#: Computes from its start, 10 s after the boot, to the 11th second, and prints when.
LOAD = """
read begin rest </proc/uptime
now=$begin
while [ "${now%.*}" -lt 11 ]; do read now rest </proc/uptime; done
echo $begin $now
"""


@pytest.mark.qemu
@pytest.mark.parametrize(
    "kernel",
    [NEWEST, *(pytest.param(name, marks=pytest.mark.extra) for name in (OLDEST, ARM64))],
)
def test_busy_time_is_that_of_the_command(kernel: str) -> None:
    skip_without_tools(kernel)
    load, idle = (
        request(command=["sh", "-c", script], kernel=kernel, memory="1G", time_limit=900)
        for script in (LOAD, "busybox sleep 4")
    )
    result = engines.run(load, capture=True)
    begin, end = map(float, result.stdout.split())
    assert busy.after_boot(load, result) == pytest.approx(end - begin, abs=0.05)
    assert busy.after_boot(idle, engines.run(idle, capture=True)) == pytest.approx(0, abs=0.05)


@contextlib.contextmanager
def poking(place: Path) -> Iterator[list[int]]:
    """Wake QEMU's main thread again and again, as a busy machine does by chance.

    The monitor is the one for people, because QEMU 7.2 can hang at its end while it answers QMP.
    """
    pokes = [0]
    over = threading.Event()

    def poke() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as one:
                one.connect(str(place))
                while not over.is_set() and one.recv(4096):
                    one.sendall(b"info status\n")
                    pokes[0] += 1
                    time.sleep(0.001)
            time.sleep(0.05)

    thread = threading.Thread(target=poke)
    thread.start()
    try:
        yield pokes
    finally:
        over.set()
        thread.join()


SCRIPT = """
/run/aqm/bin/tc qdisc add dev lo root fq_codel
busybox ping -q -c 3000 -i 0.001 127.0.0.1
busybox cat /proc/uptime /proc/interrupts
busybox od -An -tx1 -N16 /dev/urandom
echo kept > /run/share0/file
"""


@pytest.mark.qemu
@pytest.mark.parametrize(
    "kernel",
    [NEWEST, *(pytest.param(name, marks=pytest.mark.extra) for name in (OLDEST, ARM64))],
)
def test_disturbed_run_has_the_same_bytes(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guest's clock does not depend on when QEMU's threads run."""
    target = skip_without_tools(kernel)
    asked = request(command=["sh", "-c", SCRIPT], kernel=kernel, share=[tmp_path], time_limit=900)
    calm = engines.run(asked, capture=True)
    assert (calm.status, calm.reason) == (0, "")
    assert (tmp_path / "file").read_text() == "kept\n"
    line, supervise = icount.command_line, process.supervise

    def disturbed(command: list[str], job: Path, *rest: object, **more: object) -> Result:
        with poking(job / "monitor") as pokes:
            result = supervise(command, job, *rest, **more)  # type: ignore[arg-type]
        assert pokes[0] > 100
        return result

    monkeypatch.setattr(
        icount,
        "command_line",
        lambda *a: [*line(*a), "-monitor", "unix:monitor,server=on,wait=off"],
    )
    monkeypatch.setattr(process, "supervise", disturbed)
    again = engines.run(asked, capture=True)
    assert again.stdout == calm.stdout
    assert again.clock == calm.clock > 13
    other = engines.run(request(**{**vars(asked), "seed": 2}), capture=True)
    assert other.stdout != calm.stdout
    assert calm.lab["qemu"] == icount.qemu_version(target)
