# SPDX-License-Identifier: GPL-2.0
"""A made-up paper with two experiments and known results."""

from __future__ import annotations

import copy
import functools
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab.run.fair_shares import Facts
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings
from replay import claims, judgement, paper, store, time_plots
from replay.claim_verdict import ClaimVerdict
from replay.paper import Cell, Paper
from tests.scenarios import handmade

PAPERS = paper.names()


PROFILES = [(name, profile) for name in PAPERS for profile in paper.load(name).profiles]


def facts_of(cell: Cell) -> Facts:
    """Return the facts of a cell's run, computed from its command line."""
    scenario, *words = (word for word in cell.words if word != "--sojourn")
    options = list(zip(words[::2], words[1::2], strict=True))
    given = [value for option, value in options if option == "--set"]
    others = {option: value for option, value in options if option != "--set"}
    assert set(others) - {"--module"} == {"--qdisc", "--seed"}
    assert others["--qdisc"].split()
    assert "{" not in others["--qdisc"]
    return _facts(scenario, *given)


@functools.cache
def _facts(scenario: str, *given: str) -> Facts:
    found = find(scenario)
    return compose(found, Settings(resolve(found.params, given), "pfifo", 1, "virtual"))[1]


def plausible(facts: Facts) -> dict[str, Any]:
    """Return metrics of a run in which each flow got 98 % of its share. No metric is missing."""
    spread = {"mean": 30.0, "sd": 1.0, "p50": 30.0, "p95": 31.0, "p99": 32.0, "max": 33.0}
    sizes = ("0-10 kB", "10-20 kB", "20-50 kB", "50-100 kB", "75-110 kB", "100-200 kB", "200-up kB")
    figures: dict[str, Any] = {
        "utilization": 0.95,
        "fair_share_bps": facts.fair_share_bps,
        "goodput_bps": {
            "mean": 0.98 * facts.fair_share_bps or 1.0,
            "sd": 1.0,
            "min": 1.0,
            "max": 2.0,
        },
        "sd_over_fair_share": 0.05,
        "jain": 0.99,
        "queue_delay_ms": spread,
        "queue_packets": {"mean": 50.0, "max": 90},
        "dropped": 10,
        "marked": 0,
        "sent": 1000,
    }
    return {
        "summary": figures,
        "groups": {
            name: {
                "flows": group.flows,
                "rtt_ms": group.rtt_ms,
                "share_of_fair": 1.0,
                "loss": 0.01,
                "dropped": 0.01,
                "goodput_bps": {"mean": group.fair_share_bps, "sd": 1.0},
                "delay_ms": spread,
                "sojourn_ms": spread,
                "completion_s": {
                    **spread,
                    "completed": 9,
                    "unfinished": 0,
                    "by_size": {size: {"completed": 9, "mean": 1.0, "sd": 0.1} for size in sizes},
                },
            }
            for name, group in facts.groups.items()
        },
        "phases": [
            {
                "name": phase.name,
                **figures,
                "estimate": {"above_0": 0.5, "used": 0.99},
                "groups": {name: {"mean": 1e6, "sd": 1.0} for name in facts.groups},
            }
            for phase in facts.phases
        ],
        "rate_bps": facts.rate_bps,
        "timeouts": 3,
        "payload": dict.fromkeys(facts.groups, 972),
        "offered_bps": dict.fromkeys(facts.groups, 2e6),
        "flows_bps": [1e6, 2e6],
        "smallest": {"use": 16, "share": 32},
        "at_least": {"use": 16, "share": 32},
        "use": {"rtr": 0.5, "far": 0.5},
        "lengths": {
            queue: {"mean": 50.0, "sd": 10.0, "max": 90.0, "within": 0.9}
            for queue in ("packets", "qlen_long", "qlen_short")
        },
    }


