# SPDX-License-Identifier: GPL-2.0
"""Short runs in the lab, end to end."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from labkit.engines import default_kernel
from labkit.kernels import ensure_uml
from labkit.modules import ensure_modules
from labkit.toolchain import compiler
from tests.scenarios.shortrun import (
    DUMBBELL,
    LOGS,
    ROOT,
    RUN,
    copied,
    result,
    run,
    run_copy,
)

# fq forgets idle flows of web clients in the order of their sockets' addresses: do_sockets in
# lab/src/init.c.
WEB = (
    "web-mix",
    "--set",
    "clients=200",
    "--set",
    "think=5",
    "--set",
    "web_start=1",
    "--set",
    "warmup=5",
    "--set",
    "duration=20",
)


def elsewhere(tmp_path: Path, *words: str, scenario: Sequence[str]) -> Path:
    """Run a copy of the checkout in a deeper directory, and return the directory of the result.

    The interpreter has another path, too.
    """
    deep = tmp_path.joinpath(*["a-deeper-folder-than-the-other"] * 5)
    checkout, out = copied(deep), deep / "out"
    python = checkout / "python"
    shutil.copy(Path(sys.executable).resolve(), python)
    run_copy(checkout, out, python, *words, scenario=scenario)
    return out


@pytest.mark.parametrize(
    ("scenario", "qdisc"),
    [(DUMBBELL, "qsdrr limit 50"), (WEB, "redtail")],
    ids=["dumbbell", "web-mix"],
)
def test_same_seed_gives_the_same_bytes_in_another_place(
    tmp_path: Path, scenario: Sequence[str], qdisc: str
) -> None:
    words = ("--seed", "7", "--qdisc", qdisc)
    first = result(tmp_path / "a", *words, scenario=scenario)
    there = elsewhere(tmp_path, *words, scenario=scenario)
    again = json.loads((there / "result.json").read_text())
    other = result(tmp_path / "c", "--seed", "8", "--qdisc", qdisc, scenario=scenario)
    same = ("image", "kernel", "flavour", "seed", "clock")
    assert [first["provenance"]["lab"][key] for key in same] == [
        again["provenance"]["lab"][key] for key in same
    ]
    assert first["provenance"]["modules"] == again["provenance"]["modules"]
    assert first["digest"] == again["digest"]
    assert first["summary"] == again["summary"]
    for log in LOGS:
        assert (tmp_path / "a" / log).read_bytes() == (there / log).read_bytes(), log
    assert first["digest"] != other["digest"]


def test_result_has_provenance(tmp_path: Path) -> None:
    made = result(tmp_path / "r", "--qdisc", "qsdrr limit 50")["provenance"]
    said = subprocess.run([ROOT / "tools" / "version"], capture_output=True, text=True, check=True)
    assert made["version"] == said.stdout.strip()
    assert made["argv"][1] == "dumbbell"
    assert made["argv"][made["argv"].index("--out") + 1] == str(tmp_path / "r")
    assert made["machine"]["kernel"] == os.uname().release
    assert made["machine"]["processor"] in Path("/proc/cpuinfo").read_text()
    lab = {
        "engine": "uml",
        "kernel": default_kernel(),
        "flavour": "fast",
        "clock": "virtual",
        "seed": "1",
    }
    assert made["lab"].items() >= lab.items()
    kernel = ensure_uml(default_kernel(), "fast")
    assert made["lab"]["image"] == hashlib.sha256(kernel.image.read_bytes()).hexdigest()
    assert kernel.release in made["build"]
    built = ensure_modules(kernel)
    assert made["modules"] == {
        name: subprocess.run(
            ["modinfo", "-F", "srcversion", next(built.rglob(f"{name}.ko"))],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for name in ("sch_aqm", "sch_qsdrr")
    }
    assert made["compiler"] == compiler()
    assert made["tc"].startswith("tc utility, iproute2-")


def test_metrics_of_a_run_are_consistent(tmp_path: Path) -> None:
    # Without SACK one loss per round trip is repaired, and later data counts only after that.
    r = result(tmp_path / "r", "--qdisc", "pfifo limit 50", "--set", "warmup=6")
    s = r["summary"]
    # Ten flows with 10 Mb/s each must fill 50 Mb/s. Goodput equals utilization, except for packets
    # in flight at both ends of the measured time.
    assert 0.8 < s["utilization"] <= 1.001
    carried = s["goodput_bps"]["mean"] * 10 / (50e6 * 1460 / 1514)
    assert carried == pytest.approx(s["utilization"], abs=0.06)
    assert s["queue_packets"]["max"] <= 51
    assert s["dropped"] > 0
    # 51 packets of 1514 bytes at 50 Mb/s
    assert 0 < s["queue_delay_ms"]["p99"] <= 12.36
    assert r["groups"]["all"]["flows"] == 10
    queue = (tmp_path / "r" / "queue.csv").read_text().splitlines()
    assert len(queue) == 1 + 801


def test_access_links_limit_each_source(tmp_path: Path) -> None:
    s = result(tmp_path / "r", "--set", "rate=500", "--qdisc", "pfifo limit 1000")["summary"]
    assert s["goodput_bps"]["max"] <= 10e6 * 1460 / 1514 * 1.001
    assert s["goodput_bps"]["min"] > 0.9 * 10e6 * 1460 / 1514
    assert s["queue_packets"]["max"] <= 10


@pytest.mark.parametrize(
    "words",
    [
        ("--set", "era=today", "--set", "ecn=on", "--qdisc", "fq_codel limit 1000"),
        ("--set", "ip=6"),
        ("--set", "cc=bbr", "--set", "era=today"),
    ],
)
def test_other_transports(tmp_path: Path, words: tuple[str, ...]) -> None:
    s = result(tmp_path / "r", *words)["summary"]
    assert s["goodput_bps"]["min"] > 0
    assert s["utilization"] > 0.7
    if "ecn=on" in words:
        assert s["marked"] > 0
        assert s["dropped"] == 0


def test_mistake_in_the_discipline(tmp_path: Path) -> None:
    done = run(tmp_path / "r", "--qdisc", "qsdr limit 3")
    assert done.returncode == 1
    assert 'no qdisc "qsdr": did you mean qsdrr' in done.stderr
    assert "modprobe" not in done.stderr  # useless in the lab
    # Nothing has run, so no directory is left.
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_run_is_marked_and_gone(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "r"
    child = subprocess.Popen(
        [RUN, "dumbbell", "--out", out, "--set", "duration=3000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 120
    work = tmp_path / "r.incomplete"
    while not (work / "progress.csv").exists():
        assert time.monotonic() < end, "the run did not start"
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.05)
    mine = descendants(child.pid)
    assert any("linux" in name for name in mine.values()), mine
    refused = run(out)
    assert refused.returncode == 2
    assert "another run is going on there" in refused.stderr
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    if number == signal.SIGKILL:
        # Its children end without anybody waiting for them.
        while any(alive(pid) for pid in mine):
            assert time.monotonic() < end, [mine[pid] for pid in mine if alive(pid)]
            time.sleep(0.05)
    else:
        assert child.returncode == 130
        assert "interrupted" in said
        assert str(work) in said
    assert [path.name for path in tmp_path.iterdir()] == [work.name]
    assert not (work / "result.json").exists()
    assert not [pid for pid in mine if alive(pid)]


def alive(pid: int) -> bool:
    """Return whether a process runs. A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(ancestor: int) -> dict[int, str]:
    """Return the names of all descendants of a process, by process number."""
    below: dict[int, str] = {}
    parents = {ancestor}
    found = [p.name for p in Path("/proc").iterdir() if p.name.isdigit()]
    for pid in sorted(map(int, found)):
        try:
            name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) in parents:
            parents.add(pid)
            below[pid] = name.partition("(")[2]
    return below


