# SPDX-License-Identifier: GPL-2.0
"""Questions and answers over UDP, and the scenario rrul, which has them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.pcapng import OUTBOUND, read
from tests.scenarios.shortrun import result

SMALL = ("rate=20", "rate_back=5", "rtt=30", "warmup=1", "duration=3", "page=50")
END_S = 4


def ran(out: Path, qdisc: str, *given: str, words: tuple[str, ...] = ()) -> dict[str, Any]:
    more = tuple(word for one in (*SMALL, *given) for word in ("--set", one))
    return result(out, "--qdisc", qdisc, *words, scenario=("rrul", *more))


def lookups(out: Path) -> list[dict[str, str]]:
    with (out / "flows.csv").open(newline="") as file:
        mine = {row["flow"] for row in csv.DictReader(file) if row["group"] == "lookups"}
    with (out / "requests.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["flow"] in mine]


@pytest.mark.parametrize("ip", [4, 6])
def test_an_idle_link_answers_after_its_round_trip(ip: int, tmp_path: Path) -> None:
    out = tmp_path / "r"
    ran(
        out,
        "pfifo limit 100",
        "down=1",
        "access=0.1",
        "up=0",
        "pages=0",
        "videos=0",
        "probe=off",
        "lookup_gap=20",
        f"ip={ip}",
        words=("--pcap", "rtr"),
    )
    rows = lookups(out)
    assert len(rows) > 20
    # The question takes the whole round trip. It may wait for one packet of the download.
    # This is so after the end of the run, too.
    late = [row for row in rows if float(row["start_s"]) + float(row["completion_s"]) > END_S]
    assert late
    for row in rows:
        assert 0.030 <= float(row["completion_s"]) < 0.032
        assert row["bytes"] == "120"
    headers = {4: 28, 6: 48}[ip]
    came = [
        one
        for one in read(out / "rtr.pcapng")
        if one.length in (14 + headers + 120, 14 + headers + 40)
        and one.data[23 if ip == 4 else 20] == 17
        and one.direction != OUTBOUND
    ]
    assert len([one for one in came if one.length > 100 + headers]) >= len(rows) - len(late)


def test_full_queues_delay_and_lose_lookups_and_a_fair_queue_does_not(tmp_path: Path) -> None:
    fifo = ran(tmp_path / "1", "pfifo limit 30", "lookup_gap=20")["groups"]["lookups"]
    fair = ran(tmp_path / "2", "fq_codel", "lookup_gap=20")["groups"]["lookups"]
    assert fifo["completion_s"]["mean"] > 1.3 * fair["completion_s"]["mean"]
    assert fifo["completion_s"]["unfinished"] > 0
    assert fair["completion_s"]["unfinished"] <= 2  # at the end of the run
    assert fifo["loss"] is None  # a sender of TCP would have counted it
    unanswered = [row for row in lookups(tmp_path / "1") if not row["completion_s"]]
    assert len(unanswered) >= fifo["completion_s"]["unfinished"]


def test_all_traffic_of_the_household_is_there(tmp_path: Path) -> None:
    groups = ran(tmp_path / "r", "fq_codel", "video_rate=1", "segment=1")["groups"]
    assert list(groups) == ["down", "up", "lookups", "pages", "videos", "probe"]
    assert groups["videos"]["completion_s"]["completed"] >= 2
    assert groups["pages"]["completion_s"]["completed"] >= 2
    assert groups["up"]["goodput_bps"]["mean"] > 0.5e6


def test_a_page_is_complete_with_the_last_of_its_parts(tmp_path: Path) -> None:
    """Two hosts with three connections: requests of a page are due at the same time."""
    out = tmp_path / "r"
    given = ("pages=2", "connections=3", "page=60", "page_gap=0.5", "down=2", "up=0")
    found = ran(out, "pfifo limit 30", *given)["groups"]["pages"]
    with (out / "flows.csv").open(newline="") as file:
        flows = [row["flow"] for row in csv.DictReader(file) if row["group"] == "pages"]
    with (out / "requests.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["flow"] in flows]
    assert len(flows) == 6
    taken, unfinished = [], 0
    for host in (flows[:3], flows[3:]):
        for number in {row["request"] for row in rows}:
            parts = [row for row in rows if row["flow"] in host and row["request"] == number]
            if not parts or not 1 <= float(parts[0]["start_s"]) < 4:
                continue
            assert len({row["start_s"] for row in parts}) == 1
            assert {row["bytes"] for row in parts} == {"20000"}
            if len(parts) == 3 and all(row["completion_s"] for row in parts):
                taken.append(max(float(row["completion_s"]) for row in parts))
            else:
                unfinished += 1
    assert found["page_s"]["completed"] == len(taken) > 5
    assert found["page_s"]["unfinished"] == unfinished
    assert found["page_s"]["mean"] == pytest.approx(sum(taken) / len(taken))
    assert found["page_s"]["mean"] > found["completion_s"]["mean"]
