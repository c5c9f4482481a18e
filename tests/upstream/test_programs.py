# SPDX-License-Identifier: GPL-2.0
"""Patches for flent and NeST apply to the releases, and do what their page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PATCHES = TOP / "docs" / "upstream" / "programs"
#: The patch for a library in Go, which has a test of its own.
GO_PATCH = "go-tc.diff"
RELEASES = ("flent==2.3.0", "nest==0.4.4", "aiocoap==0.4.17", "colorama==0.4.6")

#: flent's parser reads the output of tc, as flent's tc_iterate.sh puts it together.
PARSE = """
import json, sys
from flent.runners import TcRunner
text = ["Time: 1000000000.5\\n", *sys.stdin]
print(json.dumps(TcRunner.parse(TcRunner.__new__(TcRunner), text, "")[1][0]))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the patched releases."""
    place = tmp_path_factory.mktemp("programs")
    pip = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            place,
            "--disable-pip-version-check",
            "--retries",
            "0",
            *RELEASES,
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    if pip.returncode:
        pytest.skip(f"flent and NeST are not available from PyPI: {pip.stderr[-200:]}")
    for patch in sorted(PATCHES.glob("*.diff")):
        if patch.name == GO_PATCH:
            continue
        subprocess.run(["patch", "--strip=1", "--fuzz=0", "--input", patch], cwd=place, check=True)
    return place


@pytest.mark.parametrize(
    "qdisc",
    [
        "red limit 100000 avpkt 1000 bandwidth 10mbit",
        "choke limit 100 bandwidth 10mbit",
        "tdrr",
        "qsdrr",
    ],
)
def test_flent_reads_the_statistics_of_a_qdisc(qdisc: str, programs: Path) -> None:
    shown = subprocess.run(
        [
            "lab/boot",
            "--",
            "sh",
            "-c",
            f"tc qdisc add dev lo root {qdisc} && "
            "ping -c 3 -i 0.1 127.0.0.1 >/dev/null && tc -s qdisc show dev lo",
        ],
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert shown.returncode == 0, shown.stderr
    read = subprocess.run(
        [sys.executable, "-c", PARSE],
        cwd=programs,
        input=shown.stdout,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert read.returncode == 0, read.stderr
    values = json.loads(read.stdout)
    assert values["sent_pkts"] == 6  # three requests and their replies
    assert values["ecn_mark"] == 0
    if qdisc in ("tdrr", "qsdrr"):
        wait = re.search(r"delay (\d+)ns", shown.stdout)
        assert wait
        assert values["delay"] == int(wait[1]) / 1e6  # ms


@pytest.mark.extra
def test_nest_measures_tdrr_with_the_same_bytes_twice(programs: Path, tmp_path: Path) -> None:
    found = []
    for run in ("first", "second"):
        (place := tmp_path / run).mkdir()
        done = subprocess.run(
            [
                "lab/boot",
                "--share",
                programs,
                "--share",
                place,
                "--",
                "sh",
                "-ec",
                f"cp -r {programs} /tmp/nest && mkdir /tmp/run && cd /tmp/run && "
                f"PYTHONPATH=/tmp/nest {sys.executable} {PATCHES}/two_flows.py tdrr && "
                f"cp */*.json {place}",
            ],
            cwd=TOP,
            capture_output=True,
            text=True,
            timeout=580,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found.append({file.name: file.read_bytes() for file in place.iterdir()})
    assert found[0] == found[1]
    assert {"tc.json", "iperf3.json"} <= found[0].keys()
    assert b'"time_constant"' in found[0]["tc.json"] or b'"memory_used"' in found[0]["tc.json"]


GO_TC = "github.com/florianl/go-tc@v0.4.5-0.20240822175159-7926c32f7299"


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_go_tc_reads_other_qdiscs_beside_a_kind_that_it_does_not_know() -> None:
    """Without the patch one tdrr makes the library refuse all qdiscs of the host."""
    place = TOP / "build" / "go-tc"  # the lab has its own /tmp
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)

    def go(*words: str) -> str:
        done = subprocess.run(
            ["go", *words],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"},
        )
        if done.returncode:
            pytest.skip(f"go {' '.join(words)}: {done.stderr[-200:]}")
        return done.stdout.strip()

    go("mod", "init", "monitor")
    go("get", GO_TC)
    shutil.copy(PATCHES / "qdiscs.go", place)
    go("build", "-o", "released", "qdiscs.go")
    shutil.copytree(go("list", "-m", "-f", "{{.Dir}}", GO_TC.partition("@")[0]), place / "go-tc")
    subprocess.run(["chmod", "-R", "u+w", "go-tc"], cwd=place, check=True)
    patch = ["patch", "--strip=1", "--fuzz=0", "--input", str(PATCHES / GO_PATCH)]
    subprocess.run(patch, cwd=place / "go-tc", check=True)
    go("mod", "edit", "-replace", "github.com/florianl/go-tc=./go-tc")
    go("build", "-o", "patched", "qdiscs.go")
    script = (
        "tc qdisc add dev lo root tdrr && ping -qc 3 127.0.0.1 >/dev/null && "
        "ip link add d0 up type dummy && tc qdisc add dev d0 root fq_codel && "
        f"! {place}/released && {place}/patched"
    )
    done = subprocess.run(
        [TOP / "lab" / "boot", "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "unsupported kind tdrr" in done.stderr
    assert "tdrr 6\n" in done.stdout
    assert "fq_codel " in done.stdout
