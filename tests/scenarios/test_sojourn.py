# SPDX-License-Identifier: GPL-2.0
"""run --sojourn: how long packets stay in the queue, in a FIFO and in a fair queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aqmlab.measure import logs, sojourn
from aqmlab.report import html_report
from tests.scenarios.shortrun import result

ROWS = tuple(
    word
    for name in ("flows=3", "rate=10", "warmup=1", "duration=2", "probe=on", "tcp_profile=today")
    for word in ("--set", name)
)


def ran(out: Path, *words: str) -> dict[str, Any]:
    return result(out, *words, scenario=("dumbbell", *ROWS))


@pytest.fixture(scope="module")
def fifo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sojourn") / "fifo"
    ran(out, "--qdisc", "pfifo limit 40", "--sojourn")
    return out


def of_group(out: Path, group: str) -> np.ndarray:
    """Return the rows of a group: arrival in s, flow, ms."""
    read = logs.read(out)
    flows = [int(row["flow"]) for row in read.ends if row["group"] == group]
    return read.sojourn[np.isin(read.sojourn[:, 1], flows)]


def test_the_digest_stays_and_no_capture_is_left(fifo: Path, tmp_path: Path) -> None:
    without = ran(tmp_path / "r", "--qdisc", "pfifo limit 40")
    assert without["digest"] == json.loads((fifo / "result.json").read_text())["digest"]
    assert "sojourn_ms" not in without["groups"]["all"]
    assert not list(fifo.glob("*.pcapng"))


@pytest.mark.parametrize("ip", [4, 6])
def test_the_probe_stays_as_long_as_its_time_stamps_say(ip: int, tmp_path: Path) -> None:
    """These are another measurement: sockets at both ends, with no delay but the queue's."""
    ran(tmp_path / "r", "--qdisc", "pfifo limit 40", "--set", f"ip={ip}", "--sojourn")
    stays, delays = of_group(tmp_path / "r", "probe"), logs.read(tmp_path / "r").delays
    # The capture ends with the run.
    assert len(delays) > 100
    assert 0 <= len(delays) - len(stays) <= 4
    delays = delays[: len(stays)]
    assert np.abs(stays[:, 0] - delays[:, 0]).max() < 1e-5
    assert np.abs(stays[:, 2] - delays[:, 2]).max() < 0.02


def test_packets_in_a_fifo_wait_for_the_backlog(fifo: Path) -> None:
    """The backlog at the last sample before a packet comes, over the rate, and up to two packets
    of the shaper and of the time since the sample."""
    queue, stays = logs.read(fifo).queue, of_group(fifo, "all")
    at = np.searchsorted(queue["time_s"], stays[:, 0]) - 1
    late_ms = stays[:, 2] - queue["bytes"][at] * 8e3 / 10e6
    assert len(stays) > 2000
    assert np.percentile(np.abs(late_ms), 95) < 10 + 2 * 1514 * 8e3 / 10e6
    assert abs(float(np.median(late_ms))) < 2 * 1514 * 8e3 / 10e6
    # The queue of 40 packets is the longest stay.
    assert 41.5 * 1514 * 8e3 / 10e6 > stays[:, 2].max() > 38 * 1514 * 8e3 / 10e6


def test_bulk_waits_in_a_fair_queue_and_the_probe_does_not(tmp_path: Path) -> None:
    groups = ran(tmp_path / "r", "--qdisc", "fq_codel", "--sojourn", "--pcap", "rtr")["groups"]
    assert groups["all"]["sojourn_ms"]["p50"] > 5 * groups["probe"]["sojourn_ms"]["p50"]
    assert (tmp_path / "r" / "rtr.pcapng").exists()
    # Measuring again keeps the metric, and the report draws it.
    assert html_report.main([str(tmp_path / "r"), "--out", str(tmp_path / "r.html")]) == 0
    assert "all, in the queue" in (tmp_path / "r.html").read_text()


def test_a_packet_that_never_came_is_an_error(tmp_path: Path) -> None:
    """As if the first half of the capture were lost."""
    ran(tmp_path / "r", "--qdisc", "pfifo limit 40", "--sojourn", "--pcap", "rtr")
    path = tmp_path / "r" / "rtr.pcapng"
    text, at, kept = path.read_bytes(), 0, []
    while at < len(text):
        size = int.from_bytes(text[at + 4 : at + 8], "little")
        if text[at : at + 4] != b"\6\0\0\0" or at > len(text) // 2:
            kept.append(text[at : at + size])
        at += size
    path.write_bytes(b"".join(kept))
    with pytest.raises(logs.BadLog, match="never came"):
        sojourn.convert(tmp_path / "r")
