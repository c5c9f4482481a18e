# SPDX-License-Identifier: GPL-2.0
"""AFD and FairDrop, rivals in papers/buffers: flows that do not react to drops get a fair share.

The oracle is arithmetic. Flow i sends r_i, and all of them more than the link carries. Both rules
leave min(r_i, f) of each flow. In AFD this follows from a drop probability of 1 - m_fair / m_i
with m_i in proportion to r_i. The rest must add up to the rate of the link, or of FairDrop's
shadow link, which gives f, the max-min fair share.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from aqm.runs import Runs
from tests.scenarios.pcapng import OUTBOUND, read
from tests.scenarios.shortrun import ROOT, result

AFD = ROOT / "papers" / "buffers" / "afd"
FAIRDROP = ROOT / "papers" / "buffers" / "fairdrop"
LINK = 10.0
LIMIT, TARGET, SHADOW = 100, 50, 500
SCENARIO = f"""
from aqmlab.run import flows
from aqmlab.run.flows import Cbr
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, with_defaults


def groups(settings, rng):
    return [
        group
        for rate in {{rates}}
        for group in flows.udp(
            settings, rng, f"sends{{{{rate}}}}", 1, 20, Cbr(rate * 1e6, 1000, jitter=1.0)
        )
    ]


SCENARIO = Scenario(
    "rates",
    "flows that do not react to drops",
    (
        *with_defaults(BOTTLENECK, rate={LINK}),
        *TCP,
        *with_defaults(TIME, warmup=5.0, duration=20.0),
    ),
    groups,
)
"""


def fair_share(rates: list[float], link: float) -> float:
    """Return f, with sum(min(rate, f)) equal to the link's rate."""
    left, many = link, len(rates)
    for rate in sorted(rates):
        if rate >= left / many:
            break
        left, many = left - rate, many - 1
    return left / many


