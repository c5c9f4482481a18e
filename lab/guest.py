# SPDX-License-Identifier: GPL-2.0
"""Carry out a recipe with a bare interpreter, which finds our packages beside this file."""

import sys

from aqmlab.run.guest_program import main

sys.exit(main(sys.argv[1:]))
