# SPDX-License-Identifier: GPL-2.0
"""Run sweeps, and compare disciplines in workloads: the demo, and `compare`."""
