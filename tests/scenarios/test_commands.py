# SPDX-License-Identifier: GPL-2.0
"""The command `aqm`: its help, the doctor, and files to start from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aqmlab import ROOT, doctor
from aqmlab.__main__ import COMMANDS
from aqmlab.run.execute import EDITION
from labkit import usage


def aqm(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "aqm", *words]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
        env={**os.environ, "COLUMNS": str(usage.COLUMNS)},
    )


def test_help_names_each_command_on_one_screen() -> None:
    done = aqm("--help")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    for name in COMMANDS:
        assert any(line.split()[:1] == [name] for line in lines), name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_fits_a_screen_and_has_an_example(name: str) -> None:
    done = aqm(name, "--help")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("usage: ")
    assert len(lines) <= usage.ROWS
    assert max(map(len, lines)) <= usage.COLUMNS
    if name != "doctor":  # it takes nothing
        assert any(line.startswith("example: ") for line in lines)


def test_a_typo_is_named() -> None:
    done = aqm("rum")
    assert done.returncode == 2
    assert 'no command "rum": did you mean run?' in done.stderr


def test_the_doctor_finds_this_machine_able() -> None:
    """The digest in digests.json is of this edition, so it must be renewed with it."""
    done = aqm("doctor")
    assert done.returncode == 0, done.stdout
    shown = {line[:20].strip(): line[20:].split()[0] for line in done.stdout.splitlines()}
    assert shown["machine"] == shown["memory"] == shown["a run"] == shown["its bytes"] == "ok"
    assert str(EDITION) in json.loads(doctor.DIGESTS.read_text())


def test_the_doctor_tells_other_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = json.loads(doctor.DIGESTS.read_text())[str(EDITION)]
    for text, good in (({}, None), (dict.fromkeys(known, "0" * 64), False)):
        (tmp_path / "digests.json").write_text(json.dumps({str(EDITION): text}))
        monkeypatch.setattr(doctor, "DIGESTS", tmp_path / "digests.json")
        assert [found[1] for found in doctor.trial()] == [True, good]


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("qdisc", "mineral2", ("--module", "mineral2", "--qdisc", "mineral2")),
        ("tcp", "ours", ("--module", "ours", "--set", "cc=ours", "--set", "tcp_profile=today")),
    ],
)
def test_a_new_module_runs(kind: str, name: str, words: tuple[str, ...], tmp_path: Path) -> None:
    done = aqm("new", kind, name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = aqm("run", "dumbbell", *words, "--set", "duration=2", "--out", "r", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert aqm("new", kind, name, cwd=tmp_path).returncode == 1


def test_a_new_scenario_is_listed_and_a_bad_name_refused(tmp_path: Path) -> None:
    assert aqm("new", "scenario", "street", cwd=tmp_path).returncode == 0
    assert 'Scenario(\n    "street",' in (tmp_path / "street.py").read_text()
    assert aqm("run", "./street.py", "--list", cwd=tmp_path).returncode == 0
    done = aqm("new", "scenario", "Main Street", cwd=tmp_path)
    assert done.returncode == 2
    assert "needs at most 15" in done.stderr


@pytest.mark.parametrize(
    ("kind", "name"),
    [("qdisc", "tdrr"), ("qdisc", "fq_codel"), ("tcp", "reno90"), ("scenario", "dumbbell")],
)
def test_a_new_file_has_no_name_of_the_labs(kind: str, name: str, tmp_path: Path) -> None:
    done = aqm("new", kind, name, cwd=tmp_path)
    assert done.returncode == 2
    assert f"there is a {kind} {name} already, choose another name" in done.stderr
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("aqm ", set(COMMANDS)),
        ("aqm re", {"report"}),
        ("aqm run du", {"dumbbell"}),
        ("aqm run dumbbell --qd", {"--qdisc"}),
        ("aqm run dumbbell --qdisc fq_c", {"fq_codel"}),
        ("aqm run dumbbell --set flow", {"flows="}),
        ("aqm new ", {"scenario", "qdisc", "tcp"}),
        ("aqm boot --fl", {"--flavour"}),
    ],
)
def test_a_shell_gets_completions(line: str, offered: set[str], tmp_path: Path) -> None:
    """argcomplete's protocol: the line in the environment, and answers in file 8 or a named one."""
    answers = tmp_path / "answers"
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
    asked |= {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(answers), "IFS": "\v"}
    asked |= {"_ARGCOMPLETE_IFS": "\v", "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}
    command = [sys.executable, "-P", "-m", "aqm"]
    subprocess.run(command, env={**os.environ, **asked}, cwd=ROOT, timeout=60, check=False)
    words = {word.strip() for word in answers.read_text().split("\v")}
    assert offered <= words
    if len(line.split()) > 1 and not line.endswith(" "):
        assert words == offered
