# SPDX-License-Identifier: GPL-2.0
"""Sentences of README and the findings that are easy to quote, against the rows.

`test_pages.py` compares their numbers. These tests ask whether the words are true.
"""

from __future__ import annotations

import re
import statistics
from typing import Any

import pytest

from replay import paper
from replay.pages import PageModel
from tests.scenarios.test_pages import five, models

PAPERS = ("ahammed2010", "jou2003", "kantawala2001", "parris1999", "wang2001")
FAIR = ("sfq", "cake", "fq_codel", "qsdrr")
SD = "summary.sd_over_fair_share"


def model(name: str) -> PageModel:
    (one,) = (one for one in models() if one.name == name)
    return one


def value(name: str, experiment: str, discipline: str, metric: str, **at: Any) -> float:
    return float(model(name).number(experiment, discipline, metric, scale=100, digits=2, **at))


def page(name: str) -> str:
    return (paper.ROOT / name).read_text()


def test_readme_has_the_number_of_claims_of_the_papers() -> None:
    (found,) = re.findall(r"We judged (\d+) claims of five papers", page("README.md"))
    assert int(found) == sum(len(model(name).claims) for name in PAPERS)


def far_share(discipline: str, buffers: tuple[int, ...]) -> float:
    """Return the mean share of the 200 ms flows among 100 flows, in percent."""
    return 100 * statistics.fmean(
        row["metrics"]["groups"]["far"]["share_of_fair"]
        for row in model("kantawala2001").judgement.rows
        if row["experiment"] == "rtt"
        and row["discipline"] == discipline
        and row["at"]["buffer"] in buffers
    )


def test_each_fair_queue_protects_distant_flows_with_the_buffer_that_sentence_2_names() -> None:
    second = five(paper.ROOT / "README.md")[1]
    assert "With five packets per flow or more" in second
    for name in ("drr", "tdrr", *FAIR):
        assert far_share(name, (500, 1000, 2000, 5000)) > 80, name
    for name in ("red", "blue", "tail-drop", "pie"):
        assert far_share(name, (500, 1000, 2000, 5000)) < 50, name
    assert "With one packet per flow" in second
    assert max(far_share(name, (100,)) for name in ("drr", "sfq")) < 60


def test_a_minute_brings_shares_closer_and_keeps_the_order() -> None:
    """Sentence 3. A longer run alone makes each deviation smaller, by the square root of six."""
    at = {"flows": 256, "per_flow": 0.25}
    short, long = (
        {
            name: value("buffers", experiment, name, SD, **at)
            for name in ("tdrr", "sfq", "cake", "pfifo", "fq_codel")
        }
        for experiment in ("share", "minute")
    )
    assert sorted(short, key=short.__getitem__) == sorted(long, key=long.__getitem__)
    for name in ("sfq", "cake", "pfifo"):
        assert long[name] < short[name] / 2, name
        assert long[name] / long["tdrr"] >= short[name] / short["tdrr"], name
    for path in ("README.md", "docs/findings.md", "docs/results/README.md"):
        sentence = five(paper.ROOT / path)[2]
        assert "but not closer to TDRR" in sentence, path
        assert re.findall(r"([\d.]+) % under", sentence) == [
            f"{long[name]:.1f}" for name in ("tdrr", "sfq", "pfifo")
        ]


def test_ours_beat_mainline_in_one_question_only() -> None:
    """Sentence 5 names the other questions. Their column "ours is better" is zero."""
    rows = re.findall(
        r"^\| ([^|]+) \| \d+ \| \d+ \| (\d+) \| \d+ \| \d+ \|$", page("docs/results/today.md"), re.M
    )
    better = {question: int(ours) for question, ours in rows}
    assert len(better) == 5
    assert better.pop("More flows than packets of buffer") > 0
    assert set(better.values()) == {0}


@pytest.mark.parametrize("discipline", ["fq_codel", "qsdrr"])
def test_four_packets_per_flow_are_shared_within_two_percent(discipline: str) -> None:
    for flows in (64, 256, 1024):
        assert value("buffers", "share", discipline, SD, flows=flows, per_flow=4) < 2


def test_what_cubic_keeps_beside_bbr_depends_on_the_link() -> None:
    """The findings name the links where TDRR protects CUBIC least."""
    (line,) = re.findall(r"^Other links: (.*)$", page("docs/findings.md"), re.M)
    links = (("trips", {"rtt": "100-100"}), ("rates", {"rate": 1000}), ("both", {}))
    expected = [
        f"{value('mixed', experiment, name, 'groups.cubic.share_of_fair', per_flow=0.25, **at):.0f}"
        for experiment, at in links
        for name in ("tdrr", "fq_codel")
    ]
    assert re.findall(r"(\d+) %", line) == expected


def test_advice_beside_bbr_has_what_cubic_keeps() -> None:
    (row,) = re.findall(r"^\| CUBIC or Reno flows beside BBR .*$", page("README.md"), re.M)
    cubic = "groups.cubic.share_of_fair"
    kept = [
        f"{value('mixed', experiment, 'tdrr', cubic, per_flow=0.25, **at):.0f}"
        for experiment, at in (("share", {}), ("rates", {"rate": 1000}))
    ]
    assert re.findall(r"(\d+) %", row) == kept


def test_advice_for_a_few_packets_per_flow_names_collisions() -> None:
    """With fq_codel's default of 1024 queues some of 100 flows share one: 1 - (1023/1024)**99."""
    (row,) = re.findall(r"^\| equal shares .* a few packets of buffer .*$", page("README.md"), re.M)
    assert "`fq_codel` with many more queues than flows" in row
