# SPDX-License-Identifier: GPL-2.0
"""ECN: both ends of a flow have what its congestion control needs, and a run says so if not."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aqmlab.measure import ecn
from aqmlab.run import congestion_control, guest_kernel
from aqmlab.run.params import resolve
from aqmlab.run.recipe import Recipe
from aqmlab.run.scenario import compose, find
from aqmlab.run.settings import Settings
from aqmlab.run.steps import Failure
from tests.scenarios.shortrun import ROOT, RUN, result, run

SHORT = ("--set", "rate=20", "--set", "era=today", "--set", "warmup=1", "--set", "duration=2")
MARKS = ("--qdisc", "codel ecn")
SCENARIOS = {
    "dumbbell": ("flows=4",),
    "bully": ("flows=1", "bully=dctcp"),
    "web-mix": ("clients=20", "think=1", "long_flows=2", "web_start=0", "size=50"),
    "incast": ("senders=8", "rounds=2", "every=0.5", "warmup=1"),
    "arrivals": ("forward=3@0-0.5", "back=3@0-0.5"),
}


def flows(directory: Path) -> list[dict[str, str]]:
    with (directory / "flows.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["kind"] != "udp"]


def words(scenario: str, *more: str) -> tuple[str, ...]:
    usual = [one for one in SHORT[1::2] if scenario != "incast" or "duration" not in one]
    return (
        scenario,
        *(word for one in (*usual, *SCENARIOS[scenario], *more) for word in ("--set", one)),
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_dctcp_has_ecn_at_both_ends_of_every_flow(scenario: str, tmp_path: Path) -> None:
    """Also without ecn=on: DCTCP without ECN is not DCTCP (RFC 8257, section 3)."""
    got = result(
        tmp_path / "out",
        *MARKS,
        scenario=words(scenario, *(() if scenario == "bully" else ("cc=dctcp",))),
    )
    rows = [
        row
        for row in flows(tmp_path / "out")
        if int(row["segs_received"]) and (scenario != "bully" or row["group"] == "bully")
    ]
    assert {(row["ecn"], row["ect"]) for row in rows} == {("ecn", "1")}
    # So short a run may have a warning of packets on their way.
    assert [warning for warning in got["warnings"] if "on their way" not in warning] == []
    if scenario in ("dumbbell", "bully"):  # long flows fill the queue, and are marked instead
        assert sum(int(row["delivered_ce"]) for row in rows) > 0
        assert scenario == "bully" or got["summary"]["dropped"] == 0


@pytest.mark.parametrize(
    ("setting", "mode"), [("off", "none"), ("on", "ecn"), ("accecn", "accecn")]
)
def test_flows_negotiate_the_ecn_that_was_asked_for(
    setting: str, mode: str, tmp_path: Path
) -> None:
    """The kernel says at the receiver what the handshake led to (tcpi_ecn_mode)."""
    got = result(tmp_path / "out", *MARKS, scenario=words("dumbbell", f"ecn={setting}"))
    assert {row["ecn"] for row in flows(tmp_path / "out")} == {mode}
    assert (got["summary"]["marked"] > 0) == (mode != "none")
    assert (got["summary"]["dropped"] > 0) == (mode == "none")


def test_a_qdisc_that_marks_nothing_is_named_beside_dctcp(tmp_path: Path) -> None:
    done = run(
        tmp_path / "out", "--qdisc", "pfifo limit 50", scenario=words("dumbbell", "cc=dctcp")
    )
    assert done.returncode == 0, done.stderr
    assert "warning: group all: no packet of the 4 flows with dctcp was marked" in done.stdout


def row(flow: int, **changed: str) -> dict[str, str]:
    return {
        "flow": f"{flow}",
        "group": "all",
        "kind": "bulk",
        "segs_received": "9",
        "ect": "1",
        "ecn": "ecn",
        "delivered_ce": "1",
    } | changed


RECIPE = {"flows": [{"id": 0, "cc": "dctcp"}, {"id": 1, "cc": "dctcp"}], "needs_ecn": ["dctcp"]}
CUBIC = {"flows": [{"id": 0, "cc": "cubic"}, {"id": 1, "cc": "cubic"}]}


@pytest.mark.parametrize(
    ("rows", "recipe", "asked", "dropped", "said"),
    [
        ([row(0), row(1)], RECIPE, "off", 5, None),
        (
            [row(0), row(1, ect="0", ecn="none")],
            RECIPE,
            "off",
            0,
            "1 of 2 flows with dctcp had no packet with ECT",
        ),
        (
            [row(0, ect="0"), row(1, ect="0")],
            CUBIC,
            "on",
            0,
            "2 of 2 flows with cubic had no packet",
        ),
        ([row(0, ect="0"), row(1, ect="0")], CUBIC, "off", 9, None),
        (
            [row(0, ecn="accecn"), row(1)],
            CUBIC,
            "accecn",
            0,
            "1 of 2 flows with cubic asked for AccECN",
        ),
        (
            [row(0, delivered_ce="0")],
            RECIPE,
            "on",
            3,
            "the qdisc dropped 3, so dctcp reacted to losses",
        ),
        # CUBIC works without marks, an idle queue marks nothing, and nothing arrived.
        ([row(0, delivered_ce="0")], CUBIC, "on", 3, None),
        ([row(0, delivered_ce="0")], RECIPE, "on", 0, None),
        ([row(0, ect="0", segs_received="0")], RECIPE, "on", 0, None),
        ([row(0, delivered_ce="0", kind="web")], RECIPE, "on", 3, None),
    ],
)
def test_flows_without_the_ecn_that_they_need_are_named(
    rows: list[dict[str, str]], recipe: dict[str, Any], asked: str, dropped: int, said: str | None
) -> None:
    found = ecn.warnings(rows, recipe, {}, asked, dropped)
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


@pytest.mark.parametrize(
    ("cc", "qdisc", "change", "warned"),
    [
        ("dctcp", "dualpi2", "", True),
        ("dctcp", "dualpi2 step_thresh 5ms", "2 step_thresh 1ms", True),
        ("dctcp", "dualpi2; filter parent 2: basic classid 2:1", "", True),
        ("dctcp", "dualpi2 any_ect", "", False),
        ("dctcp", "dualpi2 any_ect; filter parent 2: basic classid 2:1", "", False),
        ("dctcp", "dualpi2", "2 any_ect", False),
        ("dctcp", "fq_codel", "", False),
        ("dctcp_ect1", "dualpi2", "", False),
        ("cubic", "dualpi2", "", False),
    ],
)
def test_dctcp_in_the_classic_queue_of_dualpi2_is_named(
    cc: str, qdisc: str, change: str, warned: bool
) -> None:
    """RFC 9331, section 4.1: ECT(1) selects the L4S queue, and the kernel's DCTCP sends ECT(0)."""
    found = ecn.classic_dctcp({"flows": [{"id": 0, "cc": cc}]}, qdisc, change)
    assert bool(found) == warned
    programs = {"sysctls": {"host": {guest_kernel.DEFAULT: cc}}}
    assert ecn.classic_dctcp(programs, qdisc, change) == found


