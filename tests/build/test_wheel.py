# SPDX-License-Identifier: GPL-2.0
"""The wheel runs where its user has nothing but Python, with the bytes of the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from labkit.cache import whole
from labkit.engines import default_kernel
from labkit.kernels import ensure_uml
from labkit.paths import CACHE

ROOT = Path(__file__).resolve().parents[2]
RUN = ("--set", "flows=20", "--set", "rate=20", "--set", "duration=4", "--set", "warmup=1")
QDISCS = ("pie limit 200", "sfq", "chokex limit 200 bandwidth 20mbit", "tdrr limit 75", "fq_pie")

#: Denies system calls of x86-64 by their numbers, then becomes a command.
FORBID = """
import ctypes, os, struct, sys
numbers, command = sys.argv[1].split(","), sys.argv[2:]
def code(*fields):
    return struct.pack("HBBI", *fields)
program = code(0x20, 0, 0, 0)
for number in filter(None, numbers):
    program += code(0x15, 0, 1, int(number)) + code(0x06, 0, 0, 0x50001)
program += code(0x06, 0, 0, 0x7FFF0000)
text = ctypes.create_string_buffer(program)
head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(text))
libc = ctypes.CDLL(None, use_errno=True)
assert not libc.prctl(38, 1, 0, 0, 0)
assert not libc.prctl(22, 2, head, 0, 0), ctypes.get_errno()
os.execvp(command[0], command)
"""
CALLS = {"ptrace": 101, "seccomp": 317, "memfd_create": 319, "unshare": 272, "fsopen": 430}


def open_to_all(folder: Path) -> None:
    """Let another user enter FOLDER, below a directory of pytest's that is root's alone."""
    for each in (folder, *folder.parents):
        if each.stat().st_uid == os.geteuid() and each.stat().st_mode & 0o077 == 0:
            each.chmod(0o755)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([ROOT / "tools" / "wheel", folder], check=True)
    return next(folder.glob("sch_aqm-*.whl"))


@pytest.fixture(scope="module")
def aqm(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel beside numpy and scipy, without anything of the checkout."""
    return installed(tmp_path_factory.mktemp("venv"), wheel)


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build and install the wheel, and the one with what builds modules."""
    folder = tmp_path_factory.mktemp("both")
    subprocess.run([ROOT / "tools" / "wheel", "--build", folder], check=True)
    return installed(tmp_path_factory.mktemp("venv"), *sorted(folder.glob("*.whl")))


def installed(place: Path, *files: Path) -> Path:
    open_to_all(place)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps"]
    subprocess.run([*pip, *files], check=True)
    (site,) = (place / "lib").glob("python*/site-packages")
    packages = Path(sysconfig.get_path("purelib"))
    for name in ("numpy", "numpy.libs", "scipy", "scipy.libs", "tqdm"):
        (site / name).symlink_to(packages / name)
    return place / "bin" / "aqm"


def ran(
    aqm: Path,
    out: Path,
    *before: str | Path,
    qdisc: str = "tdrr limit 75",
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a scenario in an empty environment, below the command BEFORE."""
    out.parent.chmod(0o777)
    words = ["run", "dumbbell", "--qdisc", qdisc, *RUN, "--out", str(out / "r")]
    return subprocess.run(
        [*before, aqm, *words],
        capture_output=True,
        text=True,
        cwd=out.parent,
        env={"PATH": "/usr/bin:/bin", "HOME": str(out.parent), **variables},
        timeout=300,
    )


def digest(out: Path) -> str:
    return json.loads((out / "r" / "result.json").read_text())["digest"]


def of_checkout(out: Path, qdisc: str = "tdrr limit 75") -> str:
    words = ["dumbbell", "--qdisc", qdisc, *RUN, "--out", out / "r"]
    subprocess.run([ROOT / "netns-scenarios" / "run", *words], check=True, capture_output=True)
    return digest(out)


@pytest.mark.parametrize("qdisc", QDISCS)
def test_bytes_are_those_of_the_checkout(aqm: Path, tmp_path: Path, qdisc: str) -> None:
    done = ran(aqm, tmp_path / "wheel", qdisc=qdisc)
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "wheel") == of_checkout(tmp_path / "checkout", qdisc)


