# SPDX-License-Identifier: GPL-2.0
"""Draw plots as SVG: the same numbers give the same bytes on any machine."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from .looks import MARKS, looks_of, marked

WIDTH, HEIGHT = 400, 270
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 30, 44
LEGEND_ROW, LEGEND_COLUMN = 18, 160
#: More values than this have no tick each.
MANY = 12
GREY, INK = "#d9dde2", "#30343a"

WHOLE = re.compile(r"(?<=\d)\.0(?!\d)")


@dataclass(frozen=True)
class Line:
    """One discipline's points.

    points: x, y and half the interval (0: none)
    joined: by a line
    marked: each by the discipline's mark
    heavy: drawn with a thick line
    hollow: marks that are not filled: values that were not measured here
    """

    name: str
    points: Sequence[tuple[float, float, float]]
    joined: bool = True
    marked: bool = True
    heavy: bool = False
    hollow: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes. The y axis begins at 0 unless it is logarithmic.

    at_y: a level to compare with
    Raises ValueError for a point that the axes cannot show.
    """

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    x_log: bool = False
    at_y: float | None = None
    y_log: bool = False

    def __post_init__(self) -> None:
        """Refuse what would be drawn outside of the axes, or could not be."""
        for line in self.lines:
            for x, y, _ in line.points:
                if y < 0 or (self.x_log and x <= 0) or (self.y_log and y <= 0):
                    raise ValueError(
                        f"{self.title or self.y_title}: {line.name} has {y:g} at {x:g}"
                        f", which {'y' if y < 0 else 'a logarithm'} does not show"
                    )


def steps(low: float, high: float) -> list[float]:
    """Return up to seven round values of a linear axis."""
    span = high - low or 1.0
    step = 10 ** math.floor(math.log10(span / 4))
    for times in (1, 2, 5, 10):
        if span / (step * times) <= 6:
            step *= times
            break
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value:.6g}"


class _Drawing:
    """Shapes of equal look become one path at the place of the first; texts are over them."""

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}
        self.texts: list[str] = []

    def path(self, data: str, look: str) -> None:
        """Add the data of a path."""
        self.paths[look] = self.paths.get(look, "") + WHOLE.sub("", data)

    def stroke(self, data: str, colour: str, more: str = "") -> None:
        """Add lines."""
        self.path(data, f'stroke="{colour}"{more}')

    def text(self, text: str, attributes: str) -> None:
        """Add a text."""
        self.texts.append(f"<text {attributes}>{escape(text)}</text>")

    def lines(self) -> list[str]:
        """Return the lines of the SVG file."""
        paths = [f'<path d="{data}" {look}/>' for look, data in self.paths.items()]
        return [*paths, "".join(self.texts)]


class _Axes:
    """From values to places."""

    def __init__(self, panel: Panel, bottom: float, top: float) -> None:
        xs = [x for line in panel.lines for x, _, _ in line.points]
        self.log = panel.x_log
        self.low, self.high = (self._scale(f(xs)) for f in (min, max))
        if self.low == self.high:
            self.low, self.high = self.low - 1, self.high + 1
        self.bottom, self.top = bottom if panel.y_log else 0.0, top

    def _scale(self, x: float) -> float:
        return math.log10(x) if self.log else x

    def x(self, value: float) -> float:
        """Place from the left."""
        part = (self._scale(value) - self.low) / (self.high - self.low)
        return LEFT + 8 + part * (WIDTH - LEFT - RIGHT - 16)

    def y(self, value: float) -> float:
        """Place from the top."""
        part = value / self.top
        if self.bottom:
            part = math.log(max(value, self.bottom) / self.bottom) / math.log(
                self.top / self.bottom
            )
        return HEIGHT - BOTTOM - min(1.0, part) * (HEIGHT - TOP - BOTTOM)


def decades(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten, for a logarithmic axis."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [
        times * 10.0**power
        for power in powers
        for times in (1, 2, 5)
        if low <= times * 10.0**power <= high
    ]


def _ticks(panel: Panel, axes: _Axes) -> list[float]:
    if not panel.x_log:
        return steps(axes.low, axes.high)
    values = sorted({x for line in panel.lines for x, _, _ in line.points})
    if len(values) <= MANY:
        return values
    return decades(values[0], values[-1])


def _beside(panel: Panel, line: Line, x: float, y: float) -> float:
    """Return how far right of its place a hollow mark stands, so that equal ones are all seen."""
    here = [one.name for one in panel.lines if one.hollow and (x, y, 0.0) in one.points]
    return 8.0 * (here.index(line.name) - (len(here) - 1) / 2) if line.hollow else 0.0


