# SPDX-License-Identifier: GPL-2.0
"""`make install` installs all files in the right places, and `make uninstall` removes them.

Uses the headers of Debian's kernels and DESTDIR, without touching this machine, and guests with
these kernels.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
import yaml

from labkit import engines
from labkit.errors import need
from labkit.kernels import Kernel
from labkit.modules import make_arguments
from labkit.request import Request
from labkit.stock import ensure_stock
from tests.selftests import USUAL

TOP = Path(__file__).resolve().parents[2]
KINDS = sorted(
    path.stem.removeprefix("sch_")
    for path in TOP.glob("sch_*.c")
    if not path.name.endswith(".mod.c")
)
ELSEWHERE = [
    Path("/lib/modules"),
    Path("/usr/share/man/man8"),
    Path("/usr/sbin"),
    *Path("/usr/lib").glob("*/tc"),
    Path("/usr/lib/tc"),
]


def run(words: list[str | Path], cwd: Path, **environment: str) -> str:
    """Run a command that must succeed. Return its output."""
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def files(top: Path) -> list[str]:
    """Return all files below TOP."""
    return sorted(str(path.relative_to(top)) for path in top.rglob("*") if not path.is_dir())


def source(copy: Path) -> Path:
    """Copy all files under version control, without git."""
    listed = run(["git", "ls-files", "-z"], TOP)
    for name in listed.split("\0"):
        if name and (TOP / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, copy / name)
    return copy


@dataclass
class Installed:
    """A source tree, and the files installed from it below DESTDIR."""

    kernel: Kernel
    tree: Path
    destdir: Path
    before: list[list[str]]
    output: str

    def make(self, *words: str) -> str:
        """Run make in the source tree for the kernel, into DESTDIR."""
        return make(self.tree, self.kernel, f"DESTDIR={self.destdir}", *words)


def make(tree: Path, kernel: Kernel, *words: str) -> str:
    """Run make in TREE like a user with headers for KERNEL."""
    _, kdir, *rest = make_arguments(kernel)
    return run(["make", f"KDIR={kdir}", *rest, *words], tree)


@pytest.fixture(scope="module", params=USUAL)
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    """Install into an empty directory, after a build with test modules."""
    kernel = ensure_stock(request.param)
    tree = source(tmp_path_factory.mktemp("source"))
    destdir = tmp_path_factory.mktemp("root")
    before = [files(path) for path in ELSEWHERE]
    output = make(tree, kernel, "modules", "AQM_TESTS=1")
    assert (tree / "selftests" / "gate" / "aqm_gate.ko").exists()
    output = make(tree, kernel, "install", f"DESTDIR={destdir}", "AQM_TESTS=1")
    return Installed(kernel, tree, destdir, before, output)


def test_install_writes_exactly_these_files(installed: Installed) -> None:
    found = files(installed.destdir)
    modules = f"lib/modules/{installed.kernel.release}/updates"
    patterns = [
        *(rf"{re.escape(modules)}/sch_{name}\.ko(\.\w+)?" for name in ("aqm", *KINDS)),
        *(rf"usr/lib/([\w-]+/)?tc/q_{kind}\.so" for kind in KINDS),
        *(rf"usr/share/man/man8/tc-{kind}\.8" for kind in KINDS),
        r"usr/share/man/man8/sch-aqm\.8",
        r"usr/share/man/man8/sch-aqm-doctor\.8",
        r"usr/sbin/sch-aqm-doctor",
    ]
    for pattern in patterns:
        assert sum(bool(re.fullmatch(pattern, name)) for name in found) == 1, pattern
    assert len(found) == len(patterns)
    assert [files(path) for path in ELSEWHERE] == installed.before


def test_install_prints_nothing_that_looks_like_an_error(installed: Installed) -> None:
    assert not re.search(r"sign-file|SSL error|System\.map|Skipping depmod", installed.output)


def test_all_installed_files_have_the_same_version(installed: Installed) -> None:
    version = (installed.tree / "VERSION").read_text().strip()
    for name in files(installed.destdir):
        path = installed.destdir / name
        if ".ko" in name:
            said = run(["modinfo", "-F", "version", path], TOP).strip()
            assert said == version, name
        elif name.endswith(".so"):
            assert f"sch-aqm version {version}\0".encode() in path.read_bytes(), name
        elif name.endswith(".8"):
            assert f'"sch-aqm {version}"' in path.read_text(), name
        else:
            assert f"\nversion={version}\n" in path.read_text()
            assert f'\nkinds="{" ".join(KINDS)}"\n' in path.read_text()


def test_uninstall_leaves_nothing(installed: Installed) -> None:
    installed.make("uninstall")
    assert files(installed.destdir) == []
    assert not list(installed.destdir.rglob("updates"))
    installed.make("install")


def test_uninstall_names_modules_that_the_kernel_still_has(tmp_path: Path) -> None:
    """rmmod needs this order, because all others depend on sch_aqm."""
    for name in ("sch_aqm", "sch_tdrr", "sch_red"):
        (tmp_path / "module" / name).mkdir(parents=True)
    words = ["make", "uninstall", f"DESTDIR={tmp_path / 'root'}"]
    assert "still in the kernel" not in run(words, TOP)
    said = run([*words, f"LOADED={tmp_path / 'module'}"], TOP)
    assert "still in the kernel: sch_tdrr sch_aqm. Delete the disciplines" in said
    assert "rmmod sch_tdrr sch_aqm; or reboot." in said


def test_modprobe_finds_the_modules_until_they_are_uninstalled(installed: Installed) -> None:
    """The core requests net-sch-KIND. The kernel's own modules and their map do not change."""
    release = installed.kernel.release
    own = installed.destdir / "lib" / "modules" / release
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(installed.kernel.modules / name, own)
    ask = [need("modprobe", "kmod"), "-d", installed.destdir, "-S", release, "--show-depends"]
    installed.make("install")
    for kind in KINDS:
        assert f"/updates/sch_{kind}.ko" in run([*ask, f"net-sch-{kind}"], TOP)
    installed.make("uninstall")
    assert "sch_" not in (own / "modules.dep").read_text() + (own / "modules.alias").read_text()
    for path in own.glob("modules.*"):
        path.unlink()
    installed.make("install")


