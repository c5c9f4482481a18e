# SPDX-License-Identifier: GPL-2.0
"""The options of bench/run. An option that would change nothing is refused."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from aqmlab.qdiscs.metadata import all_metadata
from bench import figures, memory, timing
from bench.instructions import REGIMES, STANDARD

ABOUT = "Measure instructions per packet, cache lines and memory of queue disciplines."
#: What can be measured. The first is measured unless another one is asked for.
PARTS = ("instructions", "profile", "whole", "memory", "leaves", "time", "holds", "layout")
#: What an option may choose: some values, or any.
Choice = Collection[str | int] | None


def parser(kinds: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    p = argparse.ArgumentParser(prog="bench/run", description=ABOUT)
    p.add_argument(
        "--qdisc",
        action="append",
        choices=kinds,
        metavar="KIND",
        help=f"again for more (default: all): {' '.join(kinds)}",
    )
    p.add_argument(
        "--regime",
        action="append",
        choices=REGIMES,
        metavar="NAME",
        help="; ".join(f"{name}: {r.about}" for name, r in REGIMES.items())
        + f" (default: {', '.join(STANDARD)})",
    )
    p.add_argument(
        "--flows", action="append", type=int, metavar="N", help="number of flows (default: 100)"
    )
    part = p.add_mutually_exclusive_group()
    part.add_argument(
        "--profile", action="store_true", help="show instructions by function, and cache lines"
    )
    part.add_argument(
        "--whole", action="store_true", help="measure everything that docs/performance.md shows"
    )
    part.add_argument("--memory", action="store_true", help="measure only memory per instance")
    part.add_argument(
        "--leaves",
        action="store_true",
        help=f"measure only the memory of {memory.MANY} instances with few flows",
    )
    part.add_argument("--time", action="store_true", help="time packets in ns, in user-mode Linux")
    p.add_argument(
        "--base", type=Path, metavar="DIR", help="with --time: time another checkout's kinds, too"
    )
    part.add_argument(
        "--holds", action="store_true", help="time only how long growing tables hold the root lock"
    )
    part.add_argument("--layout", action="store_true", help="show only the sizes of our structures")
    p.add_argument("--json", action="store_true", help="print a line of JSON for each row")
    p.add_argument(
        "--write",
        action="store_true",
        help=f"write to {figures.STORE.relative_to(figures.TOP)} and "
        f"{figures.PAGE.relative_to(figures.TOP)}; if a cost of ours has increased, "
        "keep the old value and fail",
    )
    p.add_argument("--accept", action="store_true", help="with --write: accept higher costs")
    return p


def kinds_of(part: str, kinds: Sequence[str]) -> list[str]:
    """Return the kinds that a part can measure."""
    ours = set(all_metadata())
    have: dict[str, Collection[str]] = {
        "memory": {kind for kind in kinds if memory.leaves([kind])},
        "leaves": {"fq_codel", *ours & {*memory.HAVE_FLOWS}},
        "time": {*timing.SOURCES, *ours},
        "layout": ours,
    }
    return [kind for kind in kinds if kind in have.get(part, kinds)]


def cells_to_time(asked: argparse.Namespace) -> list[tuple[str, int]]:
    """Return the cells that --time measures: a regime, and a number of flows."""
    return [
        (regime, flows)
        for regime, flows in timing.CELLS
        if (not asked.regime or regime.split()[-1] in asked.regime)
        and (not asked.flows or flows in asked.flows)
    ]


def choices(asked: argparse.Namespace, kinds: Sequence[str]) -> dict[str, dict[str, Choice]]:
    """Return the options that each part uses, with the values that choose something of it."""
    here = {part: kinds_of(part, kinds) for part in PARTS}
    cells = cells_to_time(asked)
    timed: dict[str, Choice] = {
        "regime": {regime.split()[-1] for regime, _ in cells},
        "flows": {flows for _, flows in cells},
        "base": None,
    }
    any_cell: dict[str, Choice] = {"regime": None, "flows": None}
    return {
        "instructions": {"qdisc": here["instructions"], **any_cell, "json": None, "write": None},
        "profile": {"qdisc": here["profile"], **any_cell, "write": None},
        "whole": {"qdisc": here["whole"], "write": None},
        "memory": {"qdisc": here["memory"], "write": None},
        "leaves": {"qdisc": here["leaves"], "write": None},
        "time": {"qdisc": here["time"], **timed, "write": None},
        "holds": {},
        "layout": {"qdisc": here["layout"], "write": None},
    }


def refusal(asked: argparse.Namespace, kinds: Sequence[str]) -> str | None:
    """Return why a command line is refused: an option of it would be ignored. None: it is not."""
    part = next((part for part in PARTS[1:] if getattr(asked, part)), PARTS[0])
    name = "the count of instructions" if part == PARTS[0] else f"--{part}"
    used = choices(asked, kinds)[part]
    here = kinds_of(part, kinds)
    cells = [f"{regime} with {flows}" for regime, flows in timing.CELLS]
    for option in ("qdisc", "regime", "flows", "base", "json", "write"):
        value = getattr(asked, option)
        if not value:
            continue
        if option not in used:
            return f"{name} does not use --{option}: leave it out"
        allowed = used[option]
        wrong = [] if allowed is None else [str(one) for one in value if one not in allowed]
        if wrong:
            has = ", ".join(here if option == "qdisc" else cells)
            return f"{name} measures nothing with --{option} {wrong[0]}: it measures {has}"
    if asked.accept and not asked.write:
        return "--accept needs --write"
    if part == "time" and asked.write and (asked.qdisc or asked.regime or asked.flows):
        return "--time --write needs all kinds and cells, of one run"
    return None
