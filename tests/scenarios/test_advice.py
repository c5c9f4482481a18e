# SPDX-License-Identifier: GPL-2.0
"""README's advice against a UDP flood: 40 TCP flows and a call beside 150 % of the link's rate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.shortrun import ROOT, result

FLOOD = ("flows=40", "rate=20", "udp_rate=30", "tcp_profile=today", "probe=on")
TIME = ("warmup=2", "duration=4")
WORDS = tuple(word for one in (*FLOOD, *TIME) for word in ("--set", one))


def row_of(words: str) -> str:
    readme = (ROOT / "README.md").read_text()
    (found,) = re.findall(rf"^\|[^|]*{words}[^|]*\|([^|]*)\|$", readme, re.M)
    return str(found)


def flooded(out: Path, qdisc: str) -> dict[str, Any]:
    return result(out, "--qdisc", qdisc, scenario=("udp-blast", *WORDS))


@pytest.mark.parametrize(
    "qdisc", ["tdrr limit 16 sparse", "fq_codel limit 200", "cake", "qsdrr limit 200"]
)
def test_tcp_and_a_call_survive_a_flood_behind_a_fair_queue(qdisc: str, tmp_path: Path) -> None:
    words = " ".join(word for word in qdisc.split() if word not in ("limit", "16", "200"))
    assert f"`{words}`" in row_of("survive a UDP flood")
    found = flooded(tmp_path / "out", qdisc)
    goodput = found["summary"]["goodput_bps"]["mean"] / found["summary"]["fair_share_bps"]
    assert goodput > 0.95
    assert found["summary"]["sd_over_fair_share"] < 0.1
    assert found["groups"]["probe"]["loss"] == 0


def test_a_fifo_starves_tcp_in_a_flood_and_fred_protects_tcp_only(tmp_path: Path) -> None:
    assert "`fred`" in row_of("a FIFO that protects TCP")
    shares, losses = {}, {}
    for qdisc in ("pfifo limit 200", "fred limit 200"):
        found = flooded(tmp_path / qdisc[:4], qdisc)
        summary = found["summary"]
        shares[qdisc[:4]] = summary["goodput_bps"]["mean"] / summary["fair_share_bps"]
        losses[qdisc[:4]] = found["groups"]["probe"]["loss"]
    assert shares["pfif"] < 0.1
    assert shares["fred"] > 0.9
    assert losses["pfif"] > 0.3
    assert losses["fred"] > 0.05
