# SPDX-License-Identifier: GPL-2.0
"""The Python package: notebooks run, numbers equal the logs, and it can be installed."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient

import aqm
import aqmlab
from aqm import cache

TOP = Path(__file__).resolve().parents[2]
SMALL = {"flows": 4, "rate": 20, "warmup": 0, "duration": 2, "interval": 100}


@pytest.fixture(scope="module")
def runs() -> aqm.Runs:
    return aqm.run(
        "dumbbell",
        "red limit 60000 min 5000 max 30000 avpkt 1514 burst 4 "
        "probability 0.5 bandwidth 20mbit ecn",
        seeds=(3, 5),
        probe=True,
        ecn=True,
        **SMALL,
    )


@pytest.mark.parametrize("page", ["python", "lecture"])
def test_a_notebook_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TOP / "lab"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = jupytext.read(TOP / "docs" / f"{page}.md")
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert sum(cell.cell_type == "code" for cell in notebook.cells) > 5


def test_frames_agree_with_the_result(runs: aqm.Runs) -> None:
    assert list(runs.summary["seed"]) == [3, 5]
    for result in runs.results:

        def of(frame: pd.DataFrame, seed: int = result["seed"]) -> pd.DataFrame:
            return frame[frame["seed"] == seed]

        tcp = of(runs.flows)[of(runs.flows)["group"] == "all"]
        goodput = result["groups"]["all"]["goodput_bps"]["mean"]
        assert tcp["bytes"].mean() * 8 / 2 == pytest.approx(goodput, rel=0.02)
        last = of(runs.progress).groupby("flow")["bytes"].last()
        assert last[tcp["flow"]].mean() * 8 / 2 == pytest.approx(goodput)
        assert of(runs.queue)["dropped"].iloc[-1] == result["summary"]["dropped"]
        assert of(runs.state)["marked"].iloc[-1] == result["summary"]["marked"] > 0
        assert of(runs.probe)["delay_ms"].max() == result["groups"]["probe"]["delay_ms"]["max"]
        assert of(runs.groups)["flows"].sum() == 5
    assert not len(runs.requests)


def test_tables_survive_parquet_and_csv(runs: aqm.Runs, tmp_path: Path) -> None:
    for name in ("flows", "queue", "state", "probe", "groups"):
        frame = getattr(runs, name)
        frame.to_parquet(tmp_path / name)
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / name), frame, check_dtype=False)
        frame.to_csv(tmp_path / name, index=False)
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / name), frame, check_dtype=False)


def test_runs_of_the_command_line_may_be_named_by_text(runs: aqm.Runs) -> None:
    again = aqm.Runs("again", [str(directory) for directory in runs.directories])
    pd.testing.assert_frame_equal(again.flows, runs.flows)
    pd.testing.assert_frame_equal(again.queue, runs.queue)


def test_a_run_does_not_count_twice() -> None:
    with pytest.raises(
        aqm.UserError, match=r"b/\.\./a is given twice, so its run would count twice"
    ):
        aqm.Runs("twice", [Path("out/a"), "out/c", "out/b/../a"])


def test_runs_take_any_iterable_and_stay_where_they_are(
    runs: aqm.Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = shutil.copytree(runs.directories[0], tmp_path / "später gelesen" / "run")
    monkeypatch.chdir(moved.parent)
    one, generated = aqm.Runs("one", "run"), aqm.Runs("generated", (d for d in [Path("run")]))
    monkeypatch.chdir("/")
    for found in (one, generated, pickle.loads(pickle.dumps(one))):
        assert list(found.summary["seed"]) == [3]
        pd.testing.assert_frame_equal(found.flows, runs.flows[runs.flows["seed"] == 3])


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replace the commands by a stand-in that takes a moment. Return the words of its calls."""
    words_of: list[list[str]] = []

    def call(program: str, words: list[str], out: Path) -> None:
        words_of.append([program, *words])
        time.sleep(0.2)
        out.mkdir(parents=True)
        for name in ("result.json", "verdicts.csv"):
            (out / name).write_text("mine,other,verdict\n")

    monkeypatch.setattr(cache, "call", call)
    monkeypatch.setattr(cache, "RESULTS", tmp_path / "results")
    return words_of


def test_numbers_of_numpy_and_paths_are_arguments(called: list[list[str]], tmp_path: Path) -> None:
    scenario = tmp_path / "Straße 1.py"
    scenario.write_text((TOP / "netns-scenarios/scenarios/dumbbell.py").read_text())
    found = aqm.run(
        scenario,
        seeds=np.array([4, 5]),
        flows=np.int64(3),
        rate=np.float64(20),
        probe=np.True_,
        jobs=np.int32(1),
    )
    settings = "--set flows=3 --set rate=20.0 --set probe=on"
    asked = ["run", str(scenario), "--qdisc", "pfifo limit 200", *settings.split(), "--seed"]
    assert called == [[*asked, "4"], [*asked, "5"]]
    assert len(found.directories) == 2


def test_one_value_of_a_comparison_needs_no_list(called: list[list[str]]) -> None:
    aqm.compare(
        "pfifo limit {n}",
        against="fq_codel",
        workloads="step-load",
        metrics="jain",
        seeds=np.int64(2),
        n="100",
        probe=[True, False],
        duration=np.int64(3),
    )
    for words in (
        "--against fq_codel",
        "--workload step-load",
        "--metric jain",
        "--seeds 2",
        "--set n=100",
        "--set probe=on,off",
        "--set duration=3",
    ):
        assert words in " ".join(called[0])


