# SPDX-License-Identifier: GPL-2.0
"""Many runs: sweeps, the demo, and the disciplines that it compares."""
