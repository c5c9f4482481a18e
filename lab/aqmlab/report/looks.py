# SPDX-License-Identifier: GPL-2.0
"""Give disciplines colours and marks in plots."""

from __future__ import annotations

from collections.abc import Sequence

#: Told apart in colour and, for who sees none, by the marks.
COLOURS = (
    "#1f5fa8",
    "#c0392b",
    "#2e8b57",
    "#d98c00",
    "#7a4fa3",
    "#111111",
    "#17a2a2",
    "#e377c2",
    "#8c6d31",
    "#7f7f7f",
    "#5b8def",
    "#a3b300",
)


#: Paths around the point.
MARKS = {
    "circle": "M-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z",
    "square": "M-3.2-3.2h6.4v6.4h-6.4z",
    "up": "M0-3.8l3.8 7h-7.6z",
    "down": "M0 3.8l3.8-7h-7.6z",
    "diamond": "M0-4.2l4.2 4.2-4.2 4.2-4.2-4.2z",
    "cross": "M-3.8-2.6l1.2-1.2 2.6 2.7 2.6-2.7 1.2 1.2-2.7 2.6 2.7 2.6-1.2 1.2-2.6-2.7-2.6 2.7"
    "-1.2-1.2 2.7-2.6z",
}


def looks_of(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the colour and the mark of each line. Where colours come again, marks differ."""
    return {
        name: (COLOURS[i % len(COLOURS)], [*MARKS][(i + i // len(COLOURS)) % len(MARKS)])
        for i, name in enumerate(names)
    }


def marked(look: tuple[str, str], hollow: bool = False) -> str:
    """Return the attribute that puts a line's mark at each point of its path."""
    return f' style="marker:url(#{"hollow-" * hollow}{look[1]}-{look[0][1:]})"'
