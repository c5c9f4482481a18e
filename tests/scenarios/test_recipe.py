# SPDX-License-Identifier: GPL-2.0
"""Recipes of scenarios, and errors for wrong input. Nothing is run."""

from __future__ import annotations

import random
import re
import subprocess
from io import BytesIO
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from aqmlab.compare import demo_workloads
from aqmlab.exceptions import UserError
from aqmlab.run import counters, execute, flows, guest_kernel, outcome, render, run_directory
from aqmlab.run.fair_shares import Facts
from aqmlab.run.group import Group
from aqmlab.run.network import Network
from aqmlab.run.packets import Packets
from aqmlab.run.params import Param, resolve
from aqmlab.run.recipe import Recipe
from aqmlab.run.scenario import Scenario, compose, find, find_all
from aqmlab.run.settings import BOTTLENECK, Settings, with_defaults
from aqmlab.run.topology import Bottleneck, Built, Hosts, build
from aqmlab.run_command import main
from labkit import engines
from labkit.request import Request, Result

ROOT = Path(__file__).resolve().parents[2]


def recipe_of(*settings: str, seed: int = 1, clock: str = "virtual") -> tuple[Recipe, Facts]:
    found = find("dumbbell")
    asked = Settings(resolve(found.params, settings), "pfifo limit 200", seed, clock)
    return compose(found, asked)


def starts(recipe: Recipe) -> list[int]:
    return [int(flow["start_ns"]) for flow in recipe.flows]


@pytest.mark.parametrize("text", ["limit 5", "5", "5 ;", "-1 limit 5", "60 limit 5", "nan limit 5"])
def test_change_needs_a_time_within_the_run_and_options(text: str) -> None:
    with pytest.raises(UserError, match=r'^change: "[^"]+" given, needs a time before 60 s'):
        recipe_of(f"change={text}")


def test_change_names_the_kind_without_a_semicolon() -> None:
    found = find("dumbbell")
    words = "tdrr; filter parent 2: basic classid 2:1"
    recipe, _ = compose(
        found, Settings(resolve(found.params, ["change=5 limit 5"]), words, 1, "virtual")
    )
    (batch,) = recipe.changes
    assert batch.lines == ["qdisc change dev b0 parent 1:1 handle 2: tdrr limit 5"]


def test_change_needs_flowgen() -> None:
    with pytest.raises(UserError, match=r"^change: needs generator=flowgen"):
        recipe_of("change=5 limit 5", "generator=iperf3", clock="wall")


def line(recipe: Recipe, pattern: str) -> str:
    lines = [ln for batch in recipe.batches for ln in batch.lines if re.search(pattern, ln)]
    assert len(lines) == 1, lines
    return lines[0]


def test_start_times_depend_on_the_seed() -> None:
    assert starts(recipe_of(seed=1)[0]) == starts(recipe_of(seed=1)[0])
    assert starts(recipe_of(seed=1)[0]) != starts(recipe_of(seed=2)[0])
    assert all(0 <= s < 2e9 for s in starts(recipe_of("spread=2")[0]))
    assert max(starts(recipe_of("spread=2")[0])) > 1e9


def test_fair_share_is_the_payload_of_an_equal_share() -> None:
    # 5 Mb/s * (1500 - 20 - 20) / 1514
    assert recipe_of()[1].fair_share_bps == pytest.approx(5e6 * 1460 / 1514)
    # timestamps take 12 more bytes
    today = recipe_of("tcp_profile=today")
    assert today[1].fair_share_bps == pytest.approx(5e6 * 1448 / 1514)
    assert recipe_of("era=today") == today  # its name in older versions
    assert recipe_of("ip=6")[1].fair_share_bps == pytest.approx(5e6 * 1440 / 1514)
    # the access link limits if it is slower; access=0 means no limit
    assert recipe_of("flows=10")[1].fair_share_bps == pytest.approx(10e6 * 1460 / 1514)
    assert recipe_of("flows=10", "access=0")[1].fair_share_bps == pytest.approx(50e6 * 1460 / 1514)


