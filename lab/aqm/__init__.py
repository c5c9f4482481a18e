# SPDX-License-Identifier: GPL-2.0
"""Run queue disciplines under real TCP, and get pandas DataFrames: docs/python.md.

Example::

    import aqm
    runs = aqm.run("dumbbell", qdisc="cake", seeds=5, rate=50)
    runs.flows, runs.queue, runs.probe, runs.state
"""

from aqmlab.exceptions import RunError, UserError

from .comparison import Comparison, compare
from .plots import plot
from .runs import Runs, run

__all__ = ["Comparison", "RunError", "Runs", "UserError", "compare", "plot", "run"]
