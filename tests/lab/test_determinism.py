# SPDX-License-Identifier: GPL-2.0
"""Runs with equal seeds are equal byte by byte."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit import engines, records
from labkit.request import Request

Done = subprocess.CompletedProcess[bytes]
Lab = Callable[..., Done]


NEWEST, *OLDER = (name for name in records.names("uml") if records.user_mode_of(name).deterministic)


@pytest.fixture(
    scope="module",
    params=[NEWEST, *(pytest.param(name, marks=pytest.mark.extra) for name in OLDER)],
)
def kernel(request: pytest.FixtureRequest, lab: Lab) -> str:
    """Return a user-mode kernel that --list calls deterministic. Build it if necessary."""
    done = lab("--build", "--kernel", request.param, timeout=3600)
    assert done.returncode == 0, done.stderr.decode()
    return request.param


def test_kernel_is_listed_as_deterministic(lab: Lab, kernel: str) -> None:
    rows = lab("--list").stdout.decode().splitlines()
    row = next(row for row in rows if row.split()[:2] == ["uml", kernel])
    assert row.endswith("yes (virtual clock)")


@pytest.fixture(scope="module")
def runs(lab: Lab, kernel: str) -> list[str]:
    """Return the output of the traffic script: twice with seed 1, and once with seed 2."""
    outputs = []
    for seed in ("1", "1", "2"):
        done = lab("--kernel", kernel, "--seed", seed, "--", "tests/lab/traffic.sh")
        assert done.returncode == 0, done.stderr.decode()
        outputs.append(done.stdout.decode())
    return outputs


def test_same_seed_gives_the_same_output(runs: list[str]) -> None:
    assert runs[0] == runs[1]


def test_directory_does_not_matter(lab: Lab, kernel: str, runs: list[str], tmp_path: Path) -> None:
    """The same seed gives the same output in another directory."""
    deep = tmp_path / "some" / "deeper" / "place"
    deep.mkdir(parents=True)
    done = lab("--kernel", kernel, "--share", str(deep), "--", "tests/lab/traffic.sh")
    assert done.stdout.decode() == runs[0]


def test_other_seed_gives_other_output(runs: list[str]) -> None:
    """Another seed changes both the random numbers and the traffic."""
    one, two = runs[0].splitlines(), runs[2].splitlines()
    assert one[-3] != two[-3]  # uuid
    assert [line for line in one if "dropped" in line] != [
        line for line in two if "dropped" in line
    ]


def test_traffic_was_random(runs: list[str]) -> None:
    """There were random losses. Otherwise equal outputs would prove nothing."""
    assert "dropped 0," not in runs[0].splitlines()[1]


#: Prints the time stamp counter three times: at once, again with rdtscp, and after 1 ms.
COUNTER = """
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

int main(void)
{
	const struct timespec ms = {0, 1000000};
	unsigned int processor = 1;
	unsigned long long first = __rdtsc(), second = __rdtscp(&processor);

	nanosleep(&ms, NULL);
	printf("%llu %llu %llu %u\\n", first, second, __rdtsc(), processor);
}
"""


def counter(folder: Path) -> Path:
    program = folder / "counter"
    subprocess.run(["cc", "-O1", "-x", "c", "-", "-o", program], input=COUNTER.encode(), check=True)
    return program


def test_time_stamp_counter_is_the_virtual_clock(lab: Lab, tmp_path: Path) -> None:
    """It counts nanoseconds, and two runs read the same values."""
    program = counter(tmp_path)
    done = [lab("--share", str(tmp_path), "--", str(program)) for _ in range(2)]
    assert done[0].returncode == 0, done[0].stderr.decode()
    first, second, later, processor = map(int, done[0].stdout.split())
    assert first < second < later
    assert 1_000_000 <= later - second < 1_100_000
    assert processor == 0
    assert done[1].stdout == done[0].stdout


def test_own_programs_of_the_lab_read_the_processors_counter(lab: Lab, tmp_path: Path) -> None:
    """Otherwise each switch between processes would cost more: twice the same is impossible."""
    assert lab("--", "true").returncode == 0
    program = counter(tmp_path)
    done = [engines.run(Request([str(program)], share=[tmp_path]), capture=True) for _ in range(2)]
    assert done[0].status == 0
    assert done[0].stdout != done[1].stdout


def test_a_watcher_is_told_the_guests_clock() -> None:
    """For a bar of progress: it begins at boot and goes on; the run has the same end as without."""
    script = "i=0; while [ $i -lt 4000 ]; do sleep 1; i=$((i + 1)); done; cut -d. -f1 /proc/uptime"
    told: list[float] = []
    done = engines.run(Request(["/bin/sh", "-c", script], watch=told.append), capture=True)
    end = int(done.stdout)
    assert end >= 4000
    assert told == sorted(told)
    assert told[0] == 0
    assert 0 < told[-1] <= end
