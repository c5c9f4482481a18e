# SPDX-License-Identifier: GPL-2.0
"""A run is marked if something other than the link's rate limits its traffic.

The queue delay of a result is the backlog at the link's rate. netem holds each packet for 10 ms and
tbf sends at its own rate, so their delays were a fraction of the true ones, and nobody was told.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from aqmlab.measure import bulk_flows, link_use, on_the_way
from aqmlab.measure.logs import Queue

from .shortrun import result

LINK = ("dumbbell", "--set", "flows=10", "--set", "rate=20", "--set", "warmup=1")
SHORT = ("--set", "duration=1")


@pytest.mark.parametrize("qdisc", ["sfq", "fq_codel", "cake unlimited", "pfifo limit 5"])
def test_discipline_that_sends_whenever_it_can_is_not_marked(tmp_path: Path, qdisc: str) -> None:
    found = result(tmp_path / "out", "--qdisc", qdisc, *SHORT, scenario=LINK)
    assert found["warnings"] == []


def test_time_in_netem_is_named_and_measured(tmp_path: Path) -> None:
    words = ("--qdisc", "netem delay 30ms limit 10000", "--set", "rate=500", "--sojourn", *SHORT)
    found = result(tmp_path / "out", *words, scenario=LINK)
    held, on_the_way = found["warnings"]
    assert "the discipline holds packets back" in held
    # 30 ms of packets are in netem when the run ends.
    assert "were on their way at the end" in on_the_way
    # The delay is too low, as the warning says, and its advice helps.
    assert found["summary"]["queue_delay_ms"]["mean"] < 10
    (group,) = found["groups"].values()
    assert group["sojourn_ms"]["mean"] == pytest.approx(30, rel=0.05)


@pytest.mark.parametrize("qdisc", ["cake bandwidth 5mbit", "tbf rate 5mbit burst 5kb limit 100kb"])
def test_discipline_with_a_lower_rate_is_named(tmp_path: Path, qdisc: str) -> None:
    found = result(tmp_path / "out", "--qdisc", qdisc, *SHORT, scenario=LINK)
    (warning,) = found["warnings"]
    assert "is used for 25." in warning
    assert "the discipline holds packets back" in warning


@pytest.mark.parametrize(
    "qdisc", ["cake bandwidth 19mbit", "tbf rate 19mbit burst 5kb limit 100kb"]
)
def test_discipline_with_a_slightly_lower_rate_is_named(tmp_path: Path, qdisc: str) -> None:
    found = result(tmp_path / "out", "--qdisc", qdisc, *SHORT, scenario=LINK)
    (warning,) = found["warnings"]
    assert "sends at 95 % of the link's rate, so it holds packets back" in warning


@pytest.mark.parametrize(
    ("sent", "dropped", "held"), [(40, 0, True), (40, 60, False), (50, 0, False)]
)
def test_packets_that_are_dropped_from_the_queue_are_not_held_back(
    sent: int, dropped: int, held: bool
) -> None:
    """The link sends 50 packets of 1000 bytes a second, and 100 wait at first."""
    queue = Queue(
        {
            "time_s": np.array([0.0, 1.0]),
            "packets": np.array([100.0, 1.0]),
            "bytes": np.array([100e3, 1e3]),
            "dropped": np.array([0.0, dropped]),
            "sent_bytes": np.array([0.0, sent * 1e3]),
        },
        [],
        {},
    )
    facts = {"warmup_s": 0.0, "end_s": 1.0, "rate_bps": 400e3, "groups": {}}
    found = link_use.warnings(facts, queue, sent / 50, packet=1000)
    assert ["holds packets back" in text for text in found] == [True] * held


@pytest.mark.parametrize("follows", [False, True])
def test_an_outage_of_a_trace_is_no_fault_of_the_discipline(follows: bool) -> None:
    """All of the time 9 packets wait, and the link carries a quarter of its mean rate."""
    still = np.full(5, 9.0)
    columns = {"packets": still, "bytes": still * 1e3, "dropped": still}
    times = {"time_s": np.arange(5.0), "sent_bytes": np.array([0, 50e3, 50e3, 50e3, 50e3])}
    facts = {"warmup_s": 0.0, "end_s": 4.0, "rate_bps": 400e3, "groups": {}}
    queue = Queue(times | columns, [], {})
    (warning,) = link_use.warnings(facts, queue, 0.25, packet=None, follows=follows)
    assert ("the trace stops the link meanwhile, or the discipline" in warning) == follows
    assert ("the backlog at the link's mean rate" in warning) == follows


@pytest.mark.parametrize(
    ("lossy", "lost", "said"),
    [
        ([], 0, "is 130 of 5400 packets, and the network dropped 0: the others were on their way"),
        ([], 90, "and the network dropped 90"),
        ([], 125, ""),
        ([{"netns": "near", "dev": "b2"}], 0, ""),  # netem has dropped them
    ],
)
def test_packets_in_a_link_at_the_end_are_no_drops_without_a_word(
    lossy: list[dict[str, str]], lost: int, said: str
) -> None:
    """Data in a link of 80 ms were 2.4 % dropped in a run without a drop."""
    ends = [{"group": "a", "segs_sent": "5000"}, {"group": "a", "segs_sent": "400"}]
    counters = {"lossy": lossy, "qdiscs": {"near": [{"dev": "b2", "drops": 129}]}}
    groups = {"a": {"dropped": 130 / 5400}}
    found = on_the_way.warnings(ends, groups, {"a b0": {"lost": lost}}, counters)
    assert len(found) == bool(said)
    assert said in "".join(found)
    assert on_the_way.warnings(ends, groups, {}, counters) == []


def test_link_without_a_queue_is_no_bottleneck(tmp_path: Path) -> None:
    found = result(tmp_path / "out", "--set", "rate=5000", *SHORT, scenario=LINK)
    empty, on_the_way = found["warnings"]
    assert "nothing queues for long" in empty
    assert "were on their way at the end" in on_the_way


def test_run_in_which_nothing_arrived_is_marked(tmp_path: Path) -> None:
    """drr drops what no filter puts into a class. A deviation of 0 looked like equal shares."""
    words = ("--qdisc", "drr; class parent 2: classid 2:1 drr quantum 1514", *SHORT)
    found = result(tmp_path / "out", *words, scenario=LINK)
    assert "no flow received anything in the measured time" in found["warnings"][0]
    assert found["summary"]["sd_over_fair_share"] is None


@pytest.mark.parametrize(("start", "warned"), [("10.5", False), ("13", True)])
def test_flow_that_misses_a_small_part_of_the_measured_time_is_not_late(
    start: str, warned: bool
) -> None:
    """It misses 0.5 % or 3 % of 100 s."""
    group = {"elastic": True, "from_s": None}
    facts = {"warmup_s": 10.0, "end_s": 110.0, "groups": {"all": group}}
    found = bulk_flows.warnings(facts, [{"group": "all", "start_s": start}], {"max": 1.0})
    assert bool(found) == warned


def test_flows_that_start_in_the_measured_time_are_counted(tmp_path: Path) -> None:
    """The time before its start lowers a flow's goodput, as if the discipline were unfair."""
    words = ("--set", "warmup=0.5", "--set", "spread=1", *SHORT)
    found = result(tmp_path / "out", *words, scenario=LINK)
    late = sum(
        flow["start_ns"] > 520_000_000  # 2 % of the measured time do not matter
        for flow in json.loads((tmp_path / "out" / "recipe.json").read_text())["flows"]
    )
    assert 0 < late < 10
    (warning,) = found["warnings"]
    assert warning.startswith(f"group all: {late} of 10 flows start after the warm-up of 0.5 s")
