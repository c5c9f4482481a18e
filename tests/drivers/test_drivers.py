# SPDX-License-Identifier: GPL-2.0
"""Every discipline at the root of a network card whose driver has BQL and segmentation offload.

Debian's kernels in QEMU have two cards back to back, each in its own namespace, and slowed down
until their drivers stop the queue and requeue. `exercise.py` runs in one guest per kernel; this
file judges its results. The guest's clock counts instructions, so it can overload the cards even
on a busy host.

Results stay in build/drivers, named by hashes of the modules and of exercise.py. After an
interruption only missing ones are run.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from labkit.modules import ensure_modules
from labkit.records import names
from labkit.stock import ensure_stock
from tests.drivers import exercise
from tests.selftests import KINDS

TOP = Path(__file__).resolve().parents[2]
# The rate of the cards, for disciplines that need it.
RATE = "bandwidth 10mbit"
# pfifo and fq_codel show that the set-up works, and which utilization is possible.
QDISCS = {
    "pfifo": "pfifo",
    "fq_codel": "fq_codel",
    **{
        kind.name: f"{kind.name} {RATE}" if kind.metadata.get("SLOW") else kind.name
        for kind in KINDS
    },
}
YARDSTICKS = {"pfifo", "fq_codel"}
FAIR = ("qsdrr", "tdrr")
ENDS = ("left", "right")
OFFERS = {"tso": True, "bql": True}  # features that the test needs
HEADERS = 14 + 20 + 32  # bytes before TCP's payload, timestamps included
SACK = 28  # maximum bytes of SACK in TCP's options
FRAME = exercise.FRAME
PAYLOAD = FRAME - HEADERS
SEGMENTS = -(-exercise.GSO_BYTES // PAYLOAD)  # maximum of a large packet

pytestmark = [pytest.mark.qemu, pytest.mark.extra]

Run = dict[str, Any]
Runs = dict[tuple[str, str], Run]


def outcomes(kernel: str, kinds: set[str]) -> Runs:
    """Return all runs of some kinds by kind and run. Run the missing ones."""
    asked = {
        f"{run} {QDISCS[kind]}": (kind, run)
        for kind in QDISCS
        if kind in kinds
        for run in exercise.RUNS
    }
    modules = ensure_modules(ensure_stock(kernel)).parents[1].name
    code = hashlib.sha256(Path(exercise.__file__).read_bytes()).hexdigest()[:12]
    store = TOP / "build" / "drivers" / f"{modules}-{code}.jsonl"
    store.parent.mkdir(parents=True, exist_ok=True)
    store.touch()
    found: Runs = {}

    def take(line: str) -> None:
        entry = json.loads(line)
        if name := asked.get(f"{entry['run']} {entry['qdisc']}"):
            found[name] = entry

    for line in store.read_text().splitlines():
        take(line)
    missing = [words for words, name in asked.items() if name not in found]
    print(f"\n{kernel}: {len(found)} runs in {store}, {len(missing)} to go", flush=True)
    if missing:
        guest = subprocess.Popen(
            [
                TOP / "lab" / "boot",
                "--engine",
                "qemu",
                "--kernel",
                kernel,
                "--nics",
                "2",
                "--icount",
                "--time-limit",
                str(600 + 300 * len(missing)),
                "--",
                "python3",
                "-I",
                "tests/drivers/exercise.py",
                *missing,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert guest.stdout
        began = time.monotonic()
        for line in guest.stdout:
            if "offers" in line:
                assert json.loads(line)["offers"] == {end: OFFERS for end in ENDS}
                continue
            with store.open("a") as file:
                file.write(line)
            take(line)
            print(f"{time.monotonic() - began:5.0f} s  {line.strip()}", flush=True)
        assert guest.wait() == 0
    assert len(found) == len(asked)
    return found


@pytest.fixture(scope="module", params=names("qemu"))
def matrix(request: pytest.FixtureRequest) -> Runs:
    """Return all runs of the tested kinds on one kernel."""
    kinds = {
        item.callspec.params["kind"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and hasattr(item, "callspec")
        and item.callspec.params.get("matrix") == request.param
        and "kind" in item.callspec.params
    }
    return outcomes(request.param, kinds | YARDSTICKS)


@pytest.mark.parametrize("kind", QDISCS)
@pytest.mark.parametrize("run", exercise.RUNS)
def test_each_packet_is_sent_or_counted_as_lost(matrix: Runs, kind: str, run: str) -> None:
    """Compare counts before, in and after the discipline."""
    assert not matrix[kind, run]["error"]
    for end in ENDS:
        now = matrix[kind, run]["counted"][end]
        assert now["tx_dropped"] == 0
        # For a large packet, the card counts one packet with one header. tc counts each segment
        # with its headers. Only TCP sends large packets, and its headers may have SACK.
        segments = now["packets"] - now["tx_packets"]
        assert HEADERS * segments <= now["bytes"] - now["tx_bytes"] <= (HEADERS + SACK) * segments
        lost = now["offered_packets"] - now["packets"]
        # A large packet that is dropped whole counts once.
        assert now["drops"] <= lost <= SEGMENTS * now["drops"]
        if not now["drops"]:
            assert now["bytes"] == now["offered_bytes"]


@pytest.mark.parametrize("kind", QDISCS)
@pytest.mark.parametrize("run", exercise.RUNS)
def test_nothing_stalls(matrix: Runs, kind: str, run: str) -> None:
    now = matrix[kind, run]
    assert now["empty"], now["left_over"]
    # In a FIFO, UDP may fill the queue, and a TCP flow may get nothing.
    if run == "both" or kind in FAIR:
        assert all(rate for end in ENDS for rate in now["received"][end])
    # While packets are queued, some leave at each interrupt. We allow ten intervals, because the
    # processor is also busy with other things.
    assert now["seen"]["silence_ms"] <= 10 * 1000 / exercise.INTERRUPTS


@pytest.mark.parametrize("kind", QDISCS)
def test_utilization_is_at_least_95_percent_of_mainlines(matrix: Runs, kind: str) -> None:
    """docs/defaults.md has this bound. It holds both ways, against the lower of two."""
    for end in ENDS:
        rate = {name: sum(matrix[name, "both"]["received"][end]) for name in {kind} | YARDSTICKS}
        assert rate[kind] >= 0.95 * min(rate[name] for name in YARDSTICKS), rate


@pytest.mark.parametrize("kind", QDISCS)
def test_short_queue_stays_short(matrix: Runs, kind: str) -> None:
    """Requeued packets cause no drops and are at most one bulk."""
    now = matrix[kind, "short"]
    # On the left UDP keeps the queue full.
    assert now["counted"]["left"]["requeues"] > 0
    assert now["counted"]["left"]["drops"] > 0
    if kind == "redtail":
        assert now["seen"]["most_bytes"] <= 2 * exercise.LIMIT * FRAME
    else:
        assert now["seen"]["most"] <= 2 * exercise.LIMIT
    # A kind that counts requeued packets, like pfifo, never exceeds its limit.
    # (The other kinds drop before their queue is full.)
    if kind in FAIR:
        assert now["seen"]["most"] > exercise.LIMIT


def shares(run: Run) -> list[float]:
    """Return the share of each TCP flow and of UDP in the run `mixed`."""
    tcp = [rate * 1e-6 * FRAME / PAYLOAD / run["seen"]["mbit"] for rate in run["received"]["left"]]
    assert len(tcp) == 3
    return [*tcp, 1 - sum(tcp)]


@pytest.mark.parametrize("kind", FAIR)
def test_fair_kinds_share_equally(matrix: Runs, kind: str) -> None:
    """Three TCP flows with large packets against an overload of small UDP packets."""
    run = matrix[kind, "mixed"]
    # Errors at both ends of the measured time: deficit round robin may be off by a quantum and the
    # largest packet, and the counts of a card lag by an interrupt and a process.
    seconds = exercise.RUNS["mixed"].seconds
    fair_bytes = run["seen"]["mbit"] * 1e6 / 8 * seconds / 4
    error = 2 * ((FRAME + exercise.GSO_BYTES) / fair_bytes + 2 / exercise.INTERRUPTS / seconds)
    for part in shares(run):
        assert abs(4 * part - 1) <= error
    assert error < 0.1


@pytest.mark.parametrize("kind", ["chokex", "cbt"])
def test_udp_gets_less_than_in_a_plain_fifo(matrix: Runs, kind: str) -> None:
    """These kinds protect TCP in one FIFO without state per flow."""
    assert shares(matrix[kind, "mixed"])[-1] < shares(matrix["pfifo", "mixed"])[-1]


def test_plain_fifo_does_not_share_equally(matrix: Runs) -> None:
    """Otherwise the other tests would prove nothing."""
    *tcp, udp = shares(matrix["pfifo", "mixed"])
    assert udp > 2 * max(tcp)