def test_here_as_root_of_a_wall_clock_guest() -> None:
    """A guest of the lab serves as a machine with the modules. Nothing may be left there."""
    out = ROOT / "build" / f"here-test-{os.getpid()}"
    script = (
        f"{RUN} dumbbell --here --out {out} --qdisc 'qsdrr limit 50' --set flows=4 --set rate=10 "
        '--set warmup=0.5 --set duration=1.5 && test -z "$(ip netns list)"'
    )
    try:
        done = subprocess.run(
            [ROOT / "lab" / "boot", "--clock", "wall", "--", "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        r = json.loads((out / "result.json").read_text())
        assert r["clock"] == "wall"
        assert r["summary"]["utilization"] > 0.5
    finally:
        subprocess.run(["rm", "-rf", out], check=True)


def test_killed_here_leaves_no_namespace() -> None:
    """conduct survives `run`, and removes everything that it has created."""
    out = ROOT / "build" / f"killed-test-{os.getpid()}"
    script = f"""
        {RUN} dumbbell --here --out {out} --set flows=2 --set rate=10 --set duration=1000 &
        until [ -s {out}.incomplete/queue.csv ]; do kill -0 $! || exit 2; sleep 0.1; done
        [ "$(ip netns list)" ] || exit 3
        kill -KILL $!
        for i in $(seq 100); do [ "$(ip netns list)" ] || break; sleep 0.1; done
        [ -z "$(ip netns list)$(pgrep 'flowgen|qsample|conduct')" ]
    """
    try:
        done = subprocess.run(
            [ROOT / "lab" / "boot", "--clock", "wall", "--", "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        subprocess.run(["rm", "-rf", f"{out}.incomplete"], check=True)


def test_qdisc_that_tc_cannot_print_as_json_can_be_used() -> None:
    """This is so for each qdisc whose plugin is missing or prints text.

    dualpi2 always shows options, and tc has no plugin for it before iproute2 6.17.
    """
    out = ROOT / "build" / f"no-json-test-{os.getpid()}"
    script = (
        f"TC_LIB_DIR=/nonexistent {RUN} dumbbell --here --out {out} --qdisc dualpi2 --set flows=2 "
        "--set rate=10 --set warmup=0.5 --set duration=1"
    )
    try:
        done = subprocess.run(
            [ROOT / "lab" / "boot", "--clock", "wall", "--", "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        shown = out / "qdisc.json"
        assert not shown.exists() or json.loads(shown.read_text())
        assert "dualpi2" in (out / "qdisc.txt").read_text()
        r = json.loads((out / "result.json").read_text())
        (hop,) = r["hops"].values()
        # On a wall clock packets arrive while the counters are read, so the sum is not exact here.
        # `run` has compared it with the arrivals before and after.
        assert hop["delivered"] > 100
        assert hop["lost"] > 0
    finally:
        subprocess.run(["rm", "-rf", out], check=True)


def test_no_warmup_is_measured_from_the_start(tmp_path: Path) -> None:
    r = result(tmp_path / "r", "--set", "warmup=0", "--set", "duration=1", "--set", "spread=0")
    assert r["virtual_seconds"] == 1
    assert r["summary"]["sent"] > 0


def test_full_link_is_exactly_full(tmp_path: Path) -> None:
    """The windows fill the path and a part of the queue, which is never empty and never full."""
    s = result(
        tmp_path / "r",
        "--set",
        "rate=500",
        "--set",
        "access=100",
        "--set",
        "warmup=2",
        "--set",
        "window=1000",
        "--qdisc",
        "pfifo limit 10000",
    )["summary"]
    assert s["dropped"] == 0
    assert s["queue_packets"]["mean"] > 100
    assert s["utilization"] == pytest.approx(1, abs=0.0005)
