# SPDX-License-Identifier: GPL-2.0
"""The scenarios, a module each, and nothing else: whatever has a `SCENARIO` here is one."""
