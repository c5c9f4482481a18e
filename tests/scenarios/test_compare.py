# SPDX-License-Identifier: GPL-2.0
"""A comparison of one qdisc with others: verdicts, and what is refused before anything runs."""

from __future__ import annotations

import csv
import json
import math
import re
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aqmlab.compare import (
    command,
    demo,
    demo_workloads,
    regression,
    sweep_job,
    variants,
    verdicts,
    wanted,
    workload_sets,
)
from aqmlab.exceptions import UserError
from aqmlab.report.load_runs import Run, Section
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings
from labkit import trees
from labkit.request import Request, Result

ROOT = Path(__file__).resolve().parents[2]
#: A set with one workload, of a scenario with settings.
WHOLE = '[a]\nscenario = "{}"\nsettings = {{ {} }}\nbuffer = 50\nrate = 20\nrivals = ["pfifo"]\n'
SMALL = demo_workloads.Workload(
    "dumbbell",
    {"flows": 8, "rate": 20, "warmup": 1, "duration": 2, "probe": "on"},
    (50,),
    1514,
    20,
    demo_workloads.WORKLOADS["dumbbell"].rivals,
)


def result(seed: int, goodput: float, delay_ms: float) -> dict[str, Any]:
    return {
        "scenario": "dumbbell",
        "seed": seed,
        "parameters": {"mtu": 1500, "rate": 20.0},
        "groups": {"probe": {"delay_ms": {"p50": delay_ms, "p99": delay_ms}, "loss": 0.0}},
        "summary": {
            "goodput_bps": {"mean": goodput},
            "fair_share_bps": 1.0,
            "sd_over_fair_share": 0.5,
        },
    }


def words(mine: list[tuple[float, float]], other: list[tuple[float, float]]) -> dict[str, str]:
    """Verdicts by metric, of (goodput over fair share, delay in ms) under each seed."""
    section = Section(
        50,
        {
            name: [Run(Path(), result(seed, *one)) for seed, one in enumerate(several)]
            for name, several in (("mine", mine), ("other", other))
        },
    )
    return {one.column.title: one.word for one in verdicts.verdicts([section], ["mine"])}


