# SPDX-License-Identifier: GPL-2.0
"""The commands for papers: `python -m replay paper kantawala2001`."""

from aqmlab.start import start

if __name__ == "__main__":
    start(
        "python -m replay",
        {
            "paper": ("replay.run_cells", "run a paper's missing cells, and write its page"),
            "ledger": ("replay.ledger", "write the pages of all papers"),
            "calibrate": ("replay.calibration", "run the lab beside theory"),
            "merge": ("replay.merge", "merge rows that other machines made"),
        },
        "python -m replay paper kantawala2001 --quick",
    )