def recipe_of(*settings: str, clock: str = "virtual") -> Recipe:
    found = find("dumbbell")
    return compose(found, Settings(resolve(found.params, settings), "pfifo", 1, clock))[0]


def test_hosts_of_iperf3_have_the_congestion_control_by_default() -> None:
    """Its server cannot be told, and its client sets it only after the handshake."""
    sysctls = recipe_of("generator=iperf3", "cc=dctcp", clock="wall").sysctls
    assert {netns: values.get(guest_kernel.DEFAULT) for netns, values in sysctls.items()} == {
        "src-all": "dctcp",
        "rtr": None,
        "dst": "dctcp",
    }
    flowgen = recipe_of("cc=dctcp").sysctls.values()
    assert not any(guest_kernel.DEFAULT in values for values in flowgen)


def test_a_module_that_needs_ecn_is_known_by_its_flag(tmp_path: Path) -> None:
    (tmp_path / "tcp_mine.c").write_text(".flags = TCP_CONG_NEEDS_ECN,")
    (tmp_path / "tcp_other.c").write_text(".flags = 0,")
    for cc, needs in (("mine", ["mine"]), ("other", []), ("dctcp", ["dctcp"]), ("cubic", [])):
        assert congestion_control.needing_ecn(recipe_of(f"cc={cc}"), [tmp_path]) == needs


def test_a_kernel_without_accecn_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_kernel, "ACCURATE_ECN", tmp_path / "missing")
    with pytest.raises(Failure, match=r"this kernel has no AccECN; Linux 6\.18"):
        guest_kernel.prepare(recipe_of("ecn=accecn").as_json())


#: Prints the congestion control of the kernel's TCP at its end of a connection.
PROGRAM = """
import socket, sys
def show(peer):
    print(peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode())
if sys.argv[1] == "server":
    listener = socket.create_server((sys.argv[2], 7000))
    peer = listener.accept()[0]
    show(peer)
    sys.stdout.flush()
    peer.sendall(bytes(100_000))
    peer.close()
    listener.accept()
else:
    peer = socket.create_connection((sys.argv[2], 7000))
    show(peer)
    print(len(peer.recv(100_000, socket.MSG_WAITALL)))
"""
SAMPLE = ("dctcp", "vegas", "mine")
ALL = [
    pytest.param(cc, marks=() if cc in SAMPLE else pytest.mark.extra)
    for cc in sorted(congestion_control.known() | {"mine"})
]


@pytest.mark.parametrize("cc", ALL)
def test_programs_have_every_congestion_control(cc: str, tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(PROGRAM)
    ends = [
        word
        for role in ("server", "client")
        for word in ("--exec", f"{role}: {sys.executable} show.py {role} {{server}}")
    ]
    module = ["--module", ROOT / "docs" / "your-own"] if cc == "mine" else []
    # The guest has this directory, because the command starts in it.
    done = subprocess.run(
        [
            RUN,
            "programs",
            "--qdisc",
            "fq_codel",
            *ends,
            *module,
            "--out",
            "out",
            "--set",
            f"cc={cc}",
            "--set",
            "duration=1",
            "--set",
            "rate=20",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    got = json.loads((tmp_path / "out" / "result.json").read_text())
    server, client = (
        (tmp_path / "out" / f"exec1-{role}.stdout").read_text().split()
        for role in ("server", "client")
    )
    assert (server, client) == ([cc], [cc, "100000"])
    assert got["warnings"] == []
