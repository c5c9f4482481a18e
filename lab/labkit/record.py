# SPDX-License-Identifier: GPL-2.0
"""Log queues and interfaces of a command that makes its own network, for lab/boot --record."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from .errors import LabError
from .request import Request, Result

#: Logs of lab/traffic/record.c, and what made them.
QUEUES, INTERFACES, RECORD = "queues.csv", "interfaces.csv", "record.json"


def wrapped(request: Request, directory: Path) -> Request:
    """Return REQUEST with the program `record` around its command, which logs to DIRECTORY."""
    if (request.engine, request.clock) == ("qemu", "virtual"):
        raise LabError("--record: not with --engine qemu --clock virtual; use --engine uml")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"--record {directory}: {error.strerror}") from error
    place = directory.resolve()
    return replace(
        request,
        command=["record", str(place), *request.command],
        share=[*request.share, place],
    )


def finish(request: Request, directory: Path, result: Result) -> None:
    """Write what made the logs in DIRECTORY, and their digest. A guest that failed has none."""
    if not (directory / INTERFACES).exists():
        return
    logs = b"".join((directory / name).read_bytes() for name in (QUEUES, INTERFACES))
    facts = {
        "command": list(request.command),
        "status": result.status,
        "lab": dict(result.lab),
        "digest": hashlib.sha256(logs).hexdigest(),
    }
    (directory / RECORD).write_text(json.dumps(facts, indent=1) + "\n")
