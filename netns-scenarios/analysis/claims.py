# SPDX-License-Identifier: GPL-2.0
"""What a paper claims, as data, and what our cells say of it.

A claim (`papers/NAME/claims.toml`) is a figure of the cells of one experiment: `metric` of the
discipline `of`, at the points of `at` (axes that are left out take all their values), folded over
these points by `fold`. With `against` it is the ratio of that figure, or their `difference`, to the
same of other cells, point by point. It is confirmed when the 95 % interval over the seeds lies
within `low` to `high`, differs when it lies outside of that, and is not decidable when it lies
across a bound, when cells are absent, with fewer than three seeds, or when the seeds of a cell were
run by different versions of a module. A ratio to 0 is infinite:
then its inverse is what has an interval, and is judged by the inverse of the bounds.

`tries` are the same figure with one thing changed: they say what a difference comes from, and what
turns a confirmed claim over.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import compare

CLAIMS = "claims.toml"
CONFIRMED, DIFFERS, UNDECIDED = "confirmed", "differs", "not decidable"
ACROSS = "the interval lies across a bound"
LEAST_SEEDS = 3

HEADERS = 42  # bytes of Ethernet, IPv4 and UDP

Row = Mapping[str, Any]
Figures = Mapping[str, Any]


class Absent(Exception):
    """A cell, or a figure of it, that a claim needs; the message names it."""


def figure(figures: Figures, path: str) -> float:
    """A figure by its path, `groups.far.share_of_fair`, or one of DERIVED with the group, or the
    phase, before it, `udp:link_share`."""
    group, colon, name = path.partition(":")
    try:
        if colon:
            return DERIVED[name](figures, group)
        value: Any = figures
        for key in path.split("."):
            value = value[int(key) if isinstance(value, list) else key]
        return float(value)
    except (KeyError, IndexError, TypeError, ZeroDivisionError):
        raise Absent(f"no {path}") from None


def _median_queue_packets(figures: Figures, phase: str) -> float:
    """At most so many full packets are in the queue for half of a phase."""
    delay_ms = figures["phases"][int(phase)]["queue_delay_ms"]["p50"]
    return float(delay_ms * figures["rate_bps"] / (1514 * 8 * 1e3))


def _group_bps(figures: Figures, group: str) -> float:
    one = figures["groups"][group]
    return float(one["goodput_bps"]["mean"] * one["flows"])


def _wait_ms(figures: Figures, group: str) -> float:
    """Of UDP in the queue, mean. Half of the round-trip time is not in the queue."""
    one = figures["groups"][group]
    if "delay_ms" not in one:
        raise Absent(f"no packet of {group} that arrived")
    return float(one["delay_ms"]["mean"] - one["rtt_ms"] / 2)


def _waiting(figures: Figures, group: str) -> float:
    """Packets of UDP in the queue, by Little's law: their rate times their mean wait."""
    rate_bps = _group_bps(figures, group)
    if not rate_bps:
        return 0.0
    return _wait_ms(figures, group) / 1e3 * rate_bps / (8 * figures["payload"][group])


def _kept(figures: Figures, phase: int) -> float:
    """TCP's goodput in a phase over that in the first."""
    first, this = (figures["phases"][i]["groups"]["tcp"]["mean"] for i in (0, phase))
    return float(this / first)


def _hit(phase: Figures) -> float:
    """Share of the packets that were dropped, or marked instead."""
    return float((phase["dropped"] + phase["marked"]) / (phase["dropped"] + phase["sent"]))


def choke_theory(offered: float) -> float:
    """Share of the link that CHOKe leaves to an unresponsive flow of `offered` times the link's
    rate, beside many that respond: the fluid model of Tang, Wang and Low (INFOCOM 2003).

    With s the share and X what is offered, (1 - s) ln((X + s) / 2s) = (X + s) / 2. The left side
    less the right falls with s.
    """
    low, high = 1e-12, min(1.0, offered)
    for _ in range(200):
        share = (low + high) / 2
        if (1 - share) * math.log((offered + share) / (2 * share)) > (offered + share) / 2:
            low = share
        else:
            high = share
    return share


