# SPDX-License-Identifier: GPL-2.0
"""Times per packet: their arithmetic, and when a ratio is too high. Nothing is timed."""

from __future__ import annotations

import pytest

from bench import figures, holds, times, timing
from bench.instructions import BenchCell


def of(tdrr: float, fq_codel: float) -> times.Times:
    return {"tdrr": {"standing 100": [tdrr, tdrr]}, "fq_codel": {"standing 100": [fq_codel, 99.0]}}


def test_a_ratio_is_of_the_least_times_to_the_nearest_kind() -> None:
    assert times.ratio(of(30, 40), "tdrr", ("standing", 100)) == 0.75
    assert times.ratio(of(30, 40), "tdrr", ("standing", 1)) is None
    assert times.ratio({"tdrr": {"standing 100": [1, 1]}}, "tdrr", ("standing", 100)) is None
    assert times.ratio(of(30, 40), "fq_codel", ("standing", 100)) is None


@pytest.mark.parametrize(
    ("now", "before", "slower"),
    [
        (0.99, 0.5, False),  # below its target of 1.0
        (1.01, 0.5, True),
        (1.01, None, True),
        (1.3, 1.2, False),  # the committed ratio is above the target already
        (1.39, 1.2, True),
    ],
)
def test_a_ratio_above_its_target_may_not_grow(
    now: float, before: float | None, slower: bool
) -> None:
    committed = of(before * 100, 100) if before else {}
    assert bool([*times.beyond(of(now * 100, 100), committed)]) == slower


def test_each_target_is_of_a_cell_that_is_timed() -> None:
    cells = {cell for cells in times.TARGETED for cell in cells}
    assert cells <= {*timing.CELLS}
    assert {whom for whom, *_ in times.TARGETS.values()} <= {*timing.SOURCES}


def test_table_shows_the_ratio_and_marks_one_above_its_target() -> None:
    table = times.time_table({"time": of(45, 40)})
    assert "| tdrr | fq_codel | **1.12** (45) |" in table
    assert "| fq_codel |  | 40 |" in table
    assert "| tdrr | fq_codel | 0.75 (30) |" in times.time_table({"time": of(30, 40)})


def test_time_is_what_a_row_takes_beyond_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """32 packets in 3300 cycles, an empty row 100, at 2 GHz: 50 ns a packet."""
    monkeypatch.setattr(timing, "hertz", lambda: 2.0)
    said = (
        "lab: ready\ncell this tdrr cold standing 100\n"
        "rows 2000 3300 3400 3500 6500 overhead 100 per 32 offered 9 sent 9 lost 0\n"
        "cell other tdrr burst 10000\nrows 200 228 300 300 356 overhead 100 per 64 offered 9\n"
        "cell this tdrr dearest overload 100\nrows 200 228 300 300 900 overhead 100 per 2\n"
    )
    assert [*timing.rows(said)] == [
        ("this", BenchCell("tdrr", "cold standing", 100), 50.0),
        ("other", BenchCell("tdrr", "burst", 10_000), 1.0),
        ("this", BenchCell("tdrr", "dearest overload", 100), 400.0),
    ]
    with pytest.raises(SystemExit, match=r"cell x|tdrr standing 1: failed"):
        [*timing.rows("\ncell this tdrr standing 1\nfailed\n")]


def test_dearest_and_cold_steps_are_timed_one_by_one() -> None:
    for regime, rows, cold in (
        ("overload", 32, 0),
        ("dearest overload", 1, 0),
        ("cold overload", 1, timing.COLD),
    ):
        words = timing.job(BenchCell("tdrr", regime, 100)).split()
        assert (words[0], words[1], words[3]) == ("time", str(rows), str(cold))


def test_half_a_million_packets_fit() -> None:
    for kind in (*timing.SOURCES, *times.TARGETS):
        if (kind, "million") != timing.TOO_MANY:
            words = timing.options(BenchCell(kind, "million", 1)).split()
            number = words[words.index("memlimit" if kind == "cake" else "limit") + 1]
            assert int("".join(filter(str.isdigit, number))) >= 500
    assert "limit 501000 " in timing.options(BenchCell("tdrr", "million", 1)) + " "


def test_the_page_has_the_table() -> None:
    stored = figures.load()
    page = figures.PAGE.read_text()
    assert figures.BEGIN.format("time") in page
    if stored["time"]:
        assert times.time_table(stored) in page


def test_a_hold_is_cycles_by_the_frequency_of_the_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "hertz", lambda: 2.0)
    text = "booted\nholds tdrr 1024 4000 20000\nholds qsdrr 4096\n"
    assert list(holds.holds(text)) == [("tdrr", 1024, [2.0, 10.0]), ("qsdrr", 4096, [])]


def test_the_longest_hold_is_of_the_step_that_takes_longest_in_a_calm_growth() -> None:
    growths = [[1.0, 9.0, 4.0], [90.0, 8.0, 5.0], [2.0, 8.5]]
    assert holds.longest(growths) == (8.0, 8.5)
