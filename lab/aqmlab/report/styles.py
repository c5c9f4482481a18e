# SPDX-License-Identifier: GPL-2.0
"""Colours, dashes and marks that tell disciplines apart, for colour-blind readers as well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: Okabe and Ito 2008, without yellow, which is faint on white, and black, which is on a dark page.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("solid", "dashed", "dotted", "dotdash")
MARKS = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True)
class Style:
    """How a discipline is drawn."""

    colour: str
    dash: str
    mark: str


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Return a style for each name; colours that recur have another dash and mark."""
    return {
        name: Style(
            COLOURS[i % len(COLOURS)],
            DASHES[i // len(COLOURS) % len(DASHES)],
            MARKS[i // len(COLOURS) % len(MARKS)],
        )
        for i, name in enumerate(dict.fromkeys(names))
    }