def _own_drops(figures: Figures, group: str) -> float:
    """Share of the packets that RED drops by itself, r. TCP loses 2h + r - 2hr, where h is the part
    of the queue that one flow has, for a match of its packets drops two (Tang, Wang and Low)."""
    tcp, packets = figures["groups"]["tcp"], float(figures["summary"]["queue_packets"]["mean"])
    if not packets:
        raise Absent("no packet in the queue")
    twice = 2 * (1 - _waiting(figures, group) / packets) / tcp["flows"]
    return float(max(0.0, (tcp["loss"] - twice) / (1 - twice)))


def _theory(figures: Figures, group: str) -> float:
    """Offered is what RED's own drops leave, which are alike of all."""
    offered = figures["offered_bps"][group] / figures["rate_bps"]
    return choke_theory(offered * (1 - _own_drops(figures, group)))


def _theory_at_work(figures: Figures, group: str) -> float:
    """Of a queue that stands still there is none."""
    if not figures["summary"]["utilization"]:
        raise Absent("nothing passed")
    return _theory(figures, group)


def _wire_share(figures: Figures, group: str) -> float:
    """Share of the link's bits, headers included."""
    payload = figures["payload"][group]
    return (_group_bps(figures, group) * (payload + HEADERS) / payload) / float(
        figures["rate_bps"])


def _use_30_40(figures: Figures, group: str) -> float:
    """Share of the link that a group's goodput has from 30 to 40 s: the median of its steps of 2 s,
    for what waited behind a hole counts as the hole is filled. Of full packets of 1500 bytes."""
    steps = figures["series_bps"][group][15:20]
    return statistics.median(steps) / (figures["rate_bps"] * 1460 / 1514)


def _off_equal_part(figures: Figures, group: str) -> float:
    """How far UDP's part of the queue is from what it would have if each flow had as much, as a
    share of the queue."""
    flows = {name: one["flows"] for name, one in figures["groups"].items()}
    packets = float(figures["summary"]["queue_packets"]["mean"])
    if not packets:
        raise Absent("no packet in the queue")
    return abs(_waiting(figures, group) / packets - flows[group] / sum(flows.values()))


def _unevenness(figures: Figures, group: str) -> float:
    goodput = figures["groups"][group]["goodput_bps"]
    return float(goodput["sd"] / goodput["mean"])


#: Of a group, or of a phase.
DERIVED: dict[str, Callable[[Figures, str], float]] = {
    "mbps": lambda f, group: _group_bps(f, group) / 1e6,
    "kbyte_s": lambda f, group: _group_bps(f, group) / 8e3,
    "link_share": _wire_share,
    "variance": lambda f, _: f["summary"]["sd_over_fair_share"] ** 2,
    "mean_over_fair": lambda f, _: (f["summary"]["goodput_bps"]["mean"]
                                    / f["summary"]["fair_share_bps"]),
    "wait_ms": _wait_ms,
    "waiting": _waiting,
    "waiting_share": lambda f, group: _waiting(f, group) / f["summary"]["queue_packets"]["mean"],
    "off_equal_part": _off_equal_part,
    "unevenness": _unevenness,
    "use_30_40": _use_30_40,
    "mbps_kept": lambda f, group: (_wire_share(f, group) * f["rate_bps"]
                                   / f["offered_bps"][group]),
    "median_queue_packets": _median_queue_packets,
    "dropped_0": lambda f, _: _hit(f["phases"][0]),
    "dropped_1": lambda f, _: _hit(f["phases"][1]),
    "kept_1": lambda f, _: _kept(f, 1),
    "kept_2": lambda f, _: _kept(f, 2),
    "choke_theory": _theory_at_work,
    "over_theory": lambda f, group: _wire_share(f, group) / _theory(f, group),
}

FOLDS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean, "max": max, "min": min,
}


