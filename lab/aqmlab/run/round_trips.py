# SPDX-License-Identifier: GPL-2.0
"""Split flows over a range of round-trip times."""

from __future__ import annotations

import itertools
import re

from aqmlab.exceptions import UserError

NUMBER = r"(\d+(?:\.\d+)?)"
MOST_MS = 10e3


def split(flows: int, low_ms: float, high_ms: float, steps: int) -> list[tuple[int, float]]:
    """Return (flows, ms) pairs: how many flows have which round-trip time.

    The times are the middles of `steps` equal parts of low_ms to high_ms.
    """
    ends = [(i * flows + steps // 2) // steps for i in range(steps + 1)]
    counts = [end - begin for begin, end in itertools.pairwise(ends)]
    return [
        (count, round(low_ms + (i + 0.5) * (high_ms - low_ms) / steps, 3))
        for i, count in enumerate(counts)
        if count
    ]


def parse(text: str) -> tuple[float, float]:
    """Return the ends of LOW-HIGH, the value of the parameter `rtt`, in ms.

    Raises UserError if it is something else.
    """
    found = re.fullmatch(f"{NUMBER}-{NUMBER}", text)
    if not found or not float(found[1]) <= float(found[2]) <= MOST_MS:
        raise UserError(f'rtt: "{text}" given, needs LOW-HIGH in ms, at most {MOST_MS:g}')
    return float(found[1]), float(found[2])
