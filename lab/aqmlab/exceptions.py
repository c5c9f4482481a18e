# SPDX-License-Identifier: GPL-2.0
"""Errors that are shown to the user as one sentence, without a traceback."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """The user asked for something impossible. Exit status 2."""


class RunError(Exception):
    """A run started and failed. Exit status 1; its directory stays marked as incomplete."""


def nearest(what: str, given: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the most similar known names.

    what: the category of the name, such as "scenario"
    """
    import difflib  # late: only a wrong name needs it

    names = sorted(known)
    similar = difflib.get_close_matches(given, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(similar)}?" if similar else f"there are {', '.join(names)}"
    return f'no {what} "{given}": {hint}'


def unknown(what: str, given: str, known: Iterable[str]) -> UserError:
    """Return a UserError for an unknown name. It has the same arguments as nearest()."""
    return UserError(nearest(what, given, known))