@dataclass(frozen=True)
class Selection:
    """Cells of an experiment, and the figure of each."""

    experiment: str
    metric: str
    of: str
    at: Mapping[str, Sequence[Any]]

    def changed(self, by: Mapping[str, Any]) -> Selection:
        """The same with what `by` replaces; single values of axes, too. `[]`: not this axis, which
        another experiment need not have."""
        at = {**self.at, **lists(by.get("at", {}))}
        return Selection(by.get("experiment", self.experiment), by.get("metric", self.metric),
                         by.get("of", self.of), {axis: of for axis, of in at.items() if of})

    def holds(self, experiment: str, discipline: str, at: Mapping[str, Any]) -> bool:
        """Whether a cell is one of these."""
        return ((experiment, discipline) == (self.experiment, self.of)
                and all(at.get(axis) in values for axis, values in self.at.items()))


def lists(at: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Values of axes, single ones as lists of one."""
    return {axis: value if isinstance(value, list) else [value] for axis, value in at.items()}


@dataclass(frozen=True)
class Try:
    """One thing changed: what, and in which cells. of_discipline: whether it is another discipline
    than the claim's, or another setting of it, and not only where it is at work, or what is taken
    of it."""

    change: str
    by: Mapping[str, Any]
    of_discipline: bool = False


@dataclass(frozen=True)
class Claim:
    """One claim; `low` and `high` are infinite where there is no bound. says, published and why:
    for people. reason: of a difference, when it is known. seen: that some of its cells had run when
    its bounds were set. text: as it stands in the file."""

    id: str
    place: str
    says: str
    published: str
    why: str
    what: Selection
    against: Selection | None
    difference: bool
    fold: str
    low: float
    high: float
    scale: float = 1.0
    digits: int = 2
    tries: Sequence[Try] = ()
    reason: str = ""
    seen: bool = False
    text: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bounds(self) -> str:
        """Of all that judges it: a row holds it as it was before the run."""
        return bounds_of(self.text)

    def judges(self, experiment: str, discipline: str, at: Mapping[str, Any]) -> bool:
        """Whether its verdict needs this cell."""
        return any(s.holds(experiment, discipline, at) for s in (self.what, self.against) if s)

    def least(self, seeds: Mapping[str, Sequence[int]]) -> int:
        """How many seeds all of its experiments have."""
        return min(len(seeds[s.experiment]) for s in (self.what, self.against) if s)

    def varied(self, by: Mapping[str, Any]) -> Claim:
        """The same claim of other cells. What it is set against follows, but for what the claim
        itself says of that."""
        what = self.what.changed(by)
        against = self.against and what.changed(
            {**self.text["against"], **by.get("against", {})})
        return replace(self, what=what, against=against)

    @property
    def unit(self) -> str:
        """What comes behind its figures; a ratio has none."""
        if self.scale == 100:
            return " %"
        if self.against and not self.difference:
            return ""
        return next((f" {unit}" for part, unit in UNITS.items() if part in self.what.metric), "")

    def accepted(self) -> str:
        """The bounds, for people."""
        low, high = (f"{x * self.scale:.4g}" for x in (self.low, self.high))
        if math.isinf(self.high):
            return f"at least {low}{self.unit}"
        if math.isinf(self.low):
            return f"at most {high}{self.unit}"
        return f"{low} to {high}{self.unit}"


#: By a part of a metric's path.
UNITS = {"_ms": "ms", "completion_s": "s", "mbps": "Mb/s", "kbyte_s": "KB/s",
         "queue_packets": "packets", "waiting": "packets", "lengths": "packets",
         "share_of_fair": "times an equal part"}

JUDGED = ("experiment", "metric", "of", "at", "against", "difference", "fold", "low", "high")
#: What a try may change.
TRY_KEYS = {"change", "experiment", "metric", "of", "at", "against"}
KEYS = {*JUDGED, "id", "place", "says", "published", "why", "scale", "digits", "try", "reason",
        "seen"}


def bounds_of(text: Mapping[str, Any]) -> str:
    """A name of all that judges a claim, of its text."""
    judged = {key: value for key, value in text.items() if key in JUDGED}
    return hashlib.sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()[:10]


def _disciplines(claim: Mapping[str, Any], by: Mapping[str, Any]) -> tuple[str, str]:
    """That which a claim is of, and that which it is set against, with what `by` replaces."""
    of = by.get("of", claim["of"])
    return of, {**claim.get("against", {}), **by.get("against", {})}.get("of", of)


def _try(claim: Mapping[str, Any], text: Mapping[str, Any]) -> Try:
    by = {key: value for key, value in text.items() if key != "change"}
    return Try(text["change"], by, _disciplines(claim, by) != _disciplines(claim, {}))


def parse(text: Mapping[str, Any]) -> list[Claim]:
    """The claims of a file's text; ValueError for a key that there is not."""
    made = []
    for one in text.get("claim", ()):
        tries, low, high = one.get("try", ()), one.get("low"), one.get("high")
        unknown = [*(set(one) - KEYS), *(key for t in tries for key in set(t) - TRY_KEYS)]
        if unknown:
            raise ValueError(f"{one.get('id')}: no such key: {', '.join(sorted(unknown))}")
        if low is None and high is None:
            raise ValueError(f"{one['id']}: needs low or high")
        if low is not None and high is not None and low >= high:
            raise ValueError(f"{one['id']}: low is not below high")
        parts = [part for t in (one, *tries) for part in (t, t.get("against", {}))]
        wrong = [one["fold"]] if one.get("fold", "mean") not in FOLDS else []
        wrong += [name for part in parts for _, colon, name in [part.get("metric", "").partition(
            ":")] if colon and name not in DERIVED]
        if wrong:
            raise ValueError(f"{one['id']}: no such figure or fold: {', '.join(wrong)}")
        what = Selection(one["experiment"], one["metric"], one["of"], lists(one.get("at", {})))
        made.append(Claim(
            one["id"], one["place"], one["says"], str(one["published"]), one["why"], what,
            what.changed(one["against"]) if "against" in one else None,
            one.get("difference", False), one.get("fold", "mean"),
            one.get("low", -math.inf), one.get("high", math.inf), one.get("scale", 1.0),
            one.get("digits", 2),
            [_try(one, t) for t in one.get("try", ())],
            one.get("reason", ""), one.get("seen", False), one))
    if len({claim.id for claim in made}) != len(made):
        raise ValueError("two claims have the same id")
    return made


def needed(listed: Sequence[Claim], experiment: str, discipline: str,
           at: Mapping[str, Any]) -> bool:
    """Whether one of these claims is judged by this cell."""
    return any(claim.judges(experiment, discipline, at) for claim in listed)


def load(directory: Path) -> list[Claim]:
    """The claims of a paper; none when there is no file."""
    path = directory / CLAIMS
    return parse(tomllib.loads(path.read_text())) if path.exists() else []


@dataclass(frozen=True)
class Judged:
    """A claim's verdict. values: by seed. why_not: what kept it from being decided."""

    verdict: str
    value: compare.Mean | None
    seeds: int
    cells: Sequence[Row]
    why_not: str = ""


Cells = Mapping[tuple[str, str, int], Sequence[Row]]


def by_cell(rows: Sequence[Row]) -> Cells:
    """Rows by experiment, discipline and seed."""
    made: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        made.setdefault((row["experiment"], row["discipline"], row["seed"]), []).append(row)
    return made


def _points(what: Selection, axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    values = [what.at.get(axis, all_) for axis, all_ in axes.items()]
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*values)]


