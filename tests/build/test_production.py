# SPDX-License-Identifier: GPL-2.0
"""docs/production.md: its file for Prometheus."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


def test_each_number_of_a_discipline_becomes_a_line_for_prometheus(tmp_path: Path) -> None:
    """Each device and each child has separate lines."""
    if not shutil.which("jq"):
        pytest.skip("jq is not installed")
    page = (TOP / "docs" / "production.md").read_text()
    (block,) = re.findall(r"^```sh\n(.*?)^```$", page, re.S | re.M)
    block = block.replace("/var/lib/node_exporter/", "/tmp/")
    script = tmp_path / "script"
    script.write_text(
        "ip link add dum type dummy && ip link set dum up\n"
        "tc qdisc replace dev dum root handle 1: prio\n"
        "tc qdisc replace dev dum parent 1:1 qsdrr limit 2\n"
        f"{block}\ncat /tmp/aqm.prom\n"
    )
    done = subprocess.run(
        [TOP / "lab" / "boot", "--share", tmp_path, "--", "sh", "-e", script],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    labels = r'{device="dum",parent="1:1",kind="qsdrr"}'
    lines = done.stdout.splitlines()
    assert f"aqm_limit{labels} 2" in lines
    assert f"aqm_drops{labels} 0" in lines
    assert 'aqm_drops{device="dum",parent="root",kind="prio"} 0' in lines
    assert all(re.fullmatch(r"aqm_\w+\{[^{}]*\} -?[\d.e+-]+", one) for one in lines)
    names = [one.split()[0] for one in lines]
    assert len(names) == len(set(names))
