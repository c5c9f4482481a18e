# SPDX-License-Identifier: GPL-2.0
"""Run the sweeps of papers, judge the papers' claims, and write the pages."""
