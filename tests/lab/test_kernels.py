# SPDX-License-Identifier: GPL-2.0
"""Records of kernels, the build cache, and the choice of a kernel whose source is available."""

from __future__ import annotations

import concurrent.futures
import re
import shlex
import threading
from pathlib import Path

import pytest

from labkit import cache, engines, fetch, kernels, modules, records, sources
from labkit.errors import LabError

NEWEST = records.names("uml")[0]


def test_each_record_is_a_file(tmp_path: Path) -> None:
    """Each file is a kernel. Versions are sorted by number, and the newest is first."""
    (tmp_path / "6.9.toml").write_text('[uml]\nsuites = ["one"]\ndeterministic = true\n')
    (tmp_path / "6.10.toml").write_text('[qemu]\npackages = [["two", "amd64"]]\n')
    found = records.records(tmp_path)
    assert list(found) == ["6.10", "6.9"]
    assert found["6.9"] == records.Record("6.9", records.UserMode(("one",), True))
    assert found["6.10"] == records.Record("6.10", None, records.Stock((("two", "amd64"),)))


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("6.9", '[uml]\nsuite = ["one"]\n', "suite"),
        ("6.9", "[uml]\ndeterministic = true\n", "suites"),
        ("6.9", '[uml]\nsuites = ["one"]\n[kvm]\nx = 1\n', "kvm"),
        ("6.9", "", "none of the tables uml, qemu, cloud"),
        ("6.9", "[uml\n", "line 1"),
        ("six", '[uml]\nsuites = ["one"]\n', "six"),
    ],
)
def test_wrong_record_is_refused_by_name(tmp_path: Path, name: str, text: str, word: str) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    with pytest.raises(LabError, match=word) as caught:
        records.read(path)
    assert str(path) in str(caught.value)


def test_kernel_versions_are_only_in_their_records() -> None:
    """The lab's programs and make read versions from the records, so a new one is one file."""
    top = Path(__file__).resolve().parents[2]
    programs = [
        *(top / "lab" / "labkit").glob("*.py"),
        top / "Makefile",
        top / ".ci" / "check",
        top / "lab" / "boot",
        top / "lab" / "setup",
    ]
    # This matches values, not comments that explain something about a version.
    said = re.compile(
        r"""["']({})["']|--kernel \d""".format("|".join(map(re.escape, records.records())))
    )
    found = [
        f"{path.name}: {line.strip()}"
        for path in programs
        for line in path.read_text().splitlines()
        if said.search(line)
    ]
    assert found == [f'records.py: OLDEST = "{records.OLDEST}"']


def test_settings_come_once_and_the_last_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "base.config").write_text("# why\nCONFIG_A=y\n# CONFIG_B is not set\n")
    (tmp_path / "config" / "hosts.config").write_text("CONFIG_D=m\n")
    (tmp_path / "config" / "static.config").write_text("CONFIG_E=y\n")
    (tmp_path / "config" / "kasan.config").write_text('CONFIG_B="x y"\nCONFIG_C=m\n')
    monkeypatch.setattr(kernels, "LAB", tmp_path)
    assert kernels.settings(NEWEST, "fast") == (
        "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D=m\nCONFIG_E=y\n"
    )
    assert kernels.settings(NEWEST, "kasan") == (
        'CONFIG_A=y\nCONFIG_B="x y"\nCONFIG_D=m\nCONFIG_C=m\n'
    )


def test_every_line_of_the_fragments_is_a_setting_or_a_comment() -> None:
    """CONFIG_X=n is wrong, because it would count as a value."""
    for path in (kernels.LAB / "config").glob("*.config"):
        for line in path.read_text().splitlines():
            assert not line or line.startswith("# ") or kernels.SETTING.match(line), line
            assert not line.endswith("=n"), line


def test_comment_needs_no_new_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").mkdir()
    base = tmp_path / "config" / "base.config"
    for other in ("hosts", "static"):
        (tmp_path / "config" / f"{other}.config").write_text("")
    monkeypatch.setattr(kernels, "LAB", tmp_path)
    base.write_text("# why\nCONFIG_A=y\n")
    before = kernels.settings(NEWEST, "fast")
    base.write_text("# because\n\nCONFIG_A=y\n")
    assert kernels.settings(NEWEST, "fast") == before
    base.write_text("CONFIG_A=m\n")
    assert kernels.settings(NEWEST, "fast") != before


