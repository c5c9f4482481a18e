# SPDX-License-Identifier: GPL-2.0
"""Who is best at what, of the rows of a paper's cells: every word of it is computed.

`[[question]]` of sweep.toml has comparisons: a figure at a point of an experiment, of which the
least is best, or with `most` the largest. The best has the best mean; by how much another is worse
is taken seed by seed, and has a 95 % interval.

`floor`: what is less than that from the best is no worse, in the unit that is shown. `needs`: a
figure of the same cells; who is at most half as good as the best at that one is out of the contest.
`suffix`: what a discipline's name has behind it in that experiment. `tcp_profiles`: it
is held in these, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aqmlab.measure import derived_metrics
from aqmlab.qdiscs.metadata import cards
from aqmlab.report import intervals

from .demo_workloads import FRAME, PACKET_MEMORY
from .paper import Paper, load

Row = Mapping[str, Any]

#: Of the best one's figure: what is worse by less is as good.
MARGIN = 0.05
#: Half of an interval that is more of the mean than this.
FAR = 0.25
GOOD, UNTOLD, WORSE = "as good", "not told apart", "worse"

#: A discipline of ours by another name.
LQD = "lqd"

#: What stands in braces in a discipline's options.
FIELDS = {
    "buffer": "the buffer in packets",
    "bytes": f"the same in bytes, {FRAME} for each packet",
    "memory": f"the same with what the kernel needs beside, {FRAME + PACKET_MEMORY} for each",
    "fifth": "a fifth of the packets",
    "most": "nine tenths of the packets",
    "frame": f"{FRAME}",
    "rate": "the link's Mb/s",
    "rtt": "the round-trip time in ms",
}

WORDS = (
    (GOOD, f"all of the interval is within {100 * MARGIN:g} % of the best, or within the contest's "
     "floor, where it has one"),
    (WORSE, "all of the interval is beyond that"),
    (UNTOLD, "neither: the interval lies across that limit; more seeds may tell"),
    ("at most half as good", "all of the interval is at half of the best's figure or below; where "
     "the least is best, at twice of it or above"),
    ("out", "at most half as good by another figure of the same runs, which the question names; "
     "it cannot win, and counts as worse"),
    ("a tie", "between mainline and ours: one of the other side is as good as the best of all"),
    ("open", "none of the other side is as good as the best of all, but one is not told apart"),
)


@dataclass(frozen=True)
class Standing:
    """A discipline's figures in a contest, by seed. sign: -1 where most is best; floor: a
    difference that is none; out: it cannot win."""

    name: str
    values: Sequence[float]
    sign: int
    floor: float = 0.0
    out: bool = False

    @property
    def mean(self) -> intervals.Mean:
        """Over the seeds."""
        return intervals.mean(self.values)

    @property
    def ours(self) -> bool:
        """Whether it is of this project."""
        return self.name == LQD or self.name in cards()

    def beyond(self, best: Standing, times: float) -> intervals.Mean:
        """By how much it is worse than so many times the best under the same seed, and than the
        best and the floor: see `intervals.beyond`."""
        worst = max if self.sign > 0 else min
        limits = [worst(times * other, other + self.sign * self.floor) for other in best.values]
        return intervals.beyond(self.values, limits, self.sign)

    def beside(self, best: Standing) -> str:
        """GOOD, UNTOLD or WORSE."""
        if self.out:
            return WORSE
        beyond = self.beyond(best, 1 + self.sign * MARGIN)
        if self is best or beyond.value + beyond.half <= 0:
            return GOOD
        return WORSE if beyond.value - beyond.half > 0 else UNTOLD

    def half_as_good(self, best: Standing) -> bool:
        """At most: half of the best, or twice as much where the least is best."""
        beyond = self.beyond(best, 2.0**self.sign)
        return self.out or beyond.value - beyond.half > 0


Every = Sequence[Sequence[Standing]]


def standings(contest: Mapping[str, Any], paper: Paper, made: Sequence[Row]) -> list[Standing]:
    """All disciplines, the best first and those that are out last, under the seeds that all have;
    none unless these are as many as the experiment's cells have at least."""
    (experiment,) = [e for e in paper.experiments if e.name == contest["experiment"]]
    values: dict[str, dict[int, float]] = {name: {} for name in experiment.disciplines}
    for row in made:
        if row["experiment"] == experiment.name and all(
                row["at"][axis] == value for axis, value in contest["at"].items()):
            with suppress(derived_metrics.Absent):
                values[row["discipline"]][row["seed"]] = derived_metrics.metric_of(row["figures"],
                                                                        contest["metric"])
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in values.values())))
    if len(seeds) < experiment.others:
        return []
    out = set[str]()
    if needs := contest.get("needs"):
        same = {key: contest[key] for key in ("experiment", "at", "suffix") if key in contest}
        by_it = standings({**same, **needs}, paper, made)
        if not by_it:
            return []
        out = {one.name for one in half_as_good(by_it)}
    sign = -1 if contest.get("most") else 1
    floor, suffix = contest.get("floor", 0.0) / contest.get("scale", 1.0), contest.get("suffix", "")
    found = [Standing(short, [by_seed[seed] for seed in seeds], sign, floor, short in out)
             for name, by_seed in values.items() for short in [name.removesuffix(suffix)]]
    return sorted(found, key=lambda s: (s.out, sign * s.mean.value))


