# SPDX-License-Identifier: GPL-2.0
"""Start a command of this directory in the virtual environment, with our modules importable."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
VENV = HERE.parent / "build" / "venv"


def prepare() -> None:
    """Restart in build/venv, if it exists, and put our modules first in the import path."""
    python = VENV / "bin" / "python3"
    if python.exists() and Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), *sys.argv])
    # OpenBLAS would start threads, which costs 0.15 s of CPU. No run needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "lab")]


def launch(module: str) -> NoReturn:
    """Call the `main` function of a module and exit with the status that it returns."""
    prepare()
    try:
        status = importlib.import_module(module).main()
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        if (VENV / ".ready").exists():
            raise
        sys.exit(
            f"{Path(sys.argv[0]).name}: the Python package {error.name} is missing: make setup"
        )
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Prevent an error in the last flush, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    sys.exit(status)
