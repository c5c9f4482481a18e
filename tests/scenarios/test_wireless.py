# SPDX-License-Identifier: GPL-2.0
"""Links over the air: bursts of losses, packets sent together, rates and delays that vary."""

from __future__ import annotations

import json
import random
import statistics
from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from aqmlab.exceptions import UserError
from aqmlab.run.links import two_states
from aqmlab.run.network import Network
from aqmlab.run.params import resolve
from aqmlab.run.radio import STEP_MS, Radio
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings
from tests.scenarios.pcapng import OUTBOUND, Packet, read
from tests.scenarios.shortrun import result, run

#: A link over the air on which nothing varies and nothing is lost.
STEADY = ("swing=1", "fades=0", "jitter=0", "loss=0", "aggregate=1")
FRAME = 1514


def words(*settings: str) -> list[str]:
    return [word for one in settings for word in ("--set", one)]


def arrived(path: Path, device: str) -> list[Packet]:
    """Return what came in by devices whose names begin like this."""
    return [one for one in read(path) if one.device[0] == device and one.direction != OUTBOUND]


def bursts(sent: list[bytes], got: list[bytes]) -> list[int]:
    """Return how many packets each burst of losses has; packets keep their order."""
    lost, left = [], iter(got)
    coming = next(left, b"")
    for one in sent:
        lost.append(one != coming)
        if one == coming:
            coming = next(left, b"")
    assert coming == b"", "a packet arrived that was not sent"
    return [len([*group]) for is_lost, group in groupby(lost) if is_lost]


@pytest.mark.parametrize(
    ("burst", "expected"),
    [(4, 4.0), (1, 1.0)],  # a state that ends with its first packet begins again after one
)
def test_losses_have_the_share_and_the_mean_length_of_the_model(
    burst: int, expected: float, tmp_path: Path
) -> None:
    """Gilbert and Elliott: p / (p + r) of the packets are lost, 1 / r in a row."""
    out = tmp_path / "out"
    result(
        out,
        *words(
            *(one for one in STEADY if not one.startswith("loss")),
            "loss=5",
            f"loss_burst={burst}",
            "down=1",
            "probe_gap=1",
            "warmup=1",
            "duration=29",
        ),
        *("--pcap", "far", "--pcap", "dst"),
        scenario=["wireless"],
    )
    # Behind the Ethernet and IP headers, whose addresses and TTL a router changes.
    sent = [one.data[34:] for one in arrived(out / "far.pcapng", "d")]
    got = [one.data[34:] for one in arrived(out / "dst.pcapng", "d")]
    assert len(sent) > 25000
    found = bursts(sent, got)
    assert sum(found) / len(sent) == pytest.approx(0.05, rel=0.12)
    assert statistics.mean(found) == pytest.approx(expected, rel=0.1)


def groups_of(packets: list[Packet]) -> list[list[float]]:
    """Return the times of packets that arrive within 10 us of each other."""
    found: list[list[float]] = []
    for one in packets:
        if not found or one.time_s - found[-1][-1] > 10e-6:
            found.append([])
        found[-1].append(one.time_s)
    return found


@pytest.mark.parametrize("aggregate", [1, 8])
def test_packets_leave_together_and_no_faster(aggregate: int, tmp_path: Path) -> None:
    """A busy link sends frames of n packets, each after n times the time of a packet."""
    out = tmp_path / "out"
    settings = [*(one for one in STEADY if not one.startswith("agg")), f"aggregate={aggregate}"]
    result(
        out,
        *("--qdisc", "pfifo limit 400", "--pcap", "dst"),
        *words(*settings, "rate=40", "warmup=1", "duration=2", "probe=off"),
        scenario=["wireless"],
    )
    data = [one for one in arrived(out / "dst.pcapng", "d") if one.length == FRAME]
    busy = [group for group in groups_of(data) if group[0] > 1.0]
    sizes = Counter(map(len, busy))
    assert sizes[aggregate] > 0.95 * len(busy), sizes
    gaps = [after[0] - before[0] for before, after in pairwise(busy) if len(after) == aggregate]
    assert statistics.median(gaps) == pytest.approx(aggregate * FRAME * 8 / 40e6, abs=1e-6)


def test_a_packet_alone_does_not_wait_for_others(tmp_path: Path) -> None:
    """214 bytes take 42.8 us at 40 Mb/s, however many packets a frame can have."""
    out = tmp_path / "out"
    result(
        out,
        *words(*STEADY[:-1], "aggregate=64", "spread=0", "warmup=0", "duration=1"),
        *("--qdisc", "fq_codel"),
        scenario=["wireless"],
    )
    delays = [float(line.split(",")[2]) for line in (out / "delays.csv").read_text().split()[1:]]
    assert min(delays) == pytest.approx(214 * 8 / 40e3, abs=0.002)
    assert max(delays) > 10  # behind frames of TCP


