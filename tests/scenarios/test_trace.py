# SPDX-License-Identifier: GPL-2.0
"""Links whose rate and delay follow a trace."""

from __future__ import annotations

import csv
import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aqmlab import ROOT
from aqmlab.exceptions import UserError
from aqmlab.run import trace
from aqmlab.run.network import Network
from aqmlab.run.params import resolve
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings
from tests.scenarios.shortrun import result, run

FRAME = 1514
#: Two packets at 105 ms, one at 113 and three at 187 ms; every 187 ms anew.
MAHIMAHI = "105\n105\n113\n187\n187\n187\n"
#: 8 Mb/s from 0.1 s, then 1 Mb/s, nothing, and anew after 0.75 s. 1 ms of 8 Mb/s is 1000 bytes.
CSV = "time_s,rate_mbps\n0,0\n0.1,8\n0.25,1\n0.65,0\n0.75,0\n"


def mahimahi_bytes(ms: int) -> int:
    """Return what may have left after so many ms, by the definition of the format."""
    rounds, left = divmod(ms, 187)
    return FRAME * (6 * rounds + sum(int(line) <= left for line in MAHIMAHI.split()))


def csv_bytes(ms: int) -> int:
    rounds, left = divmod(ms, 750)
    return rounds * (150 * 1000 + 400 * 125) + (
        min(max(left - 100, 0), 150) * 1000 + min(max(left - 250, 0), 400) * 125
    )


def written(directory: Path, text: str) -> str:
    path = directory / "link"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(("text", "expected"), [(MAHIMAHI, mahimahi_bytes), (CSV, csv_bytes)])
def test_capacity_is_the_integral_of_the_trace(
    text: str, expected: Callable[[int], int], tmp_path: Path
) -> None:
    made = trace.read(written(tmp_path, text))
    for ms in (0, 99, 100, 105, 113, 186, 187, 250, 300, 649, 700, 750, 1500, 4321):
        assert made.bytes_until(ms / 1000) == pytest.approx(expected(ms), abs=1e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no line"),
        ("5\nx\n", 'line 2: "x" is no whole number'),
        ("7\n6\n", "line 2: 6 ms comes after 7 ms"),
        ("time_s,speed\n", "line 1: needs the columns"),
        ("time_s,rate_mbps\n0,1\n", "a line for time 0, and one for the end"),
        ("time_s,rate_mbps\n1,1\n2,1\n", "a line for time 0"),
        ("time_s,rate_mbps\n0,-1\n1,1\n", 'line 2: "0,-1" needs 2 numbers of 0 or more'),
        ("time_s,rate_mbps\n0,1\n0,1\n", "line 2: the line after it has no later time"),
        ("time_s,rate_mbps\n0,0\n9,1\n", "carries less than a packet"),
        ("time_s,rate_mbps\n0,1\n5000,1\n", "line 2: more than 4 GB or 4294 s"),
        ("1\n5000000\n", "line 2: more than 4 GB or 4294 s"),
        ("time_s,rate_mbps,delay_ms\n0,1,5000000\n1,1,1\n", "line 2: .* a delay above 4000 s"),
    ],
)
def test_a_wrong_trace_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        trace.read(written(tmp_path, text))


@pytest.mark.parametrize("name", ["trace", "trace_back"])
def test_a_measured_time_without_capacity_is_refused(name: str, tmp_path: Path) -> None:
    """Without a rate, a link would have no limit."""
    path = written(tmp_path, "time_s,rate_mbps\n0,10\n1,0\n10,10\n")
    asked = resolve(find("dumbbell").params, [f"{name}={path}", "warmup=1", "duration=2"])
    with pytest.raises(UserError, match="carries nothing from 1 to 3 s, which is measured"):
        compose(find("dumbbell"), Settings(asked, "pfifo", 1, "virtual"))


def test_a_trace_is_read_as_other_programs_save_it(tmp_path: Path) -> None:
    """Spreadsheets write a mark of the byte order, carriage returns, and perhaps blanks."""
    plain = trace.read(written(tmp_path, CSV)).pieces
    assert trace.read(written(tmp_path, "\ufeff" + CSV.replace("\n", "\r\n"))).pieces == plain
    assert trace.read(written(tmp_path, CSV.replace(",", ", "))).pieces == plain


@pytest.mark.parametrize(("text", "expected"), [(MAHIMAHI, mahimahi_bytes), (CSV, csv_bytes)])
def test_a_full_link_delivers_the_integral_of_the_trace(
    text: str, expected: Callable[[int], int], tmp_path: Path
) -> None:
    """A sender fills the queue before the link carries anything. Then each byte is used."""
    result(
        tmp_path / "out",
        "--qdisc",
        "pfifo limit 300",
        *(
            word
            for one in (
                "flows=0",
                "udp_size=1500",
                "udp_rate=30",
                "udp_jitter=0",
                "warmup=1",
                "duration=2",
                "spread=0",
                f"trace={written(tmp_path, text)}",
            )
            for word in ("--set", one)
        ),
        scenario=["udp-blast"],
    )
    with (tmp_path / "out" / "queue.csv").open() as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == 301
    checked = 0
    for row in rows[5:]:
        ms = round(float(row["time_s"]) * 1000)
        assert int(row["packets"]) > 0
        if expected(ms) // FRAME == expected(ms - 1) // FRAME:
            checked += 1
            assert int(row["sent_packets"]) == expected(ms) // FRAME, ms
    assert checked > 200