def test_a_long_value_of_a_comparison_is_not_a_file(called: list[list[str]]) -> None:
    timetable = ",".join(f"1@{second}-{second + 1}" for second in range(60))
    aqm.compare("pfifo", entries=timetable)
    assert f"entries={timetable}" in called[0]


def test_another_content_of_a_trace_is_another_result(
    called: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = Path("down")
    for number, content in enumerate(("1\n2\n", "1\n5\n"), start=1):
        trace.write_text(content)
        for _ in range(2):
            aqm.run("dumbbell", trace=trace)
            aqm.compare("pfifo", trace_back=trace)
        assert len(called) == 2 * number


def test_a_second_caller_waits_for_a_run_that_goes_on(called: list[list[str]]) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: aqm.run("dumbbell"), range(2))
    assert len(called) == 1
    assert first.directories == second.directories


def test_a_result_is_kept_until_a_source_changes(
    runs: aqm.Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Path] = []
    monkeypatch.setattr(cache, "call", lambda _program, _words, out: called.append(out))
    qdisc = runs.results[0]["qdisc"]
    again = aqm.run("dumbbell", qdisc, seeds=(3, 5), probe=True, ecn=True, **SMALL)
    assert (again.directories, called) == (runs.directories, [])
    monkeypatch.setattr(cache, "_sources", lambda: "another")
    other = aqm.run("dumbbell", qdisc, seeds=[3], probe=True, ecn=True, **SMALL)
    assert called == other.directories != runs.directories[:1]


def test_bytecode_is_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python writes bytecode when it first imports a module, with the time in it."""
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    monkeypatch.setattr(aqmlab, "__file__", str(tmp_path / "lab" / "aqmlab" / "__init__.py"))
    source = tmp_path / "lab" / "aqmlab" / "run.py"
    source.parent.mkdir(parents=True)
    source.write_text("x = 1")
    before = cache._sources.__wrapped__()
    (source.parent / "__pycache__").mkdir()
    (source.parent / "__pycache__" / "run.cpython-311.pyc").write_bytes(b"1")
    assert cache._sources.__wrapped__() == before
    source.write_text("x = 2")
    assert cache._sources.__wrapped__() != before


def test_a_mistake_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "call", lambda *_: pytest.fail("ran"))
    for said, arguments in (
        ("did you mean dumbbell", {"scenario": "dumbell"}),
        ("did you mean flows", {"flow": 3}),
        ("allowed: 1 to", {"flows": 0}),
        ("needs at least one", {"seeds": 0}),
        ("no kernel", {"kernel": "9"}),
        ("no such directory", {"module": "/nonexistent"}),
        ("seeds: '12' given, needs a whole number", {"seeds": "12"}),
        ("seeds: 2.0 given, needs a whole number", {"seeds": 2.0}),
        ("seeds: True given, needs a whole number", {"seeds": True}),
        ("seeds: 0 given twice", {"seeds": [0, 0]}),
        ("qdisc: None given, needs a text", {"qdisc": None}),
        ("scenario: None given, needs a text", {"scenario": None}),
        ("kernel: 6 given, needs a text", {"kernel": 6}),
        (r"rate: \[10, 20\] given, needs a number", {"rate": [10, 20]}),
        ("jobs: 0 given, needs 1 or more", {"jobs": 0}),
        ("module: None given; leave it out", {"module": None}),
        ("seeds: 2 given twice", {"seeds": (1, 2, 2)}),
    ):
        with pytest.raises(aqm.UserError, match=said):
            aqm.run(**{"scenario": "dumbbell", **arguments})
    for said, arguments in (
        ("seeds: 2.5 given, needs a whole number", {"seeds": 2.5}),
        ("mine: None given, needs a text", {"mine": None}),
        ("against: 3 given, needs a text", {"against": [3]}),
    ):
        with pytest.raises(aqm.UserError, match=said):
            aqm.compare(**{"mine": "pfifo", **arguments})
    for said, directories in (
        ("needs at least one", []),
        ("result.json is missing", "/nonexistent"),
    ):
        with pytest.raises(aqm.UserError, match=said):
            _ = aqm.Runs("none", directories).results
    with pytest.raises(aqm.UserError, match="no picture"):
        aqm.plot(what="queues")


def test_a_failed_run_says_why() -> None:
    with pytest.raises(aqm.RunError, match="did you mean fq_codel"):
        aqm.run("dumbbell", "fq_codle", **SMALL)


def test_a_plain_run_needs_no_pandas() -> None:
    code = (
        "import sys; import aqmlab.run_command, aqmlab.measure.result;"
        "print('pandas' in sys.modules)"
    )
    path = str(TOP / "lab")
    said = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "False\n"


def test_an_installed_package_has_what_the_lab_builds_from(tmp_path: Path) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--disable-pip-version-check",
            "--target",
            tmp_path,
            TOP,
        ],
        check=True,
        timeout=120,
    )
    code = (
        "import aqm, json; from labkit import modules, outside; from labkit.cache import "
        "digest_files; print(json.dumps([str(modules.ROOT), digest_files("
        "modules.module_sources(), modules.ROOT), modules.ROOT.name, "
        "outside.GENERIC.exists()]))"
    )

    def said(place: Path) -> list[object]:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd="/",
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(place)},
            check=True,
        )
        return list(json.loads(done.stdout))

    here, there = said(TOP / "lab"), said(tmp_path)
    assert there[0] == str(tmp_path / "aqm" / "checkout")
    assert there[1:] == [here[1], "checkout", True]
    listed = subprocess.run(
        [tmp_path / "bin" / "aqm", "run", "--list"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        check=True,
    )
    assert listed.stdout.startswith("arrivals: ")
