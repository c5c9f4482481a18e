# SPDX-License-Identifier: GPL-2.0
"""Networks of links, and scenarios from files outside the checkout."""

from __future__ import annotations

import csv
import json
import math
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aqmlab.exceptions import UserError
from aqmlab.run import programs
from aqmlab.run.fair_shares import facts
from aqmlab.run.flows import Cbr, udp
from aqmlab.run.group import Group
from aqmlab.run.layout import lay_out
from aqmlab.run.network import Network
from aqmlab.run.objects import Interface
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find, load
from aqmlab.run.settings import Settings
from aqmlab.run.trace import constant
from tests.scenarios.shortrun import SMALL, result, run

ROOT = Path(__file__).resolve().parents[2]

NO_TRACE = constant(1e6)

#: A hub sends to two leaves, at 10 and at 20 Mb/s.
STAR = """
from dataclasses import replace
from aqmlab.run import flows
from aqmlab.run.network import Network
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, access


def network(settings):
    made = Network()
    made.link("hub", "slow", rate=10)
    made.link("hub", "quick", rate=20, qdisc="pfifo limit 40", delay=5)
    return made


SCENARIO = Scenario(
    "star", "two bottlenecks at a hub", (access(0.0), *BOTTLENECK, *TCP, *TIME),
    lambda settings, rng: [
        replace(group, leaves=name) for name, rtt in (("slow", 10.0), ("quick", 20.0))
        for group in flows.bulk(settings, rng, name, 3, rtt)], network=network)
"""


def star() -> Network:
    made = Network()
    made.link("hub", "slow", rate=10)
    made.link("hub", "quick", rate=20, qdisc="pfifo", both=True)
    made.link("quick", "end", rate=4)
    return made


def ends(made: Network, *ways: tuple[str, str]) -> list[Interface]:
    return [at for at, _ in lay_out(made, [made.path(*way) for way in ways], 63).shaped]


def test_a_path_is_the_shortest_one_in_either_direction() -> None:
    ring = Network()
    for near, far in ("ab", "bc", "cd", "ad"):
        ring.link(near, far, rate=1)
    assert [(one.number, one.forward) for one in ring.path("a", "d")] == [(3, True)]
    assert [(one.number, one.forward) for one in ring.path("c", "a")] == [(1, False), (0, False)]
    assert ring.path("", "") == ring.path("a", "d")


def test_a_shaper_is_in_its_node_unless_other_packets_pass_there() -> None:
    # All packets of the hub leave by its first link.
    assert ends(star(), ("hub", "slow"))[0] == Interface("hub", "b0")
    # Others leave by the second one, so that each has a namespace before it.
    assert [at.node for at in ends(star(), ("hub", "slow"), ("hub", "quick"))] == [
        "near",
        "near2",
        "far2",
        "quick",
    ]
    # Packets arrive at `quick` by the link that it shapes and stay there, so that link is apart.
    assert [at.node for at in ends(star(), ("end", "quick"))][-1] == "near3"