def run(
    tmp_path: Path, module: Path, options: str, rates: list[float], link: float
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Check that each flow loses what exceeds its fair share of the link, and return the result
    and the rival's statistics without the first second."""
    scenario = tmp_path / "rates.py"
    scenario.write_text(SCENARIO.format(rates=rates))
    out = tmp_path / "out"
    qdisc = f"{module.name} 1 u32 {LIMIT} {options}"
    found = result(out, "--module", str(module), "--qdisc", qdisc, scenario=(str(scenario),))
    share = fair_share(rates, link)
    for rate in rates:
        lost = found["groups"][f"sends{rate}"]["loss"]
        assert lost == pytest.approx(max(0, 1 - share / rate), abs=0.02), rate
    state = Runs(module.name, [out]).state
    return found, state[state["time_s"] > 1]


@pytest.mark.parametrize(
    ("rates", "sample"), [([4, 8, 16], 1), ([4, 8, 16], 5), ([3, 6, 12], 1), ([2, 4, 8, 16], 1)]
)
def test_afd_leaves_each_unresponsive_flow_what_its_formula_says(
    rates: list[float], sample: int, tmp_path: Path
) -> None:
    options = f"2 u32 {TARGET} 3 u32 {SHADOW} 4 u32 {sample}"
    found, state = run(tmp_path, AFD, options, rates, LINK)
    assert found["summary"]["queue_packets"]["mean"] == pytest.approx(TARGET, rel=0.1)
    # m_fair is a fair flow's part of the shadow buffer.
    fair = SHADOW * fair_share(rates, LINK) / sum(rates)
    assert state["m_fair"].mean() / 1000 == pytest.approx(fair, rel=0.1)


@pytest.mark.parametrize(
    ("rates", "shadow", "packets"),
    [([4, 8, 16], 9.8, 20), ([4, 8, 16], 5.0, 4), ([3, 6, 12], 9.8, 4), ([2, 4, 8, 16], 9.8, 20)],
)
def test_fairdrop_leaves_each_unresponsive_flow_its_share_of_the_shadow_link(
    rates: list[float], shadow: float, packets: int, tmp_path: Path
) -> None:
    options = f"2 u32 {round(shadow * 1e6 / 8)} 3 u32 {packets * 1000}"
    _, state = run(tmp_path, FAIRDROP, options, rates, shadow)
    # The link is faster than the shadow, so the FIFO never fills.
    assert state["full"].iloc[-1] == 0
    # Flows that send less than their share have a backlog now and then.
    busy = sum(rate > fair_share(rates, shadow) for rate in rates)
    assert state["backlogged"].median() in (busy, busy + 1)


LENGTHS = f"""
from aqmlab.run import flows
from aqmlab.run.flows import Cbr
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, with_defaults

SOURCES = {{
    "steady": Cbr(6e6, 1000, jitter=1.0),
    "large": Cbr(8e6, 1400, jitter=1.0, start_s=1.5),
    "paused": Cbr(4e6, 400, jitter=1.0, start_s=1.2, stop_s=2.0),
    "sparse": Cbr(0.3e6, 200, jitter=1.0),
}}


def groups(settings, rng):
    return [
        group
        for name, source in SOURCES.items()
        for group in flows.udp(settings, rng, name, 1, 20, source)
    ]


SCENARIO = Scenario(
    "lengths",
    "flows with packets of other lengths, which come and go",
    (
        *with_defaults(BOTTLENECK, rate={LINK}),
        *TCP,
        *with_defaults(TIME, warmup=1.0, duration=2.0),
    ),
    groups,
)
"""


@pytest.mark.parametrize(("limit", "shadow"), [(1000, 9.8), (1000, 3.0), (5, 12.0)])
def test_fairdrop_drops_what_its_simulated_queue_would_not_take(
    limit: int, shadow: float, tmp_path: Path
) -> None:
    """The oracle serves the backlogs of the flows in a capture of the router, in rounds.

    A packet is queued up to a microsecond after its time in the capture. So where the backlog is
    within two bytes of the threshold, either decision is right.
    """
    scenario, out, threshold = tmp_path / "lengths.py", tmp_path / "out", 6000
    scenario.write_text(LENGTHS)
    bytes_per_ns = shadow / 8e3
    qdisc = f"fairdrop 1 u32 {limit} 2 u32 {round(shadow * 1e6 / 8)} 3 u32 {threshold}"
    options = ("--module", str(FAIRDROP), "--qdisc", qdisc, "--pcap", "rtr")
    result(out, *options, scenario=(str(scenario),))
    arrived, left = [], {}
    for packet in read(out / "rtr.pcapng"):
        flow, number = packet.data[26:30], packet.data[18:20]
        if packet.direction == OUTBOUND:
            left[flow, number] = packet.time_ns
        else:
            arrived.append((packet.time_ns, flow, number, packet.length))
    backlog: dict[bytes, float] = {}
    before_ns, close, full, unfair = arrived[0][0], 0, 0, 0
    queued: list[int] = []
    end_ns = max(left.values()) - 50_000_000  # the run ends with packets in the queue
    for now_ns, flow, number, length in arrived:
        if now_ns > end_ns:
            break
        budget = (now_ns - before_ns) * bytes_per_ns
        before_ns = now_ns
        while backlog and budget > 1e-6:
            each = min(*backlog.values(), budget / len(backlog))
            budget -= each * len(backlog)
            backlog = {of: has - each for of, has in backlog.items() if has - each > 1e-6}
        has, passed = backlog.get(flow, 0.0), (flow, number) in left
        queued = [leaves_ns for leaves_ns in queued if leaves_ns >= now_ns]
        if abs(has - threshold) < 2:
            close += 1
        elif has > threshold:
            assert not passed
            unfair += 1
        elif not passed:
            assert limit - 1 <= len(queued) <= limit + 1
            full += 1
        if passed:
            backlog[flow] = has + length
            queued.append(left[flow, number])
    assert len(arrived) > 4000
    assert close < 0.02 * len(arrived)
    assert bool(full) == (limit < 100)
    assert (unfair > 100) == (shadow < LINK)


@pytest.mark.parametrize(
    ("module", "options", "says"),
    [
        (AFD, "1 u32 64 2 u32 65", "afd: target must be at most limit"),
        (AFD, "5 u32 1800", "afd: alpha must be less than beta"),
        (AFD, "3 u32 0", "integer out of range"),
        (FAIRDROP, "1 u32 64", "fairdrop: give the rate of the shadow link"),
        (FAIRDROP, "2 u32 1000 3 u32 0", "integer out of range"),
        (FAIRDROP, "2 u32 999", "integer out of range"),
    ],
)
def test_a_rival_refuses_wrong_options_with_a_sentence(
    module: Path, options: str, says: str
) -> None:
    words = ("tc", "qdisc", "add", "dev", "lo", "root", module.name, *options.split())
    boot = (ROOT / "lab" / "boot", "--module", module, "--", *words)
    done = subprocess.run(boot, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert says in done.stdout + done.stderr
