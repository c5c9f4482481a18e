# SPDX-License-Identifier: GPL-2.0
"""When the logs of a run have readings, and whether these cover what is measured.

The bytes of flows are read at multiples of `interval`. The queue is read once in each `sample`, at
one of ten places of it, so that timers of the kernel cannot be in step with the readings.
"""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.exceptions import UserError

#: Share of a measured time by which the readings at its ends may be off.
SLACK = 0.05


def _time(name: str, n: int, step_ms: int) -> float:
    """Return when reading n is, in s. lab/traffic/qsample.c: place_of()."""
    return (n * step_ms + (n * 3 % 10 * step_ms / 10 if name == "sample" else 0)) / 1000


def _missed(name: str, step_ms: int, span: tuple[float, float], run_ms: int) -> float | None:
    """Return the end of a span, in s, without a reading near it; None if both have one."""
    slack = SLACK * (span[1] - span[0])
    for at in span:
        near = int(at * 1000 / step_ms)
        numbers = [n for n in range(max(0, near - 1), near + 2) if n * step_ms <= run_ms]
        if min(abs(_time(name, n, step_ms) - at) for n in numbers) > slack:
            return at
    return None


def check(name: str, step_ms: int, spans: Sequence[tuple[float, float]], run_ms: int) -> None:
    """Raise UserError if readings are too seldom to measure these spans.

    name: `interval` or `sample`
    spans: when measurements begin and end, in s
    run_ms: length of the run
    """

    def missed(step: int) -> list[tuple[float, tuple[float, float]]]:
        ends = [(_missed(name, step, span, run_ms), span) for span in spans]
        return [(at, span) for at, span in ends if at is not None]

    if not (wrong := missed(step_ms)):
        return
    at, (from_s, to_s) = wrong[0]
    # A long step that hits both ends by chance would read the queue only a few times.
    most = SLACK * (to_s - from_s) * 1000 if name == "sample" else step_ms - 1
    enough = next((step for step in range(int(most), 0, -1) if not missed(step)), None)
    advice = f"set {name}={enough}" if enough else "measure for longer"
    raise UserError(
        f"{name}={step_ms}: no reading is near {at:g} s, and the time from {from_s:g} to "
        f"{to_s:g} s is measured: {advice}"
    )
