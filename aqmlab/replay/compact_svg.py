# SPDX-License-Identifier: GPL-2.0
"""Shorten the SVG text of a plot: shapes of equal look become one path."""

from __future__ import annotations

import re
from itertools import pairwise

WHOLE = re.compile(r"(?<=\d)\.0(?!\d)")
ELEMENT = re.compile(r"<(?:text\b.*?</text>|[^>]+>)", re.DOTALL)
SHAPE = re.compile(r'<(?:path d="(?P<path>[^"]*)"|polygon points="(?P<corners>[^"]*)"'
                   r'|circle cx="(?P<x>[^"]*)" cy="(?P<y>[^"]*)" r="(?P<r>[^"]*)")'
                   r'(?P<look>[^>]*)/>')


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _polygon(corners: str) -> str:
    places = [tuple(map(float, place.split(","))) for place in corners.split()]
    steps = " ".join(f"{_number(x - at_x)} {_number(y - at_y)}"
                     for (at_x, at_y), (x, y) in pairwise(places))
    return f"M{_number(places[0][0])} {_number(places[0][1])}l{steps}z"


def _path(shape: re.Match[str]) -> str:
    """Return the data of a path that draws a shape."""
    if shape["corners"]:
        return _polygon(shape["corners"])
    if shape["r"]:
        r, x = float(shape["r"]), float(shape["x"])
        arc = f"a{_number(r)} {_number(r)} 0 1 0 "
        return f"M{_number(x - r)} {shape['y']}{arc}{_number(2 * r)} 0{arc}{_number(-2 * r)} 0z"
    return shape["path"]


def compact(svg: str) -> str:
    """Draw all shapes of equal look in a group at the place of the first, and texts after them."""
    out: list[str] = []
    paths: dict[str, str] = {}
    texts: list[str] = []
    for element in ELEMENT.findall(svg):
        shape = SHAPE.fullmatch(element)
        if shape:
            paths[shape["look"]] = paths.get(shape["look"], "") + _path(shape)
        elif element.startswith("<text"):
            texts.append(element)
        else:
            out += [*(f'<path d="{WHOLE.sub("", d)}"{look}/>' for look, d in paths.items()),
                    "".join(texts), element]
            paths, texts = {}, []
    return "\n".join(filter(None, out)) + "\n"
