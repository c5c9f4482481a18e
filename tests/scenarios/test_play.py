# SPDX-License-Identifier: GPL-2.0
"""`run SCENARIO --shell` gives a shell in the network of a scenario."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aqmlab import ROOT
from aqmlab.run import play
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings
from tests.person import Person
from tests.transcript import pattern

RUN = ROOT / "netns-scenarios" / "run"
PROMPT = r"(?m)^[a-z-]+# $"


@pytest.fixture
def sit() -> Iterator[Callable[..., Person]]:
    """Return a function that starts `run` at a terminal. It is killed after the test."""
    people: list[Person] = []

    def start(*arguments: str) -> Person:
        people.append(Person(RUN, *arguments))
        return people[-1]

    yield start
    for person in people:
        person.goes()


def test_the_network_is_there_and_the_shell_returns_its_status(sit: Callable[..., Person]) -> None:
    person = sit("dumbbell", "--shell", "--qdisc", "qsdrr limit 50", "--set", "cc=vegas")
    person.reads("dumbbell with qsdrr limit 50 on device b0 of rtr")
    person.reads(r"rtr# ")
    person.types("tc -s qdisc show\n")
    person.reads(r"qdisc tbf 1: dev b0 root")
    person.reads(r"qdisc qsdrr 2: dev b0 parent 1:1 limit 50p[^\n]*\r\n Sent 0 bytes")
    person.reads(r"rtr# ")
    person.types("src-all ping -c 2 -i 0.2 dst\n")
    # The round-trip time is 50 ms, and both are said to be answered by the host.
    assert 50 <= float(person.reads(r"icmp_seq=2 .*time=([\d.]+) ms")[1]) < 150
    person.reads(r"2 received, 0% packet loss")
    person.reads(r"rtr# ")
    person.types("dst ping -c 1 src-all; cat /proc/sys/net/ipv4/tcp_congestion_control\n")
    person.reads(r"1 received, 0% packet loss")
    person.reads(r"rtr# ")
    person.types("src-all\n")
    person.reads(r"src-all# ")
    person.types("cat /proc/sys/net/ipv4/tcp_congestion_control; exit\n")
    person.reads(r"\nvegas\r\n")
    person.reads(r"rtr# ")
    person.types("exit 7\n")
    assert person.leaves() == 7


def test_the_page_shows_what_happens(sit: Callable[..., Person]) -> None:
    page = (ROOT / "docs" / "shell.md").read_text()
    (call,) = re.findall(r"^    netns-scenarios/run (.*)$", page, re.M)
    (block,) = re.findall(r"^```text\n(.*?)^```$", page, re.S | re.M)
    words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', call)]
    banner, *steps = re.split(r"^rtr# ", block, flags=re.M)
    person = sit(*words)
    for shown, typed in zip(
        [banner, *(step.partition("\n")[2] for step in steps)],
        [*(step.partition("\n")[0] for step in steps), ""],
        strict=True,
    ):
        if not typed:
            break
        # In real time, no two sessions have the same numbers.
        expected = re.sub(r"\d[\d.]*", r"[\\d.]+", pattern(shown).replace(r"\.", "."))
        before = r"\A(?:lab: .*\r\n)*" if shown == banner else r"\A"
        person.reads(before + expected.replace("\n", "\r\n") + "rtr# ")
        person.types(f"{typed}\n")
        person.reads(re.escape(typed) + r"\r\n")
    assert person.leaves() == 0


def test_tc_knows_what_a_run_knows(sit: Callable[..., Person]) -> None:
    """A module without a plugin, and kinds and options that only the lab's tc has."""
    module = ROOT / "docs" / "your-own"
    person = sit("dumbbell", "--shell", "--module", str(module), "--qdisc", "mine 1 u32 100")
    link = "tracelink raw 10000100a086010048e8010000000000"  # 10 Mb/s
    for kind in ("dualpi2 any_ect", "mine 1 u32 50", "tdrr sparse", link):
        person.reads(r"rtr# ")
        person.types(f"tc qdisc replace dev b0 parent 1:1 {kind} && echo has ''{kind}\n")
        person.reads(rf"\nhas {kind}\r\n")
    person.reads(r"rtr# ")
    person.types("exit\n")
    assert person.leaves() == 0


def test_setting_up_that_fails_is_named(sit: Callable[..., Person]) -> None:
    person = sit("dumbbell", "--shell", "--qdisc", "pfifo limit x")
    person.reads(r'run: tc qdisc add dev b0 .*\r\npfifo: Illegal value for "limit": "x"')
    assert person.leaves() == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--exec", "client: true"], "leave out --exec"),
        (["--pcap", "rtr"], "leave out --pcap"),
        (["--tcp-state"], "leave out --tcp-state"),
        (["--clock", "virtual"], "leave out --clock virtual"),
        (["--out", "x"], "leave out --out"),
        (["--set", "change=1 limit 5"], "leave out the parameter change"),
        ([], "--shell needs a terminal"),
    ],
)
def test_what_needs_traffic_is_refused(words: list[str], said: str) -> None:
    done = subprocess.run(
        [RUN, "dumbbell", "--shell", *words], capture_output=True, text=True, input="", timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("run: --shell ")
    assert said in done.stderr


@pytest.mark.parametrize("ip", [4, 6])
def test_programs_send_from_an_address_that_is_answered(ip: int) -> None:
    """Each group has its own addresses in dst, and dst answers from the address of the group."""
    scenario = find("multi-rtt")
    settings = Settings(resolve(scenario.params, [f"ip={ip}"]), "pfifo", 1, "wall")
    recipe, _ = compose(scenario, settings)
    known = play.hosts(recipe)
    assert list(known) == [("src-near", "dst"), ("src-far", "dst")]
    routes = {
        (batch.netns, line.split()[-1])
        for batch in play.for_programs(recipe).batches
        for line in batch.lines
        if " src " in line
    }
    near, far = known.values()
    assert routes == {("src-near", near[0]), ("src-far", far[0]), ("dst", near[1]), ("dst", far[1])}
    assert len({*near, *far}) == 4


def test_a_program_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, _ = compose(
        scenario := find("dumbbell"), Settings(resolve(scenario.params, []), "pfifo", 1, "wall")
    )
    asked = {"scenario": "dumbbell", "qdisc": "pfifo"}
    monkeypatch.setattr("shutil.which", lambda name: name != "iperf3" and Path("/bin"))
    assert "Not on this machine: iperf3 (apt-get install iperf3)\n" in play.banner(recipe, asked)
    monkeypatch.setattr("shutil.which", lambda name: Path("/bin"))
    assert "Not on this machine" not in play.banner(recipe, asked)
