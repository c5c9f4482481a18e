# SPDX-License-Identifier: GPL-2.0
"""Find the commit that changed a metric, on a tree of one file. Nothing is built or run."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import pytest

from aqmlab.compare import bisect

COMMITS, PLANTED, UNBUILDABLE = 16, 11, (4, 9)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a tree whose "delay" is 0.5 ms, and 5 ms from commit PLANTED on."""
    made = tmp_path / "linux"
    made.mkdir()

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", made, *who, *words], check=True, capture_output=True)

    git("init", "-q", "-b", "master")
    for number in range(COMMITS):
        state = {"number": number, "delay": 5.0 if number >= PLANTED else 0.5}
        (made / "state").write_text(json.dumps(state))
        git("add", "-A")
        git("commit", "-qm", f"commit {number}")
        git("tag", f"c{number}")
    return made


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


def test_a_metric_is_a_path_of_result_json() -> None:
    result = {
        "digest": "x",
        "summary": {"utilization": 0.5, "queue_delay_ms": {"p99": 7}},
        "groups": {"probe": {"delay_ms": {"p99": 3.0}}},
    }
    assert bisect.metric(result, "probe.delay_ms.p99") == 3
    assert bisect.metric(result, "queue_delay_ms.p99") == 7
    assert bisect.metric(result, "summary.utilization") == 0.5
    with pytest.raises(bisect.UserError, match=r"utilisation.*utilization"):
        bisect.metric(result, "utilisation")


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
