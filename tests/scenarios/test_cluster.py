# SPDX-License-Identifier: GPL-2.0
"""Run a sweep with Slurm's daemons, on nodes that are processes of this machine.

One node is drained during the sweep, and one crashes. The results are the same bytes as without a
cluster.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Debian packages, by a program of each.
PACKAGES = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "munged": "munge",
    "sbatch": "slurm-client",
}
NODES = ("node1", "node2", "node3")
#: Six cells of 1 to 2 s each.
CELLS = "--only rates --disciplines red fred"

CONFIG = """
ClusterName=virtual
SlurmctldHost=head
SlurmUser=root
AuthInfo=socket={there}/munge.socket,cred_expire=10
StateSaveLocation={there}/state
SlurmdSpoolDir={there}/%n
SlurmctldPidFile={there}/slurmctld.pid
SlurmdPidFile={there}/%n.pid
SlurmctldLogFile={there}/slurmctld.log
SlurmdLogFile={there}/%n.log
ProctrackType=proctrack/linuxproc
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SlurmdTimeout=10
NodeName=node[1-3] NodeHostname=head Port=[7001-7003] CPUs=1 RealMemory=2048
PartitionName=all Nodes=ALL Default=YES
"""

# Commands for a private machine whose programs are in $0. A node is a group of processes.
HEAD = """
hostname head
ip link set lo up
ip address add 10.0.0.1/32 dev lo
echo 127.0.0.1 localhost >"$0/hosts"
echo 10.0.0.1 head >>"$0/hosts"
mount --bind "$0/hosts" /etc/hosts
mount --bind "$0" /etc/slurm
munged --force --key-file="$0/munge.key" --socket="$0/munge.socket" --pid-file="$0/munge.pid" \
    --log-file="$0/munge.log" --seed-file="$0/munge.seed"
slurmctld
for node in "$@"; do
    unshare --pid --mount-proc --fork --kill-child slurmd -D -N "$node" &
    echo $! >"$0/$node.outer"
done
wait
"""


class Cluster:
    """A cluster, controlled by commands on its head."""

    def __init__(self, there: Path) -> None:
        self.there = there
        (there / "state").mkdir(parents=True)
        (there / "slurm.conf").write_text(CONFIG.format(there=there))
        (there / "munge.key").touch(0o600)
        (there / "munge.key").write_bytes(os.urandom(128))
        with (there / "head.log").open("wb") as log:
            self.head = subprocess.Popen(
                [
                    "unshare",
                    "--mount",
                    "--net",
                    "--uts",
                    "--pid",
                    "--fork",
                    "--mount-proc",
                    "--kill-child",
                    "sh",
                    "-euc",
                    HEAD,
                    str(there),
                    *NODES,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def inside(self, *words: str | Path) -> list[str]:
        """Return the command line that runs a command on the cluster's head."""
        head = str(self.head.pid)
        return [
            "nsenter",
            "--target",
            head,
            "--mount",
            "--net",
            "--uts",
            f"--pid=/proc/{head}/ns/pid_for_children",
            "--wd=.",
            *map(str, words),
        ]

    def ask(self, *words: str) -> str:
        """Run a command of Slurm and return its output."""
        return subprocess.run(
            self.inside(*words), capture_output=True, text=True, timeout=60
        ).stdout

    def states(self) -> dict[str, str]:
        """Return the state of each node, by name."""
        return dict(line.split() for line in self.ask("sinfo", "-hNo", "%N %t").splitlines())

    def busy(self) -> dict[str, str]:
        """Return how long each busy node has had its job, the newest job last."""
        shown = self.ask("squeue", "-ht", "running", "--sort=S", "-o", "%N %M")
        return dict(line.split() for line in shown.splitlines())

    def jobs(self) -> list[dict[str, str]]:
        """Return all jobs, past and present."""
        shown = self.ask("scontrol", "show", "job", "--oneliner").splitlines()
        return [dict(word.partition("=")[::2] for word in line.split()) for line in shown]

    def drain(self, node: str) -> None:
        """Start no new job on a node. A running job may end."""
        self.ask("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")

    def crash(self, node: str) -> None:
        """Kill all processes of a node at once."""
        self.ask("kill", "-KILL", (self.there / f"{node}.outer").read_text().strip())

    def end(self) -> None:
        """Kill everything that was started."""
        self.head.kill()
        self.head.wait()


def wait_for(true: Callable[[], bool], seconds: float, what: str) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"no {what} after {seconds:g} s"
        time.sleep(0.5)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    if os.geteuid():
        pytest.skip("needs root, to start Slurm's daemons in namespaces")
    if missing := {package for program, package in PACKAGES.items() if not shutil.which(program)}:
        pytest.skip(f"apt-get install {' '.join(sorted(missing))}")
    made = Cluster(tmp_path / "slurm")
    try:
        wait_for(lambda: made.states() == dict.fromkeys(NODES, "idle"), 60, "idle nodes")
        yield made
    finally:
        made.end()


def replay(out: Path, *settings: str) -> list[str]:
    """Return the command line of a sweep as in docs/cluster.md."""
    return [
        "make",
        "-C",
        str(ROOT),
        "paper-ahammed2010",
        "QUICK=1",
        f"ARGS={CELLS} --out {out}",
        *settings,
    ]


def digests(out: Path) -> dict[str, str]:
    return {
        path.parent.name: json.loads(path.read_text())["digest"]
        for path in out.glob("*/*/result.json")
    }


@pytest.mark.extra
@pytest.mark.slow
def test_sweep_survives_the_loss_of_nodes(cluster: Cluster, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    subprocess.run(replay(here), check=True, timeout=900)

    sweep = subprocess.Popen(cluster.inside(*replay(there, "PROFILE=slurm")))

    def midway() -> bool:
        ages = list(cluster.busy().values())
        return bool(digests(there)) and len(ages) > 1 and ages[-1] in {"0:00", "0:01", "0:02"}

    wait_for(midway, 300, "run that started after another had ended")
    drained, *_, crashed = cluster.busy()
    cluster.drain(drained)
    at = time.strftime("%Y-%m-%dT%H:%M:%S")
    cluster.crash(crashed)
    assert len(digests(there)) < len(digests(here)), "too late to show anything"
    assert sweep.wait(timeout=900) == 0

    assert digests(there) == digests(here)
    states, jobs = cluster.states(), cluster.jobs()
    assert states[drained] == "drain"
    assert states[crashed].startswith("down")
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    assert len(jobs) == len(digests(here))
    again = [job for job in jobs if job["Restarts"] != "0"]
    assert [job["BatchHost"] != crashed for job in again] == [True]
    assert not [job for job in jobs if job["BatchHost"] == drained and job["StartTime"] > at]
