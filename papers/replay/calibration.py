# SPDX-License-Identifier: GPL-2.0
"""Compare the kernel in the lab with theory: run the cells of docs/results/calibration.md."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab import ROOT
from aqmlab.compare import sweep
from aqmlab.measure.derived_metrics import choke_bound, choke_theory
from aqmlab.report import intervals

from .paper import PAPERS

Result = Mapping[str, Any]

STORED = PAPERS / "calibration.json"
SEEDS = (1, 2, 3)
#: Bytes of payload and of the packet with its Ethernet header, of UDP and of TCP.
UDP, UDP_FRAME, TCP, TCP_FRAME = 972, 1014, 1460, 1514
#: Linux's shortest retransmission timeout beyond the round trip.
RTO_MIN_S = 0.2


@dataclass(frozen=True)
class CalibrationRun:
    """A run: the words of `netns-scenarios/run`, without a seed. quick: a test runs it, too."""

    scenario: str
    qdisc: str
    values: Mapping[str, float | str]
    quick: bool = True

    def job(self, seed: int) -> sweep.Job:
        """Return the run with this seed."""
        return sweep.Job(
            [
                self.scenario,
                "--qdisc",
                self.qdisc,
                *sweep.settings(self.values),
                "--seed",
                str(seed),
            ],
            self.qdisc,
        )


@dataclass(frozen=True)
class Prediction:
    """What theory predicts for a cell.

    head, setup: for people
    theory, measured: functions of the cell's result
    within: largest relative error that the page and the test accept
    """

    head: str
    setup: str
    cell: str
    unit: str
    theory: Callable[[Result], float]
    measured: Callable[[Result], float]
    within: float
    digits: int = 3


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
    "red": CalibrationRun(
        "dumbbell",
        "red limit 1514000 min 75700 max 227100 avpkt 1514 burst 84 "
        "probability 0.1 bandwidth 10mbit",
        {"flows": 12, "rate": 10, "rtt": 80, "cc": "reno", "warmup": 20, "duration": 120},
        quick=False,
    ),
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
)


@dataclass(frozen=True)
class CalibrationLine:
    """A line of the page: theory and measurement, means over the seeds."""

    law: Prediction
    theory: float
    measured: intervals.Mean

    @property
    def error(self) -> float:
        """Relative error of the measurement."""
        return self.measured.value / self.theory - 1


def numbers(results: Mapping[str, Result]) -> list[list[float]]:
    """Return theory's value and the measured one of each law.

    results: of one seed, by cell
    """
    return [[law.theory(results[law.cell]), law.measured(results[law.cell])] for law in LAWS]


def lines() -> list[CalibrationLine]:
    """Return the page's lines from the stored numbers."""
    by_seed = json.loads(STORED.read_text())
    columns = [[seed[at] for seed in by_seed] for at in range(len(LAWS))]
    return [
        CalibrationLine(
            law,
            intervals.mean([theory for theory, _ in values]).value,
            intervals.mean([measured for _, measured in values]),
        )
        for law, values in zip(LAWS, columns, strict=True)
    ]


#: Cells of ahammed2010 beside CHOKe's fluid model: draws, flows, experiment, discipline and point.
CHOKE = (
    *((1, 32, "theory", "choke-300", {"udp_rate": rate}) for rate in (1.0, 1.25, 2.0, 4.0, 8.0)),
    (2, 32, "intervals-32", "a-choke-k", {"intervals": 1, "udp_rate": 2.0}),
    (1, 10, "candidates", "m-choke", {"candidates": 1, "udp_rate": 2.0}),
    (2, 10, "candidates", "m-choke", {"candidates": 2, "udp_rate": 2.0}),
)


@dataclass(frozen=True)
class ChokeLine:
    """A line about CHOKe: UDP's share of the link in percent, in theory and measured.

    rate: UDP's rate over the link's
    bound: the largest share at any rate
    """

    draws: int
    flows: int
    rate: float
    theory: float
    bound: float
    measured: float


def choke_lines(number: Callable[..., str]) -> list[ChokeLine]:
    """Return the lines about CHOKe. number: PageModel.number of ahammed2010"""
    return [
        ChokeLine(
            draws,
            flows,
            at["udp_rate"],
            100 * choke_theory(at["udp_rate"], draws),
            100 * choke_bound(draws),
            float(number(experiment, discipline, "udp:link_share", scale=100, digits=2, **at)),
        )
        for draws, flows, experiment, discipline, at in CHOKE
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 1 if a run failed."""
    parser = sweep.parser(
        "calibrate",
        "Run the cells of docs/results/calibration.md, and store "
        "theory's values and the measured ones.",
        ROOT / "out" / "calibration",
        resume=False,
    )
    args = parser.parse_args(argv)
    jobs = {f"{name}-{seed}": cell.job(seed) for name, cell in CELLS.items() for seed in SEEDS}
    done = sweep.run(args, jobs)
    if failed := [name for name in jobs if name not in done]:
        print(
            f"calibrate: {len(failed)} runs failed, {failed[0]} first: see {args.out}",
            file=sys.stderr,
        )
        return 1
    of_seeds = [numbers({name: done[f"{name}-{seed}"] for name in CELLS}) for seed in SEEDS]
    STORED.write_text(
        json.dumps(
            [[[float(f"{x:.6g}") for x in pair] for pair in seed] for seed in of_seeds], indent=1
        )
        + "\n"
    )
    print("calibrate: now run make ledger")
    return 0
