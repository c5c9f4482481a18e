# SPDX-License-Identifier: GPL-2.0
"""L4S: dualpi2's options, ECT(1) of TCP and of the probe, and the cases of docs/l4s.md."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.pcapng import OUTBOUND, read
from tests.scenarios.shortrun import ROOT, result

OPTIONS = (
    "limit 500 memlimit 900000 target 12ms tupdate 8000 alpha 0.125 beta 2.5 step_thresh 3pkt "
    "min_qlen_step 2 coupling_factor 3 classic_protection 20 overflow drop_enqueue any_ect "
    "no_split_gso"
)
SHOWN = {
    "limit": 500,
    "memlimit": 900000,
    "target": 12000,
    "tupdate": 8000,
    "alpha": 0.125,
    "beta": 2.5,
    "step_thresh": 3,
    "min_qlen_step": 2,
    "coupling_factor": 3,
    "classic_protection": 20,
    "overflow": True,
    "drop_enqueue": True,
    "any_ect": True,
    "no_split_gso": True,
}


def boot(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "lab" / "boot", "--", "sh", "-c", script], capture_output=True, text=True
    )


def test_tc_sets_and_shows_all_options() -> None:
    """The kernel has them: `show` prints what it dumps, in JSON and as text that `add` takes."""
    add, show = "tc qdisc add dev lo root dualpi2", "qdisc show dev lo root"
    done = boot(f"{add} {OPTIONS} && tc -j {show} && tc {show}")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    # The kernel rounds alpha and beta down when it takes them, and when it shows them.
    assert json.loads(first)[0]["options"] == pytest.approx(SHOWN, abs=2 / 256)
    again = boot(f"{add} {second.partition('refcnt 2 ')[2]} && tc -j {show}")
    assert json.loads(again.stdout)[0]["options"] == pytest.approx(SHOWN, abs=4 / 256)


def test_round_trips_stand_for_the_controller() -> None:
    """RFC 9332, appendix A.1: target and Tupdate of typical_rtt, alpha and beta of max_rtt."""
    done = boot(
        "tc qdisc add dev lo root dualpi2 max_rtt 100ms typical_rtt 15ms && "
        "tc -j qdisc show dev lo root"
    )
    found = json.loads(done.stdout)[0]["options"]
    assert (found["target"], found["tupdate"]) == (15000, 15000)
    assert found["alpha"] == pytest.approx(0.1 * 0.015 / 0.1**2, abs=2 / 256)
    assert found["beta"] == pytest.approx(0.3 / 0.1, abs=2 / 256)


@pytest.mark.parametrize("wrong", ["limt 5", "target 5m", "coupling_factor 300", "step_thresh"])
def test_wrong_option_is_refused_with_the_names(wrong: str) -> None:
    done = boot(f"tc qdisc add dev lo root dualpi2 {wrong}")
    assert done.returncode
    assert "dualpi2: " in done.stderr
    assert "Options: limit memlimit target" in done.stderr


def settings(*given: str) -> tuple[str, ...]:
    return tuple(word for one in given for word in ("--set", one))


MIXED = ("mixed", *settings("mix=cubic,dctcp_ect1", "flows=2", "rate=40", "rtt=20-20", "warmup=5"))


def mixed(out: Path, qdisc: str, *given: str, words: tuple[str, ...] = ()) -> dict[str, Any]:
    return result(
        out,
        "--qdisc",
        qdisc,
        "--sojourn",
        *words,
        scenario=(*MIXED, *settings("duration=10", "probe=on", "probe_ecn=ect1", *given)),
    )


def ecn_fields(path: Path, ip: int) -> dict[str, set[int]]:
    """Return the ECN fields of data packets that reach the router, by transport."""
    found: dict[str, set[int]] = {"udp": set(), "dctcp_ect1": set(), "cubic": set()}
    for one in read(path):
        if one.direction == OUTBOUND or not one.device.startswith("r"):
            continue
        kind = one.data[23] if ip == 4 else one.data[20]
        field = one.data[15] if ip == 4 else one.data[15] >> 4
        if kind == 17:
            found["udp"].add(field & 3)
        elif kind == 6 and one.length > 1000:
            found["cubic" if one.device == "r0" else "dctcp_ect1"].add(field & 3)
    return found


@pytest.mark.parametrize("ip", [4, 6])
def test_ect1_is_in_every_packet_of_the_scalable_control_and_the_probe(
    ip: int, tmp_path: Path
) -> None:
    got = mixed(
        tmp_path / "r", "dualpi2", "duration=2", "ecn=on", f"ip={ip}", words=("--pcap", "rtr")
    )
    assert ecn_fields(tmp_path / "r" / "rtr.pcapng", ip) == {
        "udp": {1},
        "dctcp_ect1": {1},
        "cubic": {2},
    }
    assert got["warnings"] == []


@pytest.mark.parametrize("ecn", ["off", "on"])
def test_scalable_control_and_cubic_share_and_only_one_waits(ecn: str, tmp_path: Path) -> None:
    """RFC 9332, section 2: about equal rates, 15 ms of delay for one queue and 1 ms at most, in
    the mean, for the other."""
    groups = mixed(tmp_path / "r", "dualpi2", f"ecn={ecn}")["groups"]
    for name in ("cubic", "dctcp_ect1"):
        assert 0.6 < groups[name]["share_of_fair"] < 1.5
    assert 10 < groups["cubic"]["sojourn_ms"]["mean"] < 25
    assert groups["dctcp_ect1"]["sojourn_ms"]["mean"] < 1
    assert groups["probe"]["sojourn_ms"]["p99"] < 3
    assert groups["dctcp_ect1"]["dropped"] == 0


def test_one_queue_that_marks_starves_cubic(tmp_path: Path) -> None:
    """Why it may share a bottleneck only with a dual queue or a fair one: it is not Prague."""
    groups = mixed(tmp_path / "r", "codel ecn")["groups"]
    assert groups["dctcp_ect1"]["share_of_fair"] > 3 * groups["cubic"]["share_of_fair"]


def test_step_threshold_bounds_the_queue(tmp_path: Path) -> None:
    words = ("cc=dctcp_ect1", "flows=2", "rate=40", "rtt=20", "access=100", "tcp_profile=today")
    delays = []
    for step in ("250us", "5ms"):
        got = result(
            tmp_path / step,
            "--qdisc",
            f"dualpi2 step_thresh {step}",
            "--sojourn",
            scenario=("dumbbell", *settings(*words, "warmup=2", "duration=4")),
        )
        delays.append(got["groups"]["all"]["sojourn_ms"]["p50"])
    low, high = delays
    assert low < 0.6
    assert 1.5 < high < 6
