# SPDX-License-Identifier: GPL-2.0
"""Install the wheel in the smallest Debian with Python, without network and privileges, and run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labkit import fetch
from labkit.cache import built, mark
from labkit.paths import CACHE

ROOT = Path(__file__).resolve().parents[2]
QDISCS = ("pie limit 200", "sfq", "chokex limit 200 bandwidth 20mbit")
SETTINGS = ["--set", "flows=20", "--set", "rate=20", "--set", "duration=4", "--set", "warmup=1"]
#: Releases of Debian, with their Python.
RELEASES = {"bookworm": "3.11", "trixie": "3.13"}


def bare_root(release: str) -> Path:
    """Return a root with a release's essential packages and Python. Cached."""

    def make(place: Path) -> None:
        mirror = fetch.mirror(security=False)
        signed = f"[signed-by={mirror.signed_by}] " if mirror.signed_by else ""
        line = f"deb {signed}{mirror.uri} {release} main"
        words = ["--variant=minbase", "--include=python3-venv", release, str(place / "root"), line]
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mmdebstrap", "--quiet", *words], check=True)
        mark(place)

    return built(CACHE / "roots" / release, make) / "root"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the wheel and what it requires, for each Python."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run([ROOT / "tools" / "wheel", folder], check=True)
    for version in RELEASES.values():
        pip = [sys.executable, "-m", "pip", "download", "-q", "-d", folder, "--only-binary=:all:"]
        wanted = ["--python-version", version, "-r", ROOT / "requirements" / "run.txt"]
        subprocess.run([*pip, *wanted], check=True)
    return folder


@pytest.mark.extra
@pytest.mark.parametrize("release", RELEASES)
def test_a_bare_debian_gives_the_bytes_of_the_checkout(
    release: str, wheels: Path, tmp_path: Path
) -> None:
    """It has neither ip, tc, compiler, make nor kmod."""
    root = bare_root(release)
    for name in ("usr/sbin/tc", "usr/bin/ip", "usr/bin/gcc", "usr/bin/make", "usr/sbin/modprobe"):
        assert not (root / name).exists(), name
    scripts = [
        f"v/bin/aqm run dumbbell --qdisc '{qdisc}' {' '.join(SETTINGS)} --out r{number}"
        for number, qdisc in enumerate(QDISCS)
    ]
    install = "python3 -m venv v; v/bin/pip install -q --no-index --find-links /wheels sch-aqm"
    inside = ["bwrap", "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev"]
    inside += ["--tmpfs", "/tmp", "--bind", tmp_path, "/mnt", "--chdir", "/mnt"]
    inside += ["--dir", "/tmp/wheels", "--ro-bind", wheels, "/tmp/wheels"]
    inside += ["--unshare-all", "--cap-drop", "ALL", "--clearenv"]
    inside += ["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp"]
    script = "\n".join(["set -e", install.replace("/wheels", "/tmp/wheels"), *scripts])
    began = time.monotonic()
    done = subprocess.run([*inside, "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    print(f"{release}: {time.monotonic() - began:.0f} s from venv to the last of three results")
    for number, qdisc in enumerate(QDISCS):
        out = tmp_path / f"here{number}"
        words = ["dumbbell", "--qdisc", qdisc, *SETTINGS, "--out", out]
        subprocess.run([ROOT / "netns-scenarios" / "run", *words], check=True, capture_output=True)
        here, there = (
            json.loads((place / "result.json").read_text())
            for place in (out, tmp_path / f"r{number}")
        )
        assert there["digest"] == here["digest"]
        assert re.match(r"\d", there["kernel"])
