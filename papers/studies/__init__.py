# SPDX-License-Identifier: GPL-2.0
"""Sweeps that answer a question about our disciplines, and print tables for a page in docs."""
