# SPDX-License-Identifier: GPL-2.0
"""Compare metrics with values that were computed by hand from handmade.py."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

import numpy as np
import pytest

from aqmlab.measure import iperf3, logs, qdisc_state, result
from aqmlab.measure.metrics import jain, marked, summarize, window
from aqmlab.qdiscs import xstats
from aqmlab.report import columns, intervals
from aqmlab.run.execute import Cost
from replay import rows
from tests.scenarios import handmade


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return handmade.write(tmp_path)


def test_summary_equals_manual_computation(run: Path) -> None:
    summary, groups = summarize(logs.read(run))
    # flow 0: 50000 bytes in 2 s; flow 1: 20000 bytes in 2 s
    assert summary["goodput_bps"] == pytest.approx(
        {"mean": 140_000, "sd": 60_000, "min": 80_000, "max": 200_000}
    )
    assert summary["fair_share_bps"] == 250_000
    assert summary["sd_over_fair_share"] == pytest.approx(0.24)
    # (280)^2 / (2 * (200^2 + 80^2))
    assert summary["jain"] == pytest.approx(78_400 / 92_800)
    # 200000 bytes in 2 s of 1 Mb/s
    assert summary["utilization"] == pytest.approx(0.8)
    assert (summary["dropped"], summary["marked"], summary["sent"]) == (5, 3, 120)
    # backlogs of 5000, 2500 and 0 bytes at 1 Mb/s: 40, 20, 0 ms
    assert summary["queue_delay_ms"] == pytest.approx(
        {"mean": 20, "p50": 20, "p95": 38, "p99": 39.6}
    )
    assert summary["queue_packets"] == {"mean": 2.0, "max": 4}
    assert groups["near"]["share_of_fair"] == pytest.approx(0.8)
    assert groups["near"]["loss"] == 0
    assert groups["far"]["share_of_fair"] == pytest.approx(0.32)
    assert groups["far"]["loss"] == pytest.approx(0.05)
    assert groups["far"]["rtt_ms"] == 200
    assert groups["near"]["dropped"] == 0
    # 80 segments were sent, 70 arrived, and none is queued at the end
    assert groups["far"]["dropped"] == pytest.approx(10 / 80)


def test_goodput_of_a_group_is_a_mean(run: Path) -> None:
    """The three flows of near get 200, 0 and 160 kbit/s, the flow of far gets 80."""
    summary, groups = summarize(logs.read(handmade.more_flows(run)))
    assert groups["near"]["goodput_bps"] == pytest.approx(
        {"mean": 120_000, "sd": statistics.pstdev([200e3, 0, 160e3])}
    )
    assert groups["near"]["share_of_fair"] == pytest.approx(0.48)
    assert summary["goodput_bps"] == pytest.approx(
        {
            "mean": 110_000,
            "sd": statistics.pstdev([200e3, 80e3, 0, 160e3]),
            "min": 0,
            "max": 200_000,
        }
    )


@pytest.mark.parametrize("at", [0, -1])
def test_marks_known_at_one_end_only_are_unknown(
    run: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    read = logs.read(run)
    unknown = read.queue.xstats[at]
    counted = xstats.marked
    monkeypatch.setattr(
        xstats,
        "marked",
        lambda qdisc, xstats, own: None if xstats is unknown else counted(qdisc, xstats),
    )
    assert marked(read, 0, 3) is None
    monkeypatch.undo()
    assert marked(read, 0, 3) == 5


def test_packets_queued_at_the_end_are_not_lost(run: Path) -> None:
    """far sent 80 of 120 segments, so 8 of the 12 queued packets belong to it. near lost two."""
    (run / "queue.csv").write_text(
        (run / "queue.csv").read_text().replace("3.000000,0,0", "3.000000,12,18000")
    )
    (run / "flows.csv").write_text((run / "flows.csv").read_text().replace(",41,41,", ",40,34,"))
    groups = summarize(logs.read(run))[1]
    assert groups["far"]["dropped"] == pytest.approx((80 - 70 - 8) / 80)
    assert groups["near"]["dropped"] == pytest.approx((40 - 34 - 4) / 40)


@pytest.mark.parametrize("qdisc", ["unheard-of limit 200", "sfq limit 200 ecn", "drr"])
def test_unknown_marks_are_null_and_not_0(run: Path, qdisc: str) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"qdisc": qdisc}))
    written = result.write(run, Cost(1.0, 0.5))
    assert written["summary"]["marked"] is None
    assert "an unknown number marked" in result.describe(written)


def test_jain_bounds() -> None:
    assert jain(np.array([3.0, 3.0, 3.0])) == pytest.approx(1)
    assert jain(np.array([9.0, 0.0, 0.0])) == pytest.approx(1 / 3)


def test_fairness_without_traffic_is_null() -> None:
    assert jain(np.array([0.0, 0.0])) is None
    assert jain(np.empty(0)) is None


@pytest.mark.parametrize("step_s", [0.5, 0.01])
def test_window_ignores_later_samples(step_s: float) -> None:
    time_s = np.arange(0, 60, step_s)
    first, last = window(time_s, 10, 40)
    assert (time_s[first], time_s[last]) == (pytest.approx(10), pytest.approx(40))


def test_late_samples_of_a_wall_clock_are_accepted() -> None:
    assert window(np.array([0.0, 1.02, 2.01, 3.03, 4.02]), 1.0, 3.0) == (1, 3)


@pytest.mark.parametrize(("from_s", "to_s"), [(1.0, 9.0), (-5.0, 1.0), (2.4, 2.5)])
def test_window_outside_the_samples_is_an_error(from_s: float, to_s: float) -> None:
    with pytest.raises(logs.BadLog, match="do not cover"):
        window(np.array([0.0, 1.0, 2.0, 3.0]), from_s, to_s)


def test_result_has_the_schema(run: Path) -> None:
    result.write(run, Cost(1.5, 0.5))
    written = logs.load_result(run)
    assert list(written) == [
        "schema",
        "scenario",
        "qdisc",
        "seed",
        "clock",
        "kernel",
        "parameters",
        "summary",
        "groups",
        "phases",
        "programs",
        "hops",
        "measured_at",
        "warnings",
        "timeouts",
        "digest",
        "provenance",
        "wall_seconds",
        "cpu_seconds",
        "virtual_seconds",
    ]
    assert written["schema"] == 3
    assert written["provenance"] == {
        "version": "1.2+3.g0123abc",
        "compiler": "cc",
        "argv": ["run"],
        "build": "Linux version 7.3",
        "lab": {"engine": "uml"},
        "modules": {"sch_red": "0A1B"},
        "outside": {},
        "scenario_file": "",
        "tc": "tc utility, iproute2-6.1.0",
    }
    assert written["virtual_seconds"] == 3
    assert written["wall_seconds"] == 1.5


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("flows.csv", "1,far,bulk,0,3,110000", "1,far,bulk,0,3,110001"),
        ("queue.csv", "12,0,0,220,300000,", "13,0,0,220,300000,"),
        (
            "queue.csv",
            f"220,300000,{handmade.red_xstats(5)}",
            f"220,300000,{handmade.red_xstats(6)}",
        ),
    ],
)
def test_digest_sees_every_byte_and_counter(run: Path, file: str, old: str, new: str) -> None:
    before = result.digest(logs.read(run))
    assert result.digest(logs.read(run)) == before
    text = (run / file).read_text()
    assert old in text
    (run / file).write_text(text.replace(old, new))
    assert result.digest(logs.read(run)) != before


def test_directory_without_a_result_is_refused(run: Path) -> None:
    with pytest.raises(logs.BadLog, match=r"result\.json"):
        logs.load_result(run)
    result.write(run, Cost(1.0, 0.5))
    assert logs.load_result(run)["seed"] == 1


def test_log_cut_short_is_refused(run: Path) -> None:
    text = (run / "progress.csv").read_text().splitlines()
    (run / "progress.csv").write_text("\n".join(text[:-1]) + "\n")
    with pytest.raises(logs.BadLog, match="cut short"):
        logs.read(run)


@pytest.mark.parametrize(
    "last", ["4", "4.0,1,15", "4.0,1,1500,0,0,0,200,300000,0000", "4.0,1,1500,0\n"]
)
def test_queue_log_cut_short_is_refused(run: Path, last: str) -> None:
    """It is cut within a number, within the statistics, or before the end of a line."""
    with (run / "queue.csv").open("a") as file:
        file.write(last)
    with pytest.raises(logs.BadLog, match=r"queue\.csv"):
        logs.read(run)


@pytest.mark.parametrize("text", ["", "time_s,packets\n"])
def test_queue_log_without_samples_is_refused(run: Path, text: str) -> None:
    (run / "queue.csv").write_text(text)
    with pytest.raises(logs.BadLog, match="no samples"):
        logs.read(run)


def test_missing_flow_is_noticed(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    record["facts"]["groups"]["far"]["flows"] = 2
    (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(logs.BadLog, match="2 flows were requested, 1 ran"):
        summarize(logs.read(run))


def test_loss_patterns_are_allowed_if_a_filter_groups_flows(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result.loss_patterns, "in_step", lambda *_: ["in step"])
    with pytest.raises(logs.BadLog, match="in step"):
        result.write(run, Cost(1.0, 0.5))
    asked = json.loads((run / "run.json").read_text())
    asked["qdisc"] += "; filter protocol ip parent 2: handle 1 flow map key src divisor 10"
    (run / "run.json").write_text(json.dumps(asked))
    result.write(run, Cost(1.0, 0.5))


def test_mean_has_a_95_percent_interval() -> None:
    # Student's t for 2 degrees of freedom, 97.5 %: 4.302653; sd of 1, 2, 3 is 1
    three = intervals.mean([1.0, 2.0, 3.0])
    assert three.value == pytest.approx(2)
    assert three.half == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert math.isnan(intervals.mean([5.0]).half)


def test_difference_is_computed_per_seed() -> None:
    """Each value is 1.1 times the other, so the difference is log 1.1 for every seed.

    If more is better, the sign changes. With a 0, differences replace logarithms: 1 and 3.
    """
    assert intervals.beyond([1.1, 11.0, 110.0], [1.0, 10.0, 100.0], 1) == intervals.Mean(
        pytest.approx(0.0953102), pytest.approx(0, abs=1e-9)
    )
    assert intervals.beyond([1.1, 11.0], [1.0, 10.0], -1).value == pytest.approx(-0.0953102)
    assert intervals.beyond([1.0, 3.0], [0.0, 0.0], 1).value == 2


# Abramowitz and Stegun, table 26.10, column 0.975.
@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)]
)
def test_intervals_use_the_t_distribution(freedom: int, t: float) -> None:
    values = [float(n) for n in range(freedom + 1)]
    sd = statistics.stdev(values)
    assert intervals.mean(values).half == pytest.approx(
        t * sd / math.sqrt(freedom + 1), rel=6e-4 / t
    )


def test_combine_keeps_the_shape() -> None:
    combined = columns.combine(
        [{"a": 1, "b": {"c": 2.0, "d": None}}, {"a": 3, "b": {"c": 4.0, "d": 5}}]
    )
    assert combined == {"a": 2.0, "b": {"c": 3.0, "d": None}}
    assert columns.combine([{"a": {"b": 1}}, {"a": None}]) == {"a": None}


def test_row_of_the_comparison(run: Path) -> None:
    results = []
    for utilization in (0.7, 0.8, 0.9):
        result.write(run, Cost(1.0, 0.5))
        results.append(logs.load_result(run))
        results[-1]["summary"]["utilization"] = utilization
    row = columns.DisciplineRow("pfifo", 200, results).as_json()
    assert (row["qdisc"], row["buffer"], row["seeds"]) == ("pfifo", 200, [1, 1, 1])
    assert row["summary"]["utilization"] == pytest.approx(0.8)
    # in the unit that the key names: t * 10 % / sqrt(3)
    assert row["ci95"]["utilization, %"] == pytest.approx(4.302653 * 10 / math.sqrt(3), rel=1e-6)
    head, _, line, end = columns.text_table([columns.DisciplineRow("pfifo", 200, results)]).split(
        "\n"
    )
    assert (head, end) == ("buffer 200 packets", "")
    assert line.startswith("  pfifo      80.0 ±24.8  ")


def test_goodput_over_no_fair_share_is_none(run: Path) -> None:
    result.write(run, Cost(1.0, 0.5))
    made = logs.load_result(run)
    column = columns.column_of("goodput / fair share")
    assert column.get(made) == pytest.approx(140 / 250)
    for name in ("fair_share_bps", "goodput_bps"):
        assert column.get({**made, "summary": {**made["summary"], name: None}}) is None


def test_mean_of_requests_weighs_each_request_alike() -> None:
    times = {
        "a": {"mean": 1.0, "completed": 3},
        "b": {"mean": 5.0, "completed": 1},
        "none": {"mean": None, "completed": 0},
    }
    groups = {name: {"completion_s": one} for name, one in times.items()}
    column = columns.column_of("request mean")
    assert column.get({"groups": {**groups, "bulk": {"completion_s": None}}}) == 2
    assert column.get({"groups": {"bulk": {"completion_s": None}}}) is None


def test_mean_is_null_if_a_seed_lacks_the_metric(run: Path) -> None:
    result.write(run, Cost(1.0, 0.5))
    knows, does_not = logs.load_result(run), logs.load_result(run)
    does_not["summary"] |= {"goodput_bps": None, "sd_over_fair_share": None}
    row = columns.DisciplineRow("pfifo", None, [knows, does_not])
    assert row.cell(columns.column_of("sd")) is None
    told = row.as_json()
    assert told["summary"]["goodput_bps"] is None
    assert told["ci95"]["sd / fair share, %"] is None
    assert told["ci95"]["goodput / fair share, %"] is None
    assert told["ci95"]["utilization, %"] == 0
    # utilization, Jain's index, two delays and drops are left
    shown = "pfifo 80.0 ±0.0 0.8448 ±0.0000 20.00 ±0.00 39.60 ±0.00 5 ±0"
    assert columns.text_table([row]).splitlines()[1].split() == shown.split()


def _stream(end: float, count: int) -> dict[str, float]:
    return {"end": end, "bytes": count}


@pytest.mark.parametrize("name", ["run.json", "flows.csv", "progress.csv", "queue.csv"])
def test_missing_log_is_named(run: Path, name: str) -> None:
    (run / name).unlink()
    with pytest.raises(logs.BadLog, match=f"{name} is missing"):
        logs.read(run)


def test_table_with_a_short_row_is_refused(tmp_path: Path) -> None:
    (tmp_path / "delays.csv").write_text("sent_s,flow,delay_ms\n1,2,3\n1,2\n")
    with pytest.raises(logs.BadLog, match="not have 3 fields"):
        logs.read_table(tmp_path / "delays.csv", 3)


def test_row_has_offered_and_received_udp_rate(run: Path) -> None:
    """Three flows send 2 Mb/s each, and one sends 0.5. Payload is packet size minus 28 bytes."""
    record = json.loads((run / "run.json").read_text())
    record["parameters"] |= {"udp_rate": 2, "udp_flows": 3, "udp_size": 1000, "cbr_rate": 0.5}
    (run / "run.json").write_text(json.dumps(record))
    result.write(run, Cost(1.0, 0.5))
    figures = rows.compact(run)["metrics"]
    assert figures["offered_bps"] == {"udp": 6_000_000, "cbr": 500_000}
    assert figures["payload"] == {"udp": 972}


def test_iperf3_becomes_the_same_logs(tmp_path: Path) -> None:
    ends = [
        {
            "sender": {
                "end": 2.0,
                "bytes": 400,
                "retransmits": 3,
                "mean_rtt": 50_000,
                "min_rtt": 40_000,
                "max_snd_cwnd": 2920,
            }
        }
        for _ in range(2)
    ]
    for group, base in (("a", 100), ("b", 1000)):
        intervals = [
            {"streams": [_stream(at, base), _stream(at, 2 * base)]} for at in (1.0001, 2.0001)
        ]
        (tmp_path / f"iperf3-{group}.json").write_text(
            json.dumps(
                {
                    "start": {"tcp_mss_default": 1460},
                    "end": {"streams": ends},
                    "server_output_json": {"intervals": intervals},
                }
            )
        )
    iperf3.convert(tmp_path)
    progress = logs.read_progress(tmp_path / "progress.csv")
    assert progress.flows.tolist() == [0, 1, 2, 3]
    assert progress.bytes.tolist() == [[0, 0, 0, 0], [100, 200, 1000, 2000], [200, 400, 2000, 4000]]
    rows = logs.read_ends(tmp_path / "flows.csv")
    assert [(r["group"], r["bytes"]) for r in rows] == [
        ("a", "200"),
        ("a", "400"),
        ("b", "2000"),
        ("b", "4000"),
    ]
    assert list(rows[0].values()) == [
        "0",
        "a",
        "iperf3",
        "0",
        "2.0",
        "200",
        "400",
        str(3 * 1460),
        "3",
        "50.0",
        "40.0",
        "2",
        "1460",
        "0",
        "0",
    ]


def test_iperf3_error_is_reported(tmp_path: Path) -> None:
    (tmp_path / "iperf3-all.json").write_text('{"error": "unable to connect"}')
    with pytest.raises(logs.BadLog, match="unable to connect"):
        iperf3.convert(tmp_path)


def test_goodput_over_time_covers_a_group_and_the_whole_run(run: Path) -> None:
    """handmade.FLOW_BYTES in steps of 1 s, and in steps of 2 s as far as they fit into 3 s."""
    assert rows.series(run, 1.0) == {
        "far": [720_000.0, 80_000.0, 80_000.0],
        "near": [80_000.0, 160_000.0, 240_000.0],
    }
    assert rows.series(run, 2.0) == {"far": [400_000.0], "near": [120_000.0]}


def test_queue_lengths_cover_the_measured_time(run: Path) -> None:
    """handmade.QUEUE has 4, 2 and 0 packets after the warm-up. The band includes both ends."""
    assert rows.lengths(run, 2, 4) == {
        "packets": {
            "mean": 2.0,
            "sd": pytest.approx((8 / 3) ** 0.5),
            "max": 4.0,
            "within": pytest.approx(2 / 3),
        }
    }


def test_queues_that_a_qdisc_counts_itself_have_lengths_too(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the short queue of redtail. The first sample is before the end of the warm-up."""
    monkeypatch.setattr(
        qdisc_state,
        "samples",
        lambda kind, raw: [{"qlen_short": value, "marked": 7} for value in (9, 3, 2, 1)],
    )
    found = rows.lengths(run, 2, 4)
    assert found.keys() == {"packets", "qlen_short"}
    assert found["qlen_short"] == {
        "mean": 2.0,
        "sd": pytest.approx((2 / 3) ** 0.5),
        "max": 3.0,
        "within": pytest.approx(2 / 3),
    }


