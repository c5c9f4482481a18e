# SPDX-License-Identifier: GPL-2.0
"""Let `python -m aqm run dumbbell` do what the command `aqm run dumbbell` does."""

from aqmlab.__main__ import main

if __name__ == "__main__":
    main()
