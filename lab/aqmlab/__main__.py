# SPDX-License-Identifier: GPL-2.0
"""The lab's commands: `python -m aqmlab run dumbbell`, or `aqm run dumbbell` if installed."""

from typing import NoReturn

from .start import start

COMMANDS = {
    "boot": "labkit.cli",
    "run": "aqmlab.run_command",
    "report": "aqmlab.report.html_report",
    "compare": "aqmlab.compare.command",
    "bisect": "aqmlab.compare.bisect",
    "demo": "aqmlab.compare.demo",
    "measure": "aqmlab.measure.command",
}


def main() -> NoReturn:
    """Execute the command that the command line names."""
    start("aqm", COMMANDS)


if __name__ == "__main__":
    main()
