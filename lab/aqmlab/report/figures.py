# SPDX-License-Identifier: GPL-2.0
"""Write a figure for a paper: `report DIR... --figure NAME.pdf --plot queue`.

The same runs give the same bytes. PGF needs LaTeX, because it asks LaTeX how wide a text is.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aqmlab.exceptions import UserError

from .figure_data import Line, Panel
from .styles import Style, styles

FORMATS = ("pdf", "svg", "pgf", "png")
INCH_MM = 25.4
LATEX = ("pdflatex", "xelatex", "lualatex")
DASHES: dict[str, Any] = {
    "solid": "-",
    "dashed": (0, (5, 2)),
    "dotted": (0, (1, 1.4)),
    "dotdash": (0, (5, 1.5, 1, 1.5)),
}
MARKS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
SETTINGS: dict[Any, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.linewidth": 1,
    "lines.markersize": 3.5,
    "svg.hashsalt": "sch-aqm",
    "pdf.fonttype": 42,
    "pgf.rcfonts": False,
}
#: Without a date, so that the bytes do not depend on the day.
UNDATED: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


def size_mm(text: str) -> tuple[float, float]:
    """Return width and height in mm of a text such as 120x75.

    Raises UserError for another text.
    """
    if not re.fullmatch(r"\d+(\.\d+)?x\d+(\.\d+)?", text):
        raise UserError(f"--size: {text} given, needs width and height in mm, such as 120x75")
    width, height = map(float, text.split("x"))
    if not (20 <= width <= 1000 and 20 <= height <= 1000):
        raise UserError(f"--size: {text} given, allowed: 20 to 1000 mm each")
    return width, height


def _draw(axes: Any, panel: Panel, line: Line, style: Style) -> None:
    look = {"color": style.colour, "label": line.name}
    mark = MARKS[style.mark]
    if panel.points:
        axes.errorbar(line.x, line.y, xerr=line.half, fmt=mark, capsize=2, **look)
    elif line.half:
        dash = DASHES[style.dash]
        axes.errorbar(line.x, line.y, yerr=line.half, marker=mark, ls=dash, capsize=2, **look)
    elif panel.share:
        axes.step(line.x, line.y, where="post", ls=DASHES[style.dash], **look)
    else:
        axes.plot(line.x, line.y, ls=DASHES[style.dash], **look)


def _one(axes: Any, panel: Panel, looks: dict[str, Style], *, log: bool) -> None:
    for line in panel.lines:
        _draw(axes, panel, line, looks[line.name])
    axes.set(xlabel=panel.x_title, ylabel=panel.y_title, title=panel.title)
    if panel.points:
        axes.set_yticks([line.y[0] for line in panel.lines], [line.name for line in panel.lines])
        axes.margins(y=0.2)
    if panel.share:
        axes.set_ylim(0, 1.02)
    # A distribution and points have their values at x.
    across = panel.share or panel.points
    if log:
        (axes.set_xscale if across else axes.set_yscale)("log")
    elif all(v >= 0 for line in panel.lines for v in (line.x if across else line.y)):
        (axes.set_xlim if across else axes.set_ylim)(0)


def _latex() -> str:
    """Return a LaTeX for PGF. Raises UserError without one."""
    found = next((name for name in LATEX if shutil.which(name)), None)
    if not found:
        raise UserError(
            "--figure: PGF needs LaTeX: apt-get install texlive-latex-base texlive-pictures, "
            "or write PDF or SVG"
        )
    return found


def write(
    path: Path, panels: Sequence[Panel], mm: tuple[float, float], *, log: bool = False
) -> None:
    """Write a figure in the format that the name ends with.

    mm: width and height of each pair of axes with its titles
    log: a logarithmic axis for the values
    Raises UserError for another format, or if a program or matplotlib is missing.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise UserError(f"--figure {path}: needs a name that ends with {', '.join(FORMATS)}")
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_pgf import LatexError
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise UserError(f"--figure needs {error.name}: pip install {error.name}") from error
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    looks = styles(names)
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    settings = {**SETTINGS, **({"pgf.texsystem": _latex()} if kind == "pgf" else {})}
    with mpl.rc_context(settings):
        size = (mm[0] * columns / INCH_MM, mm[1] * rows / INCH_MM)
        figure = Figure(figsize=size, layout="constrained")
        places = figure.subplots(rows, columns, squeeze=False).flat
        for axes, panel in zip(places, panels, strict=False):
            _one(axes, panel, looks, log=log)
        for axes in [*figure.axes][len(panels) :]:
            axes.remove()
        if len(names) > 1 and not panels[0].points:
            figure.legend(
                *figure.axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3
            )
        buffer = io.BytesIO()
        undated: dict[str, Any] = {"metadata": UNDATED[kind]} if kind in UNDATED else {}
        try:
            figure.savefig(buffer, format=kind, dpi=200, **undated)
        except (LatexError, RuntimeError) as error:
            raise UserError(f"--figure {path}: {error}") from error
    path.write_bytes(buffer.getvalue())