@pytest.mark.parametrize(
    ("links", "way", "said"),
    [
        ([("a", "b", {"rate": 1})], ("a", "c"), 'no node of the network "c"'),
        ([("a", "b", {"rate": 1}), ("c", "d", {})], ("a", "d"), "no link leads from a to d"),
        ([("a", "b", {"rate": 1})], ("a", "a"), "no link leads from a to a"),
        ([("a", "b", {})], ("a", "b"), "no link has a rate"),
        (
            [("a", "b", {"rate": 1, "qdisc": "pfifo"})],
            ("a", "b"),
            "no link has a rate and the qdisc",
        ),
        ([("a", "far", {"rate": 1})], ("a", "far"), "is not near or far"),
        ([("a", "b c", {"rate": 1})], ("a", "b c"), "small letters and digits"),
        (
            [("a", "b", {"rate": 10}), ("b", "a", {"rate": 1})],
            ("a", "b"),
            "there is a link between a and b already, .* rate_back",
        ),
        ([("a", "b", {"rate": 10}), ("a", "b", {})], ("a", "b"), "there is a link between a and b"),
        ([("a", "a", {"rate": 10})], ("a", "a"), "needs two different nodes"),
        ([("a", "b", {"rate": 10, "both": True, "rate_back": 1})], ("a", "b"), "both=True gives"),
        (
            [("a", "b", {"rate": 10, "qdisc_back": "pfifo"})],
            ("a", "b"),
            "qdisc_back needs a rate_back",
        ),
        ([], ("a", "b"), "network: has no link"),
        (
            [("a", "b", {"rate": 1, "measured": True}), ("b", "c", {"rate": 1, "measured": True})],
            ("a", "b"),
            "measured=True is for one link",
        ),
        ([("a", "b", {"rate": 1, "trace": NO_TRACE})], ("a", "b"), "trace has the rate"),
    ],
)
def test_a_wrong_network_is_refused(links: list, way: tuple[str, str], said: str) -> None:
    def measured() -> int:
        made = Network()
        for near, far, words in links:
            made.link(near, far, **words)
        return made.measured if made.path(*way) else -1

    with pytest.raises(UserError, match=said):
        measured()


@pytest.mark.parametrize(
    ("word", "wrong"),
    [
        ("rate", (-10, math.nan, math.inf, 1e9, "10", True)),
        ("rate_back", (-1, math.nan)),
        ("delay", (-5, math.nan, 1e7, "5ms")),
        ("delay_back", (-1,)),
        ("jitter", (-5, math.inf)),
        ("loss", (-1, 101, math.nan)),
        ("loss_burst", (-1, math.nan)),
        ("aggregate", (0, 2.5, 10**12, "4")),
        ("qdisc", ("", 5)),
        ("qdisc_back", (" ",)),
        ("trace", (5,)),
        ("both", ("no",)),
        ("measured", (1,)),
    ],
)
def test_a_wrong_number_of_a_link_is_refused(word: str, wrong: tuple[object, ...]) -> None:
    """tc would refuse some in the guest, take others as 0, or run with a negative rate."""
    for value in wrong:
        with pytest.raises(UserError, match=f"network: link a to b: {word}: .* given, needs"):
            Network().link("a", "b", **{"rate": 1, "rate_back": 1, "loss": 1, word: value})
    for value in (0.05, 20, np.float64(3), np.int64(4)):
        Network().link("a", "b", rate=value, delay=value, aggregate=np.int64(4))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"name": "a b"}, "a name has 1 to 31 letters"),
        ({"name": "Ä"}, "a name has 1 to 31 letters"),
        ({"name": "a" * 32}, "a name has 1 to 31 letters"),
        ({"start_ns": [-1]}, "a flow starts before the run"),
        ({"rtt_ms": -1.0}, "a round-trip time of -1.0 ms given"),
        ({"rtt_ms": math.nan}, "a round-trip time of nan ms given"),
        ({"access_bps": math.inf}, "access of inf bit/s given"),
        ({"demand_bps": 0.0}, "a demand of 0.0 bit/s given"),
        ({"payload": -0.2}, "-0.2 of a packet is payload"),
        ({"to_s": 0.0}, "from_s: None and to_s: 0.0 given"),
        ({"from_s": 20.0, "to_s": 15.0}, "from_s: 20.0 and to_s: 15.0 given"),
    ],
)
def test_a_wrong_group_is_refused(words: dict, said: str) -> None:
    right = {"name": "a", "start_ns": [0], "rtt_ms": 1.0, "access_bps": 0.0}
    with pytest.raises(UserError, match=f"group .*: {said}"):
        Group(**{"congestion_control": "reno", **right, **words})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"size": 43}, "packets of 43 bytes given, needs 44 or more"),
        ({"rate_bps": 0.0}, "0.0 bit/s given, needs more than 0"),
        ({"dscp": 99}, "DSCP 99 given, allowed: 0 to 63"),
        ({"jitter": 3.0}, "jitter of 3.0 gaps given, allowed: 0 to 1"),
        ({"ecn": "ce"}, "ecn ce given, allowed: off, ect1, ect0"),
    ],
)
def test_a_wrong_source_of_udp_is_refused(words: dict, said: str) -> None:
    settings = Settings(resolve(find("dumbbell").params, []), "pfifo", 1, "virtual")
    cbr = Cbr(**{"rate_bps": 1e6, "size": 1000, **words})
    with pytest.raises(UserError, match=f"u: {said}"):
        udp(settings, random.Random(1), "u", 1, 10.0, cbr)