def test_bottleneck_serialises_packet_by_packet() -> None:
    assert "rate 500000000bit burst 1577 " in line(recipe_of()[0], " tbf ")
    # plus 1 us of the link, rounded up. 0.5 ms of 500 Mb/s are 21 packets; the minimum is 2
    assert "burst 31857 " in line(recipe_of(clock="wall")[0], " tbf ")
    assert "burst 3029 " in line(recipe_of("rate=1", clock="wall")[0], " tbf ")
    assert line(recipe_of()[0], "parent 1:1") == (
        "qdisc add dev b0 parent 1:1 handle 2: pfifo limit 200"
    )


def test_tcp_profile_is_applied_to_both_ends_but_not_to_the_router() -> None:
    recipe, _ = recipe_of("ecn=on")
    for ns in ("src-all", "dst"):
        assert recipe.sysctls[ns]["net/ipv4/tcp_sack"] == "0"
        assert recipe.sysctls[ns]["net/ipv4/tcp_ecn"] == "1"
    assert "net/ipv4/tcp_sack" not in recipe.sysctls["rtr"]
    assert line(recipe, r"route add 10\.16\.0\.0/16 via 192\.0\.2\.1 ").endswith(
        "quickack 1 initcwnd 2"
    )
    assert line(
        recipe_of("rto_min=1000")[0], r"route add 10\.16\.0\.0/16 via 192\.0\.2\.1 "
    ).endswith("initcwnd 2 rto_min 1000ms")
    # Without an access link there is no fq, so nothing paces and the ratios do not matter.
    for words, fq, ratios in (
        (["pacing=on"], 1, {None}),
        (["pacing=off"], 1, {"1000"}),
        (["pacing=off", "access=0"], 0, {None}),
    ):
        recipe, _ = recipe_of(*words)
        assert sum(" fq " in ln for batch in recipe.batches for ln in batch.lines) == fq
        sysctls = recipe.sysctls["src-all"]
        assert {sysctls.get(f"net/ipv4/tcp_pacing_{of}_ratio") for of in ("ss", "ca")} == ratios
    today, _ = recipe_of("era=today")
    assert "net/ipv4/tcp_sack" not in today.sysctls["dst"]
    assert {flow["cc"] for flow in today.flows} == {"cubic"}
    assert {flow["cc"] for flow in recipe_of("era=today", "cc=bbr")[0].flows} == {"bbr"}


def test_every_flow_has_its_own_addresses() -> None:
    for settings in (("flows=1000",), ("flows=1000", "ip=6")):
        recipe, _ = recipe_of(*settings)
        assert len({flow["source"] for flow in recipe.flows}) == 1000
        assert len({flow["sink"] for flow in recipe.flows}) == 1000


def row(links: int) -> Network:
    made = Network()
    for at in range(links):
        made.link(f"n{at}", f"n{at + 1}", rate=1)
    return made


def built(
    ip: int, groups: int, flows: int = 1, network: Network | None = None, **more: Any
) -> Built:
    return build(
        [Group(f"g{number}", [0] * flows, 10.0, 0.0, "reno", **more) for number in range(groups)],
        Bottleneck(1e6, "pfifo"),
        Hosts({}),
        Packets(ip, 1500),
        network,
    )


@pytest.mark.parametrize(
    ("ip", "groups", "more"),
    [
        # 192.0.2.0/24 has 64 networks of 4 addresses. The first is the bottleneck's. Links behind
        # it count down from number 62. The number of a link is a byte of its MAC addresses.
        (4, 63, {}),
        (6, 255, {}),
        (4, 61, {"reverse": True}),
        (6, 60, {"network": row(3)}),
    ],
)
def test_number_of_groups_is_limited_by_addresses(
    ip: int, groups: int, more: dict[str, Any]
) -> None:
    topology = built(ip, groups, **more).topology
    lines = [
        line for batch in render.batches([topology], Packets(ip, 1500)) for line in batch.lines
    ]
    for pattern in (r"addr add (\S+)/", r"type veth .* (address \S+)$"):
        found = [match[1] for line in lines if (match := re.search(pattern, line))]
        assert len(found) == len(set(found)) >= groups
    for address in re.findall(r"addr add (\S+?)/", " ".join(lines)):
        ip_address(address)
    with pytest.raises(UserError, match=f"^{groups + 1} groups .* addresses for {groups};"):
        built(ip, groups + 1, **more)


