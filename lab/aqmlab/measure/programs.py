# SPDX-License-Identifier: GPL-2.0
"""Write what programs of --exec received into the logs that flowgen writes for its flows.

Bytes are whole packets, Ethernet headers included. A qdisc before the clients' host counts them.
Only the program knows which of them are payload.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aqmlab.run import run_directory

from . import logs

KIND = "program"
ENDS = (
    "flow",
    "group",
    "kind",
    "start_s",
    "end_s",
    "bytes",
    "bytes_sent",
    "segs_sent",
    "segs_received",
)


def convert(directory: Path) -> None:
    """Add a flow for each group of programs to flows.csv and progress.csv, if there are any."""
    recipe = json.loads((directory / run_directory.RECIPE).read_text())
    meters = recipe.get("meters", ())
    if not meters:
        return
    guest = json.loads((directory / run_directory.GUEST).read_text())
    counted = {
        meter["flow"]: logs.read_queue(directory / run_directory.METER.format(meter["group"]))
        for meter in meters
    }
    ends, progress = (directory / name for name in (run_directory.ENDS, run_directory.PROGRESS))
    rows, times = [], next(iter(counted.values()))["time_s"]
    columns: Sequence[str] = ENDS
    series = {}
    if ends.exists():
        rows = [row for row in logs.read_ends(ends) if row["kind"] != KIND]
        if rows:
            columns = list(rows[0])
            flows = logs.read_progress(progress)
            times = flows.time_s
            known = {int(row["flow"]) for row in rows}
            series = {
                int(flow): flows.bytes[:, at]
                for at, flow in enumerate(flows.flows)
                if int(flow) in known
            }
    rows += [_end(meter, counted[meter["flow"]].last_row, guest) for meter in meters]
    series |= {
        flow: np.interp(times, log["time_s"], log["sent_bytes"]) for flow, log in counted.items()
    }
    with ends.open("w", newline="") as file:
        writer = csv.DictWriter(
            file, columns, restval=0, extrasaction="ignore", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)
    lines = (
        f"{time:.6f},{flow},{values[at]:.0f}\n"
        for at, time in enumerate(times)
        for flow, values in series.items()
    )
    progress.write_text("time_s,flow,bytes\n" + "".join(lines))


def _end(
    meter: Mapping[str, Any], last: Mapping[str, str], guest: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row of a group in flows.csv. Lost packets were sent by the servers' host
    and did not arrive."""
    sent = guest["counters"]["after"][meter["source_netns"]]["devices"]["s0"]["sent"]
    return {
        "flow": meter["flow"],
        "group": meter["group"],
        "kind": KIND,
        "start_s": 0,
        "end_s": last["time_s"],
        "bytes": last["sent_bytes"],
        "segs_sent": sent,
        "segs_received": last["sent_packets"],
    }


def ended(recipe: Mapping[str, Any], guest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the programs as result.json lists them; ended_s is None if it ran on."""
    at_ns = guest.get("ended_ns", {})
    return [
        {
            **{key: program[key] for key in ("name", "group", "role", "argv", "sha256")},
            "start_s": None if program["start_ns"] is None else program["start_ns"] / 1e9,
            "ended_s": at_ns[program["name"]] / 1e9 if program["name"] in at_ns else None,
        }
        for program in recipe.get("programs", ())
    ]


def describe(programs: Sequence[Mapping[str, Any]], groups: Mapping[str, Any]) -> list[str]:
    """Return lines for a terminal: what each pair of hosts received, and when clients ended."""
    lines = []
    for group in dict.fromkeys(program["group"] for program in programs):
        when = ", ".join(
            f"{program['name']} "
            + (
                "ran to the end"
                if program["ended_s"] is None
                else f"ended at {program['ended_s']:.3f} s"
            )
            for program in programs
            if program["group"] == group and program["role"] == "client"
        )
        received, lost = groups[group]["goodput_bps"]["mean"], groups[group]["dropped"]
        lines.append(
            f"  {group}: {received / 1e6:.3f} Mb/s in whole packets"
            + ("" if lost is None else f", {100 * lost:.2f} % lost")
            + (f"; {when}" if when else "")
        )
    return lines
