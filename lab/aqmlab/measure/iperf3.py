# SPDX-License-Identifier: GPL-2.0
"""Convert iperf3's JSON reports into flowgen's logs, so that the rest reads one format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aqmlab.run import run_directory

from . import logs

ENDS = (
    "flow",
    "group",
    "kind",
    "start_s",
    "end_s",
    "bytes",
    "bytes_sent",
    "bytes_retransmitted",
    "retransmits",
    "rtt_ms",
    "min_rtt_ms",
    "cwnd",
    "mss",
    "delivered_ce",
    "error",
)


def _server_report(report: dict[str, Any], path: Path) -> dict[str, Any]:
    if "error" in report:
        raise logs.BadLog(f"{path}: iperf3 failed: {report['error']}")
    if "server_output_json" not in report:
        raise logs.BadLog(
            f"{path}: the server's report is missing: iperf3 needs --get-server-output"
        )
    output: dict[str, Any] = report["server_output_json"]
    return output


def convert(directory: Path) -> None:
    """Write progress.csv and flows.csv from all iperf3-GROUP.json; do nothing without any.

    Bytes are counted at the server. Its intervals start a few 10 ms after the client.
    """
    samples: list[list[tuple[float, int, int]]] = []
    ends: list[str] = []
    groups = sorted(directory.glob(run_directory.IPERF3.format("*")))
    if not groups:
        return
    first = 0
    for path in groups:
        report = json.loads(path.read_text())
        server = _server_report(report, path)
        streams = report["end"]["streams"]
        mss = report["start"]["tcp_mss_default"]
        totals = [0] * len(streams)
        _add(samples, 0, [(0.0, first + i, 0) for i in range(len(streams))])
        for at, interval in enumerate(server["intervals"], start=1):
            for i, stream in enumerate(interval["streams"]):
                totals[i] += stream["bytes"]
            # Streams and groups differ by microseconds; a sample has one time.
            end_s = interval["streams"][0]["end"]
            _add(samples, at, [(end_s, first + i, total) for i, total in enumerate(totals)])
        for i, stream in enumerate(streams):
            sender = stream["sender"]
            again = sender["retransmits"]
            values = (
                first + i,
                path.stem.partition("-")[2],
                "iperf3",
                0,
                sender["end"],
                totals[i],
                sender["bytes"],
                again * mss,
                again,
                sender["mean_rtt"] / 1e3,
                sender["min_rtt"] / 1e3,
                sender["max_snd_cwnd"] // mss,
                mss,
                0,
                0,
            )
            ends.append(",".join(str(v) for v in values))
        first += len(streams)
    # The servers of two groups may differ by one interval.
    whole = [sample for sample in samples if len(sample) == first]
    lines = [f"{sample[0][0]:.3f},{flow},{count}" for sample in whole for _, flow, count in sample]
    (directory / run_directory.PROGRESS).write_text("time_s,flow,bytes\n" + "\n".join(lines) + "\n")
    (directory / run_directory.ENDS).write_text(",".join(ENDS) + "\n" + "\n".join(ends) + "\n")


def _add(
    samples: list[list[tuple[float, int, int]]], at: int, rows: list[tuple[float, int, int]]
) -> None:
    if at == len(samples):
        samples.append([])
    samples[at].extend(rows)
