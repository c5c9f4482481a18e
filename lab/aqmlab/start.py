# SPDX-License-Identifier: GPL-2.0
"""Start one of several commands."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

from . import completion
from .exceptions import nearest

#: Packages that the wheel does not require, with the extra that brings them.
EXTRAS = {
    "bokeh": "report",
    "jinja2": "report",
    "matplotlib": "pandas",
    "pandas": "pandas",
    "fastparquet": "papers",
    "jsonschema": "papers",
}


def usage(program: str, commands: Mapping[str, tuple[str, str]], example: str) -> str:
    """Return the help of a program with several commands."""
    lines = [f"usage: {program} COMMAND [OPTION]...", ""]
    lines += [f"  {name:10} {what}" for name, (_, what) in commands.items()]
    lines += ["", f"example: {example}", f"`{program} COMMAND --help` has more."]
    return "\n".join(lines)


def start(program: str, commands: Mapping[str, tuple[str, str]], example: str) -> NoReturn:
    """Call `main` of the module of the command that the command line names; exit with its status.

    program: name for the usage
    commands: module and description by the names of commands
    """
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if completion.ASKED in os.environ:
        completion.complete(commands)
        sys.exit(1)
    if name in {"-h", "--help"}:
        print(usage(program, commands, example))
        sys.exit(0)
    if name not in commands:
        hint = nearest("command", name, commands) if name else "no command given"
        print(f"{program}: {hint}\n{usage(program, commands, example)}", file=sys.stderr)
        sys.exit(2)
    sys.argv = [name, *sys.argv[2:]]
    # OpenBLAS would start threads, which costs 0.15 s of CPU. No run needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        status = importlib.import_module(commands[name][0]).main()
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        extra = "papers" if commands[name][0].startswith("replay") else EXTRAS[error.name]
        sys.exit(f"{program} {name} needs {error.name}: pip install 'sch-aqm[{extra}]'")
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Prevent an error in the last flush, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    sys.exit(status)
