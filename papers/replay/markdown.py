# SPDX-License-Identifier: GPL-2.0
"""Words of pages in Markdown."""

from __future__ import annotations


def cell(text: str) -> str:
    """Of a table, or a part of a line: in one line, and without its own columns."""
    return " ".join(text.split()).replace("|", "\\|")
