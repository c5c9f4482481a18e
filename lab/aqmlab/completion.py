# SPDX-License-Identifier: GPL-2.0
"""Complete the command line of `aqm` in a shell, by argcomplete.

eval "$(register-python-argcomplete aqm)"
"""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Mapping, Sequence

#: argcomplete sets it when the shell asks, to the number of the word where the command begins.
ASKED = "_ARGCOMPLETE"


def complete(commands: Mapping[str, tuple[str, str]]) -> None:
    """Answer the shell: names of commands, or what the parser of the named command takes."""
    import argcomplete  # an extra

    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    words = line.split()
    if len(words) - (not line.endswith(" ")) < 2 or words[1] not in commands:
        parser = argparse.ArgumentParser()
        parser.add_argument("command", choices=list(commands))
        argcomplete.autocomplete(parser)
        return
    os.environ[ASKED] = "2"

    def answer(parser: argparse.ArgumentParser, *_: object) -> argparse.Namespace:
        argcomplete.autocomplete(parser)
        raise SystemExit(1)

    # Whatever parser the command uses, it ends here.
    argparse.ArgumentParser.parse_args = answer  # type: ignore[assignment, method-assign]
    importlib.import_module(commands[words[1]][0]).main()


def offer(action: argparse.Action, names: Sequence[str]) -> None:
    """Let a shell offer NAMES for an argument that takes other words, too."""
    setattr(action, "completer", lambda **_: names)  # noqa: B010 (argcomplete looks for it)