@pytest.mark.parametrize("reverse", [False, True])
def test_tcp_profile_is_applied_to_both_ends_also_in_a_router(reverse: bool) -> None:
    """Node n1 ends the first group's path, and forwards packets of the second group."""
    groups = [
        Group(name, [0], 10.0, 0.0, "reno", leaves=name, reverse=reverse) for name in ("n1", "n2")
    ]
    made = build(
        groups, Bottleneck(1e6, "pfifo"), Hosts({"x": "1"}), Packets(4, 1500), row(2)
    ).topology
    assert {node.name: node.sysctls.get("x") for node in made.nodes} == {
        "src-n1": "1",
        "src-n2": "1",
        "n0": None,
        "n1": "1",
        "n2": "1",
    }


def test_number_of_flows_is_limited_by_addresses() -> None:
    *_, last = built(4, 1, 65535).places[0].flows()
    assert (last["source"], last["sink"]) == ("10.16.255.255", "10.128.255.255")
    with pytest.raises(UserError, match=r"^65536 flows in group g0: .* addresses for 65535;"):
        built(4, 1, 65536)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["dumbell"], 'no scenario "dumbell": did you mean dumbbell'),
        (["dumbbell", "--set", "flow=3"], 'no parameter "flow": did you mean flows?'),
        (["dumbbell", "--set", "flows=0"], "flows: 0 given, allowed: 1 to 20000 flows"),
        (["dumbbell", "--set", "rtt=soon"], 'rtt: "soon" given, needs a number from 0 to'),
        (["dumbbell", "--set", "flows=1.5"], 'flows: "1.5" given, needs a whole number'),
        (
            ["dumbbell", "--set", "tcp_profile=1999"],
            'tcp_profile: "1999" given, allowed: 2001 | 2001-sack | today | today-iw3',
        ),
        (["dumbbell", "--set", "rtt"], '--set "rtt": needs NAME=VALUE'),
        (
            ["arrivals", "--set", "forward=" + ",".join(["8@0-1"] * 8)],
            "64 groups of flows with different round-trip times: there are addresses for 63",
        ),
        (["dumbbell", "--set", "ip=5"], "ip: 5 given, allowed: 4 or 6"),
        (["dumbbell", "--set", "generator=iperf3"], "use --clock wall"),
        (["dumbbell", "--here", "--clock", "virtual"], "--here always runs"),
        (["dumbbell", "--here", "--kernel", "7.3"], "--kernel chooses the lab's kernel"),
        (["dumbbell", "--qdisc", " "], "--qdisc: nothing given"),
        (["dumbbell", "--qdisc", "red", "--qdisc", "pie"], "--qdisc: given 2 times, a run has one"),
        (["web-mix", "--set", "ip=6"], "mtu: 1000 given, IPv6 needs 1280 or more"),
        (["dumbbell", "--qdisc", "htb default 1; class"], '"class" after a ";", needs "class ..."'),
        ([], "no scenario given; --list shows the scenarios"),
    ],
)
def test_wrong_input_gets_a_message(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert said in capsys.readouterr().err


def test_setting_that_a_later_one_replaces_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts add settings to a command, so the last one counts, also under its earlier name."""
    words = ["rate=20", "tcp_profile=today", "flows=2", "rate=30", "era=2001", "rate=40"]
    given = [word for one in words for word in ("--set", one)]
    assert main(["dumbbell", *given, "--pcap", "nowhere"]) == 2
    *said, _ = capsys.readouterr().err.splitlines()
    assert said == [
        f"run: --set {old} has no effect, because --set {new} follows it"
        for old, new in (
            ("rate=20", "rate=30"),
            ("tcp_profile=today", "era=2001"),
            ("rate=30", "rate=40"),
        )
    ]
    assert resolve(find("dumbbell").params, words)["rate"] == 40


@pytest.mark.parametrize(
    ("scenario", "setting", "number"),
    [
        ("web-mix", "far_rtt=100", "far_flows"),
        ("udp-blast", "tagged_rate=1", "tagged_flows"),
        ("udp-blast", "tagged_dscp=10", "tagged_flows"),
    ],
)
def test_parameter_of_flows_that_nobody_asked_for_is_refused(
    scenario: str, setting: str, number: str
) -> None:
    """A sweep that begins with none of them is right, so 0 can be given."""
    params = find(scenario).params
    with pytest.raises(UserError, match=f"{setting.split('=')[0]}: .* needs {number}, which is 0"):
        resolve(params, [setting])
    for count in (0, 3):
        resolve(params, [setting, f"{number}={count}"])


def test_list_names_every_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for item in find_all().values():
        assert item.name in shown
        for param in item.params:
            assert re.search(
                rf"^  {param.name} +{re.escape(f'{param.default}'.split('.')[0])}", shown, re.M
            )


def test_defaults_are_allowed() -> None:
    for item in find_all().values():
        for param in item.params:
            assert param.parse(str(param.default)) == param.default
            assert param.help


def test_default_of_an_unknown_parameter_is_refused() -> None:
    assert [p.default for p in with_defaults(BOTTLENECK, rate=3.0) if p.name == "rate"] == [3.0]
    with pytest.raises(ValueError, match="no parameter probe among rate, rate_back, mtu"):
        with_defaults(BOTTLENECK, rate=3.0, probe="on")


def late(from_s: float, *settings: str, clock: str = "virtual") -> tuple[Recipe, Facts]:
    """Return a run of dumbbell in which all flows start late."""

    def groups(asked: Settings, rng: random.Random) -> list[Group]:
        return flows.bulk(asked, rng, "late", 2, 50, from_s=from_s)

    params = find("dumbbell").params
    return compose(
        Scenario("late", "", params, groups), Settings(resolve(params, settings), "pfifo", 1, clock)
    )


def test_group_that_starts_after_the_end_is_refused() -> None:
    short = ("warmup=2", "duration=8", "spread=0")
    assert late(9.9, *short)[1].groups["late"].from_s == 10.0
    with pytest.raises(
        UserError,
        match="group late: its first flow starts at 10 s, but the run, "
        "with its warm-up, ends at 10 s",
    ):
        late(10, *short)


def test_iperf3_cannot_start_a_group_late() -> None:
    assert len(late(5, clock="wall")[0].flows) == 2
    with pytest.raises(UserError, match="group late: generator=iperf3 cannot start or stop"):
        late(5, "generator=iperf3", clock="wall")


def test_nan_is_refused() -> None:
    with pytest.raises(UserError, match="allowed: 0 to 1"):
        Param("p", 0.5, "", "", 0.0, 1.0).parse("nan")


@pytest.mark.parametrize(
    ("scenario", "setting"), [("dumbbell", "cc="), ("dumbbell", "cc= "), ("bully", "bully=")]
)
def test_an_empty_name_is_refused(scenario: str, setting: str) -> None:
    """As from an unset variable of a shell: the kernel's default would run instead."""
    with pytest.raises(UserError, match="nothing given, the default is"):
        resolve(find(scenario).params, [setting])
    assert resolve(find("arrivals").params, ["forward=", "back=2@0-1"])["forward"] == ""


def tc_wlog(burst: int, min_packets: int) -> int:
    """Return W as tc derives it, by equation 2 of Floyd and Jacobson."""
    for w in range(1, 32):
        weight = 2.0**-w
        length = burst + 1 + ((1 - weight) ** (burst + 1) - 1) / weight
        # in tc, the exponent of the last term is one less than in the paper
        length_tc = burst + 1 - (1 - (1 - weight) ** burst) / weight
        assert abs(length - length_tc) <= 1
        if length_tc <= min_packets:
            return w
    return 0


@pytest.mark.parametrize(
    ("buffer", "wlog"), [(100, 10), (200, 10), (1000, 10), (2000, 9), (5000, 8)]
)
def test_red_weight_is_the_papers_or_the_smallest_that_the_kernel_accepts(
    buffer: int, wlog: int
) -> None:
    """The kernel refuses fls(max) + W >= 32."""
    burst, max_th = (
        int(re.search(rf"{word} (\d+)", demo_workloads.red(buffer, 500))[1])
        for word in ("burst", "max")
    )
    assert tc_wlog(burst, buffer // 5) == wlog
    assert max_th.bit_length() + wlog < 32
    assert wlog == 10 or max_th.bit_length() + wlog + 1 == 32


def test_flowgen_names_the_line_and_the_key(tmp_path: Path) -> None:
    flowgen = ROOT / "build" / "tools" / "flowgen"
    subprocess.run(["make", "-s", "-C", ROOT / "lab" / "traffic"], check=True)
    flows = tmp_path / "flows"
    for text, said in (
        ("id=1 speed=3\n", f'{flows}:1: unknown key "speed"'),
        ("# none\n\nid=1 source=10.0.0.1 sink=10.0.0.2\n", f"{flows}:3: sink_port is missing"),
        ("id=1 source=host sink=10.0.0.2 sink_port=1\n", "not an IPv4 or IPv6 address: host"),
        ("id=x\n", 'id: "x" is not a whole number'),
        ("kind=flood\n", f"{flows}:1: no such kind of flow: flood"),
        ("# none\n", f"{flows} has no flows"),
    ):
        flows.write_text(text)
        done = subprocess.run(
            [
                flowgen,
                "--flows",
                flows,
                "--progress",
                "/dev/null",
                "--ends",
                "/dev/null",
                "--duration-ms",
                "1",
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert said in done.stderr


def test_the_kernel_counts_dropped_packets_in_hex_for_each_cpu() -> None:
    """The second column of softnet_stat."""
    shown = "0000ab10 00000007 00000000 0\n00000000 0000001f 00000002 0\n"
    assert counters.softnet_dropped(shown) == 7 + 31


def test_output_of_inspace_is_split_by_namespace_and_file() -> None:
    shown = "> a /proc/net/dev\none\ntwo\n> a /proc/x\n> - /proc/net/dev\n three\n"
    assert counters.sections(shown) == {
        ("a", "/proc/net/dev"): "one\ntwo\n",
        ("a", "/proc/x"): "",
        ("-", "/proc/net/dev"): " three\n",
    }


def test_built_in_code_is_no_module_and_a_module_may_have_no_version() -> None:
    """A directory of what is built in has no initstate."""
    place = "/sys/module"
    shown = {
        ("-", f"{place}/sch_a/initstate"): "live\n",
        ("-", f"{place}/sch_a/srcversion"): "ABC\n",
        ("-", f"{place}/sch_b/srcversion"): "DEF\n",
        ("-", f"{place}/tcp_c/initstate"): "live\n",
    }
    assert counters.module_versions(shown) == {"sch_a": "ABC", "tcp_c": None}


def test_wide_windows_may_have_a_larger_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TCP may use three quarters of the guest's `memory`, in pages of 4 KiB."""
    begun: list[str] = []

    def run(request: Request) -> Result:
        begun[:] = [request.memory]
        return Result(0, tmp_path / "log")

    monkeypatch.setattr(engines, "run", run)
    monkeypatch.setattr(outcome, "write", lambda *_, **__: None)
    found = find("dumbbell")
    for given, gib, pages in ((), 2, 393216), (("memory=8",), 8, 1572864):
        settings = Settings(resolve(found.params, given), "pfifo limit 200", 1, "virtual")
        asked = {"seed": 1, "clock": "virtual"}
        directory = tmp_path / str(gib)
        directory.mkdir()
        place = run_directory.Place(directory, BytesIO())
        execute.run(*compose(found, settings), asked, place, {})
        assert begun == [f"{gib}G"]
        assert guest_kernel.tcp_pages(gib) == pages
