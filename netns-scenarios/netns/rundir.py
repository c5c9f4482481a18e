# SPDX-License-Identifier: GPL-2.0
"""The directory that a run leaves: its files' names, and the mark that it is not whole.

docs/scenarios.md says what each file holds.
"""

from __future__ import annotations

from pathlib import Path

from .errors import UserError

MARKER = "INCOMPLETE"
LOG = "log"
RUN = "run.json"
RECIPE = "recipe.json"
GUEST = "guest.json"
RESULT = "result.json"
FLOWS = "flows.txt"
ENDS = "flows.csv"
PROGRESS = "progress.csv"
DATAGRAMS = "datagrams.csv"
DELAYS = "delays.csv"
REQUESTS = "requests.csv"
QUEUE = "queue.csv"
QDISC_TEXT = "qdisc.txt"
QDISC_JSON = "qdisc.json"

#: One per group, of traffic that iperf3 makes.
IPERF3 = "iperf3-{}.json"

_OURS = {MARKER, LOG, RUN, RECIPE, GUEST, RESULT, FLOWS, ENDS, PROGRESS, DATAGRAMS, DELAYS,
         REQUESTS, QUEUE, QDISC_TEXT, QDISC_JSON}


def prepare(directory: Path) -> None:
    """Make `directory` an empty result directory, marked as incomplete. An earlier result is
    replaced; anything that is not one is left alone, with a UserError."""
    if directory.exists():
        if not directory.is_dir():
            raise UserError(f"--out {directory}: exists and is not a directory")
        present = {p.name for p in directory.iterdir()}
        foreign = {n for n in present - _OURS if not n.startswith(IPERF3.partition("{")[0])}
        if foreign:
            raise UserError(
                f"--out {directory}: holds {sorted(foreign)[0]}, which is no run's: "
                "choose another directory"
            )
        for name in present:
            (directory / name).unlink()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARKER).write_text("This run was interrupted, or failed, or is going on.\n")


def finish(directory: Path) -> None:
    """Last of all: from here on the directory is a result."""
    (directory / MARKER).unlink()