def _values(what: Selection, axes: Mapping[str, Sequence[Any]], cells: Cells,
            seed: int) -> tuple[list[float], list[Row]]:
    """The figure at each point, in the order of the axes."""
    rows = []
    for point in _points(what, axes):
        found = [row for row in cells.get((what.experiment, what.of, seed), ())
                 if row["at"] == point]
        if not found:
            at = ", ".join(f"{k} {v}" for k, v in point.items())
            raise Absent(f"{what.of} in {what.experiment}" + (f" at {at}" if at else ""))
        rows.append(found[0])
    return [figure(row["figures"], what.metric) for row in rows], rows


def measure(claim: Claim, axes: Mapping[str, Mapping[str, Sequence[Any]]], cells: Cells,
            seeds: Mapping[str, int]) -> tuple[float, list[Row]]:
    """The claim's figure under one seed of each experiment, not a number where 0 is divided by 0;
    axes: of each experiment. Absent when a cell is."""
    values, rows = _values(claim.what, axes[claim.what.experiment], cells,
                           seeds[claim.what.experiment])
    if claim.against:
        others, more = _values(claim.against, axes[claim.against.experiment], cells,
                               seeds[claim.against.experiment])
        rows += more
        if len(others) == 1:
            others *= len(values)
        if claim.difference:
            values = [a - b for a, b in zip(values, others, strict=True)]
        else:
            values = [a / b if b else math.inf if a else math.nan
                      for a, b in zip(values, others, strict=True)]
    return math.nan if any(map(math.isnan, values)) else FOLDS[claim.fold](values), rows


