# SPDX-License-Identifier: GPL-2.0
"""Metrics that are derived from a cell's row."""

from __future__ import annotations

import json
import math
import re
from random import Random
from typing import Any

import pytest

from aqmlab.measure.derived_metrics import Absent, choke_bound, choke_theory, metric_of
from replay import rows


def test_wait_is_absent_if_no_packet_arrived() -> None:
    udp = {"rtt_ms": 50.0, "flows": 1, "goodput_bps": {"mean": 8000.0}}
    with pytest.raises(Absent, match="no packet of udp arrived"):
        metric_of({"groups": {"udp": udp}}, "udp:wait_ms")
    assert metric_of({"groups": {"udp": {**udp, "delay_ms": {"mean": 27.0}}}}, "udp:wait_ms") == 2.0


def test_mark_counts_like_a_drop() -> None:
    phase = {"dropped": 30, "sent": 70}  # `sent` includes marked packets
    for marked, share in ((0, 0.3), (20, 0.5)):
        figures = {"phases": [{}, {**phase, "marked": marked}]}
        assert metric_of(figures, ":dropped_1") == pytest.approx(share)
    # A row does not contain unknown values.
    with pytest.raises(Absent):
        metric_of({"phases": [{}, phase]}, ":dropped_1")


@pytest.mark.parametrize(
    "path",
    [
        "phases.7.sent",
        "groups.nobody.loss",
        "nobody:mbps",
        "7:use",
        "0:goodput_use",
        ":kept_1",
        "tcp:unevenness",
        "tcp+nobody:least_share",
        ":dropped_0",
        ":mean_over_fair",
        "udp:waiting_share",
        "udp:choke_theory",
    ],
)
def test_missing_metric_is_absent(path: str) -> None:
    """In this run the link carried nothing."""
    nothing = {"mean": 0.0, "sd": 0.0}
    figures = {
        "summary": {
            "utilization": 0.0,
            "goodput_bps": nothing,
            "fair_share_bps": 0.0,
            "queue_packets": {"mean": 0.0},
        },
        "groups": {
            name: {"goodput_bps": nothing, "flows": 1, "loss": 0.0, "rtt_ms": 0.0}
            for name in ("tcp", "udp")
        },
        "phases": [{"dropped": 0, "marked": 0, "sent": 0, "groups": {"tcp": nothing}}] * 2,
        "rate_bps": 1e6,
        "payload": {"udp": 972},
        "offered_bps": {"udp": 2e6},
    }
    with pytest.raises(Absent, match=f"no {re.escape(path)}|carried nothing|no packet|no flow"):
        metric_of(figures, path)


@pytest.mark.parametrize(
    ("packets", "off"), [(40, 0.5 - 1 / 11), (220, 0.0), (2000, 1 / 11 - 0.01)]
)
def test_difference_of_queue_share_from_an_equal_share(packets: int, off: float) -> None:
    """UDP has 10 packets per second that wait for 2 s each. There are ten TCP flows."""
    made: dict[str, Any] = {
        "payload": {"udp": 1000},
        "summary": {"queue_packets": {"mean": packets}},
        "groups": {
            "tcp": {"flows": 10},
            "udp": {
                "flows": 1,
                "rtt_ms": 50,
                "delay_ms": {"mean": 2025},
                "goodput_bps": {"mean": 80e3},
            },
        },
    }
    assert metric_of(made, "udp:off_equal_part") == pytest.approx(off)
    made["summary"]["queue_packets"]["mean"] = 0
    with pytest.raises(Absent, match="no packet in the queue"):
        metric_of(made, "udp:off_equal_part")


def test_chokes_theory_has_its_published_maximum() -> None:
    """The maximum is 1 / (1 + e) of the link, and the share then falls to 0 (Tang et al. 2003)."""
    most = 1 / (1 + math.e)
    shares = [choke_theory(x / 100) for x in range(10, 2000)]
    assert max(shares) == pytest.approx(most, rel=1e-4)
    assert shares.index(max(shares)) / 100 + 0.1 == pytest.approx(2 - 3 * most, abs=0.02)
    assert shares[-1] < 0.01