def better(found: Sequence[Standing]) -> str:
    """Who is better, mainline or ours: the best of each, unless the other is as good, or cannot be
    told apart from it."""
    best = found[0]
    others = {one.beside(best) for one in found if one.ours != best.ours}
    if GOOD in others:
        return "a tie"
    if UNTOLD in others:
        return "open"
    return "ours" if best.ours else "mainline"


def _value(contest: Mapping[str, Any], one: Standing) -> str:
    return f"{one.mean.value * contest.get('scale', 1.0):.{contest.get('digits', 1)}f}"


def _figure(contest: Mapping[str, Any], first: Standing) -> str:
    """With its interval; of seeds that are far from each other the least and the most, as an
    interval that begins below nothing says little."""
    scale, digits = contest.get("scale", 1.0), contest.get("digits", 1)
    if first.mean.half <= FAR * abs(first.mean.value):
        return f"{first.name} {first.mean.text(scale, digits)}"
    least, most = (f"{of(first.values) * scale:.{digits}f}" for of in (min, max))
    return f"{first.name} {_value(contest, first)}" + (f" ({least} to {most})" if least != most
                                                       else "")


def _shown(contest: Mapping[str, Any], some: Sequence[Standing]) -> str:
    """The first of these and its figure, and what the others are beside it."""
    if not (some := [one for one in some if not one.out]):
        return "none"
    said = [_figure(contest, some[0])]
    for word in (GOOD, UNTOLD):
        if names := [one.name for one in some[1:] if one.beside(some[0]) == word]:
            said.append(f"{word}: {', '.join(names)}")
    return "; ".join(said)


def half_as_good(found: Sequence[Standing]) -> list[Standing]:
    """Who is, at most; the worst first."""
    return [one for one in reversed(found) if one.half_as_good(found[0])]


def _worst(contest: Mapping[str, Any], found: Sequence[Standing]) -> str:
    some, out = ([one for one in half_as_good(found) if one.out == is_out]
                 for is_out in (False, True))
    said = [_figure(contest, some[0])] if some else ["none"]
    if some[1:]:
        said.append(", ".join(one.name for one in some[1:]))
    if out:
        said.append(f"out: {', '.join(one.name for one in out)}")
    return "; ".join(said)


def _best(every: Every, never: Collection[str] = ()) -> dict[str, Counter[str]]:
    """Of those that took part in all of these contests, who is worse than the best in fewest, each
    with how often it is what beside it; who is as good in most is first, and then mainline's."""
    takes_part = Counter(one.name for found in every for one in found)
    beside: dict[tuple[bool, str], Counter[str]] = {}
    for found in every:
        for one in found:
            if takes_part[one.name] == len(every) and one.name not in never:
                beside.setdefault((one.ours, one.name), Counter())[one.beside(found[0])] += 1
    fewest = min((words[WORSE] for words in beside.values()), default=0)
    named = sorted((-words[GOOD], who) for who, words in beside.items() if words[WORSE] == fewest)
    return {who[1]: beside[who] for _, who in named}


def _take(every: Every, never: Collection[str], of: str = "") -> str:
    """_best `of` these in words."""
    said = [f"{name} (as good as the best{of} in {words[GOOD]} of {len(every)}"
            + "".join(f", {word} in {words[word]}" for word in (UNTOLD, WORSE) if words[word]) + ")"
            for name, words in _best(every, never).items()]
    *others, last = said or ["none, for each would be under Not"]
    return " or ".join(filter(None, (", ".join(others), last)))


def _of_ours(every: Every) -> Every:
    """The same contests without mainline's; none of those that only mainline's took part in."""
    ours = [[one for one in found if one.ours] for found in every]
    return ours if all(ours) else []


