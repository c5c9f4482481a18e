# SPDX-License-Identifier: GPL-2.0
"""An audit of the instrument: each parameter of each scenario has an effect, and the right one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aqmlab import run_command
from aqmlab.run.scenario import find, find_all
from tests.scenarios.audit import BASE, ELSEWHERE, OWN, REFUSED, Case, Done, cases

#: The cases of `make test`.
SAMPLE = {
    ("dumbbell", "rate_back"),
    ("bully", "ecn"),
    ("multi-rtt", "far_rtt"),
    ("udp-blast", "udp_dscp"),
    ("incast", "skew"),
    ("programs", "cc"),
    ("web-mix", "keep"),
    ("dumbbell", "trace_back"),
    ("wireless", "aggregate"),
    ("wireless", "loss_burst"),
}
EXEC = ("--exec", "server: iperf3 -s", "--exec", "client: iperf3 -c {server} -R -t 1.5")
#: Half of the rate of all runs.
TRACE = "time_s,rate_mbps\n0,2.5\n1,2.5\n"
CASES = [
    pytest.param(*key, case, id="-".join(key), marks=() if key in SAMPLE else pytest.mark.extra)
    for key, case in cases().items()
    if case
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory for the runs. Several cases share a run."""
    directory = tmp_path_factory.mktemp("audit")
    (directory / "half").write_text(TRACE)
    return directory


def run(place: Path, scenario: str, case: Case, *changed: str) -> Done:
    settings = dict(word.split("=", 1) for word in (*BASE[scenario], *case.more, *changed))
    for name in {"trace", "trace_back"} & settings.keys():
        settings[name] = str(place / settings[name])
    for p in find(scenario).params:
        for idle in p.instead_of if p.name in settings else ():
            settings.pop(idle, None)
    words = [f"{name}={value}" for name, value in settings.items()]
    out = place / f"{abs(hash((scenario, case.qdisc, case.pcap, *words))):x}"
    if not out.exists():
        assert (
            run_command.main(
                [
                    scenario,
                    "--qdisc",
                    case.qdisc,
                    "--out",
                    str(out),
                    *(("--pcap", case.pcap) if case.pcap else ()),
                    *(EXEC if scenario == "programs" else ()),
                    *(word for one in words for word in ("--set", one)),
                ]
            )
            == 0
        )
    return Done(out, json.loads((out / "result.json").read_text()))


@pytest.mark.parametrize(("scenario", "parameter", "case"), CASES)
def test_a_parameter_moves_the_metric_that_it_is_for(
    scenario: str, parameter: str, case: Case, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    before = run(place, scenario, case)
    after = run(place, scenario, case, f"{parameter}={case.value}")
    old, new = case.metric(before), case.metric(after)
    up = case.grows if case.grows is not None else case.moves == "up"
    assert (new > old) if up else (new < old), f"{old:g}, and {new:g} with the change"
    if case.grows is None:
        return
    assert after.result["digest"] != before.result["digest"]


def test_each_parameter_of_each_scenario_has_a_case() -> None:
    assert [key for key, case in cases().items() if not case] == []
    assert BASE.keys() == OWN.keys() == find_all().keys()
    known = {p.name for scenario in find_all().values() for p in scenario.params}
    assert {name for own in OWN.values() for name in own} <= known
    assert ELSEWHERE.keys() <= known


@pytest.mark.parametrize(("key", "said"), REFUSED.items())
def test_a_parameter_without_effect_is_refused(
    key: tuple[str, str], said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, parameter = key
    assert run_command.main([scenario, "--set", f"{parameter}={place / 'half'}"]) == 2
    assert said in capsys.readouterr().err
