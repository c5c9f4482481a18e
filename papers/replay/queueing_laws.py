# SPDX-License-Identifier: GPL-2.0
"""Predict what queues do with UDP: the wait of M/D/1, a token bucket's burst, and DRR's lag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aqmlab.measure import logs

from .prediction import UDP_FRAME, CalibrationRun, Prediction, Result, of_logs

#: M/D/1: bytes of each packet, and its time on the link.
ANSWER_FRAME, SERVICE_MS = 1250, 1.0
CLIENTS = 8
MD1_WARMUP_S, MD1_DURATION_S = 2, 100

#: The bucket of 20 packets below a link that is never full.
BUCKET_MBPS, BUCKET_BYTES = 2, 20 * UDP_FRAME

#: DRR: the largest packet of two flows, and the quantum of each.
TAGGED_FRAME = QUANTUM = 1500
TAGGED_DSCP = 46


@dataclass(frozen=True)
class Departures:
    """Packets in the order in which they left the bottleneck, from the warm-up's end on.

    came_s, left_s: times of each packet, s
    group: name of its group
    bytes: with the Ethernet header
    """

    came_s: NDArray[np.float64]
    left_s: NDArray[np.float64]
    group: NDArray[np.str_]
    bytes: NDArray[np.float64]


def departures(read: logs.Logs, frames: Mapping[str, int], from_s: float) -> Departures:
    """Return the packets of sojourn.csv.

    frames: bytes of each packet of a group
    Raises ValueError if there are none.
    """
    groups = {int(row["flow"]): row["group"] for row in read.ends}
    came_s, left_s = read.sojourn[:, 0], read.sojourn[:, 0] + read.sojourn[:, 2] / 1e3
    kept = left_s >= from_s
    if not kept.any():
        raise ValueError("no packet left the queue: is there a sojourn.csv?")
    group = np.array([groups[int(flow)] for flow in read.sojourn[kept, 1]])
    sizes = np.array([frames[name] for name in group], dtype=float)
    return Departures(came_s[kept], left_s[kept], group, sizes)


def burst_bytes(left: Departures, rate_bps: float) -> float:
    """Return the most bytes that any window of time has beyond `rate_bps` times its length.

    A window begins with a packet and ends with a packet. It has both.
    """
    after = np.cumsum(left.bytes) - rate_bps / 8 * left.left_s
    before = after - left.bytes
    return float(np.max(after - np.minimum.accumulate(before)))


def lag_bytes(left: Departures) -> float:
    """Return the largest difference of the bytes of two groups over any interval in which both
    always have packets in the queue.

    Raises ValueError if there are not two groups, or if one has no packet at some time.
    """
    names = np.unique(left.group)
    if len(names) != 2:
        raise ValueError(f"{len(names)} groups, needs two")
    for name in names:
        mine = left.group == name
        if (left.came_s[mine][1:] > left.left_s[mine][:-1]).any():
            raise ValueError(f"{name}: the queue has no packet of it at some time")
    walk = np.cumsum(np.where(left.group == names[0], left.bytes, -left.bytes))
    walk = np.concatenate([[0.0], walk])
    return float(walk.max() - walk.min())


def _load(result: Result) -> float:
    """Return the link's use by the packets that came, 0..1."""
    return float(result["summary"]["sent"] * SERVICE_MS / 1e3 / result["parameters"]["duration"])


def wait_ms(load: float) -> float:
    """Return the mean wait of M/D/1 (Pollaczek and Khinchine, constant service)."""
    return SERVICE_MS * load / (2 * (1 - load))


def lindley_ms(read: logs.Logs, from_s: float) -> dict[str, float]:
    """Return the mean wait of the questions from a time on: in the lab, and as it follows from
    their arrival times. A packet waits until all before it have had their service (Lindley).

    Raises ValueError if a question has no answer.
    """
    if np.isnan(read.requests).any():
        raise ValueError("a question has no answer")
    rows = read.requests[np.argsort(read.requests[:, 0], kind="stable")]
    came_ms, before_ms = 1e3 * rows[:, 0], SERVICE_MS * np.arange(len(rows))
    wait = np.maximum.accumulate(came_ms - before_ms) + before_ms - came_ms
    kept = rows[:, 0] >= from_s
    return {"lindley": float(wait[kept].mean()), "waited": 1e3 * float(rows[kept, 4].mean())}


def _md1(load: float) -> CalibrationRun:
    """Return questions at random times (Poisson), whose answers have one size."""
    return CalibrationRun(
        "rrul",
        "pfifo limit 10000",
        {
            **dict.fromkeys(("down", "up", "pages", "videos", "rtt", "rate_back"), 0),
            "lookups": CLIENTS,
            "lookup_gap": CLIENTS * SERVICE_MS / load,
            "answer": ANSWER_FRAME - 42,
            "mtu": ANSWER_FRAME - 14,
            "rate": 8 * ANSWER_FRAME / SERVICE_MS / 1e3,
            "probe": "off",
            "warmup": MD1_WARMUP_S,
            "duration": MD1_DURATION_S,
        },
        of_logs=lambda read: lindley_ms(read, MD1_WARMUP_S),
    )


