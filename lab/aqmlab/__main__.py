# SPDX-License-Identifier: GPL-2.0
"""The lab's commands: `python -m aqmlab run dumbbell`, or `aqm run dumbbell` if installed."""

from typing import NoReturn

from .start import start

COMMANDS = {
    "run": ("aqmlab.run_command", "run a scenario with a queue discipline at its bottleneck"),
    "compare": ("aqmlab.compare.command", "compare a discipline with mainline's"),
    "report": ("aqmlab.report.html_report", "write an HTML report of finished runs"),
    "demo": ("aqmlab.compare.demo", "compare all disciplines in five workloads"),
    "paper": ("replay.run_cells", "run a part of a paper's experiments, with its verdicts"),
    "measure": ("aqmlab.measure.command", "compute the metrics of finished runs again"),
    "bisect": ("aqmlab.compare.bisect", "find the commit that changed a metric"),
    "boot": ("labkit.cli", "run a command in a freshly booted kernel"),
    "new": ("aqmlab.new", "write a scenario, qdisc or congestion control to start from"),
    "doctor": ("aqmlab.doctor", "say whether this machine can run the lab"),
}
EXAMPLE = "aqm run dumbbell --qdisc fq_codel --set flows=20 --set rate=50"


def main() -> NoReturn:
    """Execute the command that the command line names."""
    start("aqm", COMMANDS, EXAMPLE)


if __name__ == "__main__":
    main()
