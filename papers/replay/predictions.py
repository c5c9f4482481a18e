# SPDX-License-Identifier: GPL-2.0
"""Predict metrics of runs by theory."""

from __future__ import annotations

import math

from . import queueing_laws, tcp_laws
from .prediction import TCP_FRAME, UDP_FRAME, CalibrationRun, Prediction, Result

#: Bytes of payload of UDP and TCP.
UDP, TCP = 972, 1460

#: RED's link, thresholds in bytes (50 and 150 packets), and drop probability at the upper one.
RED_MBPS, RED_MIN, RED_MAX, RED_MAX_P = 10, 75700, 227100, 0.1

#: Linux's shortest retransmission timeout beyond the round trip.
RTO_MIN_S = 0.2


def _goodput_mbps(result: Result, group: str) -> float:
    return float(result["groups"][group]["goodput_bps"]["mean"]) / 1e6


def _tcp_mbps(result: Result) -> float:
    (group,) = result["groups"]
    return _goodput_mbps(result, group)


def _drop_rate(result: Result) -> float:
    summary = result["summary"]
    return float(summary["dropped"] / (summary["dropped"] + summary["sent"]))


def _rtt_s(result: Result) -> float:
    (group,) = result["groups"].values()
    return float(group["rtt_ms"] + result["summary"]["queue_delay_ms"]["mean"]) / 1e3


def _window(result: Result) -> float:
    return _tcp_mbps(result) * 1e6 * _rtt_s(result) / (8 * TCP)


def _square_root_window(result: Result) -> float:
    return math.sqrt(1.5 / _drop_rate(result))


def _square_root_mbps(result: Result) -> float:
    return _square_root_window(result) * 8 * TCP / _rtt_s(result) / 1e6


def _red_drops(result: Result) -> float:
    """Return how many percent of the packets RED drops at the mean length of the queue.

    RED spaces drops evenly over 1 to 1/p arrivals, which are (1 + 1/p) / 2 on average.
    """
    backlog = float(result["summary"]["queue_delay_ms"]["mean"]) * RED_MBPS * 125
    p = RED_MAX_P * (backlog - RED_MIN) / (RED_MAX - RED_MIN)
    return 100 * 2 * p / (1 + p)


def _padhye_mbps(result: Result) -> float:
    """Padhye et al. 1998, equation 30, with an acknowledgement for each packet."""
    p, rtt = _drop_rate(result), _rtt_s(result)
    timeouts = min(1.0, 3 * math.sqrt(3 * p / 8)) * p * (1 + 32 * p * p)
    return 8 * TCP / (rtt * math.sqrt(2 * p / 3) + (rtt + RTO_MIN_S) * timeouts) / 1e6


def _drr(udp_mbps: float) -> CalibrationRun:
    return CalibrationRun(
        "udp-blast",
        "qsdrr limit 200 flows 1024 nohysteresis",
        {
            "flows": 5,
            "udp_flows": 2,
            "rate": 3,
            "udp_rate": udp_mbps,
            "rtt": 50,
            "warmup": 10,
            "duration": 60,
        },
    )


def _lossy(percent: float, *, quick: bool) -> CalibrationRun:
    return CalibrationRun(
        "dumbbell",
        f"netem loss random {percent}% limit 10000",
        {
            "flows": 8,
            "rate": 100,
            "access": 1000,
            "rtt": 80,
            "cc": "reno",
            "warmup": 10,
            "duration": 120,
        },
        quick,
    )


def _red(flows: int, **more: str) -> CalibrationRun:
    return CalibrationRun(
        "dumbbell",
        f"red limit {1000 * TCP_FRAME} min {RED_MIN} max {RED_MAX} avpkt {TCP_FRAME} burst 84 "
        f"probability {RED_MAX_P} bandwidth {RED_MBPS}mbit",
        {
            "flows": flows,
            "rate": RED_MBPS,
            "rtt": 80,
            "cc": "reno",
            "warmup": 20,
            "duration": 120,
            **more,
        },
        quick=False,
    )


