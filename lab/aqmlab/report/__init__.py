# SPDX-License-Identifier: GPL-2.0
"""Load finished runs, compare them, and draw plots and HTML."""
