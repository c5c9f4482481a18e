# SPDX-License-Identifier: GPL-2.0
"""Turn arguments of functions into words of the commands. A wrong type is a UserError."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from aqmlab.exceptions import UserError


def text(name: str, value: object) -> str:
    """Return an argument that is one text or path. Raises UserError for another type."""
    if isinstance(value, str | Path):
        return str(value)
    raise UserError(f"{name}: {value!r} given, needs a text")


def several(name: str, value: object) -> list[object]:
    """Return the values of an argument that takes several; one alone needs no list.

    Raises UserError for None.
    """
    if value is None:
        raise UserError(f"{name}: None given; leave it out")
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        return [value]
    return [*value]


def texts(name: str, value: object) -> list[str]:
    """Return the texts or paths of an argument that takes several."""
    return [text(name, one) for one in several(name, value)]


def whole(name: str, value: object) -> int:
    """Return a whole number, of Python or numpy. Raises UserError for another type."""
    if not isinstance(value, bool | np.bool_):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise UserError(f"{name}: {value!r} given, needs a whole number")


def seeds(value: object) -> list[int]:
    """Return the seeds of an argument: how many, from 1 on, or which.

    Raises UserError without a seed, or for a seed that is given twice.
    """
    given = value if isinstance(value, Iterable) and not isinstance(value, str) else None
    if given is None:
        found = [*range(1, whole("seeds", value) + 1)]
    else:
        found = [whole("seeds", one) for one in given]
    if not found:
        raise UserError("seeds: needs at least one")
    twice = [seed for seed in found if found.count(seed) > 1]
    if twice:
        raise UserError(f"seeds: {twice[0]} given twice, and the same seed gives the same run")
    return found


def setting(name: str, value: object) -> str:
    """Return a value as --set takes it: on and off for True and False."""
    if isinstance(value, bool | np.bool_):
        return "on" if value else "off"
    if isinstance(value, str | Path | int | float | np.number):
        return str(value)
    raise UserError(f"{name}: {value!r} given, needs a number, a text, True or False")