def shell(script: str) -> tuple[str, ...]:
    """Return a command that runs SCRIPT in its own mount namespace before another command."""
    return ("unshare", "-m", "sh", "-ec", f'{script}; exec "$@"', "sh")


def forbidding(*calls: str) -> tuple[str, ...]:
    """Return a command that denies system calls to another command."""
    return (sys.executable, "-c", FORBID, ",".join(str(CALLS[call]) for call in calls))


HIDE = "for file in /usr/bin/ip /usr/bin/gcc /usr/bin/cc /usr/bin/make; do "
HIDE += '[ ! -e "$file" ] || mount --bind /dev/null "$file"; done; '
HIDE += "mount -t tmpfs none /usr/sbin; [ ! -e /lib/modules ] || mount -t tmpfs none /lib/modules"
NOEXEC = "for at in /tmp /dev/shm; do mount -o remount,bind,noexec $at 2>/dev/null || "
NOEXEC += "{ mount --bind $at $at; mount -o remount,bind,noexec $at; }; done"
NOBODY = ("setpriv", "--reuid=1000", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all")


@pytest.mark.parametrize(
    "before",
    [
        shell(HIDE),
        shell("mount -t tmpfs -o noexec none /dev/shm"),
        (*shell("mount -t tmpfs none /dev/shm; chmod 700 /dev/shm"), *NOBODY),
        ("unshare", "-n"),
        forbidding("ptrace"),
        forbidding("memfd_create"),
        forbidding("unshare", "fsopen"),
        forbidding("unshare", "fsopen", "ptrace"),
    ],
    ids=[
        *("no ip, tc, compiler or modules", "/dev/shm noexec"),
        *("another user", "no network", "no ptrace", "no memfd", "no unshare", "three"),
    ],
)
def test_restriction_changes_no_byte(aqm: Path, tmp_path: Path, before: Sequence[str]) -> None:
    done = ran(aqm, tmp_path / "wheel", *before)
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "wheel") == of_checkout(tmp_path / "checkout")


