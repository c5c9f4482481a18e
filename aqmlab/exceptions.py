# SPDX-License-Identifier: GPL-2.0
"""What a user did wrong, or what the machine lacks, said in one sentence."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """Shown without a traceback; exit status 2."""


class RunError(Exception):
    """A run that started and failed; exit status 1. The directory stays marked as incomplete."""


def nearest(what: str, given: str, known: Iterable[str]) -> str:
    """What is said of a name that does not exist, with the nearest that do."""
    import difflib  # late: carry_out starts with every run and needs none of it

    names = sorted(known)
    near = difflib.get_close_matches(given, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"
    return f'no {what} "{given}": {hint}'


def unknown(what: str, given: str, known: Iterable[str]) -> UserError:
    """An error for a name that does not exist."""
    return UserError(nearest(what, given, known))
