# SPDX-License-Identifier: GPL-2.0
"""The demo's report: one HTML file that needs nothing else. Every statement is computed."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import logs, plots
from .compare import COLUMNS, Column, Mean, Row
from .summary import goodput_bps, window

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2733; max-width: 70rem;
       margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem;
        width: 100%; }
th, td { padding: .35rem .6rem; text-align: right; border-bottom: 1px solid #e1e5ea;
         white-space: nowrap; }
th { font-weight: 600; white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
td.best { font-weight: 700; background: #eaf2fb; }
td small { color: #6b7785; }
figure { margin: 1rem 0; } figure img { max-width: 100%; height: auto; }
figcaption, .note { color: #3c4856; } .note { font-size: .92rem; }
code { font-size: .85rem; } details { margin-top: .8rem; }
"""


@dataclass(frozen=True)
class Run:
    """One finished run: its directory and its result.json."""

    directory: Path
    result: Mapping[str, Any]


def _ranked(rows: Sequence[Row], column: Column) -> list[tuple[Row, Mean]]:
    """Rows from the best to the worst of a column."""
    cells = [(row, row.cell(column)) for row in rows]
    return sorted(cells, key=lambda rc: -column.better * rc[1].value)


def _overlap(a: Mean, b: Mean) -> bool:
    return not (a.value + a.half < b.value - b.half or b.value + b.half < a.value - a.half)


def _column(title: str) -> Column:
    return next(c for c in COLUMNS if c.title.startswith(title))


def _extremes(rows: Sequence[Row], title: str, verb: Callable[[str, str, str, str], str],
              same: Callable[[str], str]) -> str:
    """A clause about the best and the worst of a column, and whether the best is alone; `same`
    is the clause when the figures, as they are printed, do not differ."""
    column = _column(title)
    ranked = _ranked(rows, column)
    (best, b), (worst, w) = ranked[0], ranked[-1]
    texts = [m.text(column.scale, column.digits) for m in (b, w)]
    if texts[0].split()[0] == texts[1].split()[0]:
        return same(texts[0].split()[0])
    text = verb(best.name, texts[0], worst.name, texts[1])
    second, s = ranked[1]
    if _overlap(b, s):
        text += f" (the intervals of {best.name} and {second.name} overlap)"
    return text


def fairness_sentence(rows: Sequence[Row]) -> str:
    """What the picture of goodputs at one buffer shows."""
    spread = _extremes(
        rows, "sd",
        lambda best, b, worst, w: f"The flows are most alike under {best}, where their standard "
        f"deviation is {b} % of the fair share, and least alike under {worst}, with {w} %",
        lambda x: "The flows are equally alike under each discipline: their standard deviation is "
        f"{x} % of the fair share",
    )
    goodput = _extremes(
        rows, "goodput",
        lambda best, b, worst, w: f"on average they get from {w} % of the fair share ({worst}) "
        f"to {b} % ({best})",
        lambda x: f"on average they get {x} % of the fair share under each",
    )
    return f"{spread}; {goodput}."


def _share_of_readings(percent: Mapping[str, float]) -> tuple[str, str, str, str]:
    """Who has the most and the least, and how much that is as it is printed."""
    most, least = max(percent, key=percent.__getitem__), min(percent, key=percent.__getitem__)
    return most, f"{percent[most]:.1f} %", least, f"{percent[least]:.1f} %"


def queue_sentence(runs: Sequence[tuple[str, Run]], buffer: int) -> str:
    """What the picture of queues at one buffer shows: how often each is empty and nearly full."""
    empty, full = {}, {}
    for name, run in runs:
        read = logs.read(run.directory)
        facts = read.run["facts"]
        first, last = window(read.queue["time_s"], facts["warmup_s"], facts["end_s"])
        packets = read.queue["packets"][first : last + 1]
        empty[name] = 100 * float(np.mean(packets == 0))
        full[name] = 100 * float(np.mean(packets >= 0.9 * buffer))
    most, m, least, x = _share_of_readings(empty)
    emptiness = (f"in {m} of the readings under each discipline" if m == x else
                 f"in {m} of the readings under {most} and in {x} under {least}")
    most, m, _, x = _share_of_readings(full)
    fullness = (f"nearly full (90 % of the buffer) it is in {m} under each" if m == x else
                f"most often nearly full (90 % of the buffer) is {most}, in {m} of the readings")
    return f"In this run the queue is empty {emptiness}; {fullness}."


def delay_sentence(rows: Sequence[Row]) -> str:
    """Queue delay at one buffer."""
    return _extremes(
        rows, "queue delay p50",
        lambda best, b, worst, w: f"The median queue delay is shortest under {best} ({b} ms) "
        f"and longest under {worst} ({w} ms)",
        lambda x: f"The median queue delay is {x} ms under each discipline",
    ) + "."


def _table(rows: Sequence[Row]) -> str:
    best = {c.title: _ranked(rows, c)[0][1].text(c.scale, c.digits).split()[0]
            for c in COLUMNS if c.better}
    head = "".join(f"<th>{html.escape(c.title)}</th>" for c in COLUMNS)
    body = []
    for row in rows:
        cells = []
        for column in COLUMNS:
            value, _, half = row.cell(column).text(column.scale, column.digits).partition(" ")
            mark = ' class="best"' if best.get(column.title) == value else ""
            cells.append(f"<td{mark}>{value} <small>{half}</small></td>")
        body.append(f"<tr><td>{html.escape(row.name)}</td>{''.join(cells)}</tr>")
    return (f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
            "</table>")