def test_memory_needs_no_directory_for_programs(aqm: Path, tmp_path: Path) -> None:
    """Neither /tmp nor /dev/shm allows execution, so the installation must be elsewhere."""
    place = CACHE / f"wheel-test-{os.getpid()}"
    if place.is_relative_to("/tmp"):
        pytest.skip("the cache is in /tmp")
    shutil.copytree(aqm.parents[1], place, symlinks=True)
    (site,) = (place / "lib").glob("python*/site-packages")
    for link in [path for path in site.iterdir() if path.is_symlink()]:
        packages = link.resolve()  # perhaps in /tmp
        link.unlink()
        shutil.copytree(packages, link)
    try:
        moved = [place / "bin" / "python", "-m", "aqm"]
        words = ["run", "dumbbell", "--qdisc", "tdrr limit 75", *RUN, "--out", tmp_path / "w" / "r"]
        before = (*shell(NOEXEC), *forbidding("unshare", "fsopen"))
        done = subprocess.run(
            [*before, *moved, *words], capture_output=True, text=True, timeout=300, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert digest(tmp_path / "w") == of_checkout(tmp_path / "checkout")
    finally:
        shutil.rmtree(place)


def test_without_seccomp_it_refuses_unless_asked(aqm: Path, tmp_path: Path) -> None:
    done = ran(aqm, tmp_path / "a", *forbidding("seccomp"))
    assert done.returncode == 1
    assert "this machine forbids seccomp(2). AQM_PTRACE=1 runs" in done.stderr
    asked = ran(aqm, tmp_path / "b", *forbidding("seccomp"), AQM_PTRACE="1")
    assert asked.returncode == 0, asked.stderr
    assert "the bytes are not those of other machines" in asked.stdout
    result = json.loads((tmp_path / "b" / "r" / "result.json").read_text())
    assert result["provenance"]["lab"]["userspace"] == "ptrace, not seccomp"


def test_without_seccomp_and_ptrace_it_says_so(aqm: Path, tmp_path: Path) -> None:
    done = ran(aqm, tmp_path / "a", *forbidding("seccomp", "ptrace"), AQM_PTRACE="1")
    assert done.returncode == 1
    assert "forbids both seccomp(2) and ptrace(2)" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "dumbbell", "--module", ROOT / "lab" / "trace"], "--module needs more than"),
        (["boot", "--flavour", "checked", "--", "true"], "pip install 'sch-aqm[build]'"),
        (["run", "dumbbell", "--kernel", "6.12"], "has Linux 7.3 in flavour fast only"),
        (["run", "dumbbell", "--flavour", "kasan"], "has Linux 7.3 in flavour fast only"),
        (["report", "out"], "pip install 'sch-aqm[report]'"),
        (["paper", "kantawala2001", "--quick"], "pip install 'sch-aqm[papers]'"),
    ],
)
def test_what_is_not_in_it_is_named(
    aqm: Path, tmp_path: Path, words: Sequence[str | Path], said: str
) -> None:
    done = subprocess.run([aqm, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode
    assert said in done.stderr


@pytest.mark.extra
def test_second_wheel_builds_a_module_that_gives_the_checkouts_bytes(
    builder: Path, tmp_path: Path
) -> None:
    """The module has its own plugin for tc, so that tc is linked again, too."""
    make_new = [builder, "new", "qdisc", "wheelish"]
    subprocess.run(make_new, check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)
    generic = (ROOT / "tc" / "lab" / "generic.c").read_text()
    kind = '#define KIND "wheelish"\n#define KIND_UTIL wheelish_qdisc_util\n'
    (tmp_path / "wheelish" / "q_wheelish.c").write_text(kind + generic)
    words = ["run", "dumbbell", "--module", tmp_path / "wheelish", "--qdisc", "wheelish", *RUN]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    hidden = shell("mount -t tmpfs none /usr/sbin; mount --bind /dev/null /usr/bin/ip")
    for command, out in (((*hidden, builder), "a"), ((ROOT / "lab/python", "-m", "aqm"), "b")):
        done = subprocess.run(
            [*command, *words, "--out", tmp_path / out / "r"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=env if out == "a" else None,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


@pytest.mark.extra
def test_a_checkout_finds_the_kernel_that_the_second_wheel_left(
    builder: Path, tmp_path: Path
) -> None:
    make_new = [builder, "new", "tcp", "plain"]
    subprocess.run(make_new, check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)
    words = ["boot", "--module", "plain", "--build"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    subprocess.run([builder, *words], check=True, cwd=tmp_path, env=env)
    (left,) = (tmp_path / ".cache" / "sch-aqm" / "kernels").glob("*-fast-????????????")
    assert whole(left)
    assert left.name == ensure_uml(default_kernel(), "fast").path.name


@pytest.mark.extra
def test_second_wheel_has_the_checked_kernel(builder: Path, tmp_path: Path) -> None:
    """It reports what a module does wrong."""
    words = ["boot", "--flavour", "checked", "--", "sh", "-c"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    script = "modprobe sch_tdrr && test -e /proc/lockdep && dmesg | grep -c KernelAddressSanitizer"
    done = subprocess.run([builder, *words, script], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "1"


@pytest.mark.extra
def test_a_second_wheel_of_another_build_is_refused(builder: Path, tmp_path: Path) -> None:
    (site,) = (builder.parents[1] / "lib").glob("python*/site-packages")
    manifest = site / "aqm_build" / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace("7.3-fast-", "7.3-fast-0"))
    try:
        words = ["boot", "--flavour", "checked", "--", "true"]
        done = subprocess.run([builder, *words], capture_output=True, text=True, cwd=tmp_path)
    finally:
        manifest.write_text(text)
    assert done.returncode == 69
    assert "sch-aqm-build is of another build" in done.stderr


def test_sizes_and_contents(wheel: Path) -> None:
    assert wheel.stat().st_size <= 12_000_000
    assert wheel.name.endswith("-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    assert not [name for name in names if "/tests/" in name or name.endswith((".pyc", ".o"))]
    assert len([name for name in names if name.endswith("bundle/linux")]) == 1
