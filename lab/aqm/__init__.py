# SPDX-License-Identifier: GPL-2.0
"""Run queue disciplines under real TCP, and get pandas DataFrames: docs/python.md.

Example::

    import aqm
    runs = aqm.run("dumbbell", qdisc="cake", seeds=5, rate=50)
    runs.flows, runs.queue, runs.probe, runs.state
"""

import importlib
from typing import TYPE_CHECKING, Any

from aqmlab.exceptions import RunError, UserError

if TYPE_CHECKING:
    from .comparison import Comparison, compare
    from .plots import plot
    from .runs import Runs, run

__all__ = ["Comparison", "RunError", "Runs", "UserError", "compare", "plot", "run"]

#: Modules of names here that need pandas. `python -m aqm` must start without it.
_PLACES = {
    "Comparison": ".comparison",
    "compare": ".comparison",
    "plot": ".plots",
    "Runs": ".runs",
    "run": ".runs",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used. Raises ImportError if pandas is missing."""
    if name not in _PLACES:
        raise AttributeError(f"module 'aqm' has no attribute {name!r}")
    try:
        found = getattr(importlib.import_module(_PLACES[name], "aqm"), name)
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise ImportError(f"aqm.{name} needs pandas: pip install 'sch-aqm[pandas]'") from error
    globals()[name] = found
    return found