def test_a_radio_has_the_mean_the_range_and_the_fades_that_were_asked_for() -> None:
    pieces = Radio(swing=4).trace(random.Random(1), 30e6, 600).pieces
    assert sum(one.us for one in pieces) == 600e6
    assert sum(one.bytes for one in pieces) == pytest.approx(600 * 30e6 / 8, abs=1)
    assert 2 < max(one.bytes for one in pieces) / min(one.bytes for one in pieces) <= 16.01
    # A walk: a step is at most a quarter of the way between the middle and a wall.
    steps = [after.bytes / before.bytes for before, after in pairwise(pieces)]
    assert max(steps) <= 4**0.25 * 1.001
    assert min(steps) >= 4**-0.25 / 1.001
    faded = Radio(fades=0.1, fade_ms=100).trace(random.Random(2), 30e6, 600).pieces
    runs = [(gone, len([*group])) for gone, group in groupby(not p.bytes for p in faded)]
    lengths = [length * STEP_MS for gone, length in runs if gone]
    assert sum(lengths) / 600e3 == pytest.approx(0.1, rel=0.15)
    assert statistics.mean(lengths) == pytest.approx(100, rel=0.15)
    assert {one.bytes for one in faded if one.bytes} == {30e6 / 8 * 0.02}


def test_a_radio_repeats_with_its_seed_and_only_with_it() -> None:
    radio = Radio(swing=2, jitter_ms=10)
    traces = [radio.trace(random.Random(seed), 30e6, 5).pieces for seed in (1, 1, 2)]
    assert traces[0] == traces[1] != traces[2]
    assert all(0 <= one.delay_us <= 10_000 for one in traces[0])
    assert max(one.delay_us for one in traces[0]) > 9_000


def test_the_directions_vary_independently_and_with_the_seed() -> None:
    scenario = find("wireless")
    assert scenario.network

    def directions(seed: int) -> list[list[float]]:
        settings = Settings(
            resolve(scenario.params, ["rate=20", "rate_back=20"]), "pfifo", seed, "virtual"
        )
        assert scenario.network
        link = scenario.network(settings).links[0]
        assert link.there.trace
        assert link.back.trace
        return [[one.bytes for one in t.pieces] for t in (link.there.trace, link.back.trace)]

    there, back = directions(1)
    assert abs(statistics.correlation(there, back)) < 0.3
    assert directions(1) == [there, back]
    assert directions(2) != [there, back]


@pytest.mark.parametrize(("jitter", "ordered"), [("air", True), ("netem", False)])
def test_jitter_of_a_radio_keeps_the_order(jitter: str, ordered: bool, tmp_path: Path) -> None:
    """Nothing is lost, so that the numbers of TCP's segments only grow, unless netem mixes them."""
    words = "jitter=5, delay=5, rate=20" if jitter == "netem" else "trace=AIR"
    (tmp_path / "air.py").write_text(SENDS_BACK.replace("WORDS", words))
    out = tmp_path / "out"
    done = run(
        out,
        *("--qdisc", "pfifo limit 5000", "--pcap", "src-all"),
        *("--set", "warmup=1", "--set", "duration=2", "--set", "window=400"),
        scenario=[str(tmp_path / "air.py")],
    )
    assert done.returncode == 0, done.stderr
    data = [one.data for one in arrived(out / "src-all.pcapng", "s") if one.length == FRAME]
    assert len(data) > 500
    numbers = [int.from_bytes(one[38:42], "big") for one in data]
    first = numbers[0]
    numbers = [(one - first) % 2**32 for one in numbers]
    assert (numbers == sorted(numbers)) is ordered


SENDS_BACK = """
import random
from aqmlab.run import flows
from aqmlab.run.network import Network
from aqmlab.run.radio import Radio
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, access

AIR = Radio(swing=2, jitter_ms=30).trace(random.Random(1), 20e6, 10)


def network(settings):
    made = Network()
    made.link("rtr", "dst", WORDS, both=True)
    return made


SCENARIO = Scenario(
    "air", "one flow the other way", (access(0.0), *BOTTLENECK, *TCP, *TIME),
    lambda settings, rng: flows.bulk(settings, rng, "all", 1, 20.0, reverse=True),
    network=network)
"""


