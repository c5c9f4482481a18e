# SPDX-License-Identifier: GPL-2.0
"""Parts of labkit that need no guest."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit import cache, fetch, job, kernels, modules, onecpu, paths, qemu, uml, verdict
from labkit.cache import digest
from labkit.errors import LabError
from labkit.orders import Orders
from labkit.progress import run_logged
from labkit.request import Request, Result
from labkit.sources import Source

TOP = Path(__file__).resolve().parents[2]
Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]

DEB822 = """\
Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""


def test_sources_deb822(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "debian.sources").write_text(DEB822)
    main = fetch.mirror(False, tmp_path)
    assert main.uri == "http://mirror.example/debian"
    assert main.signed_by == "/usr/share/keyrings/debian-archive-keyring.gpg"
    assert fetch.mirror(True, tmp_path).uri == "http://mirror.example/debian-security"


def test_sources_classic(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text(
        "# deb http://old.example/debian bookworm main\n"
        "deb-src http://src.example/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian/ trixie main contrib\n"
    )
    assert fetch.mirror(False, tmp_path) == fetch.Mirror("http://mirror.example/debian", "/k.gpg")
    # Without a security archive in the list, it is expected next to the main one.
    assert fetch.mirror(True, tmp_path).uri == "http://mirror.example/debian-security"


def test_sources_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "KEYRING", str(tmp_path / "none.gpg"))
    with pytest.raises(LabError, match=r"no Debian archive.*debian-archive-keyring.*the wheel"):
        fetch.mirror(False, tmp_path)


def test_ubuntu_with_debians_keys_takes_kernels_from_debian(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "ubuntu.sources").write_text(
        "Types: deb\nURIs: http://archive.ubuntu.com/ubuntu/\nSuites: noble noble-updates\n"
        "Components: main universe\nSigned-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg\n"
    )
    keys = tmp_path / "debian.gpg"
    keys.touch()
    monkeypatch.setattr(fetch, "KEYRING", str(keys))
    assert fetch.mirror(False, tmp_path) == fetch.Mirror(fetch.ARCHIVE, str(keys))
    assert fetch.mirror(True, tmp_path) == fetch.Mirror(f"{fetch.ARCHIVE}-security", str(keys))


def test_setup_without_debians_packages_names_the_wheel(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "sed", "grep"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        ["bash", TOP / "lab" / "setup", "run"],
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 69
    assert "docs/anywhere.md" in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "[    1.234567] WARNING: CPU: 0 PID: 23 at net/sched/sch_x.c:12 x_enqueue+0x1/0x2",
        "[    1.2] BUG: KASAN: slab-out-of-bounds in x+0x1/0x2",
        "[    1.2] WARNING: possible circular locking dependency detected",
        "[    1.2] WARNING: suspicious RCU usage",
        "[    1.2] UBSAN: shift-out-of-bounds in a.c:1:2",
        "[    1.2] kernel BUG at mm/slub.c:1!",
        "Kernel panic - not syncing: Fatal exception",
        "[    1.2] Oops: 0000 [#1]",
        "[    1.2] INFO: task tc:12 blocked for more than 120 seconds.",
        "[    1.2] rcu: INFO: rcu_sched self-detected stall on CPU",
        "[    1.2] refcount_t: underflow; use-after-free.",
        "[    1.2] ODEBUG: free active (active state 0) object: 1 object type: timer_list",
        "[    1.2] list_del corruption. prev->next should be 1, but was 2",
        "[    1.2] general protection fault, probably for non-canonical address 0x1",
    ],
)
def test_reports(line: str) -> None:
    assert verdict.reports(f"[    0.1] fine\n{line}\n[    2.0] fine\n")


@pytest.mark.parametrize(
    "line",
    [
        "[    0.0] Linux version 7.3.4 (lab@lab)",
        "[    0.1] ODEBUG: selftest passed",
        "[    0.1] KernelAddressSanitizer initialized",
        "[    0.1] Lock dependency validator: Copyright (c) 2006 Red Hat",
        "[    0.1] kmemleak: Kernel memory leak detector initialized",
        "[    0.1] sch_x: loading out-of-tree module taints kernel.",
        "[    0.1] random: crng init done",
        "    ok 3 debug_bug_oopsie",
    ],
)
def test_no_report(line: str) -> None:
    assert verdict.reports(line) == []