def versions(cells: Sequence[Row]) -> str:
    """What is not the same under all seeds of a cell: modules by name, or the kernel; the first."""
    seen: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in cells:
        made = {"the kernel": row["made"]["kernel"], **row["made"]["modules"]}
        first = seen.setdefault((row["experiment"], row["discipline"], repr(row["at"])), made)
        for name in first.keys() | made.keys():
            if first.get(name) != made.get(name):
                return name
    return ""


def judge(claim: Claim, axes: Mapping[str, Mapping[str, Sequence[Any]]], rows: Sequence[Row],
          seeds: Mapping[str, Sequence[int]]) -> Judged:
    """The verdict; seeds: those that each experiment is to have, of two experiments taken in pairs.
    Each must have all cells."""
    cells = by_cell(rows)
    values, used, lacking, no_ratio = [], [], "", ""
    for at in range(claim.least(seeds)):
        of = {name: numbers[at] for name, numbers in seeds.items() if at < len(numbers)}
        seed = of[claim.what.experiment]
        try:
            value, mine = measure(claim, axes, cells, of)
        except Absent as absent:
            lacking = lacking or f"absent: {absent}, seed {seed}"
            continue
        values.append(value)
        used += mine
        if claim.against and math.isnan(value):
            no_ratio = f"no ratio to {claim.against.of}: both have 0 under seed {seed}"
    if not values:
        return Judged(UNDECIDED, None, 0, used, lacking)
    if math.inf in values and 0 in values:
        no_ratio = "a seed has 0, and another a ratio to 0"
    if no_ratio:
        return Judged(UNDECIDED, None, len(values), used, no_ratio)
    low, high, inverse = claim.low, claim.high, math.inf in values
    if inverse:
        values = [1 / value for value in values]
        low = -math.inf if math.isinf(claim.high) else 1 / claim.high
        high = 1 / claim.low if claim.low > 0 else math.inf
    mean = replace(compare.mean(values), inverse=inverse)
    if len(values) < LEAST_SEEDS:
        return Judged(UNDECIDED, mean, len(values), used,
                      f"{len(values)} seed{'s' * (len(values) != 1)} of {LEAST_SEEDS}")
    if differs := versions(used):
        return Judged(UNDECIDED, mean, len(values), used, f"seeds by two versions of {differs}")
    least, most = mean.value - mean.half, mean.value + mean.half
    if low <= least and most <= high:
        return Judged(CONFIRMED, mean, len(values), used, lacking)
    if most < low or least > high:
        return Judged(DIFFERS, mean, len(values), used, lacking)
    return Judged(UNDECIDED, mean, len(values), used, ACROSS)


def moved(claim: Claim, cells: Sequence[Row]) -> bool:
    """Whether a cell that judges it was made before its bounds were what they are."""
    return any(row["bounds"].get(claim.id) != claim.bounds for row in cells
               if claim.judges(row["experiment"], row["discipline"], row["at"]))
