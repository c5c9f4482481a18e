# SPDX-License-Identifier: GPL-2.0
"""Run queue disciplines under real TCP, and get pandas DataFrames: docs/python.md.

Example::

    import aqm
    runs = aqm.run("dumbbell", qdisc="cake", seeds=5, rate=50)
    runs.flows, runs.queue, runs.probe, runs.state
"""

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
#: The checkout: the directory above, or the copy in an installed package.
TREE = _HERE / "checkout" if (_HERE / "checkout").exists() else _HERE.parent
sys.path += [
    str(place)
    for place in (TREE, TREE / "lab", TREE / "netns-scenarios")
    if str(place) not in sys.path
]

from aqmlab.exceptions import RunError, UserError  # noqa: E402

from .comparison import Comparison, compare  # noqa: E402
from .plots import plot  # noqa: E402
from .runs import Runs, run  # noqa: E402

__all__ = ["Comparison", "RunError", "Runs", "UserError", "compare", "plot", "run"]