def test_taints() -> None:
    assert verdict.taints(1 << 12) == []  # out-of-tree module
    assert verdict.taints(1 << 12 | 1 << 9) == ["warning"]


def test_key_knows_borders() -> None:
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"])


@pytest.mark.parametrize(("text", "size"), [("512M", 512 << 20), ("2g", 2 << 30)])
def test_sizes(text: str, size: int) -> None:
    assert job.parse_size(text) == size


def test_bad_size() -> None:
    with pytest.raises(LabError, match="512M"):
        job.parse_size("much")


def test_orders_refuse_nul(tmp_path: Path) -> None:
    orders = Orders()
    orders.add("arg", "a\0b")
    with pytest.raises(LabError, match="NUL"):
        orders.write(tmp_path / "orders")


@pytest.mark.parametrize(
    ("status", "log", "over", "wanted"),
    [
        ("end exit 0\ntaint 4096\nleaks 0\nclock 1.5\n", "", "", 0),
        ("end exit 3\ntaint 0\nleaks 0\nclock 1.5\n", "", "", 3),
        ("end signal 15\ntaint 0\nleaks 0\nclock 1.5\n", "", "", 143),
        ("end exit 0\ntaint 512\nleaks 0\nclock 1.5\n", "", "", 70),
        ("end stuck 0\ntaint 0\nleaks 0\nclock 1e6\n", "", "", 70),
        ("end exit 0\ntaint 0\nleaks 0\nclock 1.5\n", "[ 1.0] BUG: bad", "", 70),
        ("", "", "", 70),
        ("", "", "time limit", 124),
        ("", "[ 1.0] Kernel panic - not syncing: x", "time limit", 70),
    ],
)
def test_verdict(tmp_path: Path, status: str, log: str, over: str, wanted: int) -> None:
    """Status 0 needs a kernel without reports. A report also explains a time limit."""
    if status:
        (tmp_path / "status").write_text(status)
    (tmp_path / "log").write_text(log)
    result = verdict.judge(tmp_path, tmp_path / "log", over)
    assert result.status == wanted
    assert bool(result.reason) == (wanted in (70, 124))


def test_leaks_are_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("end exit 0\ntaint 0\nleaks 9\nclock 1.5\n")
    (tmp_path / "leaks").write_text("unreferenced object 0x1 (size 64):\n")
    result = verdict.judge(tmp_path, tmp_path / "log", "")
    assert result.status == 70
    assert "unreferenced object" in (tmp_path / "log").read_text()


def test_one_cpu_is_the_emptiest_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[tuple[int, int]] = set()

    class Holder:
        def __init__(self, place: tuple[int, int]) -> None:
            self.place = place

        def __enter__(self) -> None:
            taken.add(self.place)

        def __exit__(self, *_: object) -> None:
            taken.remove(self.place)

    def claim(cpu: int, place: int) -> Holder | None:
        return None if (cpu, place) in taken else Holder((cpu, place))

    monkeypatch.setattr(onecpu, "claim", claim)
    before = os.sched_getaffinity(0)
    cpus = len(before)
    with contextlib.ExitStack() as stack:
        got = []
        for _ in range(cpus * onecpu.PLACES + 1):
            got.append(stack.enter_context(onecpu.one_cpu()))
            assert os.sched_getaffinity(0) == ({got[-1]} if got[-1] is not None else before)
            os.sched_setaffinity(0, before)
        assert set(got[:cpus]) == before
        assert set(got[cpus : 2 * cpus]) == before
        assert got[-1] is None
    assert os.sched_getaffinity(0) == before
    assert not taken


def test_one_cpu_is_claimed_once() -> None:
    taken = onecpu.claim(10_000, 0)
    assert taken
    assert onecpu.claim(10_000, 0) is None
    taken.close()
    again = onecpu.claim(10_000, 0)
    assert again
    again.close()