WANTED = "CONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\nCONFIG_D=7\n"
#: Output of merge_config.sh of 6.12 and 7.3 if A, C and D are lost, and E, which only tinyconfig
#: requested.
COMPLAINTS = {
    "6.12": """\
Value of CONFIG_D is redefined by fragment lab.config:
Value requested for CONFIG_A not in final .config
Requested value:  CONFIG_A=y
Actual value:\x20\x20\x20\x20\x20

Value requested for CONFIG_C not in final .config
Requested value:  # CONFIG_C is not set
Actual value:     CONFIG_C=y

Value requested for CONFIG_D not in final .config
Requested value:  CONFIG_D=7
Actual value:     CONFIG_D=8

Value requested for CONFIG_E not in final .config
""",
    "7.3": """\
Value of CONFIG_D is redefined by fragment lab.config:
WARNING: Value requested for CONFIG_A not in final .config
Requested value: CONFIG_A=y
Actual value:\x20\x20\x20\x20
WARNING: CONFIG_C differs:
Requested value: # CONFIG_C is not set
Actual value:    CONFIG_C=y
WARNING: CONFIG_D differs:
WARNING: CONFIG_E differs:
WARNING: CONFIG_F not in merged config but added in final .config:
""",
}


@pytest.mark.parametrize("said", COMPLAINTS.values(), ids=COMPLAINTS)
def test_rejected_settings_are_in_the_record_of_a_kernel(said: str) -> None:
    assert kernels.lost_settings(said, WANTED) == {"A", "C", "D"}


def test_parallel_requests_build_once(tmp_path: Path) -> None:
    """One process builds, and the others wait for it."""
    all_have_looked, made = threading.Barrier(4), []
    here = threading.local()

    def make(path: Path) -> None:
        made.append(path)
        path.mkdir()
        (path / "thing").touch()
        cache.mark(path)

    def whole(path: Path) -> bool:
        answer = cache.marked(path)
        if not hasattr(here, "looked"):
            here.looked = True
            all_have_looked.wait()
        return answer

    def ask(_: int) -> bool:
        return (cache.built(tmp_path / "it", make, whole) / "thing").exists()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(4)))
    assert made == [tmp_path / "it"]


def test_interrupted_build_is_repeated(tmp_path: Path) -> None:
    def broken(path: Path) -> None:
        path.mkdir()
        raise LabError("interrupted")

    with pytest.raises(LabError, match="interrupted"):
        cache.built(tmp_path / "it", broken)
    cache.built(tmp_path / "it", cache.mark)
    assert (tmp_path / "it" / cache.MARK).exists()
    cache.built(tmp_path / "it", broken)  # not called, because the build is complete


def test_module_sources_are_the_files_that_kbuild_names() -> None:
    """They include no test, so that a change of a test rebuilds nothing."""
    listed = {str(path.relative_to(modules.ROOT)) for path in modules.module_sources()}
    kbuild = (modules.ROOT / "Kbuild").read_text()
    objects = re.findall(r"^obj-m \+= (\S+)\.o$", kbuild, flags=re.MULTILINE)
    assert objects
    objects.remove("sch_aqm")  # of the files in frame/
    assert {f"{name}.c" for name in objects} <= listed
    assert {f"frame/{path.name}" for path in (modules.ROOT / "frame").glob("*.c")} <= listed
    assert not [name for name in listed if re.match(r"selftests/(unit|tdc|kinds|userspace)/", name)]


