# SPDX-License-Identifier: GPL-2.0
"""How the scripts of this directory begin: in build/venv, where there is one, and with our modules
in reach."""

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
    """Go on in the virtual environment, and find our modules first."""
    python = VENV / "bin" / "python3"
    if python.exists() and Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), *sys.argv])
    # Threads for linear algebra that no run needs cost 0.15 s of CPU at each start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "lab")]


def launch(module: str) -> NoReturn:
    """Run the `main` of a module, and end with its status."""
    prepare()
    try:
        status = importlib.import_module(module).main()
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        if (VENV / ".ready").exists():
            raise
        sys.exit(f"{Path(sys.argv[0]).name}: {error.name} is missing: make setup")
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. The last flush must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    sys.exit(status)
