# SPDX-License-Identifier: GPL-2.0
"""Every discipline at the root of a network card whose driver has BQL and segmentation offload.

Debian's kernels in QEMU, two cards back to back, each in its own namespace, slowed down until
their drivers stop the queue and requeue. `exercise.py` does the work, in one guest per kernel;
here it is judged. The guest counts instructions: on a loaded machine, too, its processor is as fast
as ever by its own clock, and can offer more than the cards take.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[2]
# Mb/s, more or less: so slow that an emulated processor can offer several times as much.
RATE = "4"
# pfifo and fq_codel show that the setting itself works.
QDISCS = {
    "pfifo": "pfifo",
    "fq_codel": "fq_codel",
    "qsdrr": "qsdrr",
    "tdrr": "tdrr",
    "chokex": "chokex bandwidth 4mbit",
    "cbt": "cbt bandwidth 4mbit",
    "2regionred": "2regionred bandwidth 4mbit",
    "redtail": "redtail bandwidth 4mbit",
}
FAIR = ("fq_codel", "qsdrr", "tdrr")
RUNS = ("both", "short", "mixed")
FRAME, PAYLOAD = 1514, 1448  # bytes of a full packet

pytestmark = pytest.mark.qemu

Run = dict[str, Any]


def exercise(kernel: str, runs: tuple[str, ...], kinds: tuple[str, ...]) -> list[Run]:
    """The runs of one guest; the first line says what the cards offer."""
    done = subprocess.run(
        [TOP / "lab" / "boot", "--engine", "qemu", "--kernel", kernel, "--nics", "2", "--icount",
         "--time-limit", str(180 + 120 * len(runs) * len(kinds)), "--",
         "python3", "-I", "tests/drivers/exercise.py", RATE, ",".join(runs),
         *(QDISCS[kind] for kind in kinds)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    offers, *lines = map(json.loads, done.stdout.splitlines())
    for end in ("left", "right"):
        assert offers["offers"][end] == {"tso": True, "bql": True}
    assert len(lines) == len(runs) * len(kinds)
    return lines


def sound(run: Run) -> None:
    """What holds for every discipline under every load."""
    assert run["errors"] == [], run
    for end in ("left", "right"):
        counted = run["counted"][end]
        assert run["left_over"][end] == [0, 0], run
        assert counted["tx_dropped"] == 0, run
        # The driver counts a large packet's headers once, tc for each segment it will be.
        assert 0 < counted["tx_bytes"] <= counted["bytes"], run
        assert counted["bytes"] <= 1.1 * counted["tx_bytes"], run
        # What arrived of TCP had been sent.
        arrived = sum(sum(report[end]) for report in run["received"])
        assert arrived <= counted["bytes"], run
    streams = [count for report in run["received"] for end in report.values() for count in end]
    assert all(streams), run


def requeued(runs: list[Run]) -> int:
    """How often a driver handed a packet back."""
    return sum(run["counted"][end]["requeues"] for run in runs for end in ("left", "right"))


def shares(run: Run) -> tuple[list[float], float]:
    """Bytes on the wire of each TCP flow and of UDP in the run `mixed`; UDP has what is left."""
    tcp = [count * FRAME / PAYLOAD for count in run["received"][0]["left"]]
    assert len(tcp) == 3
    return tcp, run["counted"]["left"]["bytes"] - sum(tcp)


@pytest.mark.extra
def test_one_kind_on_one_kernel() -> None:
    """The part of the matrix below that takes minutes rather than an hour."""
    runs = exercise("6.12", ("both",), ("tdrr",))
    for run in runs:
        sound(run)
    assert requeued(runs) > 0


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def matrix(request: pytest.FixtureRequest) -> dict[tuple[str, str], Run]:
    """Every run of every kind on one kernel, by kind and run."""
    lines = exercise(request.param, RUNS, tuple(QDISCS))
    return {(line["qdisc"].split()[0], line["run"]): line for line in lines}


@pytest.mark.extra
@pytest.mark.parametrize("kind", QDISCS)
def test_nothing_stalls_and_the_counters_agree(
    matrix: dict[tuple[str, str], Run], kind: str
) -> None:
    for run in RUNS:
        sound(matrix[kind, run])
    assert requeued([matrix[kind, run] for run in RUNS]) > 0


@pytest.mark.extra
@pytest.mark.parametrize("kind", QDISCS)
def test_a_short_queue_stays_short_and_busy(matrix: dict[tuple[str, str], Run], kind: str) -> None:
    run, plain = matrix[kind, "short"], matrix["pfifo", "short"]
    assert run["counted"]["left"]["drops"] > 0
    # The limit, and what the driver has handed back.
    assert run["held"]["most"] <= 20 + 8
    # What was handed back must not flush the queue.
    assert run["counted"]["left"]["bytes"] > 0.5 * plain["counted"]["left"]["bytes"]


@pytest.mark.extra
@pytest.mark.parametrize("kind", FAIR)
def test_fair_kinds_share_equally(matrix: dict[tuple[str, str], Run], kind: str) -> None:
    """Three TCP flows in large packets, and UDP in small ones that would take it all."""
    tcp, udp = shares(matrix[kind, "mixed"])
    fair = (sum(tcp) + udp) / 4
    assert udp < 1.5 * fair
    assert min(tcp) > 0.5 * fair


@pytest.mark.extra
def test_a_fifo_does_not(matrix: dict[tuple[str, str], Run]) -> None:
    """Or the test above would prove nothing."""
    tcp, udp = shares(matrix["pfifo", "mixed"])
    assert udp > 1.5 * (sum(tcp) + udp) / 4
