# SPDX-License-Identifier: GPL-2.0
"""Jobs of the demo and of the papers' sweeps. Only one sweep of two jobs is run."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aqmlab.compare import demo, demo_workloads, sweep, sweep_job
from aqmlab.report import load_runs
from aqmlab.run import inputs
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings
from labkit import outside
from studies import defaults
from studies import tdrr_time_constant as constant

ROOT = Path(__file__).resolve().parents[2]


def test_warnings_of_runs_are_shown_once_with_the_first_run() -> None:
    results = {
        name: {"warnings": [f"the qdisc dropped {count}, so it lost"]}
        for name, count in (("one", 5), ("two", 7))
    } | {"old": {}, "well": {"warnings": []}}
    assert sweep._warnings(results) == {"the qdisc dropped some, so it lost": ["one", "two"]}


@pytest.mark.parametrize(
    ("others", "boots"), [([], 0), (["--kernel", "7.3"], 1), (["--engine", "uml"], 1)]
)
def test_user_mode_is_booted_first_only_if_a_run_needs_it(
    others: list[str], boots: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that is not x86-64 has no user mode."""
    words = [["dumbbell", "--engine", "qemu", "--kernel", "6.1"]]
    words += [["dumbbell", *others]] if others else []
    jobs = {str(number): sweep_job.Job(each, "pfifo") for number, each in enumerate(words)}
    booted: list[int] = []
    monkeypatch.setattr(sweep, "_boot_once", lambda: booted.append(1))
    monkeypatch.setattr(sweep, "forked", lambda *_: None)
    args = argparse.Namespace(out=tmp_path, resume=True, profile=None, jobs=1)
    assert sweep.run(args, jobs) == {}
    assert len(booted) == boots


