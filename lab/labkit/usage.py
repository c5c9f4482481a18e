# SPDX-License-Identifier: GPL-2.0
"""A parser of command lines whose help fits a screen and ends with an example."""

from __future__ import annotations

import argparse

from .paths import BUNDLE, ROOT

#: First column of the options' descriptions, and rows and columns of a screen.
COLUMN, ROWS, COLUMNS = 26, 24, 80


def command(name: str) -> str:
    """Return what a user types for a command of `aqm`; in a checkout most have a file."""
    files = (f"{folder}/{name}" for folder in ("netns-scenarios", "lab"))
    found = [] if BUNDLE else [file for file in files if (ROOT / file).exists()]
    return found[0] if found else f"aqm {name}"


class _Formatter(argparse.HelpFormatter):
    """Lay out options in short."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=COLUMN)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs == argparse.ONE_OR_MORE:
            return f"{action.metavar or default_metavar}..."
        return super()._format_args(action, default_metavar)


class Parser(argparse.ArgumentParser):
    """Parse the command line of one of our commands.

    name: the command of `aqm`, or with a blank in it all that a user types
    what: what the command does, in a sentence
    operands: what follows the options
    example: words after the command's name that do something useful; empty for no example
    """

    def __init__(
        self,
        name: str,
        what: str,
        operands: str,
        example: str,
        *,
        allow_abbrev: bool = True,
    ) -> None:
        called = name if " " in name else command(name)
        words = f"{called} [OPTION]... {operands}".rstrip()
        # usage is a format.
        super().__init__(
            prog=name,
            description=what,
            usage=words.replace("%", "%%"),
            allow_abbrev=allow_abbrev,
            formatter_class=_Formatter,
            add_help=False,
        )
        # Everybody knows it, and it would take a row.
        self.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
        self.example = f"\nexample: {called} {example}\n" if example else ""

    def format_help(self) -> str:
        """Return the help: usage, description, all arguments in one list, example."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        formatter.start_section(None)
        for group in (self._positionals, self._optionals):
            formatter.add_arguments(group._group_actions)
        formatter.end_section()
        return formatter.format_help() + self.example
