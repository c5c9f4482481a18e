# SPDX-License-Identifier: GPL-2.0
"""The scenarios. Each module here with a `SCENARIO` defines one."""
