# SPDX-License-Identifier: GPL-2.0
"""What a scenario is, and which there are.

To add one: a module with a `SCENARIO`, and its line in `_MODULES`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .errors import unknown
from .params import Param, Value
from .plan import Plan


@dataclass(frozen=True)
class GroupFacts:
    """A group of flows as the analysis needs it. fair_share_bps: payload bit/s of one flow.
    elastic: its flows take what they get, and belong into figures of fairness. from_s, to_s:
    when it sends, after the epoch; None: from the start, to the end."""

    flows: int
    rtt_ms: float
    fair_share_bps: float
    elastic: bool = True
    from_s: float | None = None
    to_s: float | None = None


@dataclass(frozen=True)
class Phase:
    """A part of the measured time in which the same groups send. fair_share_bps: payload bit/s of
    one of its elastic flows."""

    name: str
    from_s: float
    to_s: float
    fair_share_bps: float


@dataclass(frozen=True)
class Facts:
    """What the analysis must know besides the logs. Times in seconds after the epoch."""

    rate_bps: float
    warmup_s: float
    end_s: float
    fair_share_bps: float
    groups: dict[str, GroupFacts]
    phases: tuple[Phase, ...] = ()


@dataclass(frozen=True)
class Request:
    """One run that was asked for. clock: virtual or wall."""

    values: Mapping[str, Value]
    qdisc: str
    seed: int
    clock: str

    def number(self, name: str) -> float:
        """A parameter, in its unit."""
        return float(self.values[name])

    def count(self, name: str) -> int:
        """A whole-numbered parameter."""
        return int(self.values[name])

    def text(self, name: str) -> str:
        """A parameter that is a word."""
        return str(self.values[name])


@dataclass(frozen=True)
class Scenario:
    """name and summary for people; params with units; build makes the run from a request."""

    name: str
    summary: str
    params: tuple[Param, ...]
    build: Callable[[Request], tuple[Plan, Facts]]


_MODULES = ("dumbbell", "multi_rtt", "udp_blast", "step_load", "web_mix", "first_use")


def scenarios() -> dict[str, Scenario]:
    """All scenarios, by name."""
    found = (importlib.import_module(f".{name}", __package__).SCENARIO for name in _MODULES)
    return {scenario.name: scenario for scenario in found}


def scenario(name: str) -> Scenario:
    """The scenario `name`; UserError with the nearest names when there is none."""
    known = scenarios()
    if name not in known:
        raise unknown("scenario", name, known)
    return known[name]
