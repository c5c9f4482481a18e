# SPDX-License-Identifier: GPL-2.0
"""The filter of docs/production.md gives each customer, not each flow, an equal share."""

from __future__ import annotations

from pathlib import Path

from tests.scenarios.shortrun import ROOT, result

SCENARIO = '''"""Four customers: one has 20 downloads, three have one."""

from aqmlab.run import flows
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, access, with_defaults


def groups(settings, rng):
    return [
        group
        for number, count in enumerate((20, 1, 1, 1))
        for group in flows.bulk(settings, rng, f"customer{number}", count, 20)
    ]


SCENARIO = Scenario(
    "customers",
    "four customers",
    (
        access(0.0),
        *with_defaults(BOTTLENECK, rate=20.0),
        *with_defaults(TCP, tcp_profile="today"),
        *with_defaults(TIME, warmup=2.0, duration=5.0),
    ),
    groups,
)
'''


def test_the_filter_of_the_page_shares_by_customer(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "production.md").read_text()
    (line,) = (one for one in page.splitlines() if "tc filter add dev eth0 parent 2:" in one)
    words = line.split("dev eth0 ")[1]
    # A group of the lab has a network of 16 bits, where a customer has an address.
    assert "and 0x3ff" in words
    words = words.replace("and 0x3ff", "and 0xff0000 rshift 16")
    (tmp_path / "customers.py").write_text(SCENARIO)
    shares = {}
    for name, qdisc in {
        "flows": "tdrr limit 40 sparse",
        "customers": f"tdrr limit 40 sparse; filter {words}",
    }.items():
        got = result(tmp_path / name, "--qdisc", qdisc, scenario=(str(tmp_path / "customers.py"),))[
            "groups"
        ]
        each = [got[f"customer{n}"] for n in range(4)]
        bits = [one["goodput_bps"]["mean"] * one["flows"] for one in each]
        shares[name] = [4 * one / sum(bits) for one in bits]
    assert shares["flows"][0] > 3
    assert all(0.85 < share < 1.15 for share in shares["customers"])
