# SPDX-License-Identifier: GPL-2.0
"""Turn the logs of one run into metrics, and check that the run is a valid result."""
