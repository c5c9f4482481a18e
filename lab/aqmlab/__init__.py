# SPDX-License-Identifier: GPL-2.0
"""Run scenarios, measure them, report on them, and compare disciplines.

Imports point one way: compare, report, run_command, measure, run, qdiscs, exceptions.
"""

from labkit.paths import ROOT as ROOT
