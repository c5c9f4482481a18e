# SPDX-License-Identifier: GPL-2.0
"""Default options beside the right `bandwidth`, below a shaper whose rate nobody tells.

The bounds are those that docs/defaults.md states: papers/studies/links.py checks them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from aqmlab import ROOT
from aqmlab.qdiscs.metadata import all_metadata

#: A fair queue without other feedback than its limit, and RED with derived thresholds.
SAMPLE = ("tdrr", "ared")
LINKS = 4  # lines of links --short


def defaults(out: Path, *kinds: str) -> str:
    """Return what the comparison prints; fails if a default is beyond its bounds."""
    done = subprocess.run(
        [
            ROOT / "lab" / "python",
            "-m",
            "studies.links",
            "--short",
            "--out",
            out,
            "--kinds",
            *kinds,
        ],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_default_options_are_as_good_as_the_right_bandwidth(tmp_path: Path) -> None:
    assert defaults(tmp_path, *SAMPLE).count("\n| 20 ") == LINKS


@pytest.mark.extra
@pytest.mark.parametrize("kind", [kind for kind in all_metadata() if kind not in SAMPLE])
def test_default_options_of_all_kinds(kind: str, tmp_path: Path) -> None:
    assert defaults(tmp_path, kind).count("\n| 20 ") == LINKS


#: A download that is shaped on arrival, with large packets (GSO) and no option for the discipline.
SHAPED_ON_ARRIVAL = """
ip netns add a; ip netns add b
ip link add va netns a type veth peer name vb netns b
ip -n a addr add 10.0.0.1/24 dev va; ip -n a link set va up; ip -n a link set lo up
ip -n b addr add 10.0.0.2/24 dev vb; ip -n b link set vb up; ip -n b link set lo up
ip -n b link add ifb0 type ifb; ip -n b link set ifb0 up
tc -n b qdisc add dev vb ingress
tc -n b filter add dev vb parent ffff: matchall action mirred egress redirect dev ifb0
tc -n b qdisc add dev ifb0 root handle 1: htb default 10 r2q 1000
tc -n b class add dev ifb0 parent 1: classid 1:10 htb rate 200mbit ceil 200mbit
tc -n b qdisc add dev ifb0 parent 1:10 handle 110: {qdisc}
tc -n a qdisc add dev va root netem delay 20ms limit 100000
ip netns exec b iperf3 -s -D >/dev/null; sleep 0.2
ip netns exec a iperf3 -c 10.0.0.2 -t 4 -J >/dev/null
tc -n b -s -j qdisc show dev ifb0
"""


def shaped_on_arrival(qdisc: str) -> dict[str, Any]:
    """Return the statistics of the discipline after the download."""
    script = SHAPED_ON_ARRIVAL.format(qdisc=qdisc)
    done = subprocess.run(
        [ROOT / "lab/boot", "--", "sh", "-ec", script],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])[-1]
    return shown


def test_ifb_with_large_packets_measures_its_shaper() -> None:
    """TCP starts slowly, so the queue runs empty many times before it is busy."""
    default, given = (shaped_on_arrival(q) for q in ("tdrr", "tdrr bandwidth 200mbit"))
    assert default["bandwidth_source"] == "measured"
    assert default["options"]["bandwidth"] == pytest.approx(25_000_000, rel=1 / 8)
    assert default["bytes"] >= 0.99 * given["bytes"]
    assert default["delay_max"] <= 1.2 * given["delay_max"]
