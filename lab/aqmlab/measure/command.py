# SPDX-License-Identifier: GPL-2.0
"""The command netns-scenarios/measure: compute result.json of finished runs again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from aqmlab.run import run_directory
from aqmlab.run.execute import Cost
from labkit.usage import Parser

from . import logs, result

#: Logs of flowgen, by the kind of flow that writes them.
LOGS = {
    "udp": (run_directory.DATAGRAMS, run_directory.DELAYS),
    "web": (run_directory.REQUESTS,),
    "query": (run_directory.REQUESTS,),
    "video": (run_directory.REQUESTS,),
}


def _check_logs(directory: Path) -> None:
    """Raise BadLog if a log is cut short, or if one is missing that would only leave a gap."""
    for path in directory.glob("*.csv"):
        if not path.read_bytes().endswith(b"\n"):
            raise logs.BadLog(f"{path}: the last row is cut short")
    kinds = {row["kind"] for row in logs.read_ends(directory / run_directory.ENDS)}
    for name in (name for kind in kinds for name in LOGS.get(kind, ())):
        if not (directory / name).exists():
            raise logs.BadLog(f"{directory / name} is missing")


def measure(directory: Path) -> bool:
    """Write result.json again, from the logs beside it. Return whether it has changed.

    Raises BadLog, and changes nothing, if the run is not complete, or if its logs are not.
    """
    path, new = (directory / name for name in (run_directory.RESULT, run_directory.NEW_RESULT))
    try:
        before = logs.load_result(directory)
        _check_logs(directory)
        after = result.compute(directory, Cost(before["wall_seconds"], before["cpu_seconds"]))
        unchanged = after["digest"] == before["digest"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise logs.BadLog(
            f"its logs are damaged, or of another version: {type(error).__name__}: {error}"
        ) from error
    if not unchanged:
        raise logs.BadLog(f"its logs do not give the digest in {path.name}, so they were changed")
    text = result.as_text(after)
    if path.read_text() == text:
        return False
    new.write_text(text)
    new.replace(path)
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0, or 1 if a run could not be measured."""
    parser = Parser(
        "measure",
        "Compute result.json of finished runs again from their logs, "
        "after a change of a metric. Boots nothing. The digest and the provenance stay.",
        "DIR...",
        "out/compare",
    )
    parser.add_argument(
        "directories",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="a run's directory, or one that holds some",
    )
    status = 0
    for place in parser.parse_args(argv).directories:
        for path in sorted(place.rglob(run_directory.RESULT)) or [place / run_directory.RESULT]:
            directory = path.parent
            try:
                print(f"{directory}: {'changed' if measure(directory) else 'as before'}")
            except logs.BadLog as error:
                print(
                    f"measure: {directory}: {str(error).replace(f'{directory}/', '')}",
                    file=sys.stderr,
                )
                status = 1
    return status
