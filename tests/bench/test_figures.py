# SPDX-License-Identifier: GPL-2.0
"""The committed costs: increases are reported, the page is up to date, structures do not grow."""

from __future__ import annotations

import copy
import json
import re

import pytest

from bench import figures, layout, memory
from bench.command import sensible
from bench.instructions import KERNEL, MAINLINE, BenchCell, BenchRow, with_options
from labkit import modules, stock
from tests.selftests import KINDS

OURS = KINDS[0].name
LINES_OF_A_FLOW = 1


def row(kind: str, cost: float, flows: int = 100) -> BenchRow:
    return BenchRow(kind, "overload", flows, cost, dropped=0.5, spread=0.0, worst_tenth=1.0)


def with_rows(*rows: BenchRow) -> figures.Figures:
    found = figures.none()
    figures.add_rows(found, rows)
    return found


def test_figures_are_read_as_they_were_written() -> None:
    found = with_rows(row("pfifo", 253.8), row(OURS, 700.0, 10_000), row(OURS, 690.5))
    assert json.loads(figures.dump(found)) == found
    assert figures.costs(found) == {
        BenchCell("pfifo", "overload", 100): 253.8,
        BenchCell(OURS, "overload", 100): 690.5,
        BenchCell(OURS, "overload", 10_000): 700.0,
    }


def test_increase_above_2_percent_is_reported() -> None:
    cell, other = BenchCell(OURS, "overload", 100), BenchCell("sfq", "empty", 2)
    old = {cell: 350.0, other: 900.0}
    assert figures.dearer(old, {cell: 357.0, BenchCell("sfq", "empty", 1): 2000.0}) == {}
    assert figures.dearer(old, {cell: 361.0}) == {cell: f"{OURS} overload 100: 361, was 350"}


def test_higher_cost_fails_until_it_is_accepted() -> None:
    before = with_rows(row(OURS, 700.0), row("pfifo", 250.0))
    now = with_rows(row(OURS, 720.0), row("pfifo", 300.0))
    kept = copy.deepcopy(now)
    assert figures.keep(before, kept, accept=False) == [f"{OURS} overload 100: 720, was 700"]
    assert figures.costs(kept) == {
        BenchCell(OURS, "overload", 100): 700.0,
        BenchCell("pfifo", "overload", 100): 300.0,
    }
    kept = copy.deepcopy(now)
    assert len(figures.keep(before, kept, accept=True)) == 1
    assert kept == now


def test_ratio_is_to_the_cheaper_mainline_qdisc() -> None:
    rows = [row("sfq", 1000.0), row("fq_codel", 800.0), row("qsdrr", 880.0)]
    rows.append(BenchRow("qsdrr", "standing", 100, 800.0, dropped=0.0, spread=0.0, worst_tenth=1.0))
    line = figures.targets(with_rows(*rows)).splitlines()[-1]
    assert "0 of 1 | 1.10 (overload, 100)" in line
    assert line.endswith("| 1.10 |")  # 880 / 800


def test_memory_per_queue_is_the_increase_with_more_queues() -> None:
    found = {"": 70_000, memory.THIN: 10_000, memory.WIDE: 10_000 + 64 * (4096 - 128)}
    assert figures.a_queue(found) == 64.0


def test_qdiscs_are_compared_only_if_they_treat_gso_alike() -> None:
    """Only some qdiscs split GSO packets. All can queue them whole."""
    assert with_options("red", "whole") == with_options("red") == with_options("red", "gso")
    for kind, word in (("cake", "no-split-gso"), (OURS, "nosplit_gso")):
        assert with_options(kind, "whole") == f"{with_options(kind, 'gso')} {word}"
    for kind in (*MAINLINE, OURS):
        assert sensible(BenchCell(kind, "whole", 100))
        assert sensible(BenchCell(kind, "gso", 100)) == (kind in ("cake", OURS))


def test_page_shows_the_committed_figures() -> None:
    page, stored = figures.PAGE.read_text(), figures.load()
    for name, make in figures.BLOCKS.items():
        assert f"{figures.BEGIN.format(name)}\n{make(stored)}\n{figures.END}" in page, (
            f"docs/performance.md, {name}: make bench writes it"
        )


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_structures_have_their_committed_sizes(kind: str) -> None:
    """The layout is for Debian's 6.12 on amd64. Commit the new size if growth is intended."""
    found = layout.sizes(kind, modules.ensure_modules(stock.ensure_stock(KERNEL)))
    before = figures.load()["layout"].get(kind, {})
    grown = {name: size for name, size in found.items() if size > before.get(name, 0)}
    assert not grown, "meant? bench/run --layout --write"
    for name, size in found.items():
        if name.endswith(("_flow", "flow_queue", "flow_age")):
            assert size <= LINES_OF_A_FLOW * layout.LINE, name


def test_page_compares_a_full_buffer_with_fq_codel_as_the_figures_do() -> None:
    """The page has this table by hand. It was out of date once, and nobody saw it."""
    cost = figures.costs(figures.load())
    columns = [("overload", 100), ("overload", 10_000), ("overload", 1_000_000), ("flood", 10_000)]
    page = figures.PAGE.read_text()
    for kind in ("qsdrr", "tdrr"):
        ratios = [cost[BenchCell(kind, *at)] / cost[BenchCell("fq_codel", *at)] for at in columns]
        assert f"| {kind} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |" in page


def test_page_says_how_much_the_dearest_tenth_of_a_flood_takes() -> None:
    tenths = figures.load()["tenths"]
    more = {kind.name: round(100 * (tenths[kind.name]["10000"] - 1), 1) for kind in KINDS}
    high = {name: round(more.pop(name)) for name in sorted(more) if more[name] > 2}
    (sentence,) = re.findall(
        r"No tenth of a flood.*? have at most [\d.]+ %\.", figures.PAGE.read_text()
    )
    assert high == {name: int(by) for name, by in re.findall(r"`(\w+)`[^`]*?(\d+) %", sentence)}
    assert f"have at most {max(more.values())} %." in sentence
