# SPDX-License-Identifier: GPL-2.0
"""Topologies and scenarios, and what runs them. Figures are computed in `analysis`."""
