# SPDX-License-Identifier: GPL-2.0
"""The directory of a run: the names of its files, and how it becomes a result.

A run works in DIR.incomplete. When all of its files are there, that directory is renamed to DIR. So
DIR either holds a whole result or does not exist. docs/scenarios.md says what each file holds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from aqmlab.exceptions import UserError

#: Ends the name of a directory that does not hold a whole result.
SUFFIX = ".incomplete"
LOG = "log"
RUN = "run.json"
RECIPE = "recipe.json"
GUEST = "guest.json"
#: Directory of what the commands in the guest read and write beside the files here, until the end.
GUEST_FILES = "guest"
RESULT = "result.json"
#: Replaces RESULT when the run is measured again.
NEW_RESULT = "result.json.new"
FLOWS = "flows.txt"
ENDS = "flows.csv"
PROGRESS = "progress.csv"
TCP = "tcp.csv"
SOJOURN = "sojourn.csv"
DATAGRAMS = "datagrams.csv"
DELAYS = "delays.csv"
REQUESTS = "requests.csv"
QUEUE = "queue.csv"
QDISC_TEXT = "qdisc.txt"
QDISC_JSON = "qdisc.json"

#: One per group, of traffic that iperf3 makes.
IPERF3 = "iperf3-{}.json"

#: One per group of programs (--exec): a log like QUEUE, of packets that reach the clients' host.
CAPTURE = "{}.pcapng"
METER = "{}.csv"
#: The names of these groups, and so of the programs' output, begin with this.
EXEC = "exec"

#: INCOMPLETE is what earlier versions left in a directory that was not whole.
_OURS = {
    LOG,
    RUN,
    RECIPE,
    GUEST,
    GUEST_FILES,
    RESULT,
    NEW_RESULT,
    FLOWS,
    ENDS,
    PROGRESS,
    TCP,
    SOJOURN,
    DATAGRAMS,
    DELAYS,
    REQUESTS,
    QUEUE,
    QDISC_TEXT,
    QDISC_JSON,
    "INCOMPLETE",
}

#: Errors of file systems that have no locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


@dataclass(frozen=True)
class Place:
    """Where a run works: its directory, and the log in it, which is open for appending."""

    directory: Path
    log: BinaryIO


def working(directory: Path) -> Path:
    """Name the directory in which a run that will be `directory` works."""
    return directory.with_name(directory.name + SUFFIX)


def is_complete(directory: Path) -> bool:
    """Tell whether `directory` holds a result."""
    return directory.suffix != SUFFIX and (directory / RESULT).exists()


@contextlib.contextmanager
def claimed(directory: Path, asked: Mapping[str, Any]) -> Iterator[Place]:
    """Give a run an empty directory to work in, and make it `directory` when it has ended well.

    asked: the run's scenario, qdisc, seed, parameters and so on; the run writes them into RUN.

    The directory is locked until then. An earlier result is replaced if the same was asked for. A
    run that fails leaves its working directory, unless its traffic never began.
    Raises UserError if `directory` cannot be written, holds anything else, or is another run's.
    """
    directory = directory.resolve()
    work = working(directory)
    try:
        _check(directory, asked)
        with _locked(work) as log:
            _check(directory, asked)  # another run may have come and gone meanwhile
            _empty(work, but=LOG)
            log.truncate(0)
            try:
                yield Place(work, log)
            except BaseException:
                _abandon(work)
                raise
            if directory.exists():
                _empty(directory)
            work.rename(directory)
    except _Refused as refused:
        raise UserError(f"--out {directory}: {refused}") from refused


class _Refused(Exception):
    """Why a run may not have a directory."""


def _check(directory: Path, asked: Mapping[str, Any]) -> None:
    """Raise _Refused if a run must not replace `directory`."""
    if directory.suffix == SUFFIX:
        raise _Refused(f"{SUFFIX} marks what is not whole: choose another name")
    if os.path.ismount(directory):
        raise _Refused("is a mount point: choose a directory below it")
    for place in (directory, working(directory)):
        if not place.exists():
            continue
        if not place.is_dir():
            raise _Refused("exists and is not a directory")
        foreign = []
        with contextlib.suppress(FileNotFoundError):  # another run has renamed it just now
            foreign = sorted(
                p.name
                for p in place.iterdir()
                if p.name not in _OURS and not p.name.startswith((IPERF3.partition("{")[0], EXEC))
            )
        if foreign:
            raise _Refused(f"holds {foreign[0]}, which is no run's: choose another directory")
    if is_complete(directory) and (other := _difference(directory, asked)):
        raise _Refused(
            f"holds the result of another run ({other}): choose another directory, or "
            "remove that one"
        )


def _difference(directory: Path, asked: Mapping[str, Any]) -> str:
    """Describe how the run in `directory` differs from `asked`; empty if it does not."""
    try:
        run = {"module": {}, "exec": [], "file": ""} | json.loads((directory / RUN).read_text())
        before = {**run["parameters"], **{key: run[key] for key in asked if key != "parameters"}}
    except (OSError, ValueError, KeyError, TypeError):
        return f"its {RUN} does not say which"
    now = {**asked["parameters"], **asked}
    del now["parameters"]
    differing = [key for key in (*before, *now) if before.get(key) != now.get(key)]

    def shown(value: Any) -> str:
        return "not given" if value in ("", None, [], {}) else str(value)

    return ", ".join(
        f"{key} is {shown(before.get(key))}, not {shown(now.get(key))}"
        for key in dict.fromkeys(differing[:6])
    )


@contextlib.contextmanager
def _locked(work: Path) -> Iterator[BinaryIO]:
    """Make the directory `work`, and hold it by a lock on its log, which is opened."""
    log = None
    while not log:
        try:
            work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _Refused(error.strerror) from error
        # Without it, the run that had the directory has ended in this very moment.
        with contextlib.suppress(FileNotFoundError):
            log = _lock(work / LOG)
    with log:
        yield log


def _lock(path: Path) -> BinaryIO | None:
    """Open and lock a log; None if another run renamed or removed it before we had the lock."""
    log = path.open("ab", buffering=0)
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        log.close()
        raise _Refused(
            "another run is going on there: wait for it, or choose another directory"
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    if path.exists() and os.path.samestat(os.fstat(log.fileno()), path.stat()):
        return log
    log.close()
    return None


def _empty(directory: Path, but: str = "") -> None:
    """Remove all files of an earlier run, its result first."""
    (directory / RESULT).unlink(missing_ok=True)
    shutil.rmtree(directory / GUEST_FILES, ignore_errors=True)
    for path in directory.iterdir():
        if path.name != but:
            path.unlink()


def _abandon(work: Path) -> None:
    """Say where the logs of a run are that has failed; of one without traffic there are none."""
    if (work / QUEUE).exists():
        print(f"run: what there is of it: {work}", file=sys.stderr)
    else:
        shutil.rmtree(work, ignore_errors=True)
