# SPDX-License-Identifier: GPL-2.0
"""Directories of runs: how they become results, and what a failed run leaves. Boots nothing."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from aqmlab import ROOT, run_command
from aqmlab.exceptions import UserError
from aqmlab.run import (
    arguments,
    congestion_control,
    execute,
    host_requirements,
    programs,
    run_directory,
)
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find, find_all
from aqmlab.run.settings import Settings
from aqmlab.run_command import main
from labkit.request import Request

ASKED: dict[str, Any] = {
    "scenario": "dumbbell",
    "qdisc": "qsdrr",
    "seed": 1,
    "clock": "virtual",
    "parameters": {"cc": "auto"},
}


def make(directory: Path, text: str = "{}", asked: dict[str, Any] = ASKED) -> None:
    """Write a run that succeeds."""
    with run_directory.claimed(directory, asked) as place:
        (place.directory / "run.json").write_text(json.dumps(asked))
        (place.directory / "result.json").write_text(text)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_result_appears_only_when_complete(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "r"
    with run_directory.claimed(out, ASKED) as place:
        (place.directory / "result.json").write_text("{}")
        assert not out.exists()
        assert place.directory == tmp_path / "deep" / "r.incomplete"
        assert not run_directory.is_complete(place.directory)
    assert run_directory.is_complete(out)
    assert names(out.parent) == ["r"]


def test_repeated_run_replaces_a_complete_result(tmp_path: Path) -> None:
    out = tmp_path / "r"
    make(out, "1")
    (out / "queue.csv").touch()
    with run_directory.claimed(out, ASKED) as place:
        (place.directory / "run.json").write_text(json.dumps(ASKED))
        (place.directory / "result.json").write_text("2")
        assert (out / "result.json").read_text() == "1"
    assert (out / "result.json").read_text() == "2"
    assert names(out) == ["log", "result.json", "run.json"]


def fail(directory: Path, begun: bool) -> None:
    """Write a run that fails. begun: whether its traffic had started"""
    with run_directory.claimed(directory, ASKED) as place:
        if begun:
            (place.directory / "queue.csv").touch()
        raise ZeroDivisionError


def test_failed_run_keeps_an_earlier_result_and_its_own_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, work = tmp_path / "r", tmp_path / "r.incomplete"
    make(out, "1")
    for begun in (True, False):
        with pytest.raises(ZeroDivisionError):
            fail(out, begun)
        assert (out / "result.json").read_text() == "1"
        assert work.exists() == begun
        assert (str(work) in capsys.readouterr().err) == begun
    make(out, "2")
    assert names(tmp_path) == ["r"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parameters": {"cc": "cubic"}}, "cc is cubic, not auto"),
        ({"seed": 2}, "seed is 2, not 1"),
        ({"qdisc": "red"}, "qdisc is red, not qsdrr"),
        ({"qdisc": ""}, "qdisc is not given, not qsdrr"),
    ],
)
def test_result_with_other_settings_is_never_replaced(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    out = tmp_path / "r"
    make(out, "1", ASKED | change)
    with (
        pytest.raises(UserError, match=re.escape(f"another run ({said})")),
        run_directory.claimed(out, ASKED),
    ):
        pass
    assert (out / "result.json").read_text() == "1"
    assert names(tmp_path) == ["r"]


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "r"
    for place in (out, tmp_path / "r.incomplete"):
        place.mkdir()
        (place / "thesis.tex").touch()
        with (
            pytest.raises(UserError, match=r"holds thesis\.tex"),
            run_directory.claimed(out, ASKED),
        ):
            pass
        assert names(place) == ["thesis.tex"]
        (place / "thesis.tex").unlink()


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("/proc/x", "No such file or directory"),
        ("/dev/null", "is not a directory"),
        ("/proc", "mount point"),
        ("/dev/null/x", "Not a directory"),
        ("x.incomplete", "not whole"),
    ],
)
def test_impossible_directory_is_refused(out: str, said: str) -> None:
    with pytest.raises(UserError, match=f"--out .*{said}"), run_directory.claimed(Path(out), ASKED):
        pass


def hold(out: Path, ready: Any, go_on: Any) -> None:
    with run_directory.claimed(out, ASKED) as place:
        (place.directory / "result.json").write_text("first")
        ready.set()
        go_on.wait(60)


def test_the_second_run_into_a_directory_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "r"
    ready, go_on = multiprocessing.Event(), multiprocessing.Event()
    first = multiprocessing.Process(target=hold, args=(out, ready, go_on))
    first.start()
    try:
        assert ready.wait(60)
        for asked in (ASKED, ASKED | {"seed": 2}):
            with (
                pytest.raises(UserError, match="another run is going on there"),
                run_directory.claimed(out, asked),
            ):
                pass
    finally:
        go_on.set()
        first.join(60)
    assert (out / "result.json").read_text() == "first"
    assert names(tmp_path) == ["r"]


def race(out: Path, number: int) -> None:
    asked = ASKED | {"seed": number}
    for _ in range(50):
        # Refused, because another run uses the directory.
        with contextlib.suppress(UserError):
            make(out / str(number % 2), f"{number}", asked)


def test_runs_that_race_for_a_directory_never_mix(tmp_path: Path) -> None:
    several = [multiprocessing.Process(target=race, args=(tmp_path, n)) for n in (1, 2, 3, 4)]
    for one in several:
        one.start()
    for one in several:
        one.join(60)
        assert one.exitcode == 0
    assert names(tmp_path) == ["0", "1"]
    for out in tmp_path.iterdir():
        assert json.loads((out / "run.json").read_text())["seed"] == int(
            (out / "result.json").read_text()
        )


def name_of(*words: str) -> str:
    args = arguments.parser().parse_args(["dumbbell", *words])
    found = find("dumbbell")
    settings = Settings(
        resolve(found.params, args.set),
        (args.qdisc or [arguments.QDISC])[0],
        args.seed,
        args.clock or ("wall" if args.here else "virtual"),
    )
    recipe, _ = compose(found, settings)
    asked = run_command._asked(args, found, settings, recipe)
    return run_command.default_out(found, asked).name


def test_each_setting_is_in_the_default_name() -> None:
    assert name_of("--qdisc", "qsdrr") == "dumbbell-qsdrr-1"
    assert name_of("--qdisc", "qsdrr", "--set", "cc=cubic") == "dumbbell-qsdrr-cc=cubic-1"
    assert name_of(
        "--qdisc",
        "red limit 9",
        "--set",
        "rate=0.5",
        "--set",
        "flows=100",
        "--clock",
        "wall",
        "--kernel",
        "6.12",
        "--seed",
        "7",
    ) == ("dumbbell-red-limit-9-rate=0.5-clock=wall-kernel=6.12-7")
    several = [
        (),
        ("--set", "flows=5"),
        ("--set", "rate=5"),
        ("--seed", "5"),
        ("--here",),
        ("--clock", "wall"),
        ("--flavour", "kasan"),
        ("--engine", "qemu"),
        ("--qdisc", "htb; class a"),
        ("--qdisc", "htb class a"),
        ("--qdisc", "htb ;class a"),
    ]
    assert len({name_of(*words) for words in several}) == len(several)


def test_long_names_are_cut_and_still_differ() -> None:
    long = "htb default 1; " + "class parent 2: classid 2:1 htb rate 1mbit; " * 9
    one, two = name_of("--qdisc", long + "class a"), name_of("--qdisc", long + "class b")
    assert one != two
    assert one.startswith("dumbbell-htb-default-1-class-parent-2")
    assert len(one) < 200


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "cc=cubicc"], "did you mean cubic"),
        (["--set", "cc=reno09"], "reno90"),
        (["--kernel", "7.33"], "no kernel '7.33'; nearest: 7.3"),
        (["--engine", "qmu"], "nearest: qemu"),
        (["--flavour", "kazan"], "nearest: kasan"),
        (["--engine", "qemu", "--qdisc", "tdrr"], "boots this kernel with its own modules only"),
        (["--out", "/proc/x"], "--out /proc/x: No such file or directory"),
    ],
)
def test_typos_are_found_before_a_directory_or_a_boot(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(run_command, "OUT", tmp_path / "out")
    assert main(["dumbbell", *words]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_every_scenario_has_congestion_controls_that_exist() -> None:
    for name, found in find_all().items():
        executed = programs.parse(["client: true"] if name == "programs" else [])
        for era in ("2001", "today"):
            settings = Settings(
                resolve(found.params, ["probe=on", f"era={era}"]), "pfifo", 1, "virtual"
            )
            recipe, _ = compose(found, settings, executed)
            congestion_control.check(recipe, here=False)


def test_congestion_control_of_a_bully_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bully", "--set", "bully=bbbr"]) == 2
    assert "did you mean bbr" in capsys.readouterr().err


def test_list_of_one_scenario_shows_only_that_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["incast", "--list"]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [line.partition(":")[0] for line in heads] == ["incast"]
    assert main(["incst", "--list"]) == 2
    assert "did you mean incast" in capsys.readouterr().err


def test_all_missing_requirements_are_listed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_requirements, "SEARCH", "/nonexistent")
    found = find("dumbbell")
    settings = Settings(resolve(found.params, ["generator=iperf3"]), "qsdrr", 1, "wall")
    recipe, _ = compose(found, settings)
    with pytest.raises(UserError) as error:
        host_requirements.check(recipe)
    for name in ("ip: apt", "tc: apt", "conduct: make tools", "flowgen: make tools", "iperf3: apt"):
        assert f"\n  {name}" in str(error.value)


def test_all_missing_qdiscs_are_listed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_requirements, "_kind_is_missing", lambda _options: True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = find("dumbbell")
    for qdisc, remedy in (
        ("qsdrr limit 9", "qsdrr: qsdrr is not installed on this machine"),
        ("qsdr", 'qsdr: no qdisc "qsdr": did you mean qsdrr'),
        ("fq_coddel", 'no qdisc "fq_coddel": did you mean fq_codel'),
    ):
        settings = Settings(resolve(found.params, []), qdisc, 1, "wall")
        recipe, _ = compose(found, settings)
        with pytest.raises(UserError) as error:
            host_requirements.check(recipe)
        for said in (
            remedy,
            "fq: the kernel has not loaded fq: modprobe sch_fq",
            "modprobe sch_tbf",
            "modprobe sch_netem",
        ):
            assert said in str(error.value)


def test_reason_is_printed_when_the_disk_is_full() -> None:
    with Path("/dev/full").open("ab", buffering=0) as full:
        argv = ["sh", "-c", "echo one; echo queue.csv: No space left on device >&2; exit 3"]
        for status, said in (
            execute._here(argv, execute._Log(full)),
            execute._in_lab(Request(argv), execute._Log(full))[:2],
        ):
            assert (status, said) == (3, "one\nqueue.csv: No space left on device")


# A program that starts another one, as `run` does, and prints its process number.
PARENT = """
import sys
from pathlib import Path
from aqmlab.run import execute
with Path(sys.argv[1]).open("ab", buffering=0) as log:
    execute._here(["sh", "-c", sys.argv[2]], execute._Log(log))
"""


def test_children_end_with_the_run_even_after_sigkill(tmp_path: Path) -> None:
    log, ended = tmp_path / "log", tmp_path / "ended"
    script = f"trap 'echo > {ended}; exit' TERM; echo $$; while :; do sleep 0.05; done"
    parent = subprocess.Popen([ROOT / "lab" / "python", "-c", PARENT, log, script])
    until = time.monotonic() + 60
    while not (log.exists() and log.read_text().endswith("\n")):
        assert time.monotonic() < until
        time.sleep(0.02)
    child = int(log.read_text())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    while Path(f"/proc/{child}").exists() and not ended.exists():
        assert time.monotonic() < until, "it goes on"
        time.sleep(0.02)
    assert ended.exists()
