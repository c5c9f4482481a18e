# SPDX-License-Identifier: GPL-2.0
"""Build a run from a scenario and execute it."""
