# SPDX-License-Identifier: GPL-2.0
"""Draw delay against another metric as SVG: a mark and a name for each discipline of a workload.

The best place is always at the upper left: an axis on which less is better points down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from .columns import Column, DisciplineRow, columns_of
from .styles import Style
from .svg_plots import decades, steps

WIDTH, HEIGHT = 380, 280
LEFT, RIGHT, TOP, BOTTOM = 46, 368, 14, 238
LEAST_SPAN = {"%": 10.0}  # shortest vertical axis by unit: smaller differences do not matter
CHARACTER, LINE = 6.3, 12  # of a label, in pixels
#: Where a label can be: to the right or left of its mark, and lines above or below it.
OFFSETS = [(side, dy * LINE) for dy in (0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5) for side in (1, -1)]

Box = tuple[float, float, float, float]
Point = tuple[str, float, float]


def axes_of(rows: Sequence[DisciplineRow], decides: Column | None) -> tuple[Column, Column] | None:
    """Return the columns of a delay and of another metric; None if the rows have no such two.

    decides: the metric that decides the card; the other axis has it unless it is the delay
    """
    known = columns_of(rows)

    def first(*words: str) -> Column | None:
        return next(
            (column for word in words for column in known if column.title.startswith(word)), None
        )

    delay = first("probe delay p99", "backlog p99")
    other = decides if decides in known and decides != delay else first("goodput", "utilization")
    return (delay, other) if delay and other else None


def _mark(style: Style, x: float, y: float, more: str) -> str:
    corners = {
        "circle": "",
        "square": "-4,-4 4,-4 4,4 -4,4",
        "triangle": "0,-5 5,4 -5,4",
        "diamond": "0,-6 5,0 0,6 -5,0",
    }[style.mark]
    shape = f'<polygon points="{corners}"' if corners else '<circle r="4.5"'
    tag = shape[1:].split(" ", 1)[0]
    return f'{shape} transform="translate({x:.1f} {y:.1f})" fill="{style.colour}">{more}</{tag}>'


def _ticks(low: float, high: float) -> list[float]:
    """Return round values of a logarithmic axis."""
    fine = decades(low, high)
    return fine if len(fine) <= 6 else [x for x in fine if f"{x:e}".startswith("1")]


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _labels(places: Sequence[Point]) -> list[str]:
    """Return labels that do not overlap, and a line from each distant label to its mark."""
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for _, x, y in places]
    drawn = []
    for name, x, y in sorted(places, key=lambda place: place[2]):
        width = len(name) * CHARACTER
        boxes = [
            (side, (start, y + dy - 5, start + width, y + dy + 6))
            for side, dy in OFFSETS
            for start in [x + 9 if side > 0 else x - 9 - width]
        ]
        side, box = next(
            (
                (side, box)
                for side, box in boxes
                if box[0] > LEFT
                and box[2] < WIDTH
                and TOP - 6 < box[1] < BOTTOM - 8
                and not any(_overlap(box, other) for other in taken)
            ),
            boxes[0],
        )
        taken.append(box)
        at, end = (box[0], "start") if side > 0 else (box[2], "end")
        if abs(box[1] + 5 - y) > 1:
            drawn.append(
                f'<path d="M{x:.1f} {y:.1f}L{at - 2 * side:.1f} {box[1] + 5:.1f}" '
                'stroke="currentColor" stroke-opacity=".4"/>'
            )
        drawn.append(
            f'<text x="{at:.1f}" y="{box[3] - 2:.1f}" text-anchor="{end}">{escape(name)}</text>'
        )
    return drawn


def panel(
    rows: Sequence[DisciplineRow], styles: Mapping[str, Style], decides: Column | None = None
) -> str:
    """Return an SVG group; nothing unless two rows have both metrics of `axes_of`."""
    axes = axes_of(rows, decides)
    if not axes:
        return ""
    delay, other = axes
    values = [
        (row.name, max(mean.value * delay.scale, 0.01), two.value * other.scale)
        for row in rows
        if (mean := row.cell(delay)) and (two := row.cell(other))
    ]
    if len(values) < 2:
        return ""
    xs, ys = [x for _, x, _ in values], [y for _, _, y in values]
    low, high = min(xs) / 1.4, max(xs) * 1.4
    span = max(max(ys) - min(ys), LEAST_SPAN.get(other.unit, max(ys) / 10))
    middle = (max(ys) + min(ys)) / 2
    least, most = max(0.0, middle - 0.62 * span), middle + 0.62 * span
    bottom, top = (least, most) if other.better > 0 else (most, least)

    def x_of(value: float) -> float:
        return LEFT + math.log(value / low) / math.log(high / low) * (RIGHT - LEFT)

    def y_of(value: float) -> float:
        return BOTTOM - (value - bottom) / (top - bottom) * (BOTTOM - TOP)

    out = []
    for value in steps(least, most):
        y = y_of(value)
        out.append(
            f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="currentColor" stroke-opacity=".15"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        )
    for value in _ticks(low, high):
        x = x_of(value)
        out.append(
            f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="currentColor" stroke-opacity=".15"/>'
            f'<text x="{x:.1f}" y="{BOTTOM + 16}" text-anchor="middle">{value:g}</text>'
        )
    out.append(
        f'<text x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f'{escape(delay.title)} (less is better)</text><text transform="translate(12 '
        f'{(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{escape(other.title)} '
        f"({'more' if other.better > 0 else 'less'} is better)</text>"
    )
    places = [(name, x_of(x), y_of(y)) for name, x, y in values]
    out += _labels(places)
    for (name, x, y), (_, delay_ms, value) in zip(places, values, strict=True):
        out.append(
            _mark(
                styles[name],
                x,
                y,
                f"<title>{escape(name)}: {delay_ms:.2f} ms, "
                f"{value:.{other.digits}f} {other.unit}</title>",
            )
        )
    return "\n".join(out)


def picture(content: str, width: int = WIDTH, height: int = HEIGHT, label: str = "") -> str:
    """Return SVG elements as an SVG document; nothing for nothing.

    label: what a screen reader says of it
    """
    return content and (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="11" fill="currentColor" '
        f'role="img"{f" aria-label={quoteattr(label)}" if label else ""}>\n{content}\n</svg>'
    )