SWEEP = """
title = "A paper"
seeds = 3
[disciplines]
good = "pfifo limit {buffer}"
bad = "bfifo limit {bytes}"
third = "pfifo limit 3"
[tcp_profile.today]
head = "now"
about = "a later TCP"
set = { era = "today", ecn = "on" }
options = { headdrop = ["bad"] }
[quick]
[experiment.one]
scenario = "dumbbell"
axes = { buffer = [100, 200] }
disciplines = ["good", "bad"]
[experiment.other]
scenario = "dumbbell"
axes = { rtt = [10.0] }
disciplines = ["third"]
[plot.over-time]
head = "Figure 2"
kind = "time"
experiment = "one"
at = { buffer = 100 }
disciplines = ["good"]
of = ["packets", "goodput:far"]
y_title = "of something"
panels = [{}, { title = "closer", from_s = 1, to_s = 2 }]
[plot.1]
head = "Figure 1"
experiment = "one"
metric = "summary.utilization"
x = "buffer"
x_title = "buffer"
y_title = "used"
"""


CLAIMS = """
[claim.C1]
place = "figure 1"
says = "Good is good."
published = "0.9"
why = "Near."
experiment = "one"
metric = "summary.utilization"
of = "good"
at = { buffer = 200 }
low = 0.8
high = 1.0
ablations = ["bad"]
[claim.C2]
place = "figure 1"
says = "Good is twice as good as bad."
published = "2"
why = "Near."
experiment = "one"
metric = "summary.utilization"
of = "good"
against = { of = "bad" }
fold = "min"
low = 1.5
[ablation.bad]
change = "bad"
of = "bad"
"""


def run(one: Paper, **at: float) -> None:
    """Write a row for each cell.

    at: share of the link for each discipline. Seeds differ by 0.01, and the buffer does not matter
    """
    for cell in one.cells():
        figures = plausible(facts_of(cell))
        figures["summary"]["utilization"] = 0.01 * (cell.seed - 2) + at[cell.discipline]
        store.append(
            one.results,
            {
                "tcp_profile": one.profile,
                "cell": cell.name,
                "experiment": cell.experiment.name,
                "discipline": cell.discipline,
                "at": dict(cell.at),
                "seed": cell.seed,
                "command": shlex.join(cell.words),
                "bounds": {
                    c.id: c.bounds
                    for c in claims.load(one.directory)
                    if c.judges(cell.experiment.name, cell.discipline, cell.at)
                },
                "metrics": figures,
                "digest": "",
                "cpu_s": 6.0,
                "made": {
                    "edition": 2,
                    "version": "1",
                    "modules": {},
                    "kernel": "7",
                    "compiler": "c",
                    "tc": "t",
                },
            },
        )


def verdicts(one: Paper) -> Mapping[str, ClaimVerdict]:
    return judgement.of(one).verdicts


def rewrite(one: Paper, change: Any) -> None:
    """Replace each row by change(row), or remove it if that is None."""
    changed = [change(copy.deepcopy(row)) for row in store.read(one.results)]
    store.write(one.results, filter(None, changed))


def made_by_hand(one: Paper, directory: Path) -> None:
    """Store the time series of handmade's run for the cell of the plot over time."""
    (cell,) = time_plots.missing(one).values()
    ran(directory)
    time_plots.keep(one, cell, directory)


def ran(directory: Path) -> None:
    """Write handmade's run with its provenance."""
    handmade.write(directory)
    (directory / "result.json").write_text(
        json.dumps(
            {
                "provenance": {
                    "version": "2",
                    "modules": {},
                    "compiler": "c",
                    "tc": "t",
                    "lab": {"image": "ab"},
                },
                "kernel": "7",
                "digest": "d",
                "cpu_seconds": 1.0,
                "virtual_seconds": 3.0,
            }
        )
    )


def with_where(one: Paper, where: str) -> None:
    """Add a `where` and another axis to the paper's experiment."""
    sweep = one.directory / paper.SWEEP
    text = sweep.read_text().replace("axes = { ", "axes = { flows = [1, 2], ", 1)
    text = text.replace("[quick]\n", "[quick]\nset = { duration = 5 }\n")
    sweep.write_text(
        text.replace(
            'disciplines = ["good", "bad"]\n',
            f'disciplines = ["good", "bad"]\nwhere = [{where}]\n',
            1,
        )
    )
