# SPDX-License-Identifier: GPL-2.0
"""What a report says of its tables and pictures in words: who is best, who is worst, and whether
the seeds tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .intervals import Mean, Row, beyond, column_of, mean, ranked
from .load_runs import Run, Section, deep


@dataclass(frozen=True)
class DisciplineMean:
    """A discipline and what it has of something, by seed."""

    name: str
    by_seed: Mapping[int, float]

    @property
    def mean(self) -> Mean:
        """Over the seeds."""
        return mean(list(self.by_seed.values()))

    def told_from(self, best: DisciplineMean, better: int) -> bool:
        """Whether the seeds that both have tell that it is worse."""
        seeds = sorted(self.by_seed.keys() & best.by_seed.keys())
        if len(seeds) < 2:
            return False
        worse = beyond([self.by_seed[seed] for seed in seeds],
                       [best.by_seed[seed] for seed in seeds], -better)
        return worse.value - worse.half > 0


@dataclass(frozen=True)
class Ranking:
    """Disciplines from the best to the worst of something. better: see `Column`."""

    better: int
    of: Sequence[DisciplineMean]


def _compared(ranking: Ranking, scale: float, digits: int,
              verb: Callable[[str, str, str, str], str], same: Callable[[str], str]) -> str:
    """A clause about the best and the worst, and whether the seeds tell the best from the next;
    `same` is the clause when the numbers, as they are printed, do not differ. Who has the same as
    they are printed is named, too."""
    best, worst = ranking.of[0], ranking.of[-1]
    texts = {one.name: one.mean.text(scale, digits) for one in ranking.of}
    shown = {name: text.split()[0] for name, text in texts.items()}
    few = ", by one seed" if any(len(one.by_seed) == 1 for one in ranking.of) else ""
    if shown[best.name] == shown[worst.name]:
        return same(shown[best.name]) + few
    text = verb(_who(shown, shown[best.name]), texts[best.name],
                _who(shown, shown[worst.name]), texts[worst.name])
    after = next(one for one in ranking.of if shown[one.name] != shown[best.name])
    if not few and not after.told_from(best, ranking.better):
        text += f" (seed by seed {best.name} and {after.name} are not told apart)"
    return text + few


def _who(shown: Mapping[str, str], text: str) -> str:
    """All of whom this is shown: a, b and c."""
    *others, last = [name for name, one in shown.items() if one == text]
    return f"{', '.join(others)} and {last}" if others else last


def _said(ranking: Ranking, scale: float, digits: int, apart: str, alike: str) -> str:
    """`_compared` in the words of two templates, which name {best}, {b}, {worst} and {w}."""
    return _compared(ranking, scale, digits,
                     lambda best, b, worst, w: apart.format(best=best, b=b, worst=worst, w=w),
                     lambda x: alike.format(b=x))


def _extremes(rows: Sequence[Row], title: str, verb: Callable[[str, str, str, str], str],
              same: Callable[[str], str]) -> str:
    """`_compared` for a column; nothing unless two know it."""
    column = column_of(title)
    of = [DisciplineMean(row.name, row.by_seed(column)) for row, _ in ranked(rows, column)]
    return _compared(Ranking(column.better, of), column.scale, column.digits, verb,
                     same) if of[1:] else ""


def _of_group(section: Section, group: str, path: str, better: int) -> Ranking | None:
    """A metric of a group from the best discipline to the worst, of those only that know it; None
    unless two do."""
    found = []
    for name, several in section.runs.items():
        known = {run.result["seed"]: value for run in several if (
            value := deep(run.result["groups"].get(group, {}), path)) is not None}
        if len(known) == len(several):
            found.append(DisciplineMean(name, known))
    found.sort(key=lambda one: -better * one.mean.value)
    return Ranking(better, found) if found[1:] else None


def group_sentences(section: Section) -> str:
    """Who leaves what to whom, where a scenario has groups that are not alike."""
    said = []
    groups = section.any["groups"]
    for group in groups if len(groups) > 1 else ():
        requests, datagrams, share, loss = (
            _of_group(section, group, path, better) for path, better in
            (("completion_s.mean", -1), ("delay_ms.p50", -1), ("share_of_fair", 1), ("loss", -1)))
        if requests:
            said.append(_said(requests, 1, 2,
                              "A request takes {b} s in the mean under {best}, and {w} s under "
                              "{worst}", "A request takes {b} s in the mean under each discipline"))
        elif datagrams and loss:
            of_group = f"Of {group}'s datagrams "
            said.append(_said(loss, 100, 1,
                              of_group + "{b} % are lost under {best}, and {w} % under {worst}",
                              of_group + "{b} % are lost under each"))
        elif share:
            gets = f"Group {group} gets "
            said.append(_said(share, 100, 1,
                              gets + "{b} % of its fair share under {best}, and {w} % under "
                              "{worst}", gets + "{b} % of its fair share under each"))
    return " ".join(f"{one}." for one in said)


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
    said = "; ".join(filter(None, (spread, goodput)))
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def share_of_readings(percent: Mapping[str, float]) -> tuple[str, str, str, str]:
    """Who have the most and the least, and how much that is as it is printed."""
    shown = {name: f"{value:.1f} %" for name, value in percent.items()}
    m, x = (f"{end(percent.values()):.1f} %" for end in (max, min))
    return _who(shown, m), m, _who(shown, x), x


def queue_sentence(runs: Sequence[tuple[str, Run]], buffer: int) -> str:
    """What the picture of queues at one buffer shows: how often each is empty and nearly full."""
    empty, full = {}, {}
    for name, run in runs:
        packets = run.drawn.packets[run.drawn.measured]
        empty[name] = 100 * float(np.mean(packets == 0))
        full[name] = 100 * float(np.mean(packets >= 0.9 * buffer))
    most, m, least, x = share_of_readings(empty)
    emptiness = (f"in {m} of the readings under each discipline" if m == x else
                 f"in {m} of the readings under {most} and in {x} under {least}")
    most, m, _, x = share_of_readings(full)
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
