# SPDX-License-Identifier: GPL-2.0
"""Describe the qdiscs: names, metadata, options and statistics."""
