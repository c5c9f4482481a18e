# SPDX-License-Identifier: GPL-2.0
"""Round numbers of plots, so that a page stays small."""

from __future__ import annotations

import math
from collections.abc import Iterable


def short(values: Iterable[float | int | None], digits: int = 4) -> list[float | int | None]:
    """Round to a few digits, at least to 1; NaN becomes null."""
    return [
        None
        if v is None or math.isnan(v)
        else int(v)
        if v == int(v)
        else round(v)
        if abs(v) >= 10 ** (digits - 1)
        else float(f"{v:.{digits}g}")
        for v in values
    ]
