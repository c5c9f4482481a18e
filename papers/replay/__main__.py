# SPDX-License-Identifier: GPL-2.0
"""The commands for papers: `python -m replay paper kantawala2001`."""

from aqmlab.start import start

if __name__ == "__main__":
    start(
        "python -m replay",
        {
            "paper": "replay.run_cells",
            "ledger": "replay.ledger",
            "calibrate": "replay.calibration",
            "merge": "replay.merge",
        },
    )
