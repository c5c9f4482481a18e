# SPDX-License-Identifier: GPL-2.0
"""Links between two nodes of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real

from aqmlab.exceptions import UserError

from .trace import Trace

#: What a link takes: least, most, and the unit.
NUMBERS = {
    "rate": (0, 100e3, "Mb/s"),
    "delay": (0, 10e3, "ms"),
    "jitter": (0, 10e3, "ms"),
    "loss": (0, 100, "%"),
    "loss_burst": (0, 1e6, "packets"),
    "aggregate": (1, 65535, "packets"),
}


@dataclass(frozen=True)
class Direction:
    """One direction of a link.

    rate_bps: bit/s with Ethernet headers; 0: no limit
    qdisc: queues for this rate; None: the qdisc that the run studies
    loss: % of the packets
    loss_burst: mean number of packets that are lost in a row; 0: losses are independent
    aggregate: packets that are sent together, at most
    """

    rate_bps: float = 0.0
    qdisc: str | None = None
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    trace: Trace | None = None
    loss_burst: float = 0.0
    aggregate: int = 1

    @property
    def needs_netem(self) -> bool:
        """Return whether it has a delay, or loses packets."""
        return bool(self.delay_ms or self.jitter_ms or self.loss)

    def averaged(self, from_s: float, to_s: float) -> Direction:
        """Return the same with a trace's mean rate between two times.

        Raises UserError if the trace carries nothing between them.
        """
        if not self.trace:
            return self
        if not (rate_bps := self.trace.mean_bps(from_s, to_s)):
            raise UserError(
                f"trace {self.trace.path or 'of a link'}: carries nothing from {from_s:g} to "
                f"{to_s:g} s, which is measured: set warmup and duration"
            )
        return replace(self, rate_bps=rate_bps)


def check(given: Mapping[str, object]) -> None:
    """Raise UserError for a wrong value of a link.

    given: all arguments by name; a name that ends with _back is of the way back; None: not given
    """
    for name, value in given.items():
        of = name.removesuffix("_back")
        if value is None:
            continue
        if of in NUMBERS:
            least, most, unit = NUMBERS[of]
            kind = Integral if of == "aggregate" else Real
            number = isinstance(value, kind) and not isinstance(value, bool)
            if not number or not least <= float(value) <= most:  # type: ignore[arg-type]
                raise UserError(f"{name}: {value!r} given, needs {least:g} to {most:g} {unit}")
        elif of in ("both", "measured") and not isinstance(value, bool):
            raise UserError(f"{name}: {value!r} given, needs True or False")
        elif of == "trace" and not isinstance(value, str | Trace):
            raise UserError(f"{name}: {value!r} given, needs the path of a file, as a text")
        elif of == "qdisc" and not (isinstance(value, str) and value.split()):
            raise UserError(
                f"{name}: {value!r} given, needs a qdisc, as in 'pfifo limit 100'; leave it out "
                "for the qdisc of the run"
            )


def two_states(share: float, length: float) -> tuple[float, float]:
    """Return the probabilities, per step, with which a state of two begins and ends.

    This is the model of Gilbert and Elliott: they follow from p / (p + r) and 1 / r.

    share: of all steps that are in the state, 0 to 1, without 1
    length: mean number of steps in a row, at least 1
    Raises UserError if no such model exists.
    """
    if length < 1:
        raise UserError(f"bursts: a mean length of {length:g} given, needs 1 or more")
    leave = 1 / length
    enter = leave * share / (1 - share) if share < 1 else 2.0
    if enter > 1:
        raise UserError(
            f"bursts: {100 * share:g} % in bursts of {length:g} given, but bursts of this length "
            f"that follow each other after one step are {100 * length / (length + 1):g} %; "
            "give longer bursts, or a smaller share"
        )
    return enter, leave


@dataclass(frozen=True)
class Link:
    """A link between two nodes: `there` from near to far, and `back`; see `Network.link`."""

    near: str
    far: str
    there: Direction
    back: Direction

    def direction(self, *, forward: bool) -> Direction:
        """Return one direction."""
        return self.there if forward else self.back