@pytest.mark.parametrize(
    ("mine", "other", "goodput", "delay"),
    [
        # 20 % more of each: better for goodput, worse for delay.
        ([(0.6, 12.0)] * 3, [(0.5, 10.0)] * 3, "better", "worse"),
        ([(0.5, 10.0)] * 3, [(0.6, 12.0)] * 3, "worse", "better"),
        # 4 % is less than what counts.
        ([(0.52, 10.4)] * 3, [(0.5, 10.0)] * 3, "not distinguishable", "not distinguishable"),
        # Far more in the mean, and less under one of three seeds.
        (
            [(0.9, 30.0), (0.9, 30.0), (0.4, 9.0)],
            [(0.5, 10.0)] * 3,
            "not distinguishable",
            "not distinguishable",
        ),
        # Twice the delay, but by less than the 0.61 ms of a full packet at 20 Mb/s.
        ([(0.5, 0.4)] * 3, [(0.5, 0.2)] * 3, "not distinguishable", "not distinguishable"),
    ],
)
def test_a_verdict_needs_all_seeds_and_a_difference_that_counts(
    mine: list[tuple[float, float]],
    other: list[tuple[float, float]],
    goodput: str,
    delay: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wanted, "WORKLOADS", {"dumbbell": SMALL})
    found = words(mine, other)
    assert found["goodput / fair share, %"] == goodput
    assert found["probe delay p50, ms"] == found["probe delay p99, ms"] == delay
    assert found["sd / fair share, %"] == "not distinguishable"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--mine", "pfifoo limit 9"], 'no qdisc for --mine "pfifoo": did you mean pfifo'),
        (
            ["--mine", "pfifo limit {bufer}"],
            'no placeholder in --mine "bufer": did you mean buffer',
        ),
        (["--mine", "pfifo limit {buffer"], "expected '}'"),
        (["--mine", " "], "--mine: needs a kind"),
        (["--mine", "pfifo", "--against", "fq_codle"], 'no qdisc for --against "fq_codle"'),
        (
            ["--mine", "tdrr; filter parent 2: basic", "--against", "red; filter x, fq_codle; x"],
            'no qdisc for --against "fq_codle"',
        ),
        (["--mine", "pfifo", "--set", "limit=5"], "--mine has no {limit}"),
        (["--mine", "pfifo limit {limit}", "--set", "limit"], "needs NAME=VALUE"),
        (
            ["--mine", "pfifo", "--set", "cc=reno", "--set", "cc=bbr"],
            "cc is set before; give all values once: cc=reno,bbr",
        ),
        (["--mine", "pfifo", "--workload", "dumbell"], "did you mean dumbbell"),
        (["--mine", "pfifo", "--seeds", "1"], "an interval needs 2"),
        (["--mine", "pfifo", "--engine", "qemuu"], 'no engine "qemuu": did you mean qemu'),
        (["--mine", "pfifo", "--clock", "wall"], "--clock wall: compare runs in virtual time only"),
        (
            ["--mine", "pfifo", "--set", "cc=vgas,reno"],
            'no congestion control "vgas": did you mean',
        ),
        (["--mine", "pfifo", "--set", "cc=vegas,reno", "--against", "red"], "leave out --against"),
        (
            ["--mine", "pfifo", "--set", "flows=5", "--workload", "dumbbell", "--base", "x"],
            "--set flows: leave it out beside --base",
        ),
        (["--mine", "pfifo", "--set", "flows=5", "--workload", "web-mix"], 'no parameter "flows"'),
        (
            ["--mine", "pfifo", "--set", "rate=5", "--workload", "dumbbell"],
            "--set rate: options of the rivals follow from it",
        ),
        (["--mine", "pfifo", "--worse-than", "20"], "needs a percentage between 0 and 100"),
        (["--mine", "pfifo", "--metric", "probe.los"], 'no metric "probe.los": did you mean'),
        (["--mine", "pfifo", "--base", "/nonexistent"], "--base /nonexistent: has no run "),
        (["--mine", "mine", "--module", "/nonexistent"], "there is no such directory"),
    ],
)
def test_a_mistake_is_named_before_a_boot(
    given: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(wanted.engines, "run", lambda *_: pytest.fail("booted"))
    assert command.main([*given, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_wrong_option_is_named_before_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--mine", "fq_codel limt {buffer}", "--out", str(tmp_path / "out")]) == 2
    assert 'What is "limt"?' in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_each_workload_has_mainlines_baselines_unless_others_are_named() -> None:
    for workload in demo_workloads.WORKLOADS.values():
        usual = {one.name.split()[0] for one in wanted.others_in(workload, [])}
        assert {"pfifo", "red", "fq_codel", "cake", "dualpi2"} <= usual
        assert not usual & {path.stem.removeprefix("sch_") for path in ROOT.glob("sch_*.c")}
        named = wanted.others_in(workload, ["tdrr", "choke", "pfifo limit {buffer}"])
        assert [one.name for one in named] == ["tdrr", "choke", "pfifo limit {buffer}"]
        assert named[2].qdisc(7) == "pfifo limit 7"


@pytest.mark.parametrize("kernels", [[], ["a"], ["a", "b"]])
def test_engine_and_kernel_reach_every_run_and_the_check(
    kernels: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []
    jobs: dict[str, sweep_job.Job] = {}

    def boot(request: Request, **_: object) -> Result:
        asked.append(request)
        return Result(0, tmp_path)

    def run(
        _args: object, _prog: object, made: dict[str, sweep_job.Job], _about: object
    ) -> list[Section]:
        jobs.update(made)
        return []

    monkeypatch.setattr(wanted.engines, "run", boot)
    monkeypatch.setattr(demo, "run_and_report", run)
    given = [word for kernel in kernels for word in ("--kernel", kernel)]
    given += ["--mine", "pfifo", "--engine", "qemu", "--clock", "virtual"]
    given += [] if len(kernels) > 1 else ["--against", "pie"]
    command.main([*given, "--workload", "dumbbell", "--out", str(tmp_path)])
    assert {request.kernel for request in asked} == {*(kernels or [""])}
    assert {(request.engine, request.clock) for request in asked} == {("qemu", "virtual")}
    assert "/run/aqm/bin/tc qdisc del dev lo root" in asked[0].command[-1]
    found = {tuple(job.words[job.words.index("--engine") :][:4]) for job in jobs.values()}
    if kernels:
        assert found == {("--engine", "qemu", "--kernel", kernel) for kernel in kernels}
    several = ["kernel"] if len(kernels) > 1 else []
    assert all([*job.varied] == several for job in jobs.values())
    assert jobs
    assert all(job.words[job.words.index("--engine") + 1] == "qemu" for job in jobs.values())


def test_a_setting_makes_a_variant_of_each_value() -> None:
    given = variants.choices(["low=1,2", "high=8,9"])
    assert variants.lines("red min {low} max {high} limit {bytes}", given, "r") == {
        f"r low={low} high={high}": f"red min {low} max {high} limit {{bytes}}"
        for low in "12"
        for high in "89"
    }
    with pytest.raises(UserError, match="no placeholder"):
        variants.lines("red min {low}", {}, "r")


def test_a_setting_with_one_value_holds_for_mine_and_every_rival(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A person who shortens the runs still wants verdicts against the rivals."""
    seen: list[set[tuple[str, bool]]] = []
    titles: list[str] = []

    def stop(args: Any, what: str, jobs: Any, about: Any) -> None:
        seen.append({(job.name, "flows=7" in job.words) for job in jobs.values()})
        titles.extend(one["title"] for one in about.values())
        raise KeyboardInterrupt

    monkeypatch.setattr(wanted.engines, "run", lambda *_, **__: SimpleNamespace(status=0))
    monkeypatch.setattr(demo, "run_and_report", stop)
    for line in (["qsdrr limit 9"], ["qsdrr limit {n}", "--set", "n=8,9"]):
        words = ["--mine", *line, "--set", "flows=7", "--against", "fq_codel,cake"]
        with pytest.raises(KeyboardInterrupt):
            command.main([*words, "--workload", "dumbbell"])
    mine = ({"qsdrr (yours)"}, {"qsdrr (yours) n=8", "qsdrr (yours) n=9"})
    assert seen == [{(name, True) for name in names | {"fq_codel", "cake"}} for names in mine]
    assert titles == ["Ten packets of buffer per flow, flows=7"] * 2


def test_rfc_7928_is_a_set_of_workloads_that_run() -> None:
    """Names begin with a section of the RFC. Section 8.2.1 gives the numbers of flows."""
    found = workload_sets.load("rfc7928")
    for name, one in found.items():
        assert re.fullmatch(r"(4\.[45]|5\.[1-4]|6|7\.2|8\.2|9\.[12]|10)([.-].*)?", name)
        scenario = find(one.scenario)
        settings = resolve(
            scenario.params, [f"{key}={value}" for key, value in one.settings.items()]
        )
        recipe, facts = compose(
            scenario, Settings(settings, one.rivals[0].qdisc(one.buffers[0]), 1, "virtual")
        )
        assert recipe.flows
        assert facts.rate_bps == pytest.approx(1e6 * one.rate)
    bdp = round(10e6 * 0.1 / 8 / 1514)
    assert {found[name].buffers[0] for name in ("8.2.2", "8.2.3", "8.2.4")} == {bdp}
    for name, loss in (("8.2.2", 0.001), ("8.2.3", 0.005), ("8.2.4", 0.01)):
        assert found[name].settings["flows"] == round(2 * bdp * math.sqrt(loss / 0.76))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[a]\nscenario = "dumbbell"\nsettings = {}\n', "a: needs buffer, rate"),
        ('[a]\nscenario = "dumbbell"\n', "a: needs buffer, rate"),
        ('title = "mine"\n', "title = 'mine': a workload is a table"),
        ("defaults = 5\n", "defaults = 5: a workload is a table"),
        ('[a]\nbuffer = "50"\n', "a: buffer = '50': needs a whole number"),
        ("[a]\nrate = [5, 20]\n", "a: rate = .5, 20.: needs a whole number; only settings can be"),
        ('[a]\nsettings = "flows=4"\n', "a: settings = 'flows=4': needs a table"),
        ("[defaults]\nrate = true\n", "defaults: rate = True: needs a whole number"),
        (WHOLE.format("./missing.py", ""), "a: scenario .*missing.py: No such file"),
        (WHOLE.format("dumbell", ""), 'a: no scenario "dumbell": did you mean dumbbell'),
        (WHOLE.format("dumbbell", "flow = 4"), 'a: no parameter "flow"'),
        (WHOLE.format("web-mix", "web_start = 500"), "a: web_start: 500 s given"),
        (WHOLE.format("dumbbell", "rate = 5"), "a: rate stands beside settings"),
        (WHOLE.format("dumbbell", "flows = []"), r"a: flows = \[\]: needs one value or more"),
        (WHOLE.format("dumbbell", "flows = [4, 0]"), "a flows=0: flows: "),
        ('[a]\nscenari = "dumbbell"\nsettings = {}\n', 'no key in .* "scenari"'),
        ("[a", "Expected"),
        (None, "No such file"),
    ],
)
def test_a_wrong_file_of_workloads_is_refused(text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "set.toml").write_text(text)
    with pytest.raises(UserError, match=said):
        workload_sets.load(str(tmp_path / "set.toml"))
    with pytest.raises(UserError, match='no set of workloads "rfc7982"'):
        workload_sets.load("rfc7982")


def test_paths_in_a_file_of_workloads_count_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs start in another directory, so the paths are absolute."""
    (tmp_path / "sets").mkdir()
    scenario = ROOT / "netns-scenarios" / "scenarios" / "dumbbell.py"
    (tmp_path / "sets" / "mine.py").write_text(scenario.read_text())
    (tmp_path / "link").write_text("time_s,rate_mbps\n0,10\n1,30\n2,0\n")
    (tmp_path / "sets" / "mine.toml").write_text(WHOLE.format("mine.py", 'trace = "../link"'))
    monkeypatch.chdir(tmp_path)
    (made,) = workload_sets.load("./sets/mine.toml").values()
    assert made.scenario == str(tmp_path / "sets" / "mine.py")
    assert made.settings["trace"] == str(tmp_path / "link")


def test_a_list_in_a_file_of_workloads_is_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "set.toml").write_text(
        WHOLE.format("dumbbell", "flows = [2, 20], rtt = [10, 100], warmup = 1")
        + 'title = "Load"\n[b]\nscenario = "dumbbell"\nsettings = {}\nbuffer = 9\nrate = 20\n'
    )
    made = workload_sets.load(str(tmp_path / "set.toml"))
    assert [*made] == [*(f"a flows={n} rtt={ms}" for n in (2, 20) for ms in (10, 100)), "b"]
    for name, flows, rtt in (("a flows=2 rtt=100", 2, 100), ("a flows=20 rtt=10", 20, 10)):
        settings = made[name].settings
        assert (settings["flows"], settings["rtt"], settings["warmup"]) == (flows, rtt, 1)
        assert made[name].title == f"Load, flows={flows} rtt={rtt}"


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    """1 MB per round trip of 50 ms is a sixth of this link, so the window limits the flow."""
    (tmp_path / "slow.toml").write_text(
        WHOLE.format("dumbbell", "flows = 1, access = 0, warmup = 1, duration = 1")
        .replace("rate = 20", "rate = 1000")
        .replace("buffer = 50", "buffer = 10000")
    )
    done = subprocess.run(
        [
            ROOT / "netns-scenarios" / "compare",
            "--mine",
            "pfifo limit {buffer}",
            "--against",
            "fq_codel",
            "--seeds",
            "2",
            "--workloads",
            "slow.toml",
            "--out",
            tmp_path / "out",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    said = done.stderr[done.stderr.index("compare: ") :]
    assert said.startswith("compare: 4 of 4 runs failed, a-pfifo-yours-10000-1 first: ")
    assert "flow 0 by its receiver's window" in said
    assert (tmp_path / "out" / "sweep.log").read_text().count("flow 0 by its receiver's") == 4


def test_trace_replaces_the_rate_of_a_workload(tmp_path: Path) -> None:
    (tmp_path / "link").write_text("time_s,rate_mbps\n0,10\n1,30\n2,0\n")
    made = workload_sets.with_trace(SMALL, str(tmp_path / "link"))
    kept = {word: value for word, value in SMALL.settings.items() if word != "rate"}
    assert made.settings == {**kept, "trace": str(tmp_path / "link")}
    assert made.rate == 20


def compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *given: str, status: int = 0
) -> list[dict[str, str]]:
    monkeypatch.setattr(wanted, "WORKLOADS", {"dumbbell": SMALL})
    assert command.main([*given, "--out", str(tmp_path)]) == status
    assert (tmp_path / "report.html").exists()
    with (tmp_path / "verdicts.csv").open() as file:
        return list(csv.DictReader(file))


def test_pfifo_equals_itself_and_a_long_one_delays_more_than_fq_codel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = compared(
        tmp_path,
        monkeypatch,
        "--mine",
        "pfifo limit {size}",
        "--set",
        "size=50,1000",
        "--against",
        "pfifo,fq_codel",
        "--name",
        "fifo",
    )
    by_pair: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        by_pair.setdefault((row["mine"], row["other"]), {})[row["metric"]] = row["verdict"]
    assert by_pair.keys() == {
        (f"fifo size={size}", other) for size in ("50", "1000") for other in ("pfifo", "fq_codel")
    }
    assert set(by_pair["fifo size=50", "pfifo"].values()) == {"not distinguishable"}
    assert by_pair["fifo size=1000", "fq_codel"]["probe delay p50, ms"] == "worse"
    assert by_pair["fifo size=1000", "fq_codel"]["probe delay p99, ms"] == "worse"
    assert "fifo size=50 than pfifo" in capsys.readouterr().out


def test_a_copy_of_pfifo_in_a_module_is_not_distinguishable_from_pfifo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = compared(
        tmp_path,
        monkeypatch,
        "--mine",
        "mine 1 u32 {buffer}",
        "--module",
        str(ROOT / "docs" / "your-own"),
        "--against",
        "pfifo",
        "--seeds",
        "2",
    )
    assert {row["verdict"] for row in rows} == {"not distinguishable"}
    assert all(row["mean"] == row["other_mean"] for row in rows)
    assert len(rows) == 5


def test_paths_in_options_count_from_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run has another directory than the command, and did not find the file."""
    monkeypatch.chdir(tmp_path)
    for name in ("up", "bzImage"):
        Path(name).write_text("1\n2\n")
    changed = variants.for_all(SMALL, variants.split("pfifo", ["trace_back=up"])[2], ())
    assert changed.settings["trace_back"] == str(tmp_path / "up")
    assert trees.named("./bzImage") == str(tmp_path / "bzImage")
    assert trees.named("6.12") == "6.12"
    with pytest.raises(UserError, match="cc is set before; give all values once: cc=reno,bbr"):
        variants.choices(["cc=reno", "cc=bbr"])


def test_values_of_a_parameter_are_compared_with_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 flows with half of 8 kB per 50 ms send 5.1 of 20 Mb/s, so nothing waits."""
    rows = compared(
        tmp_path, monkeypatch, "--mine", "pfifo limit 100", "--set", "window=8,2000", "--seeds", "2"
    )
    assert {(row["mine"], row["other"]) for row in rows} == {
        ("pfifo (yours) window=8", "pfifo (yours) window=2000")
    }
    means = {row["metric"]: (float(row["mean"]), float(row["other_mean"])) for row in rows}
    small, large = means["goodput / fair share, %"]
    assert small <= 100 * 5.12 / 20 * 1514 / 1460 < large
    small, large = means["probe delay p50, ms"]
    assert small < 1 < large
    used = {
        path.parent.name: json.loads(path.read_text())["parameters"]["window"]
        for path in tmp_path.glob("*/result.json")
    }
    assert len(used) == 4
    assert all(f"window={window}-" in name for name, window in used.items())


def test_a_version_that_is_worse_than_its_base_has_an_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second version differs by nothing, and the third has a much longer queue."""
    monkeypatch.setattr(wanted, "WORKLOADS", {"dumbbell": SMALL})
    base = str(tmp_path / "base")
    words = ("--seeds", "2", "--mine")
    assert command.main([*words, "pfifo limit 20", "--against", "pfifo", "--out", base]) == 0
    check = ("--base", base, "--worse-than", "20%", *words)
    for limit, status, failures in ((20, 0, 0), (200, 3, 1)):
        out = tmp_path / str(limit)
        assert command.main([*check, f"pfifo limit {limit}", "--out", str(out)]) == status
        suite = ET.parse(out / "junit.xml").getroot()
        assert int(suite.get("tests", 0)) >= 5
        failed = [case.get("name") for case in suite if case.find("failure") is not None]
        assert len(failed) == int(suite.get("failures", 0)) >= failures
        assert ("probe delay p99, ms: pfifo (yours) beside base" in failed) == bool(status)
        (told,) = json.loads((out / "compare.sarif").read_text())["runs"]
        errors = [one for one in told["results"] if one["level"] == "error"]
        assert [f"{one['ruleId']}: pfifo (yours) beside base" for one in errors] == failed
        assert {one["ruleId"] for one in told["results"]} == {
            rule["id"] for rule in told["tool"]["driver"]["rules"]
        }
    said = capsys.readouterr().err
    assert "probe delay p99, ms of pfifo (yours) is more than 20 % worse than of base: " in said
    other = replace(SMALL, settings={**SMALL.settings, "flows": 9})
    monkeypatch.setattr(wanted, "WORKLOADS", {"dumbbell": other})
    assert command.main([*check, "pfifo limit 20", "--out", str(tmp_path / "other")]) == 2
    assert "has flows=8, and this comparison flows=9" in capsys.readouterr().err


def judged(mine: list[float], other: list[float], most: float) -> list[tuple[bool, bool]]:
    section = Section(
        50,
        {
            name: [Run(Path(), result(seed, goodput, 10.0)) for seed, goodput in enumerate(several)]
            for name, several in (("mine", mine), ("other", other))
        },
    )
    found = regression.judge([section], verdicts.METRICS, ["mine"], most)
    return [(one.worse, one.perhaps) for one in found if one.column.title.startswith("goodput")]


@pytest.mark.parametrize(
    ("mine", "worse", "perhaps"),
    [
        ([0.39, 0.78], True, False),
        ([0.41, 0.81], False, False),
        ([0.6, 1.2], False, False),
        # Far less than 80 % under one seed only.
        ([0.1, 0.99], False, True),
    ],
)
def test_more_goodput_is_better_and_each_seed_is_compared_with_its_own(
    mine: list[float], worse: bool, perhaps: bool
) -> None:
    assert judged(mine, [0.5, 1.0], 0.2) == [(worse, perhaps)]


def test_a_named_metric_is_the_only_one_that_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A queue of 200 packets at 20 Mb/s is ten times as long as one of 20."""
    words = ("--against", "pfifo limit 20", "--metric", "probe.delay_ms.p99", "--seeds", "2")
    more = ("--mine", "pfifo limit 200", "--name", "long", "--worse-than", "50%")
    rows = compared(tmp_path, monkeypatch, *more, *words, status=command.WORSE_THAN)
    assert [(row["metric"], row["verdict"]) for row in rows] == [
        ("probe.delay_ms.p99, ms", "worse")
    ]
    assert float(rows[0]["mean"]) > 5 * float(rows[0]["other_mean"])
    assert len(ET.parse(tmp_path / "junit.xml").getroot()) == 1
    assert "probe delay p50" not in capsys.readouterr().out


def test_a_metric_of_a_group_that_no_run_has_is_refused() -> None:
    sections = [Section(50, {"mine": [Run(Path(), result(1, 0.5, 1.0))]})]
    verdicts.measured(sections, [verdicts.metric("probe.loss")])
    with pytest.raises(UserError, match=r"calls\.loss: no run has it; the groups are probe"):
        verdicts.measured(sections, [verdicts.metric("calls.loss")])


def test_metrics_of_the_queue_and_of_tcp_have_the_options_that_they_need() -> None:
    names = ["calls.sojourn_ms.p99", "down.tcp.srtt_ms.mean", "probe.loss", "down.sojourn_ms.p50"]
    assert verdicts.options(names) == ["--sojourn", "--tcp-state"]
    assert verdicts.options(["probe delay p99", "videos.video.rate_bps"]) == []


def test_time_in_the_queue_is_what_tcp_measures_in_addition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--against", "pfifo limit 20", "--seeds", "2", "--mine", "pfifo limit 200")
    metrics = ("--metric", "all.sojourn_ms.mean", "--metric", "all.tcp.srtt_ms.mean")
    rows = {row["metric"]: row for row in compared(tmp_path, monkeypatch, *words, *metrics)}
    stay, rtt = rows["all.sojourn_ms.mean, ms"], rows["all.tcp.srtt_ms.mean, ms"]
    assert stay["verdict"] == rtt["verdict"] == "worse"
    longer = float(stay["mean"]) - float(stay["other_mean"])
    assert longer > 30
    assert float(rtt["mean"]) - float(rtt["other_mean"]) == pytest.approx(longer, rel=0.25)


def test_a_discipline_without_a_named_metric_is_named() -> None:
    """If it were left out in silence, a change could pass because its metric is unknown."""
    runs = {
        name: [Run(Path(), {**result(1, 0.5, 1.0), "groups": {"web": {"completion_s": taken}}})]
        for name, taken in (("mine", {"p99": None}), ("base", {"p99": 0.5}))
    }
    column = verdicts.metric("web.completion_s.p99")
    said = [*verdicts.missing([Section(50, runs)], [column])]
    assert len(said) == 1
    assert "mine has no web.completion_s.p99" in said[0]
    assert not [*verdicts.missing([Section(50, runs)], [verdicts.metric("calls.loss")])]
