# SPDX-License-Identifier: GPL-2.0
"""Debian's kernels for arm64 in virtual time, with the programs and modules of this checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from aqmlab import run_command
from labkit import cross, engines, fetch, icount, images, records, targets
from labkit.errors import LabError
from labkit.kernels import Kernel
from labkit.request import Request, Result
from labkit.targets import ARM64, X86
from tests.selftests import KINDS, TOP, parse_tap

KERNELS = records.arm64_names()
NEWEST = KERNELS[0]

PARENTS = ("root", "hfsc-ls:prio")
CASES = ("overflow", "gso")


@pytest.fixture
def tools() -> None:
    """Skip a test that boots a kernel for arm64 if this machine lacks what that needs."""
    if not all(map(shutil.which, (ARM64.emulator, f"{ARM64.prefix}gcc"))):
        pytest.skip(f"apt-get install {ARM64.package} gcc-{ARM64.prefix.rstrip('-')}")


def test_name_of_a_kernel_tells_its_architecture() -> None:
    assert targets.of_kernel("6.1-arm64") == ARM64
    assert targets.of_kernel("6.1") == X86
    assert targets.version_of("6.12-arm64") == targets.version_of("6.12") == "6.12"
    assert set(KERNELS) < set(engines.kernel_names("qemu", "virtual"))
    assert not set(KERNELS) & {*engines.kernel_names("qemu", "wall"), *engines.kernel_names("uml")}
    assert engines.default_kernel("qemu", "virtual") not in KERNELS


@pytest.mark.parametrize("size", ["1G", "2G", "8G"])
def test_results_are_in_the_last_bytes_of_memory_which_the_kernel_does_not_use(
    size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(icount, "need", lambda tool, _: tool)
    kernel = Kernel("6.1-arm64", "stock", "", TOP, "", TOP, TOP, "arm64")
    request = Request(["true"], kernel="6.1-arm64", memory=size)
    words = icount.command_line(kernel, request)
    assert words[0] == "qemu-system-aarch64"
    total = int(size[:-1]) << 30
    (limit,) = (word for word in words[words.index("-append") + 1].split() if word[:4] == "mem=")
    place = icount.window(ARM64, total)
    assert int(limit.removeprefix("mem=")) == place
    assert place + icount.WINDOW_BYTES == total
    orders = icount.orders_of(request, {}, ARM64.memory + place).words
    address, length = orders[orders.index("window") + 1 :][:2]
    assert int(address, 0) + int(length) == ARM64.memory + total


def test_modules_do_not_depend_on_the_directory_of_the_checkout(
    tools: None, tmp_path: Path
) -> None:
    """The guest reads them, so one other byte changes its times."""
    built = []
    for name in ("here", "a-longer-place"):
        place = tmp_path / name
        place.mkdir()
        (place / "m.c").write_text("int lab;")
        one = place / "m.ko"
        cc = f"{ARM64.prefix}gcc"
        words = [cc, "-g", "-r", "-nostdlib", "-Wl,--build-id", place / "m.c", "-o", one]
        subprocess.run(words, check=True)
        before = one.read_bytes()
        assert str(place).encode() in before
        cross.strip_modules([one], ARM64, tmp_path / "log")
        built.append(one.read_bytes())
    assert built[0] == built[1]


@pytest.mark.qemu
@pytest.mark.extra
@pytest.mark.parametrize("kernel", KERNELS)
def test_our_modules_do_not_name_the_directory_of_the_checkout(tools: None, kernel: str) -> None:
    """BUG() and WARN() would put the paths of our files into them."""
    found = cross.ensure_modules(images.ensure(kernel))
    assert len(found) > len(KINDS)
    assert [path.name for path in found if bytes(TOP) in path.read_bytes()] == []


def test_packages_of_two_architectures_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "CACHE", tmp_path)
    (tmp_path / "dl").mkdir()
    for name in ("tool_1_amd64.deb", "tool_1_arm64.deb", "data_1_all.deb"):
        (tmp_path / "dl" / name).touch()
    for arch in ("amd64", "arm64"):
        found = [fetch.cached(name, arch) for name in ("tool", "data", "none")]
        assert [path and path.name for path in found] == [
            f"tool_1_{arch}.deb",
            "data_1_all.deb",
            None,
        ]


def test_package_without_programs_for_arm64_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(icount, "BUNDLE", TOP)
    asked = Request(["true"], engine="qemu", clock="virtual", kernel=NEWEST)
    with pytest.raises(LabError, match="programs for x86-64 only"):
        engines.check(asked)


def in_guest(kernel: str, script: str, inputs: Mapping[str, Path]) -> Result:
    """Run a script by bash, with busybox's programs in PATH."""
    prepared = """
        busybox mkdir -p /run/applets /etc/iproute2
        busybox --install -s /run/applets
        PATH=$PATH:/run/applets LC_ALL=C
        echo 4 meta > /etc/iproute2/ematch_map
    """
    command = ["bash", "-c", prepared + script]
    asked = Request(
        command, engine="qemu", clock="virtual", kernel=kernel, inputs=inputs, time_limit=1200
    )
    return engines.run(asked, capture=True)


@pytest.mark.qemu
@pytest.mark.extra
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("kernel", KERNELS)
def test_short_matrix_passes_for_every_kind(kernel: str) -> None:
    top = TOP / "selftests"
    files = [*top.glob("*.sh"), *(top / "kinds").iterdir()]
    inputs = {f"/run/selftests/{file.relative_to(top)}": file for file in files}
    words = " ".join([*(f"-p {name}" for name in PARENTS), *(f"-c {name}" for name in CASES)])
    one = "/run/selftests/parents.sh -u {} {} '{}' || failed=1"
    runs = "\n".join(one.format(words, kind.name, kind.metadata["OPTIONS"]) for kind in KINDS)
    done = in_guest(kernel, f"failed=0\n{runs}\nexit $failed", inputs)
    tap = parse_tap(done.stdout.decode(), done.status)
    assert not tap.failed
    assert tap.skipped == []
    assert len(tap.passed) == len(KINDS) * len(PARENTS) * len(CASES)
    assert tap.status == 0


@pytest.mark.qemu
@pytest.mark.extra
@pytest.mark.usefixtures("tools")
def test_modules_in_a_guest_do_not_name_the_checkout() -> None:
    """Longer paths would take the guest more time to read, so its bytes would be others."""
    modules = cross.ensure_modules(images.ensure(NEWEST))
    assert "sch_tdrr.ko" in [path.name for path in modules]
    for path in modules:
        assert os.fsencode(TOP) not in path.read_bytes()


@pytest.mark.qemu
@pytest.mark.extra
@pytest.mark.usefixtures("tools")
def test_scenario_with_a_qdisc_of_ours_has_the_same_bytes_again(tmp_path: Path) -> None:
    words = ["dumbbell", "--engine", "qemu", "--kernel", NEWEST, "--qdisc", "tdrr limit 100"]
    given = ("flows=5", "rate=20", "warmup=1", "duration=3", "probe=on", "tcp_profile=today")
    words += [word for pair in given for word in ("--set", pair)]
    results = []
    for name in ("first", "second"):
        place = tmp_path / name
        assert run_command.main([*words, "--out", str(place)]) == 0
        results.append(json.loads((place / "result.json").read_text()))
    first, second = results
    assert first["digest"] == second["digest"]
    assert first["summary"]["utilization"] > 0.8
    assert first["provenance"]["lab"]["kernel"] == NEWEST
    for name in ("queue.csv", "progress.csv", "flows.csv"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