def test_a_group_without_flows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "star.py"
    path.write_text(STAR.replace("replace(group, leaves=name)", "replace(group, start_ns=[])"))
    with pytest.raises(UserError, match="group slow: has no flows"):
        compose(load(path), Settings(resolve(load(path).params, []), "pfifo", 1, "virtual"))


def test_two_groups_of_one_name_are_refused(tmp_path: Path) -> None:
    """A group named probe was taken together with the probe."""
    path = tmp_path / "star.py"
    path.write_text(STAR.replace('("quick", 20.0)', '("slow", 20.0)'))
    with pytest.raises(UserError, match="group slow: there are two of this name"):
        compose(load(path), Settings(resolve(load(path).params, []), "pfifo", 1, "virtual"))


def test_fair_shares_of_links_with_different_rates() -> None:
    """10 Mb/s to `slow`; 20 Mb/s to `quick`, of which 4 Mb/s go on to `end`."""
    groups = [
        Group(name, [0] * flows, 0.0, 0.0, "reno", leaves=name)
        for name, flows in (("slow", 2), ("quick", 3), ("end", 1))
    ]
    found = facts(10e6, 0, 10, groups, 0.1, star()).groups
    assert [round(found[name].fair_share_bps / 1e6, 6) for name in ("slow", "quick", "end")] == [
        5.0,
        round(16 / 3, 6),
        4.0,
    ]
    unlimited = Network()
    unlimited.link("a", "b", rate=1)
    unlimited.link("b", "c")
    with pytest.raises(UserError, match="group x: no link from b to c has a rate"):
        facts(1e6, 0, 1, [Group("x", [0], 0.0, 0.0, "reno", enters="b")], 0.1, unlimited)


def test_cross_traffic_counts_in_fairness_only_if_it_crosses_the_measured_link() -> None:
    """Of two links in a row the second is measured; without a choice the first is."""
    across = Group("across", [0], 0.0, 0.0, "reno")
    early = Group("early", [0], 0.0, 0.0, "reno", leaves="b")
    late = Group("late", [0], 0.0, 0.0, "reno", enters="b")
    for measured, counted in ((False, {"across", "early"}), (True, {"across", "late"})):
        network = Network()
        network.link("a", "b", rate=10)
        network.link("b", "c", rate=40, measured=measured)
        assert network.measured == int(measured)
        found = facts(10e6, 0, 10, [across, early, late], 0.1, network).groups
        assert {name for name, group in found.items() if group.elastic} == counted
    explicit = replace(late, elastic=False)
    assert not facts(10e6, 0, 10, [across, explicit], 0.1, network).groups["late"].elastic
    with pytest.raises(UserError, match="measured=True needs a rate"):
        Network().link("a", "b", measured=True)


def test_a_scenario_in_a_file_is_the_same_scenario(tmp_path: Path) -> None:
    """The copy has the digest of the original, and a change of the file is another run."""
    text = (ROOT / "netns-scenarios" / "scenarios" / "dumbbell.py").read_text()
    (tmp_path / "mine.py").write_text(text)
    original = result(tmp_path / "original")
    again = [ROOT / "netns-scenarios" / "run", "./mine.py", "--out", tmp_path / "copy", *SMALL]
    done = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    copy = json.loads((tmp_path / "copy" / "result.json").read_text())
    assert copy["digest"] == original["digest"]
    assert copy["provenance"]["scenario_file"] == load(tmp_path / "mine.py").file_hash
    (tmp_path / "mine.py").write_text(text + "# changed\n")
    done = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert "holds the result of another run (file is " in done.stderr