def test_delay_follows_the_trace_and_packets_keep_their_order(tmp_path: Path) -> None:
    """The delay falls from 100 to 0 ms after 2 s."""
    path = written(tmp_path, "time_s,rate_mbps,delay_ms\n0,8,20\n1,8,100\n2,8,0\n3,8,0\n")
    result(
        tmp_path / "out",
        "--qdisc",
        "pfifo",
        "--exec",
        "server: sleep 9",
        "--exec",
        "client: ping -D -c 100 -i 0.02 {server}",
        "--set",
        "duration=3",
        "--set",
        "warmup=0",
        "--set",
        "rtt=50",
        "--set",
        f"trace={path}",
        scenario=["programs"],
    )
    said = (tmp_path / "out" / "exec1-client.stdout").read_text()
    replies = [
        (float(at), float(ms))
        for at, ms in re.findall(r"^\[([\d.]+)\] .* icmp_seq=.* time=([\d.]+) ms", said, re.M)
    ]
    assert [*map(int, re.findall(r"icmp_seq=(\d+)", said))] == [*range(1, 101)]
    # The link needs 0.098 ms for the 98 bytes of a reply.
    assert {ms for _, ms in replies if ms < 70 or ms > 140} == {50.1, 150}
    assert [ms for _, ms in replies[:30]] == [70.1] * 30
    # Requests sent within the 100 ms after the fall are answered after those sent before it.
    last = max(at for at, ms in replies if ms == 150)
    after = [at for at, ms in replies if at >= last and ms > 51]
    assert len(after) > 3
    assert after == pytest.approx([last] * len(after), abs=0.0005)


def test_a_scenario_gives_a_link_its_trace(tmp_path: Path) -> None:
    network = Network()
    network.link("a", "b", trace=written(tmp_path, CSV))
    network.average(0, 0.25)
    assert network.links[network.measured].there.rate_bps == pytest.approx(150_000 * 8 / 0.25)
    scenario = find("parking-lot")
    settings = Settings(
        resolve(scenario.params, [f"trace={tmp_path / 'link'}"]), "pfifo", 1, "virtual"
    )
    with pytest.raises(UserError, match="parking-lot gives no link this trace"):
        compose(scenario, settings)


LINKED = """
from aqmlab.run import flows
from aqmlab.run.network import Network
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME, access

def network(settings):
    made = Network()
    made.link("a", "b", trace=settings.text("other") or "link")
    return made

def groups(settings, rng):
    return flows.bulk(settings, rng, "all", 2, 20)

SCENARIO = Scenario("linked", "", (Param("other", "", "", ""), access(0.0), *BOTTLENECK, *TCP,
                    *TIME), groups, network=network)
"""


def test_a_trace_in_a_scenarios_file_counts_from_the_file_and_a_setting_from_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, shell = tmp_path / "place", tmp_path / "shell"
    for folder, text in ((place, CSV), (shell, MAHIMAHI)):
        folder.mkdir()
        written(folder, text)
    (place / "linked.py").write_text(LINKED)
    monkeypatch.chdir(shell)
    scenario = find("../place/linked.py")
    for given, wanted in (([], place), (["other=link"], shell)):
        values = resolve(scenario.params, given)
        recipe, _ = compose(scenario, Settings(values, "pfifo", 1, "virtual"))
        assert [Path(name).resolve() for name in recipe.traces] == [wanted / "link"]


@pytest.mark.parametrize(
    ("idle", "beside"),
    [
        ("rate=10", "trace"),
        ("burst=3", "trace"),
        ("shaper=htb", "trace"),
        ("rate_back=5", "trace_back"),
    ],
)
def test_what_a_trace_replaces_is_refused_beside_it(idle: str, beside: str) -> None:
    """Otherwise two runs with different rates would have equal bytes, without a word."""
    params = find("dumbbell").params
    name = idle.partition("=")[0]
    resolve(params, [idle])
    with pytest.raises(UserError, match=f"^{name}: .*no effect beside {beside}"):
        resolve(params, [idle, f"{beside}=file"])


def test_a_changed_trace_is_another_run(tmp_path: Path) -> None:
    path = written(tmp_path, MAHIMAHI)
    words = ["--set", f"trace={path}", "--set", "access=0", "--set", "duration=2"]
    result(tmp_path / "out", *words, scenario=["dumbbell"])
    Path(path).write_text(CSV)
    again = run(tmp_path / "out", *words, scenario=["dumbbell"])
    assert "holds the result of another run" in again.stderr


def test_the_wireless_trace_is_what_its_program_prints() -> None:
    program = ROOT / "lab" / "trace" / "wireless.py"
    printed = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert printed.stdout == (program.parent / "wireless.csv").read_text()


def test_the_lte_trace_has_its_rate_and_repeats_with_its_seed(tmp_path: Path) -> None:
    program = ROOT / "lab" / "trace" / "lte.py"

    def printed(*words: str) -> str:
        return subprocess.run(
            [sys.executable, program, *words], capture_output=True, text=True, check=True
        ).stdout

    found = printed("1", "60", "20")
    assert found == printed("1", "60", "20") != printed("2", "60", "20")
    made = trace.read(written(tmp_path, found))
    assert made.seconds == pytest.approx(60, abs=0.1)
    assert made.mean_bps(0, 60) == pytest.approx(20e6, rel=0.25)
    # In mahimahi's format a packet can leave at the end of a ms. LTE gives several, and pauses.
    times = [int(line) for line in found.split()]
    assert len(times) / len({*times}) > 2
    assert max(after - before for before, after in itertools.pairwise(times)) > 100
