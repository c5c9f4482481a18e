# SPDX-License-Identifier: GPL-2.0
"""Compare derived metrics of a run with round numbers to values computed by hand."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest

from aqmlab.measure.derived_metrics import DERIVED, choke_theory, metric_of
from replay import claim_types, claims
from replay.claim_verdict import by_cell, measure

#: The link has 10 Mb/s. A UDP flow sends 20 Mb/s and gets 4. Ten TCP flows get 0.5 each.
FIGURES: dict[str, Any] = {
    "rate_bps": 10e6,
    "summary": {
        "sd_over_fair_share": 0.2,
        "fair_share_bps": 2.5e6,
        "utilization": 0.9,
        "goodput_bps": {"mean": 2e6},
        "queue_packets": {"mean": 20},
        "dropped": 30,
        "sent": 120,
    },
    "groups": {
        # Of 30 ms one-way delay, 10 ms (half of the RTT) are propagation and 20 ms queueing.
        "udp": {
            "flows": 1,
            "goodput_bps": {"mean": 4e6, "sd": 0.0},
            "rtt_ms": 20.0,
            "delay_ms": {"mean": 30.0, "max": 50.0},
        },
        "tcp": {"flows": 10, "goodput_bps": {"mean": 0.5e6, "sd": 0.1e6}, "loss": 0.0},
        "forward0": {"flows": 2, "share_of_fair": 1.2},
        "forward1": {"flows": 3, "share_of_fair": 0.7},
        "back0": {"flows": 1},
    },
    "flows_bps": [1e6, 2.5e6, 3e6, 4e6],
    "payload": {"udp": 972},
    "offered_bps": {"udp": 20e6},
    "phases": [
        {
            "dropped": 30,
            "marked": 20,
            "sent": 70,
            "queue_delay_ms": {"p50": 12.112},
            "utilization": 0.9,
            "goodput_bps": {"mean": 1e6, "sd": 2e5},
            "groups": {"tcp": {"mean": 4e5}, "forward0": {"mean": 2e6}},
        },
        {
            "dropped": 0,
            "marked": 10,
            "sent": 100,
            "utilization": 0.1,
            "groups": {"tcp": {"mean": 1e5}},
        },
        {
            "dropped": 1,
            "marked": 0,
            "sent": 9,
            "utilization": 0.7,
            "goodput_bps": {"mean": 2e6, "sd": 2e5},
            "groups": {
                "tcp": {"mean": 3e5},
                "back0": {"mean": 7e6},
                "forward0": {"mean": 2e6},
                "forward1": {"mean": 1e6},
            },
        },
    ],
}
#: 42 bytes of Ethernet, IPv4 and UDP headers before 972 bytes of payload.
WIRE = 4e6 * 1014 / 972

HAND = {
    "udp:mbps": 4.0,
    "tcp:mbps": 5.0,
    "udp:kbyte_s": 500.0,
    "udp:link_share": WIRE / 10e6,
    "udp:mbps_kept": WIRE / 20e6,
    ":variance": 0.04,
    ":mean_over_fair": 0.8,
    ":above_fair": 0.5,
    ":short_of_fair": 0.2,
    ":drop_rate": 0.2,
    "udp:wait_ms": 20.0,
    # 4 Mb/s for 20 ms are 10 000 bytes.
    "udp:waiting": 10_000 / 972,
    "udp:most_waiting": 20_000 / 972,
    "udp:waiting_share": 500 / 972,
    "udp:off_equal_part": 500 / 972 - 1 / 17,
    "tcp:unevenness": 0.2,
    "forward0+forward1:least_share": 0.7,
    "1:use": 0.1,
    "0+2:use": 0.8,
    # 4 Mb/s and 7 Mb/s of payload. A packet of 1514 bytes has 1460 bytes of payload.
    "0:goodput_use": 0.4 * 1514 / 1460,
    "2:goodput_use": 0.7 * 1514 / 1460,
    "0+2:goodput_use": 0.55 * 1514 / 1460,
    "2:deviation": 0.1,
    "0+2:deviation": 0.15,
    "2:hit": 0.1,
    "0+2:hit": 0.3,
    # 12.112 ms at 10 Mb/s are 15 140 bytes.
    "0:median_queue_packets": 10.0,
    ":dropped_0": 0.5,
    ":dropped_1": 0.1,
    ":kept_1": 0.25,
    ":kept_2": 0.75,
    "summary.queue_packets.mean": 20.0,
    "phases.2.sent": 9.0,
}


@pytest.mark.parametrize("path", HAND)
def test_metric_equals_a_manual_computation(path: str) -> None:
    assert metric_of(FIGURES, path) == pytest.approx(HAND[path], rel=1e-12)


def test_smallest_buffer_is_relative_to_the_bandwidth_delay_product() -> None:
    """100 Mb/s for 121.12 ms are 1000 packets of 1514 bytes."""
    metrics = {
        "rate_bps": 100e6,
        "groups": {"all": {"rtt_ms": 121.12}},
        "smallest": {"use": 250, "shares": 500},
    }
    assert metric_of(metrics, "use:over_product") == pytest.approx(0.25)
    assert metric_of(metrics, "shares:over_product") == pytest.approx(0.5)


def test_every_derived_metric_is_tested() -> None:
    by_theory = {"choke_theory", "over_theory"}
    by_hand_below = {"over_product"}
    by_hand = {path.partition(":")[2] for path in HAND if ":" in path}
    assert by_hand | by_hand_below | by_theory == set(DERIVED)


def test_choke_share_matches_the_fluid_model() -> None:
    """Share s and offered rate X satisfy (1 - s) ln((X + s) / 2s) = (X + s) / 2.

    RED drops nothing here, so X is UDP's rate, twice the link.
    """
    share = metric_of(FIGURES, "udp:choke_theory")
    assert (1 - share) * log((2 + share) / (2 * share)) == pytest.approx((2 + share) / 2, rel=1e-9)
    assert metric_of(FIGURES, "udp:over_theory") == pytest.approx(WIRE / 10e6 / share, rel=1e-9)


@pytest.mark.parametrize("offered", [0.0, 1e-6, 0.5, 1.0, 30.0, 300.0])
def test_choke_leaves_no_more_than_is_offered(offered: float) -> None:
    """A very high rate gets almost nothing: for small s, ln(X / 2s) is X / 2."""
    share = choke_theory(offered)
    assert 0 <= share <= min(offered, 1.0)
    if offered >= 30:
        assert share == pytest.approx(offered / 2 * exp(-offered / 2), abs=1e-9)


@pytest.mark.parametrize(
    ("more", "folded"),
    [
        ({}, 0.7),
        ({"fold": "max"}, 0.9),
        ({"fold": "min"}, 0.5),
        ({"against": {"of": "other"}}, (5 + 3) / 2),
        ({"against": {"of": "other"}, "fold": "max"}, 5.0),
        ({"against": {"of": "other"}, "fold": "min"}, 3.0),
        ({"against": {"of": "other"}, "difference": True}, (0.4 + 0.6) / 2),
        ({"against": {"of": "other"}, "difference": True, "fold": "max"}, 0.6),
        # One cell for all points.
        ({"against": {"of": "other", "at": {"x": 1}}, "fold": "max"}, 9.0),
    ],
)
def test_points_are_compared_before_aggregation(more: dict[str, Any], folded: float) -> None:
    (claim,) = claims.parse(
        {
            "claim": {
                "C": {
                    "place": "",
                    "says": "",
                    "published": "",
                    "why": "",
                    "experiment": "e",
                    "metric": "summary.u",
                    "of": "one",
                    "low": 0,
                    **more,
                }
            }
        }
    )
    cells = by_cell(
        [
            {
                "experiment": "e",
                "discipline": name,
                "seed": 7,
                "at": {"x": x},
                "metrics": {"summary": {"u": value}},
            }
            for name, values in (("one", (0.5, 0.9)), ("other", (0.1, 0.3)))
            for x, value in zip((1, 2), values, strict=True)
        ]
    )
    found, behind = measure(claim, {"e": {"x": [1, 2]}}, cells, {"e": 7})
    assert found == pytest.approx(folded)
    assert len(behind) == 2 + (len(claim.against.at.get("x", (1, 2))) if claim.against else 0)


def test_one_ratio_to_almost_zero_does_not_dominate_a_median() -> None:
    assert claim_types.FOLDS["median"]([2.0, 5e4, 1.0]) == 2.0