@pytest.mark.parametrize(("own", "packets"), [(0.0, 100), (0.1, 100), (0.25, 60)])
def test_choke_theory_uses_only_reds_own_drops(own: float, packets: int) -> None:
    """UDP has 20 packets in the queue, and 32 TCP flows share the rest.

    A match drops two packets of a TCP flow. RED drops a share `own` of the others.
    """
    each = (packets - 20) / 32
    loss = 1 - (1 - 2 * each / packets) * (1 - own)
    made = {
        "rate_bps": 1e6,
        "offered_bps": {"udp": 4e6},
        "payload": {"udp": 1000},
        "summary": {"queue_packets": {"mean": packets}, "utilization": 1.0},
        "groups": {
            "tcp": {"flows": 32, "loss": loss},
            # 10 packets per second that wait for 2 s each
            "udp": {
                "flows": 1,
                "rtt_ms": 50,
                "delay_ms": {"mean": 2025},
                "goodput_bps": {"mean": 80e3},
            },
        },
    }
    assert metric_of(made, "udp:choke_theory") == pytest.approx(choke_theory(4 * (1 - own)))
    with pytest.raises(Absent, match="carried nothing"):
        metric_of({**made, "summary": {**made["summary"], "utilization": 0.0}}, "udp:choke_theory")


def test_row_has_five_digits_and_omits_none() -> None:
    made = rows.rounded(
        {
            "mean": 1.23456789,
            "delay_ms": None,
            "rate_bps": 1234567.0,
            "jain": 1.0,
            "at": [{"p99": None, "n": 3}],
        }
    )
    assert json.dumps(made) == (
        '{"mean": 1.2346, "rate_bps": 1234600, "jain": 1, "at": [{"n": 3}]}'
    )


def choke_by_packets(offered: float, draws: int) -> float:
    """Simulate CHOKe with packets: the queue has 1000, and each TCP packet is of another flow."""
    random, sent, due, steps = Random(1), 0, 0.0, 30_000
    queue = [False] * 1000
    for step in range(steps):
        sent += queue.pop(0) and step >= steps // 3
        due += offered
        while due >= 1:
            due -= 1
            found = sorted({at for at in random.choices(range(len(queue)), k=draws) if queue[at]})
            for at in reversed(found):
                del queue[at]
            if not found:
                queue.append(True)
        queue += [False] * (1000 - len(queue))
    return sent / (steps - steps // 3)


@pytest.mark.parametrize(("offered", "draws"), [(1.2, 1), (0.485, 2), (2.0, 2)])
def test_choke_theory_is_what_packets_do(offered: float, draws: int) -> None:
    assert choke_by_packets(offered, draws) == pytest.approx(choke_theory(offered, draws), rel=0.06)


@pytest.mark.parametrize(("draws", "bound"), [(1, 1 / (1 + math.e)), (2, 0.129), (4, 0.063)])
def test_choke_bound_falls_with_the_draws(draws: int, bound: float) -> None:
    """Tang, Wang and Low have 1 / (1 + e) for one draw. The others are by eliminating the rate:

    s = ln z / (ln z + m (1 - h) / ((1 - h)^m - m h)) with z = (1 - h)^m / ((1 - h)^m - m h).
    """

    def share(part: float) -> float:
        enters, left = (1 - part) ** draws, (1 - part) ** draws - draws * part
        return math.log(enters / left) / (math.log(enters / left) + draws * (1 - part) / left)

    parts = [
        part / 1e5 for part in range(1, 100_000) if (1 - part / 1e5) ** draws > draws * part / 1e5
    ]
    assert choke_bound(draws) == pytest.approx(max(map(share, parts)), abs=1e-5)
    assert choke_bound(draws) == pytest.approx(bound, abs=5e-4)
