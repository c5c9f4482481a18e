# SPDX-License-Identifier: GPL-2.0
"""Figures, tables and pictures from the logs of finished runs. Runs nothing."""