def avoided(every: Every) -> list[str]:
    """Who is at most half as good as the best in most."""
    count = Counter(one.name for found in every for one in half_as_good(found))
    return sorted(name for name, times in count.items() if 2 * times > len(every))


def advised(every: Every, never: Collection[str]) -> list[str]:
    """Who is to be taken, of all and of ours; who is in `never` is not."""
    return [*dict.fromkeys([*_best(every, never), *_best(_of_ours(every), never)])]


def advice(every: Every, never: Collection[str]) -> str:
    """What to take: of all, and of ours."""
    ours = _of_ours(every)
    return f"take {_take(every, never)}." + (
        f" Of ours: {_take(ours, never, ' of ours')}." if ours else "")


def _worse(contest: Mapping[str, Any], one: Standing, best: Standing) -> str:
    """A contest, and the figures of one that is worse and of the best."""
    return (f"{contest['what']} ({_value(contest, one)}; {best.name} {_value(contest, best)}"
            f"{', out' * one.out})")


def _price(asked: Sequence[Mapping[str, Any]], every: Every, never: Collection[str]) -> str:
    """In which of these contests each that is advised of all is worse, with its figure and the
    best one's; and in how many those of ours are."""
    said = ""
    first = _best(every, never)
    for name in first:
        where = [_worse(contest, one, found[0])
                 for contest, found in zip(asked, every, strict=True)
                 for one in found if one.name == name and one.beside(found[0]) == WORSE]
        said += f" {name} is worse in: {'; '.join(where)}." if where else ""
    ours = Counter(one.name for found in every for one in found
                   if one.name in {*advised(every, never)} - {*first}
                   and one.beside(found[0]) == WORSE)
    worse = ", ".join(f"{name} in {times}" for name, times in sorted(ours.items()))
    return said + (f" Worse than the best of all: {worse}." if worse else "")


def _avoid(every: Every) -> str:
    names = avoided(every)
    return (f" Not to be taken, as at most half as good as the best in more than half of these "
            f"contests: {', '.join(names)}." if names else "")


@dataclass(frozen=True)
class Held:
    """A question's contests that have run, and their standings; those of another era by its head,
    an empty list where it has not run there."""

    text: Mapping[str, Any]
    contests: Sequence[Mapping[str, Any]]
    every: Every
    eras: Mapping[str, Every]


def _changed(contest: Mapping[str, Any], own: Sequence[Standing], then: Sequence[Standing]) -> str:
    """A contest in another era: the best, and who is worse that was as good, or the other way."""
    if not then:
        return ""
    was = {one.name: one.beside(own[0]) for one in own}
    said = [f"{better(then)}: {_figure(contest, then[0])}"]
    for before, after, head in ((GOOD, WORSE, "now worse"), (WORSE, GOOD, "now as good")):
        if names := [f"{one.name} {_value(contest, one)}" for one in then
                     if (was[one.name], one.beside(then[0])) == (before, after)]:
            said.append(f"{head}: {', '.join(names)}")
    return "; ".join(said)


def _in_eras(held: Held) -> str:
    """What would be taken in other eras, and where what is taken in the paper's own is worse."""
    said = ""
    names = _best(held.every, avoided(held.every))
    for head, every in held.eras.items():
        run = [(contest, found) for contest, found in zip(held.contests, every, strict=True)
               if found]
        if not run:
            continue
        asked, there = zip(*run, strict=True)
        worse = [f"{one.name}, {_worse(contest, one, found[0])}" for contest, found in run
                 for one in found if one.name in names and one.beside(found[0]) == WORSE]
        said += (f" {head.capitalize()}, in {len(asked)} of these {len(held.contests)} contests: "
                 f"{advice(there, avoided(there))}"
                 + (f" Worse there: {'; '.join(worse)}." if worse else ""))
    return said


