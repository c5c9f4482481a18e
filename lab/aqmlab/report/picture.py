# SPDX-License-Identifier: GPL-2.0
"""Draw the cards of a report and their scatters as one SVG file."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from xml.sax.saxutils import escape

from . import scatter
from .cards import Card, Named, card, of_interest
from .load_runs import Section
from .styles import styles

COLUMNS, GAP, PAD = 3, 20, 12
LINE, CHARACTERS = 15, 58  # height of a line, and how many characters fit on one
#: The tints of the HTML report.
TINTS = {"best": "#cfe3f6", "as good": "#eaf2fa", "undecided": "#f6f8fa", "avoid": "#fbe3d3"}


def _lines(answer: Card) -> list[tuple[str, str, str]]:
    """Return the lines of a card: text, tint and weight."""
    column = answer.column
    found = [(column.about, "", "")]
    for word, why, named in (
        ("best", "", answer.best),
        ("as good", "", answer.ties),
        ("undecided", "", answer.undecided),
        ("avoid", "", answer.avoid),
        ("avoid", ", at most half of the best goodput", answer.starving),
    ):
        text = (
            f"{word}{why}: {', '.join(_with_mean(discipline, column.unit) for discipline in named)}"
        )
        found += (
            [
                (line, TINTS[word], "bold" if word == "best" else "")
                for line in textwrap.wrap(text, CHARACTERS)
            ]
            if named
            else []
        )
    return found


def _with_mean(discipline: Named, unit: str) -> str:
    return discipline.text(unit).replace(" ", "\u00a0")


def _text(y: float, text: str, weight: str = "", size: int = 12) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return f'<text x="{PAD}" y="{y}" font-size="{size}"{bold}>{escape(text)}</text>'


def draw(sections: Sequence[Section]) -> str:
    """Return an SVG document with a card and a scatter for each section that has a card."""
    known = [(section, answer) for section in sections if (answer := card(section))]
    looks = styles(
        [*of_interest(sections), *(name for section in sections for name in section.runs)]
    )
    height = max((len(_lines(answer)) for _, answer in known), default=0) * LINE + 46
    across, down = scatter.WIDTH + GAP, height + scatter.HEIGHT + GAP
    out = []
    for i, (section, answer) in enumerate(known):
        title = section.about.get("title", section.any["scenario"])
        out += [
            f'<g transform="translate({GAP + i % COLUMNS * across} {GAP + i // COLUMNS * down})">',
            f"<title>{escape(title)}</title>",
            f"<desc>as good as the best: {escape(', '.join(sorted(answer.as_good)))}</desc>",
            f'<rect width="{scatter.WIDTH}" height="{height}" rx="8" fill="#f6f8fa" '
            'stroke="#dfe4e9"/>',
            _text(24, title, "bold", 15),
        ]
        for at, (text, tint, weight) in enumerate(_lines(answer)):
            y = 44 + at * LINE
            out += (
                [
                    f'<rect x="{PAD - 4}" y="{y - 11}" width="{scatter.WIDTH - 2 * PAD + 8}" '
                    f'height="{LINE}" fill="{tint}"/>'
                ]
                if tint
                else []
            )
            out.append(_text(y, text, weight))
        out += [
            f'<g transform="translate(0 {height + 6})">',
            scatter.panel(section.rows, looks, answer.column),
            "</g>",
            "</g>",
        ]
    width = GAP + min(COLUMNS, len(known)) * across
    whole = GAP + -(-len(known) // COLUMNS) * down
    return (
        scatter.picture(
            "\n".join([f'<rect width="{width}" height="{whole}" fill="white"/>', *out]),
            width,
            whole,
        )
        + "\n"
    )