CELLS = {
    "delay-line": CalibrationRun(
        "udp-blast",
        "pfifo limit 100",
        {
            "flows": 0,
            "udp_flows": 1,
            "udp_rate": 0.1,
            "rate": 10,
            "rtt": 80,
            "warmup": 1,
            "duration": 20,
        },
    ),
    "drr-low": _drr(0.3),
    "drr-high": _drr(3),
    "loss-0.5": _lossy(0.5, quick=True),
    "loss-2": _lossy(2, quick=False),
    "loss-5": _lossy(5, quick=False),
    "loss-10": _lossy(10, quick=False),
    "red": _red(12),
    # With 24 flows the average stays between the thresholds, where the curve is a line.
    "red-24": _red(24, probe="on"),
    **queueing_laws.CELLS,
    **tcp_laws.CELLS,
}


LAWS = (
    Prediction(
        "a delay line",
        "half of a round trip of 80 ms; one UDP flow of 0.1 Mb/s on an idle link",
        "delay-line",
        "ms",
        lambda _: 40.0,
        lambda result: float(result["groups"]["udp"]["delay_ms"]["p50"]),
        0.005,
        2,
    ),
    Prediction(
        "max-min shares of deficit round robin",
        "3 Mb/s; 5 TCP and 2 UDP flows; each UDP flow sends 0.3 Mb/s, less than its share",
        "drr-low",
        "Mb/s for each UDP flow",
        lambda _: 0.3 * UDP / UDP_FRAME,
        lambda result: _goodput_mbps(result, "udp"),
        0.002,
        4,
    ),
    Prediction(
        "the same",
        "each UDP flow sends 3 Mb/s",
        "drr-high",
        "Mb/s for each UDP flow",
        lambda _: 3 / 7 * UDP / UDP_FRAME,
        lambda result: _goodput_mbps(result, "udp"),
        0.002,
        4,
    ),
    Prediction(
        "the same",
        "as above",
        "drr-high",
        "Mb/s for each TCP flow",
        lambda _: 3 / 7 * TCP / TCP_FRAME,
        lambda result: _goodput_mbps(result, "tcp"),
        # Data counts when it is in order. At each end of the window a flow may wait for a lost
        # packet with its share of the queue behind it, 200 / 7 of its 2124 packets in 60 s.
        0.013,
        4,
    ),
    Prediction(
        "TCP's square-root law",
        "8 Reno flows, 80 ms, 0.5 % random loss",
        "loss-0.5",
        "Mb/s for each flow",
        _square_root_mbps,
        _tcp_mbps,
        0.05,
    ),
    Prediction(
        "the same, without timeouts",
        "2 % random loss",
        "loss-2",
        "Mb/s for each flow",
        _square_root_mbps,
        _tcp_mbps,
        0.15,
    ),
    Prediction(
        "Padhye's law, with timeouts",
        "2 % random loss",
        "loss-2",
        "Mb/s for each flow",
        _padhye_mbps,
        _tcp_mbps,
        0.1,
    ),
    *(
        Prediction(
            "the same",
            f"{percent} % random loss",
            f"loss-{percent}",
            "Mb/s for each flow",
            _padhye_mbps,
            _tcp_mbps,
            0.25,
            missed=percent == 10,
        )
        for percent in (5, 10)
    ),
    Prediction(
        "RED's equilibrium",
        "12 Reno flows, 10 Mb/s, 80 ms, thresholds of 50 and 150 packets: "
        "the window that RED's drop rate allows",
        "red",
        "packets",
        _square_root_window,
        _window,
        0.05,
        1,
    ),
    Prediction(
        "RED's drop curve",
        "24 Reno flows, else the same: the drops that the mean length of the queue asks for",
        "red-24",
        "% of the packets",
        _red_drops,
        lambda result: 100 * _drop_rate(result),
        0.1,
        2,
    ),
    Prediction(
        "Little's law",
        "the same: the mean backlog over the rate, and the delay that the queue adds to a probe",
        "red-24",
        "ms",
        lambda result: float(result["summary"]["queue_delay_ms"]["mean"]),
        lambda result: float(result["groups"]["probe"]["delay_ms"]["mean"]),
        0.03,
        1,
    ),
    *queueing_laws.LAWS,
    *tcp_laws.LAWS,
)
