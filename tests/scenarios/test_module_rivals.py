# SPDX-License-Identifier: GPL-2.0
"""compare: two versions of a module, from two directories or from a commit."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import pytest

from aqmlab.compare import command, module_rivals, wanted
from aqmlab.exceptions import UserError
from tests.scenarios.shortrun import ROOT, edit
from tests.scenarios.test_compare import SMALL

YOUR_OWN = ROOT / "docs" / "your-own"


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose second commit has half of the queue of the first, in a subdirectory."""
    module = tmp_path / "work" / "module"
    shutil.copytree(YOUR_OWN, module)
    git(tmp_path / "work", "init", "-q")
    for limit in ("nla_get_u32(tb[TCA_MINE_LIMIT]) / 2", ""):
        git(tmp_path / "work", "add", "-A")
        git(tmp_path / "work", "commit", "-qm", "a version")
        if limit:
            edit(module / "sch_mine.c", "nla_get_u32(tb[TCA_MINE_LIMIT])", limit)
    return module


def test_directories_with_one_name_are_versions_and_others_belong_to_each(tmp_path: Path) -> None:
    folders = [tmp_path / "a" / "src", tmp_path / "b" / "src", tmp_path / "tcp"]
    for folder, name in zip(folders, ("sch_x.c", "sch_x.c", "tcp_y.c"), strict=True):
        folder.mkdir(parents=True)
        (folder / name).write_text("")
    assert module_rivals.rivals(folders) == {
        "a/src": [folders[0], folders[2]],
        "b/src": [folders[1], folders[2]],
    }
    assert module_rivals.rivals(folders[1:]) == {}


def test_a_commit_has_the_files_of_then(repository: Path, tmp_path: Path) -> None:
    old = module_rivals.at_commit(repository, "HEAD~1", tmp_path / "place")
    assert (old / "sch_mine.c").read_bytes() == (YOUR_OWN / "sch_mine.c").read_bytes()
    assert (repository / "sch_mine.c").read_bytes() != (old / "sch_mine.c").read_bytes()
    with pytest.raises(UserError, match="no commit of the repository"):
        module_rivals.at_commit(repository, "no-such-tag", tmp_path / "place")
    git(repository, "checkout", "-q", "--orphan", "empty")
    git(repository, "rm", "-rq", "--cached", ".")
    git(repository, "commit", "-q", "--allow-empty", "-m", "nothing")
    with pytest.raises(UserError, match=r"had no sch_NAME\.c"):
        module_rivals.at_commit(repository, "empty", tmp_path / "place")


def test_a_module_is_compared_with_itself_at_an_earlier_commit(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wanted, "WORKLOADS", {"dumbbell": SMALL})
    words = ("--mine", "mine 1 u32 {buffer}", "--module", str(repository), "--base", "HEAD~1")
    assert command.main([*words, "--seeds", "2", "--out", str(tmp_path / "out")]) == 0
    with (tmp_path / "out" / "verdicts.csv").open() as file:
        rows = {row["metric"]: row for row in csv.DictReader(file)}
    delay = rows["probe delay p99, ms"]
    assert delay["mine"] == "mine of module"
    assert delay["other"].startswith("mine of module-")
    # Half of the queue
    assert 0.4 < float(delay["mean"]) / float(delay["other_mean"]) < 0.6
    assert delay["verdict"] == "better"


def test_versions_exclude_other_rivals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(YOUR_OWN, tmp_path / "other")
    words = ["--mine", "mine", "--module", str(YOUR_OWN), "--module", str(tmp_path / "other")]
    assert command.main([*words, "--against", "pfifo"]) == 2
    assert "leave out --against" in capsys.readouterr().err
    assert command.main([*words, "--set", "cc=reno"]) == 2
    assert "such as cc, into settings of a file for --workloads" in capsys.readouterr().err
