# SPDX-License-Identifier: GPL-2.0
"""Words of pages in Markdown, and numbers in them that no row has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

#: Stands for a number whose rows are missing.
NOT_RUN = "*not run*"


def as_number(text: str) -> float:
    """Return a number of a page. It is not a number, and so are all sums with it, without rows."""
    return math.nan if text == NOT_RUN else float(text)


def of_any(fold: Callable[[Iterable[float]], float]) -> Callable[[Iterable[float]], float]:
    """Return min, max or a median that is not a number if there are no values."""
    return lambda values: fold(found) if (found := [*values]) else math.nan


def finished(text: str) -> str:
    """Return a rendered page with NOT_RUN for everything that is not a number."""
    return re.sub(r"[-+]?\bnan\b", NOT_RUN, text)


def without_rows(page: str) -> list[str]:
    """Return each sentence, and each row of a table, with a number whose rows are missing."""
    found = []
    for paragraph in page.split("\n\n"):
        lines = paragraph.split("\n")
        parts = (
            lines
            if paragraph.lstrip().startswith("|")
            else re.split(r"(?<=[.:!?])\s+(?=[^a-z])", " ".join(line.strip() for line in lines))
        )
        found += [part.strip() for part in parts if NOT_RUN in part]
    return found


def cell(text: str) -> str:
    """Of a table, or a part of a line: in one line, and without its own columns."""
    return " ".join(text.split()).replace("|", "\\|")
