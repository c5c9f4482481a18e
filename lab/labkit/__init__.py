# SPDX-License-Identifier: GPL-2.0
"""Boots a kernel and runs a command in it. Standard library only: it runs before any venv."""