@pytest.mark.parametrize(
    ("flows", "busy"), [(("down=4", "up=0"), "rtr b0"), (("down=0", "up=4"), "far d0")]
)
def test_each_direction_follows_its_own_trace(
    flows: tuple[str, str], busy: str, tmp_path: Path
) -> None:
    """Mahimahi's lines: two packets each ms one way, and one each 4 ms the other way."""
    for name, lines in (("down", "1\n1\n"), ("up", "4\n")):
        (tmp_path / name).write_text(lines)
    got = result(
        tmp_path / "out",
        *("--qdisc", "pfifo limit 60"),
        *words(f"trace={tmp_path / 'down'}", f"trace_back={tmp_path / 'up'}", *flows),
        *words("warmup=1", "duration=4", "spread=0", "rtt=20", "videos=0"),
        scenario=["rrul"],
    )
    rates_bps = {"rtr b0": 2 * FRAME * 8000, "far d0": FRAME * 2000}
    carried_bps = {name: hop["bytes"] * 8 / 5 for name, hop in got["hops"].items()}
    assert carried_bps.keys() == rates_bps.keys()
    # The queue of 60 packets empties after the end, before the counters are read.
    after_bps = 61 * FRAME * 8 / 5
    assert all(carried_bps[name] < rates_bps[name] + after_bps for name in rates_bps), carried_bps
    assert carried_bps[busy] > 0.95 * rates_bps[busy]
    traces = json.loads((tmp_path / "out" / "run.json").read_text())["trace"]
    assert sorted(Path(path).name for path in traces) == ["down", "up"]


def test_a_link_over_the_air_has_its_losses_both_ways() -> None:
    scenario = find("wireless")
    settings = Settings(resolve(scenario.params, ["loss=5", "loss_burst=4"]), "pfifo", 1, "virtual")
    recipe, _ = compose(scenario, settings)
    lines = [line for batch in recipe.batches for line in batch.lines if "gemodel" in line]
    # r = 1 / 4, and p / (p + r) = 5 %.
    assert [line.split("gemodel ")[1].split(" limit")[0] for line in lines] == ["1.31579% 25%"] * 2
    assert two_states(0.05, 4) == pytest.approx((0.05 * 0.25 / 0.95, 0.25))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rate": 1, "loss_burst": 3}, "loss_burst needs a loss"),
        ({"rate": 1, "loss": 1, "loss_back": 0, "loss_burst_back": 2}, "loss_burst needs a loss"),
        ({"aggregate": 8}, "aggregate needs a rate"),
        ({"rate": 1, "aggregate_back": 8}, "aggregate needs a rate"),
        ({"rate": 1, "aggregate": 0}, "aggregate: 0 given, needs 1 to 65535 packets"),
        ({"rate": 1, "rate_back": 1, "trace_back": "TRACE"}, "leave out rate_back"),
        ({"rate": 1, "both": True, "trace_back": "TRACE"}, "both=True gives b to a the same rate"),
    ],
)
def test_a_property_without_effect_is_refused(
    given: dict[str, object], said: str, tmp_path: Path
) -> None:
    (tmp_path / "t").write_text("1\n")
    given = {key: str(tmp_path / "t") if one == "TRACE" else one for key, one in given.items()}
    with pytest.raises(UserError, match=f"link a to b: .*{said}"):
        Network().link("a", "b", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scenario", "settings", "said"),
    [
        ("wireless", ["--set", "loss=50", "--set", "loss_burst=0.5"], "loss_burst: 0.5 given"),
        ("wireless", ["--set", "loss=0", "--set", "loss_burst=5"], "only with loss above 0"),
        ("wireless", ["--set", "fades=0", "--set", "fade_time=90"], "only with fades above 0"),
        ("wireless", ["--set", "trace=x"], 'no parameter "trace"'),
        ("dumbbell", ["--set", "trace_back=DELAYS", "--set", "trace=DELAYS2"], "two traces with"),
        ("dumbbell", ["--set", "trace_back=DELAYS", "--here"], "needs the lab: no --here"),
    ],
)
def test_a_wrong_link_over_the_air_gets_a_sentence(
    scenario: str, settings: list[str], said: str, tmp_path: Path
) -> None:
    for number, name in enumerate(("DELAYS2", "DELAYS")):
        (tmp_path / name).write_text(f"time_s,rate_mbps,delay_ms\n0,9,{number + 1}\n1,9,1\n")
        settings = [one.replace(f"={name}", f"={tmp_path / name}") for one in settings]
    done = run(tmp_path / "out", *settings, scenario=[scenario])
    assert done.returncode == 2
    assert said in done.stderr


def test_bursts_that_cannot_exist_are_refused() -> None:
    assert two_states(0.5, 1) == (1, 1)  # every other packet
    with pytest.raises(UserError, match=r"60 % in bursts of 1 given, but .* are 50 %"):
        two_states(0.6, 1)
    with pytest.raises(UserError, match="needs 1 or more"):
        two_states(0.1, 0.5)
