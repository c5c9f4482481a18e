# SPDX-License-Identifier: GPL-2.0
"""bench/run reads its guest's output correctly, and its module loses no packet."""

from __future__ import annotations

import subprocess

import pytest

from bench.instructions import FREEING, REGIMES, TURNS, BenchCell, conserved, row_of, rows, script
from tests.selftests import KINDS, TOP

CELL = BenchCell("pfifo", "overload", 100)
# Two packets in, one out, 8192 in all, after 1000 and 1024 others. Half of them are dropped.
RUN = (
    "tenths 100 100 110 100 100 100 100 100 100 100 time 1800000 overhead 161600 "
    "offered 10216 sent 5607 dropped 4609 held 999 lost 4096"
)


def test_row_is_the_cheapest_pass_plus_the_cost_of_freeing_drops() -> None:
    dearer = RUN.replace("1800000", "1808192")
    row = row_of(CELL, [dearer, RUN, dearer])
    # (1 800 000 - 161 600) / 8192 = 200, plus half of 355 for freeing a packet.
    assert (row.instructions_per_packet, row.spread, row.dropped) == (377.5, 1.0, 0.5)
    assert row.worst_tenth == 1.1
    assert row.error is None


@pytest.mark.parametrize(
    "change",
    [
        ("sent 5607", "sent 5606"),
        ("dropped 4609", "dropped 4610"),
        ("offered 10216", "offered 10215"),
    ],
)
def test_wrong_number_of_packets_is_an_error(change: tuple[str, str]) -> None:
    assert row_of(CELL, [RUN, RUN.replace(*change)]).error


def test_number_of_offered_packets_must_be_as_requested() -> None:
    fewer = {"offered": [9000], "sent": [5000], "dropped": [4000]}
    assert not conserved(fewer, CELL)


@pytest.mark.parametrize(
    "said", [["failed"], ['Error: Unknown qdisc "sfq".', "failed"], [], [RUN, "failed"]]
)
def test_failed_run_is_an_error(said: list[str]) -> None:
    row = row_of(CELL, said)
    assert row.error
    assert row.instructions_per_packet is None


def test_unexpected_clock_or_cost_of_freeing_is_refused() -> None:
    for ticks, free, good in (
        (2 * TURNS + 5, FREEING, True),
        (3 * TURNS, FREEING, False),
        (0, FREEING, False),
        (2 * TURNS, FREEING * 1.1, False),
    ):
        text = f"time {ticks}\ntime {free * 8192:.0f}\ncell pfifo overload 100\n{RUN}\n"
        if good:
            assert next(rows([CELL], text)).instructions_per_packet == 377.5
        else:
            with pytest.raises(SystemExit):
                next(rows([CELL], text))


def test_each_packet_is_sent_or_dropped_in_every_regime() -> None:
    """The driver counts packets offered and received, and the discipline counts drops."""
    regimes = [name for name in REGIMES if name != "flood"]
    cells = [
        BenchCell(kind, regime, 100)
        for kind in ("pfifo", *(kind.name for kind in KINDS))
        for regime in regimes
    ]
    done = subprocess.run(
        [TOP / "lab" / "boot", "--", "sh", "-c", script(cells)],
        capture_output=True,
        text=True,
        check=True,
    )
    parts = done.stdout.split("\ncell ")[1:]
    for cell, part in zip(cells, parts, strict=True):
        row = row_of(cell, part.splitlines()[1:])
        assert row.error is None, row
        if cell.regime in ("overload", "mixed"):  # half of the packets do not fit
            assert row.dropped == pytest.approx(0.5, abs=0.1)