def test_estimate_above_0_describes_the_time_before_it(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """handmade.QUEUE sends 100, 80 and 120 kB of the 125 kB per second at 1 Mb/s."""
    read = logs.read(run)
    read.run["facts"]["phases"] = [{"from_s": 0, "to_s": 3}, {"from_s": 0, "to_s": 1}]
    monkeypatch.setattr(
        qdisc_state,
        "samples",
        lambda kind, raw: [{"q_est": value} for value in (9.0, 0.0, 0.5, 3.0)],
    )
    assert rows.estimates(read) == [
        {"above_0": pytest.approx(2 / 3), "used": pytest.approx(0.8)},
        {"above_0": 0.0},
    ]


def test_qdisc_without_an_estimate_has_null(run: Path) -> None:
    read = logs.read(run)
    read.run["facts"]["phases"] = [{"from_s": 0, "to_s": 3}, {"from_s": 0, "to_s": 1}]
    assert rows.estimates(read) == [None, None]


def test_delay_distribution_covers_a_group_in_the_measured_time(run: Path) -> None:
    """Flow 1 has ten delays of 10, 20, ... 100 ms after the warm-up, and one before it.

    Interpolation is linear, so the 90th percentile is 91 ms.
    """
    sent = [(0.5, 1, 999.0), *((1.0 + n / 10, 1, 10.0 * (n + 1)) for n in range(10))]
    (run / "delays.csv").write_text(
        "sent_s,flow,delay_ms\n" + "".join(f"{at},{flow},{ms}\n" for at, flow, ms in sent)
    )
    found = rows.delays(run)
    assert list(found) == ["far"]
    percents = (0, 1, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 100)
    assert found["far"] == pytest.approx([10 + 0.9 * percent for percent in percents])
    result.write(run, Cost(1.0, 0.5))
    assert "delays_ms" not in rows.compact(run)["metrics"]
    assert list(rows.compact(run, delay=True)["metrics"]["delays_ms"]) == ["far"]


def test_goodput_is_described_only_beside_a_fair_share(run: Path) -> None:
    written = result.write(run, Cost(1.0, 0.5))
    assert ", goodput " in result.describe(written)
    written["summary"]["fair_share_bps"] = None
    assert ", goodput " not in result.describe(written)