@pytest.mark.parametrize("below", [".", "below"])
def test_a_file_in_the_place_of_results_is_named(below: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / below
    args = argparse.Namespace(out=out, resume=False, profile=None, jobs=1)
    with pytest.raises(SystemExit, match=f"--out {re.escape(str(out))}: .*(exists|directory)"):
        sweep.run(args, {"one": sweep_job.Job(["dumbbell"], "pfifo")})


def all_jobs() -> dict[str, dict[str, sweep_job.Job]]:
    return {
        "demo": demo.jobs(),
        "defaults": (
            defaults.jobs((defaults.PFIFO, *defaults.KINDS), defaults.RATES)
            | defaults.jobs(defaults.gso_lines(defaults.KINDS), defaults.GSO_RATES)
        ),
        "tdrr-time-constant": {
            constant.name_of(q, r, 1): constant.job(q, r, 1)
            for q in (rival.format(20) for rival in constant.RIVALS)
            for r in constant.RTTS_MS
        },
    }


def test_every_job_is_a_valid_run() -> None:
    for name, jobs in all_jobs().items():
        assert len({tuple(job.words) for job in jobs.values()}) == len(jobs) > 5, name
        for directory, job in jobs.items():
            assert "/" not in directory
            scenario, *words = job.words
            options = list(zip(words[::2], words[1::2], strict=True))
            given = [value for option, value in options if option == "--set"]
            others = {option: value for option, value in options if option != "--set"}
            assert set(others) == {"--qdisc", "--seed"}
            found = find(scenario)
            settings = Settings(
                resolve(found.params, given), others["--qdisc"], int(others["--seed"]), "virtual"
            )
            assert compose(found, settings)[0].flows


def test_the_demo_has_each_discipline_beside_mainlines_and_a_probe() -> None:
    mainlines = {"cake", "choke", "codel", "dualpi2", "fq_codel", "pie", "sfq"}
    ours = {path.stem.removeprefix("sch_") for path in ROOT.glob("sch_*.c")}
    seen = set()
    for name, workload in demo_workloads.WORKLOADS.items():
        jobs = [job for job in demo.jobs().values() if job.workload == name]
        names = {job.name for job in jobs}
        seen |= ours & names
        assert {"pfifo", "dualpi2", "fq_codel", "cake"} < names - ours
        mainlines -= names
        assert len(jobs) == len(names) * len(workload.buffers) * len(demo.SEEDS)
        assert all("probe=on" in job.words for job in jobs)
        assert workload.use
        assert {*workload.use} <= names
        assert {*workload.use} <= set(re.findall(r"\w+", workload.advice))
    assert seen == ours
    assert not mainlines


def test_the_demo_leads_with_more_flows_than_packets() -> None:
    first, workload = next(iter(demo_workloads.WORKLOADS.items()))
    assert first == "small-buffer"
    (buffer,) = workload.buffers
    assert buffer == workload.settings["flows"] / 4


def test_the_advice_is_in_the_best_set_of_the_committed_picture() -> None:
    """`make demo` fails if the advice is wrong. This finds advice newer than the picture."""
    groups = ET.parse(ROOT / "docs" / "report.svg").iter("{http://www.w3.org/2000/svg}g")
    best = {
        found[0]: found[1].partition(": ")[2].split(", ")
        for group in groups
        if len(
            found := [child.text or "" for child in group if child.tag.endswith(("title", "desc"))]
        )
        == 2
    }
    assert best.keys() == {one.title for one in demo_workloads.WORKLOADS.values()}
    for one in demo_workloads.WORKLOADS.values():
        assert {*one.use} <= {*best[one.title]}


def section_with(**goodputs: float) -> load_runs.Section:
    """Return runs of a workload beside a UDP blast, with these parts of the fair share."""
    return load_runs.Section(
        100,
        {
            name: [
                load_runs.Run(
                    Path(),
                    {
                        "seed": seed,
                        "phases": [{}],
                        "parameters": {"mtu": 1500, "rate": 10.0},
                        "groups": {"udp": {"delay_ms": {"p50": 1.0}}},
                        "summary": {"goodput_bps": {"mean": goodput}, "fair_share_bps": 1.0},
                    },
                )
                for seed in (1, 2, 3)
            ]
            for name, goodput in goodputs.items()
        },
        workload="w",
    )


def test_advice_that_the_runs_contradict_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = demo_workloads.Workload("udp-blast", {}, (100,), 1514, 10, (), use=("good", "tie"))
    monkeypatch.setattr(demo, "WORKLOADS", {"w": workload})
    assert not [*demo.wrong_advice([section_with(good=1.0, tie=0.98, bad=0.5)])]
    (line,) = demo.wrong_advice([section_with(good=1.0, tie=0.9, bad=0.5)])
    assert "names tie, which is worse than the best" in line


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "1.5", ""])
def test_number_of_runs_at_a_time_is_one_or_more(
    jobs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = sweep.parser("x", "x", ROOT / "out", resume=True)
    with pytest.raises(SystemExit):
        parser.parse_args([f"--jobs={jobs}"])
    assert f"{jobs} given, needs a whole number from 1 on" in capsys.readouterr().err
    assert parser.parse_args(["--jobs", "2"]).jobs == 2


def test_failed_run_affects_no_other_run_and_keeps_results(tmp_path: Path) -> None:
    short = sweep_job.settings({"flows": 2, "rate": 10, "warmup": 0, "duration": 1})
    jobs = {
        "good": sweep_job.Job(["dumbbell", "--qdisc", "pfifo limit 9", *short], "first in", 9),
        "bad": sweep_job.Job(["dumbbell", "--qdisc", "pfifo limit x", *short], "mistaken", 9),
    }
    args = sweep.parser("x", "x", ROOT / "out", resume=True).parse_args(
        ["--out", str(tmp_path), "--jobs", "1"]
    )
    done = sweep.run(args, jobs, {"": {"note": "a note"}})
    assert list(done) == ["good"]
    assert done["good"]["qdisc"] == "pfifo limit 9"
    (section,) = load_runs.collect([tmp_path])
    assert (section.buffer, list(section.runs), section.about) == (
        9,
        ["first in"],
        {"note": "a note"},
    )
    made = (tmp_path / "good" / "result.json").stat().st_mtime_ns
    del jobs["bad"]
    assert list(sweep.run(args, jobs)) == ["good"]
    assert (tmp_path / "good" / "result.json").stat().st_mtime_ns == made
    assert "bad" not in json.loads((tmp_path / "sweep.json").read_text())["runs"]
    jobs["good"].words[2] = "pfifo limit 8"
    taken: list[str] = []
    sweep.run(
        args,
        jobs,
        taken=lambda name: taken.append(
            json.loads((tmp_path / name / "result.json").read_text())["qdisc"]
        ),
    )
    assert taken == ["pfifo limit 8"]

    def refused(name: str) -> None:
        """Fail while the other run is in progress."""
        until = time.monotonic() + 60
        while not (tmp_path / "long.incomplete").exists() and time.monotonic() < until:
            time.sleep(0.1)
        assert (tmp_path / "long.incomplete").exists()
        raise ValueError(name)

    jobs["long"] = sweep_job.Job(
        ["dumbbell", "--qdisc", "pfifo limit 7", *sweep_job.settings({"duration": 36_000})],
        "an hour or more",
        9,
    )
    with pytest.raises(ValueError, match="good"):
        sweep.run(args, jobs, taken=refused)
    assert (
        subprocess.run(["pgrep", "--full", str(tmp_path)], stdout=subprocess.PIPE, text=True).stdout
        == ""
    )


def record(words: Sequence[str], out: Path, **more: object) -> dict[str, Any]:
    """Return what run.json has of a run that could be kept."""
    made_with = {"argv": ["run", *words, "--out", str(out)], "sources": inputs.sources()}
    return {"made_with": made_with, "file": "", "module": {}, **more}


def test_run_with_a_truncated_record_is_repeated(tmp_path: Path) -> None:
    words = ["dumbbell", "--seed", "1"]
    whole = json.dumps(record(words, tmp_path))
    assert not sweep.is_of_another_run(tmp_path, words)
    for text, other in ((whole, words[:1]), (whole, words), ("", words), (whole[:-9], words)):
        (tmp_path / "run.json").write_text(text)
        assert sweep.is_of_another_run(tmp_path, other) == ((text, other) != (whole, words))


@pytest.mark.parametrize("changed", ["our modules", "a module", "a trace", "a scenario", "removed"])
def test_run_is_repeated_if_a_file_that_it_read_has_changed(changed: str, tmp_path: Path) -> None:
    module, trace, scenario = tmp_path / "module", tmp_path / "trace", tmp_path / "own.py"
    module.mkdir()
    source = module / "sch_own.c"
    for path in (source, trace, scenario):
        path.write_text("first")
    of_text = hashlib.sha256(b"first").hexdigest()[:12]
    words = [str(scenario), "--module", str(module)]
    known = record(
        words,
        tmp_path,
        module={str(module): outside.hash_of(module)},
        trace={str(trace): of_text},
        file=of_text,
    )
    (tmp_path / "run.json").write_text(json.dumps(known))
    assert not sweep.is_of_another_run(tmp_path, words)
    match changed:
        case "our modules":
            known["made_with"]["sources"] = "0123456789ab"
            (tmp_path / "run.json").write_text(json.dumps(known))
        case "removed":
            trace.unlink()
        case _:
            {"a module": source, "a trace": trace, "a scenario": scenario}[changed].write_text("2")
    assert sweep.is_of_another_run(tmp_path, words)


def test_finished_runs_of_the_same_files_are_kept(tmp_path: Path) -> None:
    """The record that the test above writes by hand is the one that a run writes."""
    args = argparse.Namespace(out=tmp_path, jobs=1, profile=None, resume=True)
    words = ["dumbbell", "--qdisc", "pfifo", "--set", "flows=1", "--set", "duration=1"]
    jobs = {"a": sweep_job.Job(words, "pfifo")}
    sweep.run(args, jobs)
    first = (tmp_path / "a" / "result.json").stat().st_mtime_ns
    sweep.run(args, jobs)
    assert (tmp_path / "a" / "result.json").stat().st_mtime_ns == first
    changed = json.loads((tmp_path / "a" / "run.json").read_text())
    changed["made_with"]["sources"] = "0123456789ab"
    (tmp_path / "a" / "run.json").write_text(json.dumps(changed))
    sweep.run(args, jobs)
    assert (tmp_path / "a" / "result.json").stat().st_mtime_ns > first