def test_programs_have_hosts_behind_the_last_node_of_any_network(tmp_path: Path) -> None:
    (tmp_path / "star.py").write_text(STAR)
    star = load(tmp_path / "star.py")
    settings = Settings(resolve(star.params, []), "pfifo", 1, "virtual")
    executed = programs.parse(["server: sleep 1", "client: sleep 1"])
    recipe, _ = compose(star, settings, executed)
    assert recipe.sysctls["quick"]["net/ipv4/ip_forward"] == "1"
    assert [(meter.netns, meter.source_netns) for meter in recipe.meters] == [
        ("quick", "src-exec1")
    ]
    assert [program.netns for program in recipe.programs] == ["src-exec1", "dst-exec1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("x = 1\n", "has no SCENARIO"),
        ("SCENARIO = 5\n", "has no SCENARIO"),
        ("y = 1\nx = y / 0\n", r"ZeroDivisionError: division by zero \(.*mine.py, line 2\)"),
        ("def\n", "SyntaxError: invalid syntax"),
    ],
)
def test_a_wrong_file_is_named(text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    with pytest.raises(UserError, match=rf"^scenario .*mine.py: .*{said}"):
        load(tmp_path / "mine.py")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("made = Network()", "made = 1 / 0", r"ZeroDivisionError: .*star.py, line 10\)"),
        ("made = Network()", 'made = settings.text("nope")', "needs a parameter nope"),
        ("rng: [", "rng: [5] or [", "returned 5, needs a Group"),
        ("return made", "return None", "returned None, needs a Network"),
    ],
)
def test_an_error_in_a_scenarios_function_is_a_sentence(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    assert old in STAR
    (tmp_path / "star.py").write_text(STAR.replace(old, new))
    star = load(tmp_path / "star.py")
    with pytest.raises(UserError, match=said):
        compose(star, Settings(resolve(star.params, []), "pfifo", 1, "virtual"))


def test_each_link_of_a_star_carries_its_rate(tmp_path: Path) -> None:
    (tmp_path / "star.py").write_text(STAR)
    done = subprocess.run(
        [
            ROOT / "netns-scenarios" / "run",
            tmp_path / "star.py",
            "--out",
            tmp_path / "out",
            "--qdisc",
            "pfifo limit 40",
            "--set",
            "warmup=1",
            "--set",
            "duration=4",
            "--set",
            "era=today",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    got = json.loads((tmp_path / "out" / "result.json").read_text())
    assert list(got["hops"]) == ["near b1", "near2 b3"]
    assert [hop["link"] for hop in got["hops"].values()] == ["hub to slow", "hub to quick"]
    assert "  hub to slow (measured): " in done.stdout
    payload = (1500 - 52) / 1514
    for name, rate, rtt_ms in (("slow", 10e6, 10.0), ("quick", 20e6, 30.0)):
        group = got["groups"][name]
        assert group["goodput_bps"]["mean"] * 3 == pytest.approx(rate * payload, rel=0.03)
        assert group["rtt_ms"] == rtt_ms
    with (tmp_path / "out" / "flows.csv").open() as file:
        rows = [(row["group"], float(row["min_rtt_ms"])) for row in csv.DictReader(file)]
    # The first flow of each finds an empty queue; a full packet takes 1.2 ms at 10 Mb/s.
    for name, rtt_ms in (("slow", 10.0), ("quick", 30.0)):
        assert rtt_ms <= min(ms for group, ms in rows if group == name) < rtt_ms + 1.3


#: An access link of 10/1 Mb/s: downloads one way, uploads the other, and probes both ways.
ACCESS = """
from dataclasses import replace
from aqmlab.run import flows
from aqmlab.run.network import Network
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, access


def network(settings):
    made = Network()
    made.link("isp", "house", rate=10, rate_back=1, qdisc_back="pfifo limit 20", delay=5,
              delay_back=15)
    return made


SCENARIO = Scenario(
    "access", "a link with two rates",
    (Param("down", 2, "flows", "", 0, 9), Param("up", 2, "flows", "", 0, 9), access(0.0),
     *BOTTLENECK, *TCP, *TIME),
    lambda settings, rng: [
        *flows.bulk(settings, rng, "down", settings.count("down"), 0.0),
        *flows.bulk(settings, rng, "up", settings.count("up"), 0.0, reverse=True)],
    network=network)
"""


@pytest.mark.parametrize(("alone", "rate"), [("down", 10e6), ("up", 1e6)])
def test_each_direction_of_a_link_has_its_rate_and_delay(
    alone: str, rate: float, tmp_path: Path
) -> None:
    (tmp_path / "access.py").write_text(ACCESS)
    other = "up" if alone == "down" else "down"
    got = result(
        tmp_path / "out",
        "--qdisc",
        "pfifo limit 20",
        scenario=(
            str(tmp_path / "access.py"),
            "--set",
            f"{other}=0",
            "--set",
            "warmup=2",
            "--set",
            "duration=4",
            "--set",
            "era=today",
        ),
    )
    group = got["groups"][alone]
    assert group["goodput_bps"]["mean"] * 2 == pytest.approx(rate * 1448 / 1514, rel=0.03)
    assert group["share_of_fair"] == pytest.approx(1, rel=0.03)
    assert group["rtt_ms"] == 20.0
    with (tmp_path / "out" / "flows.csv").open() as file:
        least = min(float(row["min_rtt_ms"]) for row in csv.DictReader(file))
    # A full packet, and an ACK of 66 bytes in the other direction.
    sent_ms = 1514 * 8e3 / rate + 66 * 8e3 / (11e6 - rate)
    assert 20 <= least < 20 + sent_ms + 0.1


def test_loss_on_the_way_back_loses_acks_only(tmp_path: Path) -> None:
    (tmp_path / "lossy.py").write_text(
        ACCESS.replace('rate_back=1, qdisc_back="pfifo limit 20", delay=5', "loss_back=20, delay=5")
    )
    got = result(
        tmp_path / "out",
        "--qdisc",
        "pfifo limit 100",
        scenario=(
            str(tmp_path / "lossy.py"),
            "--set",
            "up=0",
            "--set",
            "warmup=1",
            "--set",
            "duration=2",
            "--set",
            "era=today",
        ),
    )
    assert got["groups"]["down"]["share_of_fair"] > 0.9
    guest = json.loads((tmp_path / "out" / "guest.json").read_text())
    netem = {
        one["dev"]: one
        for qdiscs in guest["counters"]["qdiscs"].values()
        for one in qdiscs
        if one["kind"] == "netem"
    }
    # The link ends at d0, where the way back begins.
    back, there = netem.pop("d0"), *netem.values()
    assert there["drops"] == 0
    sent = back["drops"] + back["packets"]
    assert back["drops"] == pytest.approx(0.2 * sent, abs=4 * (0.16 * sent) ** 0.5)


def test_rate_back_is_the_rate_at_which_acks_return(tmp_path: Path) -> None:
    """412 packets per second at 5 Mb/s need 206 ACKs of 66 bytes, twice what 0.05 Mb/s carry."""
    got = result(
        tmp_path / "out",
        "--qdisc",
        "pfifo limit 50",
        scenario=(
            "dumbbell",
            "--set",
            "flows=4",
            "--set",
            "rate=5",
            "--set",
            "rate_back=0.05",
            "--set",
            "era=today",
            "--set",
            "warmup=1",
            "--set",
            "duration=4",
        ),
    )
    there, back = got["hops"].values()
    assert there["lost"] + there["delivered"] > 0
    assert back["lost"] > 0
    assert back["bytes"] == pytest.approx(0.05e6 / 8 * 5, rel=0.03)


def test_rate_back_without_a_link_that_has_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "access.py").write_text(ACCESS)
    done = run(tmp_path / "out", "--set", "rate_back=2", scenario=(str(tmp_path / "access.py"),))
    assert done.returncode == 2
    assert "rate_back: access gives no link this rate" in done.stderr