def _figure(image: str, what: str, caption: str) -> str:
    return (f'<figure><img src="{image}" alt="{html.escape(what)}">'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>")


def _goodput_panel(name: str, run: Run) -> plots.Panel:
    read = logs.read(run.directory)
    facts = read.run["facts"]
    goodput = goodput_bps(read.progress, facts["warmup_s"], facts["end_s"])
    return plots.Panel(name, np.arange(1, len(goodput) + 1, dtype=float), goodput / 1e6)


def _queue_panel(name: str, run: Run) -> plots.Panel:
    queue = logs.read(run.directory).queue
    return plots.Panel(name, queue["time_s"], queue["packets"])


def _commands(runs: Mapping[tuple[str, int], Sequence[Run]]) -> str:
    lines = []
    for several in runs.values():
        r = several[0].result
        changed = " ".join(f"--set {k}={v:g}" for k, v in r["parameters"].items()
                           if k in ("warmup", "duration"))
        lines.append(f"netns-scenarios/run dumbbell --qdisc '{r['qdisc']}' {changed} "
                     f"--seed {r['seed']}\n  digest {r['digest']}")
    return html.escape("\n".join(lines))


def write(path: Path, runs: Mapping[tuple[str, int], Sequence[Run]]) -> None:
    """The report of `runs`: a discipline's name and buffer to its runs, one per seed.

    Beside it, goodput-BUFFER.svg: the picture of each flow's goodput.
    """
    rows = [Row(name, buffer, [r.result for r in several])
            for (name, buffer), several in runs.items()]
    any_run = next(iter(runs.values()))[0].result
    p = any_run["parameters"]
    fair = any_run["summary"]["fair_share_bps"]
    seeds = [r.result["seed"] for r in next(iter(runs.values()))]
    parts = [
        f"<h1>{p['flows']} TCP flows share {p['rate']:g} Mb/s, under {len({r.name for r in rows})}"
        " queue disciplines</h1>",
        f"<p>Each of {p['flows']} sources has an access link of {p['access']:g} Mb/s and a "
        f"round-trip time of {p['rtt']:g} ms; the bottleneck is one link of {p['rate']:g} Mb/s "
        f"with a buffer of {' or '.join(str(b) for b in sorted({r.buffer for r in rows}))} "
        f"packets (Kantawala and Turner 2001, figure 2). TCP is that of "
        f"{html.escape(str(p['era']))}. A flow's fair share is {fair / 1e6:.2f} Mb/s of payload. "
        f"Measured for {p['duration']:g} s after {p['warmup']:g} s of warm-up, in virtual time, "
        f"on Linux {html.escape(any_run['kernel'])}; means over {len(seeds)} seeds, ± half of "
        "the 95 % interval (Student's t). The best mean of a column is marked.</p>",
    ]
    for buffer in sorted({r.buffer for r in rows}):
        parts.append(f"<h2>Buffer {buffer} packets</h2>")
        parts.append(_table([r for r in rows if r.buffer == buffer]))
    wanted = [_column(t) for t in ("utilization", "sd", "queue delay p50")]
    parts.append("<h2>The same as a picture</h2>")
    parts.append(_figure(plots.intervals(rows, wanted),
                         "means with 95 % intervals",
                         " ".join(f"Buffer {b}: "
                                  + delay_sentence([r for r in rows if r.buffer == b])
                                  for b in sorted({r.buffer for r in rows}))))
    for buffer in sorted({r.buffer for r in rows}):
        mine = [r for r in rows if r.buffer == buffer]
        first = [(name, several[0]) for (name, b), several in runs.items() if b == buffer]
        parts.append(f"<h2>Goodput of each flow, buffer {buffer} packets</h2>")
        parts.append(_figure(
            plots.goodputs([_goodput_panel(*nr) for nr in first], fair / 1e6,
                           path.with_name(f"goodput-{buffer}.svg")),
            f"goodput of each flow at {buffer} packets",
            f"A dot is a flow, the red line the fair share; seed {seeds[0]}. Over all seeds: "
            + fairness_sentence(mine)))
        parts.append(f"<h2>The queue over time, buffer {buffer} packets</h2>")
        parts.append(_figure(
            plots.queues([_queue_panel(*nr) for nr in first], buffer, p["warmup"]),
            f"queue over time at {buffer} packets",
            f"Packets in the queue every {p['sample']} ms, the red line the buffer, the warm-up "
            f"grey; seed {seeds[0]}. " + queue_sentence(first, buffer)))
    parts.append(
        "<h2>How to read the figures</h2><p class='note'>Goodput is what reached the sink in "
        "order. Queue delay is the backlog divided by the rate, read every sample: an arrival "
        "waits that long in a FIFO, and in a fair queue it is an average over flows. Fair queues "
        "have 65536 queues here (sfq 1024 slots), so that collisions of the hash play no part. "
        "red has table 1 of the paper: max_p 0.01, w_q 2<sup>-10</sup>, min 20 % and max 100 % "
        "of the buffer; mainline's drops every arrival while the average is above max.</p>"
        f"<details><summary>Commands and digests, first seed</summary><pre><code>"
        f"{_commands(runs)}</code></pre></details>")
    path.write_text(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Queue disciplines compared</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(parts) + "\n</body></html>\n")
