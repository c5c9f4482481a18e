# SPDX-License-Identifier: GPL-2.0
"""netns-scenarios/measure: a result is computed again from its logs, or refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from aqmlab.measure import result
from aqmlab.measure.command import main
from aqmlab.run.execute import Cost
from tests.scenarios.shortrun import run as run_in_lab
from tests.scenarios.test_traffic import with_traffic


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return the directory of a finished run with TCP, UDP and web traffic."""
    (directory := tmp_path / "run").mkdir()
    result.write(with_traffic(directory), Cost(1.2345, 0.5))
    return directory


def files(directory: Path) -> dict[str, tuple[bytes, int]]:
    """Return contents and time of each file."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()}


def edit(directory: Path, **changes: Any) -> None:
    """Change result.json. None removes a key."""
    path = directory / "result.json"
    changed = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in changed.items() if value is not None}))


def test_a_result_that_misses_metrics_becomes_what_the_run_would_write_today(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(run)
    edit(run, groups=None, summary={"utilization": 0.1})
    assert main([str(run.parent)]) == 0
    assert capsys.readouterr().out == f"{run}: changed\n"
    after = files(run)
    assert after.keys() == before.keys()
    assert after["result.json"][0] == before.pop("result.json")[0]
    # All logs are untouched.
    assert before.items() < after.items()


def test_nothing_is_written_if_nothing_has_changed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(run)
    assert main([str(run)]) == 0
    assert capsys.readouterr().out == f"{run}: as before\n"
    assert files(run) == before


LOGS = (
    "run.json",
    "recipe.json",
    "guest.json",
    "flows.csv",
    "progress.csv",
    "queue.csv",
    "datagrams.csv",
    "delays.csv",
    "requests.csv",
)


@pytest.mark.parametrize("name", [*LOGS, "result.json"])
def test_a_missing_file_is_named_and_nothing_is_written(
    run: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    edit(run, summary={"utilization": 0.1})
    (run / name).unlink()
    before = files(run)
    assert main([str(run)]) == 1
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith(f"measure: {run}: ")
    assert name in shown.err
    assert shown.err.count("\n") == 1
    assert files(run) == before


@pytest.mark.parametrize("name", LOGS)
def test_a_log_that_is_cut_short_is_refused(
    run: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    edit(run, summary={"utilization": 0.1})
    (run / name).write_text((run / name).read_text()[:-2])
    before = files(run)
    assert main([str(run)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert files(run) == before


def test_logs_of_another_run_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(run, digest="0" * 64)
    before = files(run)
    assert main([str(run)]) == 1
    assert "digest" in capsys.readouterr().err
    assert files(run) == before


def test_an_incomplete_run_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    incomplete = run.rename(run.with_name("run.incomplete"))
    assert main([str(incomplete)]) == 1
    assert "interrupted, failed, or still runs" in capsys.readouterr().err


def test_the_other_runs_are_measured_when_one_is_refused(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = run.with_name("nothing")
    assert main([str(nothing), str(run)]) == 1
    shown = capsys.readouterr()
    assert shown.out == f"{run}: as before\n"
    assert shown.err == f"measure: {nothing}: result.json is missing\n"


def test_a_run_of_the_lab_with_programs_gives_the_same_bytes(tmp_path: Path) -> None:
    """The packets of the programs were added to the logs when the run ended."""
    (out := tmp_path / "out").mkdir()
    server, client = (
        f"{role}: {sys.executable} -c 'import socket; {use}'"
        for role, use in (
            ("server", 'socket.create_server(("{server}", 7)).accept()'),
            ("client", 'socket.create_connection(("{server}", 7))'),
        )
    )
    done = run_in_lab(
        out / "r",
        "--exec",
        server,
        "--exec",
        client,
        "--set",
        "probe=on",
        scenario=("dumbbell", "--set", "flows=2", "--set", "rate=10", "--set", "duration=2"),
    )
    assert done.returncode == 0, done.stderr
    before = files(out / "r")
    edit(out / "r", groups=None)
    assert main([str(out / "r")]) == 0
    after = files(out / "r")
    assert after.pop("result.json")[0] == before.pop("result.json")[0]
    assert after == before
