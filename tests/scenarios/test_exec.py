# SPDX-License-Identifier: GPL-2.0
"""run --exec: programs as traffic, on their own hosts."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.shortrun import RUN

#: A server that sends 2 MB to each client, and a client that reads them.
PROGRAMS = {
    "server.py": """
        import socket, sys
        family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
        listener = socket.create_server((sys.argv[1], 7000), family=family)
        while True:
            listener.accept()[0].sendall(bytes(2_000_000))
    """,
    "client.py": """
        import socket, sys
        peer = socket.create_connection((sys.argv[1], 7000))
        print(len(peer.recv(2_000_000, socket.MSG_WAITALL)))
    """,
}
RATE, RTT, BYTES = 20e6, 0.04, 2_000_000
SETTINGS = ("--set", "rate=20", "--set", "rtt=40", "--set", "duration=3")
PAIR = (
    "--exec",
    f"server: {sys.executable} server.py {{server}}",
    "--exec",
    f"client: {sys.executable} client.py {{server}}",
)


def run(
    where: Path,
    out: str,
    *words: str,
    scenario: str = "programs",
    settings: tuple[str, ...] = SETTINGS,
) -> subprocess.CompletedProcess[str]:
    for name, text in PROGRAMS.items():
        (where / name).write_text(textwrap.dedent(text))
    return subprocess.run(
        [RUN, scenario, "--qdisc", "fq_codel limit 100", "--out", out, *settings, *words],
        cwd=where,
        capture_output=True,
        text=True,
        timeout=300,
    )


def result(where: Path, out: str, *words: str, **how: Any) -> dict[str, Any]:
    done = run(where, out, *words, **how)
    assert done.returncode == 0, done.stderr
    return json.loads((where / out / "result.json").read_text())


def test_programs_receive_what_the_link_carries_and_repeat_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    first = result(tmp_path, "one", *PAIR)
    second = result(tmp_path / "elsewhere", "two", *PAIR)
    assert first["digest"] == second["digest"]
    for log in ("queue.csv", "exec1.csv", "progress.csv", "delays.csv"):
        assert (tmp_path / "one" / log).read_bytes() == (
            tmp_path / "elsewhere" / "two" / log
        ).read_bytes(), log
    assert (tmp_path / "one" / "exec1-client.stdout").read_text() == f"{BYTES}\n"
    server, client = first["programs"]
    assert server["ended_s"] is None
    # Payload of a full packet: 1448 of 1514 bytes. One round trip more to connect.
    fastest = BYTES * 1514 / 1448 * 8 / RATE + RTT
    assert fastest < client["ended_s"] < 1.6 * fastest
    group = first["groups"]["exec1"]
    assert BYTES < group["goodput_bps"]["mean"] * 3 / 8 < 1.1 * BYTES
    # A packet that is lost is sent again, and only full packets are.
    assert group["dropped"] == pytest.approx(first["summary"]["dropped"] / (BYTES / 1448), rel=0.1)
    assert 0 < first["groups"]["probe"]["delay_ms"]["mean"] < 100 * 1514 * 8 / RATE * 1e3


def test_program_and_its_children_read_the_virtual_clock_with_rdtsc(tmp_path: Path) -> None:
    source = '#include <x86intrin.h>\n#include <stdio.h>\nint main(){printf("%llu\\n", __rdtsc());}'
    subprocess.run(
        ["cc", "-x", "c", "-", "-o", tmp_path / "rdtsc"], input=source.encode(), check=True
    )
    words = ("--exec", "client: ./rdtsc", "--exec", "client: sh -c './rdtsc; ./rdtsc'")
    counts = []
    for out in ("one", "two"):
        result(tmp_path, out, *words)
        texts = [
            (tmp_path / out / f"exec1-{name}.stdout").read_text() for name in ("client", "client2")
        ]
        counts.append([int(text) for text in "".join(texts).split()])
    assert counts[0] == counts[1]
    # Nanoseconds since boot, so the run's own time and a few seconds before it.
    assert 0 < counts[0][0] < counts[0][1] < counts[0][2] < 10e9


def test_two_pairs_of_hosts_share_with_the_flows_of_a_scenario(tmp_path: Path) -> None:
    settings = (
        "--set",
        "flows=2",
        "--set",
        "rate=20",
        "--set",
        "warmup=1",
        "--set",
        "duration=4",
        "--set",
        "era=today",
        "--set",
        "access=0",
        "--set",
        "ip=6",
    )
    later = PAIR[3].replace("client:", "client@1:")
    made = result(
        tmp_path, "out", *PAIR, *PAIR[:2], "--exec", later, scenario="dumbbell", settings=settings
    )
    assert [p["name"] for p in made["programs"] if p["role"] == "client"] == [
        "exec1-client",
        "exec2-client",
    ]
    first, second = (p["ended_s"] for p in made["programs"] if p["role"] == "client")
    assert first < second
    assert second > 1
    received = (made["groups"][name]["goodput_bps"]["mean"] for name in ("exec1", "exec2"))
    assert all(rate > 1e6 for rate in received)
    # Packets and payload are not added up.
    assert made["summary"]["goodput_bps"]["mean"] == made["groups"]["all"]["goodput_bps"]["mean"]


def test_failing_program_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    done = run(
        tmp_path, "out", "--exec", "client: sh -c 'seq 20; echo one line of error >&2; exit 3'"
    )
    assert done.returncode == 1
    assert "exec1-client ended with status 3: /" in done.stderr
    assert "one line of error" in done.stderr
    done = run(tmp_path, "out", "--exec", "client: sh -c 'seq 20; kill -SEGV $$'")
    assert "exec1-client got signal 11" in done.stderr
    assert "\n20\n" in done.stderr
    assert "\n5\n" not in done.stderr


def test_program_and_its_children_end_with_the_run(tmp_path: Path) -> None:
    made = result(
        tmp_path,
        "out",
        "--exec",
        f"server: {PAIR[1].partition(': ')[2]}",
        "--exec",
        "client: sh -c 'trap \"\" TERM; sleep 1000000 & wait'",
    )
    assert [program["ended_s"] for program in made["programs"]] == [None, None]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("clent: true",), 'no role of --exec "clent": did you mean client?'),
        (("client: no-such-program",), 'there is no program "no-such-program" in PATH'),
        (("client: ./no-such-program",), '"./no-such-program" is not a program'),
        (("client: true {sever}",), 'no placeholder "sever": did you mean server'),
        (("client@soon: true",), "needs seconds after @"),
        (("client@7: true",), "starts at 7 s, and the run ends at 3 s"),
        (("client: echo 'one",), "No closing quotation"),
        (("true",), "needs 'server: PROGRAM' or 'client: PROGRAM'"),
        ((), "give programs with --exec"),
    ],
)
def test_mistake_is_found_before_a_boot(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = run(tmp_path, "out", *(word for text in words for word in ("--exec", text)))
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.glob("out*"))
