# SPDX-License-Identifier: GPL-2.0
"""Find the commit that changed a metric: on a tree of one file, where nothing is built or run, and
in the history of a module, where each step builds it and runs a scenario.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aqmlab.compare import bisect
from aqmlab.exceptions import UserError
from tests.scenarios.shortrun import ROOT

COMMITS, PLANTED, UNBUILDABLE = 16, 11, (4, 9)


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def history(made: Path, write: Callable[[int], None]) -> Path:
    """Make a repository whose commit N, tagged cN, has what WRITE(N) leaves in it."""
    made.mkdir()
    git(made, "init", "-q", "-b", "master")
    for number in range(COMMITS):
        write(number)
        git(made, "add", "-A")
        git(made, "commit", "-qm", f"commit {number}")
        git(made, "tag", f"c{number}")
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a tree whose "delay" is 0.5 ms, and 5 ms from commit PLANTED on."""
    made = tmp_path / "linux"

    def write(number: int) -> None:
        state = {"number": number, "delay": 5.0 if number >= PLANTED else 0.5}
        (made / "state").write_text(json.dumps(state))

    return history(made, write)


LIMIT = "sch->limit = nla_get_u32(tb[TCA_MINE_LIMIT]);"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Make a repository whose directory "mine" has a qdisc. From commit PLANTED on it holds twice
    the packets. Commits 7 and 8 do not build, and commit 0 has no qdisc.
    """
    made = tmp_path / "repository"
    source = (ROOT / "docs" / "your-own" / "sch_mine.c").read_text()
    assert LIMIT in source

    def write(number: int) -> None:
        if number == 0:
            (made / "README").write_text("A qdisc\n")
            return
        text = source.replace(LIMIT, LIMIT.replace("= nla", "= 2 * nla"))
        text = text if number >= PLANTED else source
        wrong = "int wrong = ;\n" if number in {7, 8} else ""
        (made / "mine").mkdir(exist_ok=True)
        (made / "mine" / "sch_mine.c").write_text(f"{text}{wrong}/* version {number} */\n")

    return history(made, write)


def judged(args: argparse.Namespace, tree: str) -> int:
    """Judge as a build and a run would."""
    state = json.loads((Path(tree) / "state").read_text())
    if state["number"] in UNBUILDABLE:
        return bisect.SKIP
    return bisect.GOOD if state["delay"] < args.below else bisect.BAD


def asked(tree: Path, *words: str) -> list[str]:
    return ["--kernel", f"{tree}/", "--metric", "probe.delay_ms.p99", "--below", "2", *words]


def test_bisect_finds_the_planted_commit_and_leaves_the_tree_alone(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bisect, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(bisect, "judge", judged)
    head = (tree / ".git" / "HEAD").read_text()
    for _ in range(2):  # the second time, the clone is there
        assert bisect.main(asked(tree, "--good", "c0", "--bad", "master", "dumbbell")) == 0
        assert f"commit {PLANTED}" in capsys.readouterr().out
    assert (tree / ".git" / "HEAD").read_text() == head
    assert not list((tree / ".git").glob("BISECT*"))


def test_ends_that_contradict_the_limit_are_refused_before_any_step(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The delay is 0.5 ms in c0 and c10, and 5 ms in the last commit."""
    monkeypatch.setattr(bisect, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(bisect, "judge", judged)
    for limit, bad, said in (
        ("0.1", "master", "c0 is bad by this limit"),
        ("6", "master", "master is good by this limit"),
        ("2", "c10", "c10 is good by this limit"),
    ):
        words = ["--good", "c0", "--bad", bad, "--below", limit, "dumbbell"]
        given = ["--kernel", str(tree), "--metric", "probe.delay_ms.p99", *words]
        assert bisect.main(given) == 2
        told = capsys.readouterr()
        assert said in told.err
        assert "left to test" not in told.out


def test_commits_that_do_not_build_before_the_planted_one_are_all_named(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bisect, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(bisect, "judge", judged)
    monkeypatch.setattr(sys.modules[__name__], "UNBUILDABLE", (9, 10))
    assert bisect.main(asked(tree, "--good", "c0", "--bad", "master", "dumbbell")) == 2
    told = capsys.readouterr()
    assert "left to test" in told.out
    for number in (9, 10, PLANTED):
        assert git(tree, "rev-parse", f"c{number}").strip() in told.err


def test_a_metric_is_a_path_of_result_json() -> None:
    result = {
        "digest": "x",
        "summary": {"utilization": 0.5, "queue_delay_ms": {"p99": 7}},
        "groups": {"probe": {"delay_ms": {"p99": 3.0}}},
    }
    assert bisect.metric(result, "probe.delay_ms.p99") == 3
    assert bisect.metric(result, "queue_delay_ms.p99") == 7
    assert bisect.metric(result, "summary.utilization") == 0.5
    with pytest.raises(UserError, match=r"utilisation.*utilization"):
        bisect.metric(result, "utilisation")


SCENARIO = ("dumbbell", "--qdisc", "mine 1 u32 50")
SHORT = {"flows": 4, "rate": 20, "rtt": 20, "warmup": 1, "duration": 1, "probe": "on"}
#: 50 packets of 1514 bytes take 30 ms at 20 Mb/s; a queue of twice that stays longer than 45 ms.
LIMITED = ("--metric", "probe.delay_ms.p99", "--below", "45")


def short() -> list[str]:
    given = (f"{name}={value}" for name, value in SHORT.items())
    return [*SCENARIO, *(word for pair in given for word in ("--set", pair))]


@pytest.mark.extra
def test_bisect_finds_the_planted_line_of_a_module(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the command and by `git bisect run`: both build and run each commit that they ask for."""
    monkeypatch.setattr(bisect, "CACHE", tmp_path / "cache")
    asked = ["--module", str(module / "mine"), *LIMITED]
    assert bisect.main([*asked, "--good", "c1", "--bad", "master", *short()]) == 0
    said = capfd.readouterr().out
    assert f"commit {PLANTED}\n" in said
    assert "no result, skipped" in said
    delays = {word: float(value) for value, word in re.findall(r"p99 is ([\d.]+), (\w+)", said)}
    assert 1.5 < delays["bad"] / delays["good"] < 2.5
    assert git(module, "status", "--porcelain") == ""
    git(module, "bisect", "start", "master", "c1")
    command = [sys.executable, "-P", "-m", "aqmlab", "bisect", *asked, *short()]
    said = git(module, "bisect", "run", *command)
    assert f"{git(module, 'rev-parse', f'c{PLANTED}').strip()} is the first bad commit" in said


def test_commit_without_the_module_is_skipped(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (module / "mine" / "sch_mine.c").unlink()
    asked = ["--module", str(module / "mine"), *LIMITED]
    assert bisect.main([*asked, *short()]) == bisect.SKIP
    assert "neither a sch_NAME.c nor a tcp_NAME.c" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--good", "c0", "dumbbell"], 2, "--good and --bad need each other"),
        (["--good", "c0", "--bad", "nothing", "dumbbell"], 2, "nothing"),
        ([], 130, "needs a scenario"),
    ],
)
def test_refusals(
    words: list[str], status: int, said: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bisect.main(asked(tree, *words)) == status
    assert said in capsys.readouterr().err


def test_a_directory_outside_git_has_no_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--module", str(tmp_path), *LIMITED, "--good", "a", "--bad", "b", "dumbbell"]
    assert bisect.main(words) == 2
    assert "in no repository of git" in capsys.readouterr().err
