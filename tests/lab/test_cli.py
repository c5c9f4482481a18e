# SPDX-License-Identifier: GPL-2.0
"""Error messages and lists of lab/boot. No guest is booted."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit import cli, modules, records
from labkit.paths import ROOT
from labkit.request import Request

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]


def test_list_shows_all_kernels(call: Lab) -> None:
    done = call("--list")
    rows = done.stdout.decode().splitlines()
    assert done.returncode == 0
    for engine in ("uml", "qemu"):
        listed = [row.split()[1] for row in rows if row.split()[0] == engine]
        assert listed[: len(records.names(engine))] == list(records.names(engine))
    for word in ("fast", "kasan", "lockdep", "virtual", "wall"):
        assert word in done.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--kernel", "7.2"], 69, ["7.2", "nearest: 7."]),
        (["--engine", "umls"], 69, ["umls", "nearest: uml"]),
        (["--flavour", "kazan"], 69, ["nearest: kasan"]),
        (["--clock", "vritual"], 69, ["nearest: virtual"]),
        (["--flavour", "smp", "--clock", "virtual"], 69, ["smp", "no clock virtual, only wall"]),
        (["--flavour", "smp", "--kernel", "6.12"], 69, ["kernel 6.12", "no flavour smp"]),
        (["--engine", "qemu", "--flavour", "kasan"], 69, ["no flavour kasan, only fast"]),
        (["--seed", "-1"], 69, ["seed -1"]),
        (["--seed", "x"], 2, ["seed"]),
        (["--time-limit", "0"], 69, ["time limit"]),
        (["--icount"], 69, ["--engine qemu"]),
        (["--engine", "qemu", "--plugin", "x.so"], 69, ["--icount"]),
        (["--nics", "2"], 69, ["--engine qemu"]),
        (["--engine", "qemu", "--clock", "virtual", "--nics", "2"], 69, ["has no devices"]),
        (
            ["--engine", "qemu", "--clock", "virtual", "--record", "/tmp/x"],
            69,
            ["--record: not with"],
        ),
        (["--engine", "qemu", "--nics", "9"], 69, ["0 .. 8"]),
        (["--shell", "--engine", "qemu"], 69, ["--engine uml"]),
        (["--memory", "lots"], 69, ["512M"]),
        (["--share", "/nonexistent"], 69, ["--share /nonexistent: there is no such directory"]),
        (["--share", "/dev/null"], 69, ["--share /dev/null: there is no such directory"]),
        (["--no-such-option"], 2, ["--no-such-option"]),
    ],
)
def test_wrong_input(call: Lab, arguments: list[str], status: int, words: tuple[str, ...]) -> None:
    done = call(*arguments, "--", "true")
    assert done.returncode == status
    assert b"Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr.decode()


@pytest.mark.parametrize("command", [["lab/boot", "--list"], ["netns-scenarios/run", "--list"]])
def test_closed_pipe_causes_no_traceback(command: list[str]) -> None:
    listing = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert listing.stdout
    listing.stdout.close()
    _, said = listing.communicate(timeout=60)
    assert said == b""
    assert listing.returncode in (-signal.SIGPIPE, 128 + signal.SIGPIPE)


@pytest.mark.parametrize("reason", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_read_only_checkout_gives_an_error(
    reason: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(_request: Request) -> None:
        raise OSError(reason, os.strerror(reason), "/there/build/logs/boot.log")

    monkeypatch.setattr(cli.engines, "run", refused)
    assert cli.main(["--", "true"]) == 69
    said = capsys.readouterr().err
    assert f"cannot write to /there/build/logs/boot.log: {os.strerror(reason)}" in said
    assert "build/" in said


def test_build_products_are_not_sources() -> None:
    left = [ROOT / name for name in ("sch_left.mod.c", "lab/tcp/tcp_left.mod.c")]
    try:
        for path in left:
            path.touch()
        sources = modules.module_sources()
    finally:
        for path in left:
            path.unlink()
    assert ROOT / "sch_qsdrr.c" in sources
    assert not set(left) & set(sources)


def test_cleaning_the_cache_leaves_files_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LAB_CACHE may name any directory. docs/lab.md and docs/python.md list what is removed."""
    for name in ("dl", "apt", "src", "kernels", "stock", "results", "other"):
        (tmp_path / name / "entry").mkdir(parents=True)
    monkeypatch.setattr(cli, "CACHE", tmp_path)
    assert cli.main(["--clean-cache"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_missing_command_is_an_error(call: Lab) -> None:
    done = call()
    assert done.returncode == 2
    assert b"no command" in done.stderr
