# SPDX-License-Identifier: GPL-2.0
"""Turns iperf3's JSON into the logs that flowgen writes, so that one analysis reads both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import logs

ENDS = ("flow", "group", "kind", "start_s", "end_s", "bytes", "bytes_sent", "bytes_retransmitted",
        "retransmits", "rtt_ms", "min_rtt_ms", "cwnd", "mss", "delivered_ce", "error")


def _server_report(report: dict[str, Any], path: Path) -> dict[str, Any]:
    if "error" in report:
        raise logs.BadLog(f"{path}: iperf3 says: {report['error']}")
    if "server_output_json" not in report:
        raise logs.BadLog(f"{path}: the server's own report is missing")
    return report["server_output_json"]


def convert(directory: Path) -> None:
    """Write progress.csv and flows.csv from iperf3-GROUP.json, if there are any.

    What is counted is what the server received. Its intervals begin with its own start, which is
    up to a few 10 ms after the client's.
    """
    first_flow = 0
    rows: list[tuple[float, int, int]] = []
    ends: list[str] = []
    groups = sorted(directory.glob("iperf3-*.json"))
    for path in groups:
        report = json.loads(path.read_text())
        server = _server_report(report, path)
        group = path.stem.removeprefix("iperf3-")
        flows = len(report["end"]["streams"])
        totals = [0] * flows
        mss = report["start"]["tcp_mss_default"]
        rows.extend((0.0, first_flow + i, 0) for i in range(flows))
        for interval in server["intervals"]:
            for i, stream in enumerate(interval["streams"]):
                totals[i] += stream["bytes"]
                rows.append((stream["end"], first_flow + i, totals[i]))
        for i, stream in enumerate(report["end"]["streams"]):
            sender = stream["sender"]
            again = sender["retransmits"]
            values = (first_flow + i, group, "iperf3", 0, sender["end"], totals[i],
                      sender["bytes"], again * mss, again, sender["mean_rtt"] / 1e3,
                      sender["min_rtt"] / 1e3, sender["max_snd_cwnd"] // mss, mss, 0, 0)
            ends.append(",".join(str(v) for v in values))
        first_flow += flows
    if not groups:
        return
    # One time per sample, whatever the microseconds between streams.
    by_sample = [rows[i : i + first_flow] for i in range(0, len(rows), first_flow)]
    lines = [f"{sample[0][0]:.3f},{flow},{count}"
             for sample in by_sample for _, flow, count in sample]
    (directory / "progress.csv").write_text("time_s,flow,bytes\n" + "\n".join(lines) + "\n")
    (directory / "flows.csv").write_text(",".join(ENDS) + "\n" + "\n".join(ends) + "\n")