def question(held: Held) -> list[str]:
    """Markdown of one question: in words, and a table of its contests."""
    text = held.text
    out = [f"### {text['head']}", "", " ".join(text["asks"].split()), ""]
    if not held.every:
        return [*out, "Not all that this needs has run.", ""]
    tally = Counter(better(found) for found in held.every)
    eras = {head: every for head, every in held.eras.items() if any(every)}
    heads = ["best of mainline's", "best of ours", "at most half as good: the worst, and others",
             "better", *eras]
    out += [
        f"{len(held.every)} of {len(text['comparison'])} contests have run. Mainline is better in "
        f"{tally['mainline']} of them, ours in {tally['ours']}, {tally['a tie']} are a tie, and "
        f"{tally['open']} are open.", "",
        f"| | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for i, (contest, found) in enumerate(zip(held.contests, held.every, strict=True)):
        sides = [_shown(contest, [one for one in found if one.ours == ours])
                 for ours in (False, True)]
        cells = [*sides, _worst(contest, found), better(found),
                 *(_changed(contest, found, every[i]) for every in eras.values())]
        out.append(f"| {contest['what']} | {' | '.join(cells)} |")
    return [*out, ""]


def _held(paper: Paper, made: Sequence[Row]) -> list[Held]:
    """Of each question."""
    eras = [(paper.text["tcp_profile"][name]["head"], name, other, other.made())
            for name in paper.eras[1:] for other in [load(paper.name, era=name)]]
    found = []
    for text in paper.text["question"]:
        run = [(contest, standing) for contest in text["comparison"]
               if (standing := standings(contest, paper, made))]
        asked, every = [contest for contest, _ in run], [standing for _, standing in run]
        found.append(Held(text, asked, every, {
            head: [standings(contest, other, theirs)
                   if name in contest.get("tcp_profiles", ()) else [] for contest in asked]
            for head, name, other, theirs in eras}))
    return found


def _options(paper: Paper, names: Collection[str]) -> list[str]:
    """Markdown: how these are configured, and what is in braces."""
    suffixes = {contest["suffix"] for text in paper.text["question"]
                for contest in text["comparison"] if "suffix" in contest}
    have = {name: paper.disciplines[name] for one in names
            for name in (one, *(one + suffix for suffix in sorted(suffixes)))
            if name in paper.disciplines}
    if not have:
        return []
    used = {part for options in have.values() for part in re.findall(r"\{(\w+)\}", options)}
    meant = "; ".join(f"`{{{part}}}` is {FIELDS[part]}" for part in FIELDS if part in used)
    return ["How those that are advised were configured, as `tc qdisc` takes it"
            + (f"; {meant}" if meant else "") + ":", "", "| | |", "|---|---|",
            *(f"| {name} | `{options}` |" for name, options in have.items()), ""]


def _of_all(have: Sequence[Held]) -> tuple[Every, list[str]]:
    """The contests of all questions, and who is not to be taken in one of them."""
    return ([found for held in have for found in held.every],
            sorted({name for held in have for name in avoided(held.every)}))


def one_for_all(paper: Paper, made: Sequence[Row]) -> list[str]:
    """Who is worse than the best in the fewest contests of all questions."""
    return [*_best(*_of_all(_held(paper, made)))]


def summary(paper: Paper, made: Sequence[Row]) -> list[str]:
    """Markdown of all questions: what to take, then each by itself."""
    every_question = _held(paper, made)
    have = [held for held in every_question if held.every]
    said, named = [], list[str]()
    for held in have:
        never = avoided(held.every)
        said.append(f"- **{held.text['head']}**: {advice(held.every, never)}"
                    f"{_price(held.contests, held.every, never)}{_avoid(held.every)}"
                    f"{_in_eras(held)}")
        named += advised(held.every, never)
    if len(have) > 1:
        every, never = _of_all(have)
        asked = [contest for held in have for contest in held.contests]
        said.append(f"- **One for all of these**, of those that took part in every contest and are "
                    f"not to be avoided in any question: {advice(every, never)}"
                    f"{_price(asked, every, never)}")
        named += advised(every, never)
    return ["## When to use which", "",
            "Computed from the contests below, as far as they have run. The best has the best mean "
            "over the seeds that all disciplines of the contest have; tables of figures have all "
            "seeds. Each of the others is set beside it under the same seeds: of the logarithm of "
            "the ratio (of the difference, where one is 0) there is a mean over the seeds with a "
            "95 % interval, Student's t. What is advised is worse than the best in the fewest "
            "contests; of equals all are named, first who is as good in most. Mainline's need no "
            "module of ours.", "",
            "| said of a discipline, or a contest | when |", "|---|---|",
            *(f"| {word} | {when} |" for word, when in WORDS), "",
            "In the tables each side has its own best, and \"as good\" and \"not told apart\" "
            "beside it are from that one. A figure has its 95 % interval, or, where that is wide, "
            "the least and the most of the seeds.", "",
            *said, *([""] if said else []), *_options(paper, [*dict.fromkeys(named)]),
            *(line for held in every_question for line in question(held))]