def _panel(panel: Panel, low: float, top: float, looks: dict[str, tuple[str, str]]) -> list[str]:
    axes = _Axes(panel, low, top)
    bottom = HEIGHT - BOTTOM
    out = _Drawing()
    out.text(panel.title, f'x="{LEFT}" y="18" font-weight="bold"')
    for value in decades(axes.bottom, top) if axes.bottom else steps(0, top):
        y = axes.y(value)
        out.stroke(f"M{LEFT} {y:.1f}H{WIDTH - RIGHT}", GREY)
        out.text(_number(value), f'x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end"')
    edge = -math.inf
    for value in _ticks(panel, axes):
        x, text = axes.x(value), _number(value)
        out.stroke(f"M{x:.1f} {bottom}v4", INK)
        if x - 3.4 * len(text) > edge:
            out.text(text, f'x="{x:.1f}" y="{bottom + 16}" text-anchor="middle"')
            edge = x + 3.4 * len(text) + 4
    out.stroke(f"M{LEFT} {bottom}H{WIDTH - RIGHT}", INK)
    if panel.at_y is not None:
        out.stroke(
            f"M{LEFT} {axes.y(panel.at_y):.1f}H{WIDTH - RIGHT}", INK, ' stroke-dasharray="4 3"'
        )
    out.text(
        panel.x_title, f'x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle"'
    )
    out.text(
        panel.y_title,
        f'transform="translate(14 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle"',
    )
    for line in panel.lines:
        colour, _ = looks[line.name]
        places = [
            (
                axes.x(x) + _beside(panel, line, x, y),
                *(axes.y(value) for value in (y, y + half, max(0.0, y - half))),
            )
            for x, y, half in line.points
        ]
        for x, _, high, low in places:
            if low - high > 1:
                out.stroke(
                    f"M{x:.1f} {high:.1f}V{low:.1f}M{x - 3:.1f} {high:.1f}h6"
                    f"M{x - 3:.1f} {low:.1f}h6",
                    colour,
                )
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _, _ in places)
        width = 3 if line.heavy else 1.4
        out.stroke(
            f"M{path}",
            colour if line.joined else "none",
            f' stroke-width="{width}" fill="none"'
            f"{marked(looks[line.name], line.hollow) * line.marked}",
        )
    return out.lines()


def _markers(looks: Iterable[tuple[str, str]], hollow: Iterable[tuple[str, str]]) -> str:
    drawn = [("", look, f'fill="{look[0]}"') for look in looks]
    drawn += [("hollow-", look, f'fill="white" stroke="{look[0]}"') for look in hollow]
    return "".join(
        f'<marker id="{kind}{mark}-{colour[1:]}" markerUnits="userSpaceOnUse" overflow="visible">'
        f'<path d="{MARKS[mark]}" {how}/></marker>'
        for kind, (colour, mark), how in drawn
    )


def picture(panels: Sequence[Panel], columns: int = 2) -> str:
    """Return an SVG document with all panels and a legend.

    Panels with the same title of y have the same scale.
    """
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    looks = looks_of(names)
    highest = {
        title: 1.06
        * max(
            (
                y + half
                for panel in panels
                if panel.y_title == title
                for line in panel.lines
                for _, y, half in line.points
            ),
            default=1.0,
        )
        or 1.0
        for title in {panel.y_title for panel in panels}
    }
    lowest = {
        title: min(
            (
                y
                for panel in panels
                if panel.y_title == title
                for line in panel.lines
                for _, y, _ in line.points
            ),
            default=1.0,
        )
        / 1.3
        for title in highest
    }
    columns = min(columns, len(panels))
    width, height = columns * WIDTH, math.ceil(len(panels) / columns) * HEIGHT
    per_row = max(1, width // LEGEND_COLUMN)
    legend = math.ceil(len(names) / per_row) * LEGEND_ROW + 10 if len(names) > 1 else 0
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + legend}" '
        f'viewBox="0 0 {width} {height + legend}" font-family="sans-serif" font-size="12" '
        f'fill="{INK}">',
        f'<rect width="{width}" height="{height + legend}" fill="white"/>',
        _markers(
            looks.values(),
            dict.fromkeys(looks[line.name] for p in panels for line in p.lines if line.hollow),
        ),
    ]
    for i, panel in enumerate(panels):
        out.append(f'<g transform="translate({i % columns * WIDTH} {i // columns * HEIGHT})">')
        out += _panel(panel, lowest[panel.y_title], highest[panel.y_title], looks)
        out.append("</g>")
    if legend:
        for i, name in enumerate(names):
            x, y = LEFT + i % per_row * LEGEND_COLUMN, height + 8 + i // per_row * LEGEND_ROW
            out.append(
                f'<path d="M{x} {y}h0"{marked(looks[name])}/>'
                f'<text x="{x + 9}" y="{y + 4}">{escape(name)}</text>'
            )
    return "\n".join([*out, "</svg>"]) + "\n"