def _lag(qdisc: str) -> CalibrationRun:
    """Return two flows with packets of two sizes. Each flow sends twice its share."""
    return CalibrationRun(
        "udp-blast",
        qdisc,
        {
            "flows": 0,
            "udp_flows": 1,
            "udp_rate": 4,
            "udp_size": UDP_FRAME - 14,
            "tagged_flows": 1,
            "tagged_rate": 4,
            "tagged_size": TAGGED_FRAME - 14,
            "tagged_dscp": TAGGED_DSCP,
            "rate": 4,
            "warmup": 5,
            "duration": 20,
        },
        asks=("--sojourn",),
        of_logs=lambda read: {
            "lag": lag_bytes(departures(read, {"udp": UDP_FRAME, "tagged": TAGGED_FRAME}, 5))
        },
    )


CELLS = {
    "md1-0.5": _md1(0.5),
    "md1-0.8": _md1(0.8),
    "bucket": CalibrationRun(
        "udp-blast",
        f"tbf rate {BUCKET_MBPS}mbit burst {BUCKET_BYTES} limit {1000 * UDP_FRAME}",
        {
            "flows": 0,
            "udp_flows": 1,
            "udp_rate": 2 * BUCKET_MBPS,
            "udp_size": UDP_FRAME - 14,
            # Evenly spaced, so that no packet waits for the link.
            "udp_jitter": 0,
            "udp_start": 2,
            "rate": 100,
            "warmup": 1,
            "duration": 20,
        },
        asks=("--sojourn",),
        of_logs=lambda read: {
            "burst": burst_bytes(departures(read, {"udp": UDP_FRAME}, 1), BUCKET_MBPS * 1e6)
        },
    ),
    "lag-drr": _lag(
        "drr; "
        f"class parent 2: classid 2:1 drr quantum {QUANTUM}; "
        f"class parent 2: classid 2:2 drr quantum {QUANTUM}; "
        f"filter parent 2: protocol ip prio 1 u32 match ip dsfield {TAGGED_DSCP << 2:#x} 0xfc "
        "flowid 2:1; "
        "filter parent 2: protocol ip prio 2 u32 match u32 0 0 flowid 2:2"
    ),
    "lag-qsdrr": _lag(f"qsdrr limit 200 flows 1024 nohysteresis quantum {QUANTUM}b"),
}


def _law_of_wait(head: str, load: float) -> Prediction:
    return Prediction(
        head,
        f"packets of {ANSWER_FRAME} bytes at random times through a FIFO of 10 Mb/s, "
        f"{100 * load:.0f} % of the link",
        f"md1-{load}",
        "ms",
        lambda result: wait_ms(_load(result)),
        lambda result: 1e3 * float(result["groups"]["lookups"]["completion_s"]["mean"]),
        # In a simulation of 100 s the mean wait has a standard deviation of 2 % at a load of 0.8.
        0.06,
    )


def _law_of_lag(head: str, setup: str, cell: str) -> Prediction:
    return Prediction(
        head,
        setup,
        cell,
        "bytes more for one flow than for the other",
        lambda _: 2 * TAGGED_FRAME + QUANTUM,
        of_logs("lag"),
        0.0,
        0,
        "at most",
    )


LAWS = (
    _law_of_wait("M/D/1's wait (Pollaczek and Khinchine)", 0.5),
    _law_of_wait("the same", 0.8),
    Prediction(
        "Lindley's equation",
        "the same packets: the mean wait that follows from when they came",
        "md1-0.8",
        "ms",
        of_logs("lindley"),
        of_logs("waited"),
        # Times are read in steps of 1 us, and the queue waits for 1 ms.
        0.001,
    ),
    Prediction(
        "a token bucket",
        f"tbf of {BUCKET_MBPS} Mb/s with a burst of {BUCKET_BYTES} bytes; one UDP flow of "
        f"{2 * BUCKET_MBPS} Mb/s: the most bytes beyond the rate in any window",
        "bucket",
        "bytes",
        lambda _: BUCKET_BYTES,
        of_logs("burst"),
        # Its tokens count in steps of 64 ns, and our times in steps of 1 us.
        0.001,
        0,
    ),
    _law_of_lag(
        "DRR's lag (Shreedhar and Varghese 1996): 2 Max + Q",
        f"mainline's drr, 4 Mb/s; two UDP flows with packets of {UDP_FRAME} and {TAGGED_FRAME} "
        f"bytes, a quantum of {QUANTUM}; over any interval of 20 s",
        "lag-drr",
    ),
    _law_of_lag("the same", "qsdrr", "lag-qsdrr"),
)
