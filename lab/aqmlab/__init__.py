# SPDX-License-Identifier: GPL-2.0
"""Run scenarios, measure them, report on them, and replay papers.

Imports point one way: replay, report, run_command, measure, run, qdiscs, exceptions.
"""

from labkit.paths import ROOT as ROOT
