# SPDX-License-Identifier: GPL-2.0
"""Predict windows of TCP: CUBIC's curve, BBR's data in flight, and the sawtooth of Reno."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aqmlab.measure import logs

from .prediction import TCP_FRAME, CalibrationRun, Prediction, of_logs

#: A flow of CUBIC with a long cycle, so that its curve is far above Reno's line.
CUBIC_MBPS, CUBIC_RTT_MS, CUBIC_BUFFER, CUBIC_WARMUP_S = 10, 200, 50, 30
#: W_max after a loss below W_max, over the window: (1 + beta) / 2 (RFC 9438, 4.7).
FAST_CONVERGENCE = 0.85
#: An epoch leaves out the recovery, of two round trips.
RECOVERY_S = 0.5
BBR_MBPS, BBR_RTT_MS, BBR_WARMUP_S = 10, 80, 20
#: Reno's rate and buffer, by the number of flows.
RENO = {1: (5, 67), 8: (10, 134)}
RENO_RTT_MS, RENO_WARMUP_S = 80, 30


def bdp_packets(mbps: float, rtt_ms: float) -> float:
    """Return the bandwidth-delay product."""
    return mbps * rtt_ms * 1e3 / 8 / TCP_FRAME


@dataclass(frozen=True)
class Epoch:
    """The samples of one flow of CUBIC between two losses.

    before: window at the last sample before the first loss, packets
    fast: whether fast convergence applied, so that the window passes W_max before the next loss
    ssthresh: after this loss, packets
    time_s, cwnd: of each sample after the recovery
    """

    before: float
    fast: bool
    ssthresh: float
    time_s: NDArray[np.float64]
    cwnd: NDArray[np.float64]


def epochs(read: logs.Logs, from_s: float, recovery_s: float) -> list[Epoch]:
    """Return the whole epochs of a run with one flow, from tcp.csv.

    recovery_s: time after a loss that an epoch leaves out
    """
    time_s, cwnd, ssthresh = (read.tcp[name] for name in ("time_s", "cwnd", "ssthresh"))
    losses = [at for at in range(1, len(time_s)) if ssthresh[at] != ssthresh[at - 1]]
    found, w_max = [], 0.0
    for first, last in itertools.pairwise(losses):
        before = cwnd[first - 1]
        fast = bool(before < w_max)
        w_max = before * FAST_CONVERGENCE if fast else before
        mine = np.arange(first, last)
        mine = mine[time_s[mine] >= time_s[first] + recovery_s]
        if time_s[first] >= from_s and len(mine):
            found.append(Epoch(before, fast, ssthresh[first], time_s[mine], cwnd[mine]))
    return found


def cubic(read: logs.Logs) -> dict[str, float]:
    """Return CUBIC's numbers, means over the epochs.

    beta: slow-start threshold after a loss over the window before it
    c: coefficient of the third power of time in the window, packets / s^3
    plateau: window where the curve turns over the window before the loss

    The last two are of epochs with fast convergence. In others a loss ends the curve where it
    turns, so that it does not show the third power.

    Raises ValueError if no epoch has fast convergence.
    """
    found = epochs(read, CUBIC_WARMUP_S, RECOVERY_S)
    whole = [epoch for epoch in found if epoch.fast]
    if not whole:
        raise ValueError("no whole time between two losses with fast convergence")
    curves = [np.polynomial.Polynomial.fit(e.time_s, e.cwnd, 3).convert() for e in whole]
    turns = [curve(-curve.coef[2] / (3 * curve.coef[3])) for curve in curves]
    return {
        "beta": float(np.mean([epoch.ssthresh / epoch.before for epoch in found])),
        "c": float(np.mean([curve.coef[3] for curve in curves])),
        "plateau": float(
            np.mean([turn / epoch.before for turn, epoch in zip(turns, whole, strict=True)])
        ),
    }


def in_flight(read: logs.Logs) -> dict[str, float]:
    """Return the mean and the most packets in flight over the bandwidth-delay product."""
    kept = read.tcp["unacked"][read.tcp["time_s"] >= BBR_WARMUP_S]
    bdp = bdp_packets(BBR_MBPS, BBR_RTT_MS)
    return {"mean": float(kept.mean() / bdp), "most": float(kept.max() / bdp)}


def mean_queue(read: logs.Logs, from_s: float) -> dict[str, float]:
    """Return the mean length of the queue, packets, from the first to the last time with drops.

    Raises ValueError if it has no two drops.
    """
    time_s, dropped = read.queue["time_s"], read.queue["dropped"]
    at = np.flatnonzero((np.diff(dropped) > 0) & (time_s[1:] >= from_s)) + 1
    if len(at) < 2:
        raise ValueError("no two drops")
    return {"queue": float(read.queue["packets"][at[0] : at[-1]].mean())}


def sawtooth(mbps: float, buffer: int) -> float:
    """Return the mean queue of AIMD with a factor of a half, packets.

    The window W grows from half of P + B to P + B, by one packet per round trip. P packets are on
    the path and B fit the buffer, at least P. A round trip takes W / rate. So each W counts for a
    time that is proportional to W, and the mean of W over time is 7/9 of P + B.
    """
    path = bdp_packets(mbps, RENO_RTT_MS)
    if buffer < path:
        raise ValueError(f"a buffer of {buffer} packets, needs {path:.0f}")
    return 7 / 9 * (path + buffer) - path


def _reno(flows: int, duration_s: int) -> CalibrationRun:
    mbps, buffer = RENO[flows]
    return CalibrationRun(
        "dumbbell",
        f"pfifo limit {buffer}",
        {
            "flows": flows,
            "rate": mbps,
            "access": 1000,
            "rtt": RENO_RTT_MS,
            "cc": "reno",
            "tcp_profile": "today",
            "warmup": RENO_WARMUP_S,
            "duration": duration_s,
        },
        of_logs=lambda read: mean_queue(read, RENO_WARMUP_S),
    )


CELLS = {
    "cubic": CalibrationRun(
        "dumbbell",
        f"pfifo limit {CUBIC_BUFFER}",
        {
            "flows": 1,
            "rate": CUBIC_MBPS,
            "access": 1000,
            "rtt": CUBIC_RTT_MS,
            "cc": "cubic",
            "tcp_profile": "today",
            "interval": 100,
            "warmup": CUBIC_WARMUP_S,
            "duration": 60,
        },
        asks=("--tcp-state",),
        of_logs=cubic,
    ),
    "bbr": CalibrationRun(
        "dumbbell",
        "pfifo limit 1000",
        {
            "flows": 1,
            "rate": BBR_MBPS,
            "access": 1000,
            "rtt": BBR_RTT_MS,
            "cc": "bbr",
            "tcp_profile": "today",
            "interval": 20,
            "warmup": BBR_WARMUP_S,
            "duration": 40,
        },
        asks=("--tcp-state",),
        of_logs=in_flight,
    ),
    "sawtooth-1": _reno(1, 120),
    "sawtooth-8": _reno(8, 60),
}

LAWS = (
    Prediction(
        "CUBIC's beta (RFC 9438)",
        f"one flow, {CUBIC_MBPS} Mb/s, {CUBIC_RTT_MS} ms, a FIFO of {CUBIC_BUFFER} packets: "
        "ssthresh after a loss over the window before it",
        "cubic",
        "of the window",
        lambda _: 0.7,
        of_logs("beta"),
        # The window before a loss was read up to 0.1 s before.
        0.02,
    ),
    Prediction(
        "CUBIC's curve C (t - K)^3 + W_max",
        "the same: C, fitted to the window between two losses",
        "cubic",
        "packets / s^3",
        lambda _: 0.4,
        of_logs("c"),
        # The window is a whole number, and follows the curve in steps of a round trip.
        0.05,
    ),
    Prediction(
        "the same",
        "W_max with fast convergence over the window before the loss",
        "cubic",
        "of the window",
        lambda _: FAST_CONVERGENCE,
        of_logs("plateau"),
        # The window at the loss is a packet larger than the last reading of 217.
        0.015,
    ),
    Prediction(
        "BBR fills the link (Cardwell et al. 2016)",
        f"one flow, {BBR_MBPS} Mb/s, {BBR_RTT_MS} ms, a FIFO that never drops; it stops for "
        "200 ms and a round trip in each 10 s",
        "bbr",
        "% of the link",
        lambda _: 100 * (1 - (0.2 + BBR_RTT_MS / 1e3) / 10),
        lambda result: 100 * float(result["summary"]["utilization"]),
        # 40 s are not a whole number of its cycles.
        0.01,
        1,
        "at least",
    ),
    Prediction(
        "BBR's data in flight",
        "the same: mean over the bandwidth-delay product; it probes with 1.25 times the product",
        "bbr",
        "bandwidth-delay products",
        lambda _: 1.25,
        of_logs("mean"),
        0.0,
        2,
        "at most",
    ),
    Prediction(
        "the same",
        "the most; its window is twice the product",
        "bbr",
        "bandwidth-delay products",
        lambda _: 2,
        of_logs("most"),
        # The kernel adds up to three packets, of a window of 132.
        0.03,
        2,
        "at most",
    ),
    Prediction(
        "the sawtooth of AIMD",
        f"one Reno flow, {RENO[1][0]} Mb/s, {RENO_RTT_MS} ms, a FIFO of {RENO[1][1]} packets: the "
        "mean queue, 7/9 (P + B) - P",
        "sawtooth-1",
        "packets",
        lambda _: sawtooth(*RENO[1]),
        of_logs("queue"),
        # A loss shows after a round trip, of 37 in a cycle, and during it the buffer is full.
        0.05,
        1,
    ),
    Prediction(
        "the same, N flows",
        f"8 Reno flows, {RENO[8][0]} Mb/s, a FIFO of {RENO[8][1]} packets: their sum falls by "
        "half at most",
        "sawtooth-8",
        "packets",
        lambda _: sawtooth(*RENO[8]),
        of_logs("queue"),
        0.0,
        1,
        "at least",
    ),
)
