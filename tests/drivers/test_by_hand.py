# SPDX-License-Identifier: GPL-2.0
"""Run the documented commands in guests with Debian's kernels."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from labkit.records import names
from tests.selftests import KINDS, Kind, every_kind, matrix_names, run_selftest, tdc_cases

TOP = Path(__file__).resolve().parents[2]
# As in by_hand.sh: bit/s, flows, seconds; and the share of payload in a full packet.
RATE, FLOWS, DURATION, PAYLOAD = 4e6, 4, 5, 1460 / 1514
BUCKET = 2 * 1514 * 8  # burst of the bottleneck, in bits

pytestmark = [pytest.mark.qemu, pytest.mark.extra]


@pytest.fixture(scope="module", params=names("qemu"))
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the result of each kind, after checking that nothing else is left."""
    subprocess.run(["make", "-s", "tools"], cwd=TOP, check=True)
    out = tmp_path_factory.mktemp("by-hand")
    # With counted instructions the guest keeps its own time on a busy host.
    done = subprocess.run(
        [
            TOP / "lab" / "boot",
            "--engine",
            "qemu",
            "--kernel",
            request.param,
            "--icount",
            "--time-limit",
            "7200",
            "--share",
            out,
            "--",
            "tests/drivers/by_hand.sh",
            out,
            *(kind.name for kind in KINDS),
        ],
        cwd=TOP,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0
    return out


@every_kind
def test_scenario_runs_on_the_machines_own_kernel(results: Path, kind: Kind) -> None:
    directory = results / kind.name
    result = json.loads((directory / "result.json").read_text())
    summary: dict[str, Any] = result["summary"]
    # Reno halves its window, so losses cost at most half of the link.
    assert 0.5 < summary["utilization"] <= 1 + BUCKET / RATE / DURATION

    with (directory / "flows.csv").open() as file:
        flows = list(csv.DictReader(file))
    root, child = json.loads((directory / "qdisc.json").read_text())
    assert child["kind"] == kind.name
    # Each flow has its metrics, and received no more than was sent.
    assert len(flows) == FLOWS
    arrived = [int(flow["bytes"]) for flow in flows]
    assert all(arrived)
    assert sum(arrived) <= PAYLOAD * child["bytes"]
    assert summary["goodput_bps"]["min"] > 0
    # The parent's counts agree.
    for key in ("bytes", "packets", "drops", "backlog", "qlen"):
        assert root[key] == child[key]
    # Lost data was sent again, except near the end.
    again = sum(int(flow["retransmits"]) for flow in flows)
    assert child["drops"] <= again + sum(int(flow["cwnd"]) for flow in flows)


@pytest.mark.parametrize("kernel", names("qemu"))
@every_kind
def test_self_tests_pass_on_stock_kernels(kernel: str, kind: Kind, tmp_path: Path) -> None:
    """Run `make run_tests` for a kind."""
    tap = run_selftest(
        ["make", "-C", "selftests", "run_tests", f"KINDS={kind.name}", "QUICK=1"],
        ["--engine", "qemu", "--kernel", kernel],
        limit=7200,
    )
    assert not tap.failed
    asked = len(matrix_names(kind, "-q")) + len(tdc_cases(kind.name, tmp_path))
    assert len(tap.passed) + len(tap.skipped) == asked
    assert tap.status == 0