class Archive:
    """A simulated Debian archive for apt-get and apt-cache."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.suites = home / "suites"
        self.suites.mkdir(parents=True)
        tools = home / "bin"
        tools.mkdir()
        lists = r"s|^Dir::State::Lists=.*/apt/\(.*\)/lists$|\1|p"
        head = (
            f"#!/bin/sh\nsuite=$(printf '%s\\n' \"$@\" | sed -n '{lists}')\n"
            f"file={shlex.quote(str(self.suites))}/$suite\n"
        )
        self.program(
            tools / "apt-get",
            head
            + (
                f'echo "$suite" >>{shlex.quote(str(home / "asked"))}\n'
                '[ -e "$file" ] || { echo "E: cannot reach $suite" >&2; exit 100; }\n'
            ),
        )
        self.program(tools / "apt-cache", head + 'for last; do :; done; grep "^$last" "$file"\n')

    @staticmethod
    def program(path: Path, text: str) -> None:
        """Write an executable file."""
        path.write_text(text)
        path.chmod(0o755)

    def holds(self, suite: str, *packages: str) -> None:
        """Add a suite with these packages."""
        (self.suites / suite).write_text("".join(f"{name}\n" for name in packages))

    def asked(self) -> list[str]:
        """Return the suites that apt has updated since the last call."""
        file = self.home / "asked"
        asked = file.read_text().split() if file.exists() else []
        file.unlink(missing_ok=True)
        return asked


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Return an unreachable archive, with an empty cache."""
    made = Archive(tmp_path / "archive")
    for room in (sources, fetch):
        monkeypatch.setattr(room, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(fetch, "mirror", lambda _: fetch.Mirror("http://mirror.example/debian", ""))
    monkeypatch.setenv("PATH", f"{made.home / 'bin'}:/usr/bin:/bin")
    return made


OWN, *OTHERS = (records.user_mode_of(name).suites for name in records.names("uml"))


def test_default_kernel_is_used_if_available(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    archive.holds(OWN[0], "linux-source-99.1", f"linux-source-{NEWEST}", "linux-source")
    assert engines.default_kernel() == NEWEST
    assert capsys.readouterr().err == ""


def test_newest_available_kernel_replaces_a_missing_one(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message comes once. Later runs, --list and --kernel remember the new version."""
    for suite in OWN:
        archive.holds(
            suite,
            "linux-source-99.9",
            "linux-source-99.10",
            "linux-source-99.2",
            "linux-source",
            "linux-source-rt-99.11",
        )
    assert engines.default_kernel() == "99.10"
    said = capsys.readouterr().err
    assert f"Linux {NEWEST} is no longer available" in said
    assert "99.10" in said
    assert "not been tried" in said
    assert archive.asked()
    assert engines.default_kernel() == "99.10"
    assert archive.asked() == []
    assert capsys.readouterr().err == ""
    assert engines.kernel_names("uml") == (*records.names("uml"), "99.10")
    engines.check(engines.Request(["true"], kernel="99.10"))
    # It is built like the newest known kernel, without a promise of equal bytes.
    known, new = records.user_mode_of(NEWEST), records.user_mode_of("99.10")
    assert (new.suites, new.words, new.config) == (known.suites, known.words, known.config)
    assert not new.deterministic


def test_older_known_kernel_is_used_if_no_newer_one_boots(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    for suite in OWN:
        archive.holds(suite, "linux-source-5.10")
    older = records.names("uml")[1]
    archive.holds(OTHERS[0][-1], "linux-source-6.1", f"linux-source-{older}")
    assert engines.default_kernel() == older
    said = capsys.readouterr().err
    assert f"taking {older}" in said
    assert "not been tried" not in said


def test_unreachable_suite_is_tried_again(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    """The suite may become available again, and NEWEST with it. The message gives the reason."""
    older = records.names("uml")[1]
    archive.holds(OTHERS[0][0], f"linux-source-{older}")
    assert engines.default_kernel() == older
    assert f"cannot reach {OWN[0]}" in capsys.readouterr().err
    archive.holds(OWN[0], f"linux-source-{NEWEST}")
    assert engines.default_kernel() == NEWEST


def test_without_network_no_other_kernel_is_used(archive: Archive) -> None:
    with pytest.raises(LabError, match=f"cannot fetch Linux {re.escape(NEWEST)}") as caught:
        engines.default_kernel()
    assert f"cannot reach {OWN[0]}" in str(caught.value)


def test_cached_source_is_not_requested_again(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "cache" / "dl").mkdir(parents=True)
    (tmp_path / "cache" / "dl" / f"linux-source-{NEWEST}_1_all.deb").touch()
    assert engines.default_kernel() == NEWEST
    assert archive.asked() == []
