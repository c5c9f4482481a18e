# SPDX-License-Identifier: GPL-2.0
"""Compare metrics of UDP, web traffic and phases with values computed by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aqmlab.measure import logs, result, traffic_metrics
from aqmlab.measure.metrics import phases, summarize
from aqmlab.run.execute import Cost
from aqmlab.run.fair_shares import facts, max_min
from aqmlab.run.group import Group
from tests.scenarios import handmade, shortrun

# A UDP flow (2) that sends from 2 s on, and a web flow (3), in addition to handmade's TCP flows.
DATAGRAMS = ((0.0, 9, 50, 0), (2.0, 2, 10, 8), (2.5, 2, 10, 7), (3.0, 2, 10, 0))
DELAYS = ((2.0, 2, 10.0), (2.1, 2, 20.0), (2.5, 2, 30.0), (3.0, 2, 900.0), (2.0, 9, 900.0))
REQUESTS = (
    (0.5, 3, 0, 1_000, 0.1),
    (1.0, 3, 1, 9_999, 0.2),
    (1.5, 3, 2, 10_000, 0.4),
    (2.0, 3, 3, 10_000, 0.8),
    (2.5, 3, 4, 1e6, math.nan),
)


def with_traffic(directory: Path) -> Path:
    """Write handmade's run with two more groups."""
    handmade.write(directory)
    run = json.loads((directory / "run.json").read_text())
    run["facts"]["groups"] |= {
        "udp": {
            "flows": 1,
            "rtt_ms": 50.0,
            "fair_share_bps": 160_000.0,
            "elastic": False,
            "from_s": 2.0,
            "to_s": None,
        },
        "web": {
            "flows": 1,
            "rtt_ms": 50.0,
            "fair_share_bps": 80_000.0,
            "elastic": False,
            "from_s": None,
            "to_s": None,
        },
    }
    run["facts"]["phases"] = [
        {"name": "near+far+web", "from_s": 1.0, "to_s": 2.0, "fair_share_bps": 400_000.0},
        {"name": "near+far+web+udp", "from_s": 2.0, "to_s": 3.0, "fair_share_bps": 100_000.0},
    ]
    (directory / "run.json").write_text(json.dumps(run))
    with (directory / "flows.csv").open("a") as file:
        file.write(
            "2,udp,udp,2,3,10000,20000,0,0,0,0,0,0,0,0\n"
            "3,web,web,0,3,31000,35000,350,1,0,0,0,0,0,0\n"
        )
    progress = ["time_s,flow,bytes"]
    more = {2: (0, 0, 0, 10_000), 3: (0, 1_000, 21_000, 31_000)}
    for at in range(4):
        progress += [
            f"{at}.000,{flow},{counts[at]}" for flow, counts in (handmade.FLOW_BYTES | more).items()
        ]
    (directory / "progress.csv").write_text("\n".join(progress) + "\n")
    for name, header, rows in (
        ("datagrams", "time_s,flow,sent,received", DATAGRAMS),
        ("delays", "sent_s,flow,delay_ms", DELAYS),
        ("requests", "start_s,flow,request,bytes,completion_s", REQUESTS),
    ):
        lines = [
            ",".join("" if isinstance(x, float) and math.isnan(x) else f"{x:g}" for x in row)
            for row in rows
        ]
        (directory / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
    return directory


def test_metrics_of_udp(tmp_path: Path) -> None:
    _, groups = summarize(logs.read(with_traffic(tmp_path)))
    udp = groups["udp"]
    # 10000 bytes in the one second in which it sends
    assert udp["goodput_bps"]["mean"] == pytest.approx(80_000)
    assert udp["share_of_fair"] == pytest.approx(0.5)
    # datagrams sent at the end of the run or later, or by another flow, do not count
    assert udp["loss"] == pytest.approx(5 / 20)
    assert udp["delay_ms"]["mean"] == pytest.approx(20)
    assert udp["delay_ms"]["p50"] == pytest.approx(20)
    assert udp["delay_ms"]["max"] == pytest.approx(30)
    assert udp["completion_s"] is None
    assert groups["near"]["delay_ms"] is None


def test_metrics_of_web_traffic(tmp_path: Path) -> None:
    _, groups = summarize(logs.read(with_traffic(tmp_path)))
    web = groups["web"]
    assert web["loss"] == pytest.approx(0.01)
    done = web["completion_s"]
    # requests that started in the warm-up do not count
    assert (done["completed"], done["unfinished"]) == (3, 1)
    assert done["mean"] == pytest.approx(1.4 / 3)
    # 0.2, 0.4 and 0.8 s, and an unfinished one: the median is 0.6, and p95 is unknown
    assert done["p50"] == pytest.approx(0.6)
    assert (done["p95"], done["max"]) == (None, None)
    assert {
        size: (one["completed"], one["mean"], one["sd"]) for size, one in done["by_size"].items()
    } == {
        "0-10 kB": (1, pytest.approx(0.2), 0),
        "10-20 kB": (2, pytest.approx(0.6), pytest.approx(0.2)),
    }
    assert sum(one["unfinished"] for one in done["by_size"].values()) <= done["unfinished"]


def test_files_of_75_to_110_kb_form_a_class() -> None:
    """Of 74 999, 75 000, 100 000 and 110 000 bytes, the second and the third belong to it."""
    done = traffic_metrics.completion(
        np.array(
            [
                (1.0, 3, at, size, took)
                for at, (size, took) in enumerate(
                    ((74_999, 1.0), (75_000, 2.0), (100_000, 4.0), (110_000, 8.0))
                )
            ]
        )
    )
    assert done is not None
    assert {size: (one["completed"], one["mean"]) for size, one in done["by_size"].items()} == {
        "50-100 kB": (2, 1.5),
        "100-200 kB": (2, 6.0),
        "75-110 kB": (2, 3.0),
    }


def test_fairness_covers_only_elastic_flows(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain, _ = summarize(logs.read(handmade.write(tmp_path / "a")))
    more, _ = summarize(logs.read(with_traffic(tmp_path / "b")))
    assert more == plain


def test_metrics_of_phases(tmp_path: Path) -> None:
    first, second = phases(logs.read(with_traffic(tmp_path)))
    assert list(first["groups"]) == ["near", "far", "web"]
    assert list(second["groups"]) == ["near", "far", "udp", "web"]
    # 20000 and 10000 bytes in the first second, 30000 and 10000 in the next
    assert first["goodput_bps"]["mean"] == pytest.approx(120_000)
    assert first["jain"] == pytest.approx(30**2 / (2 * (20**2 + 10**2)))
    assert second["sd_over_fair_share"] == pytest.approx(0.8)
    assert (first["dropped"], second["dropped"]) == (1, 4)
    assert first["utilization"] == pytest.approx(0.64)
    assert second["groups"]["udp"]["mean"] == pytest.approx(80_000)


def test_description_contains_all_metrics(tmp_path: Path) -> None:
    said = result.describe(result.write(with_traffic(tmp_path), Cost(1.0, 0.5)))
    assert "loss 25.00 %, delay mean 20.0" in said
    assert "32.0 % of the fair share, 5.00 % retransmitted, 12.50 % dropped" in said
    assert "3 requests in mean 0.467, p95 unknown, p99 unknown s, 1 unfinished" in said
    assert "2 to 3 s: utilization 96.0 %" in said


def test_log_cut_short_is_refused(tmp_path: Path) -> None:
    with_traffic(tmp_path)
    with (tmp_path / "delays.csv").open("a") as file:
        file.write("2.6,2\n")
    with pytest.raises(logs.BadLog, match=r"delays\.csv"):
        logs.read(tmp_path)


def test_without_elastic_flows_goodput_and_fairness_are_none(tmp_path: Path) -> None:
    """The fair share is None, too. Metrics of the queue remain."""
    path = with_traffic(tmp_path) / "run.json"
    run = json.loads(path.read_text())
    run["facts"]["fair_share_bps"] = run["facts"]["phases"][1]["fair_share_bps"] = 0.0
    for group in run["facts"]["groups"].values():
        group["elastic"] = False
    path.write_text(json.dumps(run))
    written = result.write(tmp_path, Cost(1.0, 0.5))
    for figures in (written["summary"], written["phases"][1]):
        for name in ("fair_share_bps", "goodput_bps", "sd_over_fair_share", "jain"):
            assert figures[name] is None, name
    assert written["summary"]["utilization"] == pytest.approx(0.8)
    said = result.describe(written)
    assert "utilization 80.0 %\n" in said
    assert "fair share 0" not in said
    assert "Jain" not in said


def test_share_of_a_missing_fair_share_is_none(tmp_path: Path) -> None:
    path = with_traffic(tmp_path) / "run.json"
    run = json.loads(path.read_text())
    run["facts"]["groups"]["udp"]["fair_share_bps"] = 0.0
    path.write_text(json.dumps(run))
    written = result.write(tmp_path, Cost(1.0, 0.5))
    assert written["groups"]["udp"]["share_of_fair"] is None
    assert "udp: 1 flow at 50 ms, loss 25.00 %" in result.describe(written)


def test_group_that_sent_nothing_has_no_loss(tmp_path: Path) -> None:
    """UDP sent nothing in the measured time, but before it. TCP sent nothing at all."""
    with_traffic(tmp_path)
    (tmp_path / "datagrams.csv").write_text("time_s,flow,sent,received\n0,2,10,10\n")
    ends = (tmp_path / "flows.csv").read_text()
    (tmp_path / "flows.csv").write_text(
        ends.replace("3,web,web,0,3,31000,35000,350,1", "3,web,web,0,3,31000,0,0,0")
    )
    written = result.write(tmp_path, Cost(1.0, 0.5))
    assert {name: group["loss"] for name, group in written["groups"].items()} == {
        "near": 0,
        "far": pytest.approx(0.05),
        "udp": None,
        "web": None,
    }
    assert "udp: 1 flow at 50 ms, 50.0 % of the fair share, delay" in result.describe(written)


def test_metrics_of_nothing_are_none() -> None:
    assert traffic_metrics.loss(np.empty((0, 4))) is None
    assert traffic_metrics.spread(np.empty(0)) is None
    assert traffic_metrics.completion(np.empty((0, 5))) is None


def test_max_min_shares() -> None:
    assert max_min(100, [(10, math.inf)]) == [10]
    # two flows need 5 each, and eight share the other 90
    assert max_min(100, [(2, 5), (8, math.inf)]) == [5, pytest.approx(11.25)]
    assert max_min(100, [(1, 1000), (1, 60)]) == [50, 50]
    assert max_min(100, [(1, 20), (0, 5), (1, 30)]) == [20, 0, 30]


def group(name: str, flows: int, payload: float, **more: Any) -> Group:
    return Group(name, [0] * flows, 50.0, 0.0, "reno", payload=payload, **more)


def test_group_metrics_follow_the_senders() -> None:
    tcp = group("tcp", 4, 0.5)
    udp = group("udp", 1, 1.0, demand_bps=30, elastic=False, from_s=5.0, to_s=7.02)
    made = facts(100, 1, 9, [tcp, udp], step_s=0.5)
    assert [(p.name, p.from_s, p.to_s) for p in made.phases] == [
        ("tcp", 1, 5),
        ("tcp+udp", 5, 7),
        ("tcp", 7, 9),
    ]
    # alone, a TCP flow has 25, and half of it is payload; with UDP, which gets a fifth, 20
    assert made.groups["tcp"].fair_share_bps == pytest.approx((12.5 * 6 + 10 * 2) / 8)
    assert made.groups["udp"].fair_share_bps == pytest.approx(20)
    assert made.fair_share_bps == made.groups["tcp"].fair_share_bps
    assert [p.fair_share_bps for p in made.phases] == [12.5, 10, 12.5]


def test_facts_of_two_directions() -> None:
    there = group("there", 2, 1.0)
    back = group("back", 5, 1.0, elastic=False, reverse=True)
    made = facts(100, 0, 10, [there, back], step_s=0.1)
    assert made.groups["there"].fair_share_bps == 50
    assert made.groups["back"].fair_share_bps == 20
    assert made.fair_share_bps == 50


def test_groups_that_are_counted_together_form_one_group() -> None:
    near = replace(group("web0", 1, 1.0, demand_bps=10.0, elastic=False), counted_in="web")
    far = replace(
        group("web1", 3, 1.0, demand_bps=10.0, elastic=False), counted_in="web", rtt_ms=90.0
    )
    made = facts(100, 0, 10, [near, far, group("tcp", 2, 1.0)], step_s=0.1)
    assert list(made.groups) == ["web", "tcp"]
    assert (made.groups["web"].flows, made.groups["web"].rtt_ms) == (4, 80)
    assert made.groups["web"].fair_share_bps == 10
    assert made.groups["tcp"].fair_share_bps == 30


def test_shares_over_several_bottlenecks() -> None:
    """Both links have 10 Mb/s. Three local flows and the end-to-end flow share the second link.

    The local flow of the first link gets the rest there.
    """
    ways = [range(0, 2), range(0, 1), range(1, 2)]
    assert max_min(10.0, [(1, math.inf), (1, math.inf), (3, math.inf)], ways) == pytest.approx(
        [2.5, 7.5, 2.5]
    )
    assert max_min(10.0, [(1, 1.0), (1, math.inf), (3, math.inf)], ways) == pytest.approx(
        [1.0, 9.0, 3.0]
    )
    assert max_min(10.0, [(0, math.inf), (2, math.inf), (0, math.inf)], ways) == pytest.approx(
        [0.0, 5.0, 0.0]
    )


@pytest.mark.parametrize(
    ("scenario", "settings"),
    [
        # The link is dead when the run ends, and its queue is full.
        ("udp-blast", ["flows=0", "udp_rate=5", "trace={trace}", "duration=4"]),
        # Half of the round trip is on the way to the bottleneck.
        ("udp-blast", ["flows=0", "udp_rate=0.001", "rtt=10000", "duration=20"]),
        # TCP's packets are before the datagrams of a FIFO that never drops.
        ("dumbbell", ["flows=5", "rate=1", "access=0", "probe=on", "probe_gap=2000", "duration=9"]),
    ],
)
def test_a_datagram_on_its_way_at_the_end_is_not_lost(
    scenario: str, settings: list[str], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    trace.write_text("time_s,rate_mbps\n0,20\n3,0\n8,20\n9,20\n")
    words = [
        word
        for setting in ["warmup=0", "tcp_profile=today", *settings]
        for word in ("--set", setting.format(trace=trace))
    ]
    qdisc = "pfifo limit 200" if "flows=0" in settings else "pfifo limit 5000"
    got = shortrun.result(tmp_path / "out", "--qdisc", qdisc, scenario=(scenario, *words))
    table = np.loadtxt(tmp_path / "out" / "datagrams.csv", delimiter=",", skiprows=1)
    sent, received = table[:, 2].sum(), table[:, 3].sum()
    (hop,) = got["hops"].values()
    assert sent - received == hop["lost"]
    group = got["groups"]["probe" if scenario == "dumbbell" else "udp"]
    assert group["loss"] == pytest.approx(hop["lost"] / sent)
