# SPDX-License-Identifier: GPL-2.0
"""A run is the same with another Debian release's Python, ip, tc and libc."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest

from labkit import fetch
from tests.scenarios.shortrun import LOGS, copied, edit, result, run_copy

#: Debian's releases in order, with their Python versions. Programs built on one run on the next.
RELEASES = {"bookworm": "3.11", "trixie": "3.13"}
PROGRAMS = ("python3", "iproute2", "ethtool", "libnl-3-200", "dash", "coreutils", "kmod")


def next_release() -> str:
    """Return the release after this machine's, or skip the test."""
    text = Path("/etc/os-release").read_text()
    names = list(RELEASES)
    for name, following in itertools.pairwise(names):
        if f"VERSION_CODENAME={name}" in text:
            return following
    pytest.skip(f"needs Debian {', '.join(names[:-1])}: no later release is known here")


def user_space(suite: str, root: Path) -> None:
    """Download and unpack PROGRAMS of SUITE with their libraries. Nothing is installed."""
    options = fetch.update(suite)
    archives = root.parent / "archives"
    (archives / "partial").mkdir(parents=True)
    fetch.apt_get(
        ["install", "-y", "-q", "--download-only", "--no-install-recommends", *PROGRAMS],
        [*options, "-o", f"Dir::Cache::archives={archives}"],
    )
    for deb in archives.glob("*.deb"):
        fetch.unpack_deb(deb, root)
    # The lab puts its kernel's modules there.
    (root / "usr" / "lib" / "modules").mkdir(exist_ok=True)


@pytest.mark.extra
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the guest's /usr is covered by a mount: needs root")
def test_same_seed_same_bytes_with_another_release(tmp_path: Path) -> None:
    suite = next_release()
    user_space(suite, tmp_path / "root")
    words = ("--seed", "7", "--qdisc", "qsdrr limit 50")
    here = result(tmp_path / "here", *words)

    # Only the user-mode kernel sees the other release's files.
    cover = f'mount --bind {tmp_path}/root/usr /usr && exec "$0" "$@"'
    checkout = copied(tmp_path / "there")
    edit(
        checkout / "lab" / "labkit" / "uml.py",
        "        str(kernel.image),\n",
        f"        'unshare', '--mount', 'sh', '-c', {cover!r},\n        str(kernel.image),\n",
    )
    python = f"/usr/bin/python{RELEASES[suite]}"
    assert not Path(python).exists(), f"this machine has {python}, too, so the test shows nothing"
    run_copy(checkout, tmp_path / "out", python, *words)
    there = json.loads((tmp_path / "out" / "result.json").read_text())

    assert there["provenance"]["tc"] != here["provenance"]["tc"]
    assert there["provenance"]["lab"]["image"] == here["provenance"]["lab"]["image"]
    assert there["provenance"]["modules"] == here["provenance"]["modules"]
    assert there["digest"] == here["digest"]
    for log in LOGS:
        assert (tmp_path / "here" / log).read_bytes() == (tmp_path / "out" / log).read_bytes(), log
