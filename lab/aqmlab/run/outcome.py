# SPDX-License-Identifier: GPL-2.0
"""Read what the commands of a run left: why it failed, or the facts and counters of its guest."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import run_directory, unchanged_kernel
from .commands import AFTER, BEFORE, REPORT, SHOWN_JSON, TC, Commands
from .counters import (
    COUNTERS,
    STAT,
    UPTIME,
    VERSIONS,
    device_counters,
    discards,
    module_versions,
    protocol_counters,
    qdisc_counters,
    received_ect,
    sections,
    softnet_dropped,
)
from .steps import Failure


def write(
    run: Commands,
    lab: Mapping[str, str],
    dropped_before: int = 0,
    busy_s: float | None = None,
) -> None:
    """Write the guest's facts, and its qdisc in JSON, into the run's directory.

    lab: the guest's kernel, seed and so on; dropped_before: packets that the machine had dropped
    before the run, because a backlog was full; busy_s: counted_s of unchanged_kernel.busy
    Raises Failure if a program failed, and KeyboardInterrupt if a signal ended the run.
    """
    folder = run.directory / run_directory.GUEST_FILES
    ended = ended_ns(run, (folder / REPORT).read_text(errors="replace"))
    with contextlib.suppress(ValueError):
        shown = (folder / SHOWN_JSON).read_text()
        json.loads(shown)
        (run.directory / run_directory.QDISC_JSON).write_text(shown)
    facts = _facts(run, folder, lab, dropped_before, busy_s)
    if run.recipe["programs"]:
        facts["ended_ns"] = ended
    (run.directory / run_directory.GUEST).write_text(json.dumps(facts, indent=1) + "\n")
    shutil.rmtree(folder)


def ended_ns(run: Commands, report: str) -> dict[str, int]:
    """Return when the programs of --exec ended, ns after the epoch, by their names.

    report: what conduct wrote
    Raises Failure if a program failed, and KeyboardInterrupt if a signal ended the run.
    """
    ended = re.match(r"(?:ended \d+ \d+\n)*", report)
    assert ended
    failed = report[ended.end() :]
    steps = run.steps()
    if failed:
        head, _, output = failed.partition("\n")
        number, status = map(int, head.split())
        if number < 0:
            raise KeyboardInterrupt
        raise Failure(steps[number].failure(status, output))
    found = re.findall(r"ended (\d+) (\d+)", ended[0])
    return {steps[int(number)].name: int(at_ns) for number, at_ns in found}


def _facts(
    run: Commands,
    folder: Path,
    lab: Mapping[str, str],
    dropped_before: int,
    busy_s: float | None,
) -> dict[str, Any]:
    """Return the versions that the run used, and the counters of each namespace."""
    namespaces = run.recipe["namespaces"]
    before, after = (sections((folder / name).read_text()) for name in (BEFORE, AFTER))
    counters = [
        {ns: _counters(shown, run.netns(ns)) for ns in namespaces} for shown in (before, after)
    ]
    uptime, stat = (after.get(("-", path), "") for path in (UPTIME, STAT))
    busy = unchanged_kernel.busy(uptime, stat, run.recipe["duration_ms"], busy_s)
    release, build, softnet = (after["-", path] for path in VERSIONS)
    qdiscs = {ns: qdisc_counters((folder / f"qdiscs-{ns}").read_text()) for ns in namespaces}
    return {
        "kernel": release.strip(),
        "build": build.strip(),
        "lab": dict(sorted(lab.items())),
        **busy,
        "modules": module_versions(after),
        "tc": (folder / TC).read_text().strip(),
        "received_ce": {ns: each["received_ce"] for ns, each in counters[1].items()},
        "counters": {
            "hops": run.recipe["hops"],
            "lossy": run.recipe["lossy"],
            "before": counters[0],
            "qdiscs": qdiscs,
            "after": counters[1],
            "softnet_dropped": softnet_dropped(softnet) - dropped_before,
        },
    }


def _counters(shown: Mapping[tuple[str, str], str], netns: str) -> dict[str, Any]:
    """Return the counters of a namespace, for IPv4 and IPv6 together: packets by device,
    delivered and discarded packets, received ECT and CE, and TCP's timeouts."""
    text = "".join(shown.get((netns, path), "") for path in COUNTERS)
    protocols = protocol_counters(text)
    return {
        "devices": device_counters(text),
        "delivered": protocols["Ip InDelivers"] + protocols.get("Ip6InDelivers", 0),
        "received_ce": protocols["IpExt InCEPkts"] + protocols.get("Ip6InCEPkts", 0),
        "received_ect": received_ect(protocols),
        "timeouts": protocols["TcpExt TCPTimeouts"],
        "discarded": discards(protocols),
    }