MEMORY = """
import mmap, os
file = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o700)
os.ftruncate(file, 64 << 20)
memory = mmap.mmap(file, 64 << 20)
memory[::4096] = bytes(64 << 20 >> 12)
with open("/proc/self/smaps") as maps:
    print(sum(int(line.split()[1]) for line in maps if line.startswith("ShmemPmdMapped")))
"""


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library of what a lab kernel has in it, to preload."""
    library = tmp_path_factory.mktemp("huge") / "huge.so"
    source = paths.LAB / "src" / "huge.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def refuses(*command: str) -> bool:
    return bool(subprocess.run(command, capture_output=True, check=False).returncode)


@pytest.mark.parametrize("without", [[], ["setpriv", "--bounding-set=-sys_admin"]])
def test_memory_is_of_huge_pages(without: list[str], huge: Path) -> None:
    """This runs as root, and as root of a user namespace."""
    shmem = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    if not shmem.exists() or "[deny]" in shmem.read_text():
        pytest.skip("this machine has no huge pages in a tmpfs")
    if without and os.geteuid():
        pytest.skip("needs root; the other case covers user namespaces")
    if (without or os.geteuid()) and refuses(*without, "unshare", "-Ur", "true"):
        pytest.skip("this machine allows no user namespaces")
    done = subprocess.run(
        [*without, sys.executable, "-c", MEMORY],
        capture_output=True,
        text=True,
        check=True,
        env={"LD_PRELOAD": str(huge)},
    )
    assert int(done.stdout) > 0


def test_memory_works_without_permission_for_huge_pages(huge: Path) -> None:
    """Without root and without user namespaces, the file is an anonymous one."""
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    if refuses("unshare", "-Ur", "true"):
        pytest.skip("this machine allows no user namespaces, so they cannot be forbidden")
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", script, "sh", sys.executable, "-c", MEMORY],
        capture_output=True,
        text=True,
        check=True,
        env={"LD_PRELOAD": str(huge)},
    )
    assert int(done.stdout) == 0


def test_mount_point(tmp_path: Path) -> None:
    """An existing mount point stays, a missing one is created, or the error says what to do."""
    for _ in range(2):
        uml.mount_point(tmp_path / "modules")
    assert (tmp_path / "modules").is_dir()
    with pytest.raises(LabError, match="as root, mkdir"):
        uml.mount_point(tmp_path / "none" / "modules")


def test_cache_is_where_the_user_keeps_such_things(tmp_path: Path) -> None:
    home = Path.home()
    assert paths.cache_directory({}) == (home / ".cache" / "sch-aqm").resolve()
    xdg = {"XDG_CACHE_HOME": str(tmp_path)}
    assert paths.cache_directory(xdg) == tmp_path / "sch-aqm"
    assert paths.cache_directory({**xdg, "LAB_CACHE": str(tmp_path / "k")}) == tmp_path / "k"


def test_damaged_cache_is_noticed(tmp_path: Path) -> None:
    place = tmp_path / "kernel"
    (place / "a dir").mkdir(parents=True)
    (place / "a dir" / "file").write_text("12345")
    (place / "link").symlink_to("/nowhere")
    assert not cache.whole(place)
    cache.write_sums(place, [place / "a dir" / "file"])
    assert not cache.whole(place)
    cache.write_manifest(place)
    assert cache.whole(place)
    (place / "a dir" / "new").write_text("what a build leaves")
    assert cache.whole(place)
    (place / "a dir" / "file").write_text("1234")
    assert not cache.whole(place)
    assert cache.misplaced(place) == "a dir/file has another size"
    (place / "a dir" / "file").unlink()
    assert not cache.whole(place)
    assert cache.misplaced(place) == f"{place}/a dir/file is missing"


def test_one_byte_of_the_image_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Caches of older labs have no digests, and get them without a build."""
    module = tmp_path / "installed" / "lib" / "one.ko"
    module.parent.mkdir(parents=True)
    module.write_bytes(b"module")
    image = tmp_path / "linux"
    image.write_bytes(bytes(1000))
    cache.write_manifest(tmp_path)

    def build(*_: object) -> None:
        raise AssertionError("it would be built")

    monkeypatch.setattr(kernels, "check_tools", build)
    monkeypatch.setattr(kernels, "say", print)
    source = Source(tmp_path, "7.3.4")
    assert not cache.whole(tmp_path)
    kernels.build_uml("7.3", "fast", source, tmp_path)
    assert cache.whole(tmp_path)
    done = subprocess.run(
        ["sha256sum", "--check", cache.SUMS],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "installed/lib/one.ko: OK\nlinux: OK\n"
    image.write_bytes(bytes(999) + b"\1")
    assert not cache.whole(tmp_path)
    monkeypatch.setattr(kernels, "check_tools", lambda: None)
    monkeypatch.setattr(kernels, "make_kernel", build)
    with pytest.raises(AssertionError):
        kernels.build_uml("7.3", "fast", source, tmp_path)
    assert "is damaged: linux has another SHA-256" in capsys.readouterr().out
    assert not image.exists()


def test_altered_module_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []

    def build(_kernel: kernels.Kernel, _files: object, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        (place / "one.ko").write_bytes(b"module")
        cache.write_sums(place, [place / "one.ko"])
        built.append(place / "one.ko")

    monkeypatch.setattr(modules, "BUILD", tmp_path)
    monkeypatch.setattr(modules, "build_modules", build)
    kernel = kernels.Kernel("7.3", "fast", "key", tmp_path, "7.3.4", tmp_path, tmp_path)
    for _ in range(2):
        modules.ensure_modules(kernel)
    assert len(built) == 1
    built[0].write_bytes(b"mo_ule")
    modules.ensure_modules(kernel)
    assert len(built) == 2
    assert built[0].read_bytes() == b"module"


def test_moved_kernel_counts_as_damaged(tmp_path: Path) -> None:
    """Kernel builds contain their path."""
    (tmp_path / "kernel").mkdir()
    cache.write_manifest(tmp_path / "kernel")
    (tmp_path / "kernel").rename(tmp_path / "moved")
    assert not cache.whole(tmp_path / "moved")


def test_no_guest_loses_its_log_to_many_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "LOGS", tmp_path)
    logs = [tmp_path / f"boot-20200101-000000-1-{number:09d}.log" for number in range(300)]
    for log in logs:
        log.touch()
    os.utime(logs[7], (0, 0))
    os.utime(logs[250], (0, 0))
    job.new_log()
    assert sorted(tmp_path.iterdir()) == logs[:7] + logs[8:]


@pytest.mark.parametrize(
    ("place", "hint"),
    [("/proc/nowhere", "set LAB_CACHE to a writable"), ("/elsewhere", "needs a writable build/")],
)
def test_unwritable_cache_gives_an_error_with_a_hint(
    place: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CACHE", Path(place))
    with pytest.raises(LabError, match=hint), cache.lock(Path("/proc/nowhere/x.lock")):
        pass


OOPS = "[    2.29] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\n"
STARTED = "[    3.81] Run /init as init process\n"


@pytest.mark.parametrize(
    ("logs", "kvm", "boots", "status"),
    [
        ([OOPS, STARTED], False, 2, 0),  # an error of the emulation, before any process ran
        ([OOPS, OOPS], False, 2, 70),  # only one repetition
        ([STARTED + OOPS], False, 1, 70),  # a process ran, so it may be the cause
        ([OOPS], True, 1, 70),  # with KVM there is no emulation
        (["[ 1.0] Oops: 0002 [#1] SMP\n"], False, 1, 70),
        ([STARTED], False, 1, 0),
    ],
)
def test_only_a_breakpoint_before_the_first_process_causes_a_second_boot(
    logs: list[str],
    kvm: bool,
    boots: int,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    booted = []

    def boot(_request: Request, _kvm: bool, _capture: bool) -> Result:
        log = tmp_path / f"{len(booted)}.log"
        text = logs[len(booted)]
        log.write_text(text)
        booted.append(log)
        found = verdict.reports(text)
        return Result(70, log, f"the kernel reported: {found[0]}") if found else Result(0, log)

    monkeypatch.setattr(qemu, "boot", boot)
    monkeypatch.setattr(qemu, "need", lambda *_: "")
    monkeypatch.setattr(qemu, "find_vng", Path)
    monkeypatch.setattr(qemu, "kvm_works", lambda: kvm)
    assert qemu.run(Request(command=["true"], engine="qemu"), capture=True).status == status
    assert len(booted) == boots


def test_failed_build_shows_an_error_that_is_far_from_the_end(tmp_path: Path) -> None:
    """One of make's jobs fails; the others go on for a while."""
    script = "echo 'a.c:7:8: error: expected ;'; seq 100 199; exit 2"
    with pytest.raises(LabError) as caught:
        run_logged(["sh", "-c", script], tmp_path / "log", "building a")
    shown = str(caught.value).splitlines()
    assert shown[0].startswith("building a failed (status 2)")
    assert shown[1] == "a.c:7:8: error: expected ;"
    assert shown[-1] == "199"
    assert len(shown) < 40
