# SPDX-License-Identifier: GPL-2.0
"""What builds a run out of a scenario's groups, and carries it out."""