def test_prefix_moves_everything_except_modules(installed: Installed, tmp_path: Path) -> None:
    words = ["install-tools", "PREFIX=/opt/aqm"]
    make(installed.tree, installed.kernel, f"DESTDIR={tmp_path}", *words)
    assert {str(Path(*Path(name).parts[:2])) for name in files(tmp_path)} == {"opt/aqm"}
    make(installed.tree, installed.kernel, f"DESTDIR={tmp_path}", "uninstall", "PREFIX=/opt/aqm")
    assert files(tmp_path) == []


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.extra
def test_commands_of_the_readme_work_in_a_stock_guest(installed: Installed) -> None:
    """install_guest.sh has the checks. The host builds the modules, because the guest is slow."""
    make(installed.tree, installed.kernel, "modules", "plugins")
    words = f"cd {installed.tree} && tests/build/install_guest.sh {installed.kernel.path}"
    request = Request(
        ["sh", "-c", words],
        engine="qemu",
        kernel=installed.kernel.name,
        time_limit=1800,
        share=[installed.tree],
    )
    result = engines.run(request, capture=True)
    said = result.stdout.decode()
    print(said, result.stderr.decode())
    assert result.status == 0
    assert "typed to the end" in said


def test_missing_headers_are_reported_with_the_package_to_install() -> None:
    done = subprocess.run(
        ["make", "modules", "KVER=6.1.0-99-amd64"],
        cwd=TOP,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0
    assert "apt-get install linux-headers-6.1.0-99-amd64" in done.stderr


def version(tree: Path) -> str:
    """Return the output of TREE's tools/version."""
    return run([tree / "tools" / "version"], TOP).strip()


def test_version_names_the_commit_and_grows(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "tools").mkdir(parents=True)
    shutil.copy(TOP / "tools" / "version", tree / "tools")
    (tree / "VERSION").write_text("1.2\n")
    assert version(tree) == "1.2"  # a package has no git

    def git(*words: str, top: Path = tree) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return run(["git", *who, *words], top).strip()

    git("init", "-q", top=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "other", top=tmp_path)
    assert version(tree) == "1.2"  # inside somebody else's checkout
    shutil.rmtree(tmp_path / ".git")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    assert version(tree) == "1.2"
    (tree / "file").write_text("a\n")
    of_runs = tree / "papers" / "a2001"
    of_runs.mkdir(parents=True)
    for name in ("results.parquet", "traces.parquet"):
        (of_runs / name).touch()
    git("add", ".")
    git("commit", "-qm", "two")
    commit = git("rev-parse", "--short", "HEAD")
    assert version(tree) == f"1.2+1.g{commit}"
    for name in of_runs.iterdir():
        name.write_text("a line\n")
    assert version(tree) == f"1.2+1.g{commit}"
    (tree / "file").write_text("b\n")
    assert version(tree) == f"1.2+1.g{commit}.dirty"
    if shutil.which("dpkg"):
        run(["dpkg", "--compare-versions", f"1.2+1.g{commit}", "gt", "1.2"], TOP)
        run(["dpkg", "--compare-versions", f"1.2+10.g{commit}", "gt", f"1.2+9.g{commit}"], TOP)
        run(["dpkg", "--compare-versions", "1.3", "gt", f"1.2+9.g{commit}"], TOP)


def test_release_has_one_version_and_date() -> None:
    release = (TOP / "VERSION").read_text().strip()
    changes = re.search(
        r"^## (\d\S*) \((\S+)\)$", (TOP / "CHANGELOG.md").read_text(), flags=re.MULTILINE
    )
    assert changes
    assert changes[1] == release
    citation = yaml.safe_load((TOP / "CITATION.cff").read_text())
    assert (citation["version"], citation["date-released"]) == (release, changes[2])
    debian = (TOP / "debian" / "changelog").read_text()
    assert debian.startswith(f"sch-aqm ({release}) ")
    signed = re.search(r"^ -- .*>  (.*)$", debian, flags=re.MULTILINE)
    assert signed
    assert str(parsedate_to_datetime(signed[1]).date()) == changes[2]


def test_every_page_is_found_by_its_file_name() -> None:
    """whatis tc-qsdrr searches the NAME section."""
    for page in (TOP / "man" / "man8").glob("*.8"):
        name = re.search(r"^\.SH NAME\n(\S+) ", page.read_text(), flags=re.MULTILINE)
        assert name
        assert name[1].replace("\\-", "-") == page.stem
