# SPDX-License-Identifier: GPL-2.0
"""Draw delay against goodput as SVG: a mark and a name for each discipline of a workload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from .intervals import Column, Row, columns_of
from .styles import Style
from .svg_plots import decades, steps

WIDTH, HEIGHT = 380, 280
LEFT, RIGHT, TOP, BOTTOM = 46, 368, 14, 238
LEAST_SPAN = 10.0  # of goodput, percent: less is not worth looking at
CHARACTER, LINE = 6.3, 12  # of a label, in pixels
#: Where a label can be: to the right or left of its mark, and lines above or below it.
OFFSETS = [(side, dy * LINE) for dy in (0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5) for side in (1, -1)]

Box = tuple[float, float, float, float]
Point = tuple[str, float, float]


def axes_of(rows: Sequence[Row]) -> tuple[Column, Column] | None:
    """Return the columns of delay and of goodput; None if the rows have no such two."""
    known = columns_of(rows)
    found = [next((column for word in words for column in known if column.title.startswith(word)),
                  None) for words in (("probe delay p99", "backlog p99"),
                                      ("goodput", "utilization"))]
    return (found[0], found[1]) if found[0] and found[1] else None


def _mark(style: Style, x: float, y: float, more: str) -> str:
    corners = {"circle": "", "square": "-4,-4 4,-4 4,4 -4,4", "triangle": "0,-5 5,4 -5,4",
               "diamond": "0,-6 5,0 0,6 -5,0"}[style.mark]
    shape = f'<polygon points="{corners}"' if corners else '<circle r="4.5"'
    tag = shape[1:].split(" ", 1)[0]
    return (f'{shape} transform="translate({x:.1f} {y:.1f})" fill="{style.colour}">{more}'
            f'</{tag}>')


def _ticks(low: float, high: float) -> list[float]:
    """Return round values of a logarithmic axis."""
    fine = decades(low, high)
    return fine if len(fine) <= 6 else [x for x in fine if f"{x:e}".startswith("1")]


def _overlap(one: Box, other: Box) -> bool:
    return (one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3])


def _labels(places: Sequence[Point]) -> list[str]:
    """Return labels that do not overlap, and a line from each distant label to its mark."""
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for _, x, y in places]
    drawn = []
    for name, x, y in sorted(places, key=lambda place: place[2]):
        width = len(name) * CHARACTER
        boxes = [(side, (start, y + dy - 5, start + width, y + dy + 6)) for side, dy in OFFSETS
                 for start in [x + 9 if side > 0 else x - 9 - width]]
        side, box = next(((side, box) for side, box in boxes
                          if box[0] > LEFT and box[2] < WIDTH and TOP - 6 < box[1] < BOTTOM - 8
                          and not any(_overlap(box, other) for other in taken)), boxes[0])
        taken.append(box)
        at, end = (box[0], "start") if side > 0 else (box[2], "end")
        if abs(box[1] + 5 - y) > 1:
            drawn.append(f'<path d="M{x:.1f} {y:.1f}L{at - 2 * side:.1f} {box[1] + 5:.1f}" '
                         'stroke="currentColor" stroke-opacity=".4"/>')
        drawn.append(f'<text x="{at:.1f}" y="{box[3] - 2:.1f}" text-anchor="{end}">'
                     f'{escape(name)}</text>')
    return drawn


def panel(rows: Sequence[Row], styles: Mapping[str, Style]) -> str:
    """Return an SVG group; nothing unless two rows have both a delay and a goodput."""
    axes = axes_of(rows)
    if not axes:
        return ""
    delay, goodput = axes
    values = [(row.name, max(one.value * delay.scale, 0.01), other.value * goodput.scale)
              for row in rows if (one := row.cell(delay)) and (other := row.cell(goodput))]
    if len(values) < 2:
        return ""
    xs, ys = [x for _, x, _ in values], [y for _, _, y in values]
    low, high = min(xs) / 1.4, max(xs) * 1.4
    span = max(max(ys) - min(ys), LEAST_SPAN)
    middle = (max(ys) + min(ys)) / 2
    bottom, top = max(0.0, middle - 0.62 * span), middle + 0.62 * span

    def x_of(value: float) -> float:
        return LEFT + math.log(value / low) / math.log(high / low) * (RIGHT - LEFT)

    def y_of(value: float) -> float:
        return BOTTOM - (value - bottom) / (top - bottom) * (BOTTOM - TOP)

    out = []
    for value in steps(bottom, top):
        y = y_of(value)
        out.append(f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="currentColor" stroke-opacity=".15"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in _ticks(low, high):
        x = x_of(value)
        out.append(f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="currentColor" stroke-opacity=".15"/>'
                   f'<text x="{x:.1f}" y="{BOTTOM + 16}" text-anchor="middle">{value:g}</text>')
    out.append(f'<text x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
               f'{escape(delay.title)} (less is better)</text><text transform="translate(12 '
               f'{(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{escape(goodput.title)}'
               '</text>')
    places = [(name, x_of(x), y_of(y)) for name, x, y in values]
    out += _labels(places)
    for (name, x, y), (_, delay_ms, part) in zip(places, values, strict=True):
        out.append(_mark(styles[name], x, y, f"<title>{escape(name)}: {delay_ms:.2f} ms, "
                         f"{part:.1f} %</title>"))
    return "\n".join(out)


def picture(content: str, width: int = WIDTH, height: int = HEIGHT) -> str:
    """Return SVG elements as an SVG document; nothing for nothing."""
    return content and (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="11" fill="currentColor" '
        f'role="img">\n{content}\n</svg>')
