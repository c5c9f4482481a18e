# SPDX-License-Identifier: GPL-2.0
"""Carries out a recipe as root: makes the namespaces, starts the tools, waits, and leaves nothing.

    conduct [--first NS --turn NS] python3 lab/guest.py DIRECTORY [PREFIX]

DIRECTORY is a run's, see run_directory.py.
PREFIX goes before each namespace's name; without one the machine is taken to be a lab guest that
vanishes afterwards, and nothing is taken down.

Standard library only: it starts with the bare interpreter of whatever kernel the lab has booted,
where every import costs time.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from aqmlab.run import guest_kernel, run_directory
from aqmlab.run.counters import (
    COUNTERS,
    device_counters,
    discards,
    protocol_counters,
    qdisc_counters,
    received_ect,
    softnet_dropped,
)
from aqmlab.run.steps import Failure, Step, tool

EPOCH = "@EPOCH"


class GuestProgram:
    """The programs of one run."""

    def __init__(self, directory: Path, prefix: str) -> None:
        self.directory = directory
        self.prefix = prefix
        self.recipe: dict[str, Any] = json.loads((directory / run_directory.RECIPE).read_text())
        # A guest has just booted, and every system call there is time.
        self._dropped_before = softnet_dropped() if prefix else 0
        self._allowed_before = ""

    def path(self, name: str) -> str:
        """Of a file in the result directory."""
        return str(self.directory / name)

    def netns(self, name: str) -> str:
        """The name that a namespace of the recipe has on this machine."""
        return self.prefix + name

    def within(self, netns: str, program: str, *arguments: str) -> list[str]:
        """The command line that runs a program in a namespace of the recipe."""
        return [tool("ip"), "netns", "exec", self.netns(netns), tool(program), *arguments]

    def command(self, argv: list[str]) -> str:
        """Output of argv; Failure when it fails."""
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def batch(self, step: dict[str, Any]) -> Step:
        """One Batch of the recipe."""
        lines = [self.with_prefix(line) for line in step["lines"]]
        argv = [tool(step["tool"]), *step["options"]]
        if step["netns"]:
            argv += ["-n", self.netns(step["netns"])]
        return Step(
            step["tool"], [*argv, "-batch", "-"], input="\n".join(lines) + "\n", lines=lines
        )

    def with_prefix(self, line: str) -> str:
        """The line of a batch with this run's names of namespaces."""
        return re.sub(
            r"\bnetns (add )?(\S+)", lambda m: f"netns {m[1] or ''}{self.netns(m[2])}", line
        )

    def set_up(self) -> list[Step]:
        """Namespaces, links, TCP's options, disciplines."""
        recipe = self.recipe
        first, *rest = recipe["batches"]
        steps = [self.batch(first)]
        for ns, values in recipe["sysctls"].items():
            # A name that this kernel has not is a feature that it has not.
            script = "".join(
                f"[ ! -e /proc/sys/{k} ] || echo {v} > /proc/sys/{k}\n" for k, v in values.items()
            )
            enter = [tool("ip"), "netns", "exec", self.netns(ns), "sh", "-e"]
            steps.append(Step("sysctl", enter, input=script))
        steps += [self.batch(step) for step in rest if step["tool"] == "ip"]
        steps += [
            Step("ethtool", self.within(ns, "ethtool", "-K", dev, *words))
            for ns, dev, words in recipe["offloads"]
        ]
        return steps + [self.batch(step) for step in rest if step["tool"] == "tc"]

    def flowgen(self) -> Step:
        """One process for all flows."""
        recipe = self.recipe
        with Path(self.path(run_directory.FLOWS)).open("w") as file:
            for flow in recipe["flows"]:
                words = (
                    f"{k}={self.netns(v) if k.endswith('_netns') else v}" for k, v in flow.items()
                )
                file.write(" ".join(words) + "\n")
        return Step(
            "flowgen",
            [
                tool("flowgen"),
                "--duration-ms",
                str(recipe["duration_ms"]),
                "--epoch-ns",
                EPOCH,
                "--flows",
                self.path(run_directory.FLOWS),
                "--progress",
                self.path(run_directory.PROGRESS),
                "--ends",
                self.path(run_directory.ENDS),
                "--interval-ms",
                str(recipe["interval_ms"]),
                "--datagrams",
                self.path(run_directory.DATAGRAMS),
                "--delays",
                self.path(run_directory.DELAYS),
                "--requests",
                self.path(run_directory.REQUESTS),
            ],
            wait=False,
        )

    def iperf3(self) -> list[Step]:
        """One server, and one client with parallel streams, per group."""
        recipe = self.recipe
        groups: dict[str, list[dict[str, Any]]] = {}
        for flow in recipe["flows"]:
            groups.setdefault(flow["group"], []).append(flow)
        steps = []
        for number, (group, flows) in enumerate(groups.items()):
            first, port = flows[0], str(5201 + number)
            steps.append(
                Step(
                    "iperf3",
                    self.within(
                        first["sink_netns"],
                        "iperf3",
                        "-s",
                        "-1",
                        "-J",
                        "-p",
                        port,
                        "-B",
                        first["sink"],
                    ),
                    wait=False,
                )
            )
            listening = " ".join(self.within(first["sink_netns"], "ss", "-Hltn"))
            wait = (
                f"for i in $(seq 100); do [ \"$({listening} 'sport = :{port}')\" ] && exit; "
                f"sleep 0.05; done; echo nobody listens on port {port} after 5 s; exit 1"
            )
            steps.append(Step("iperf3 to listen", ["sh", "-c", wait]))
            steps.append(
                Step(
                    "iperf3",
                    self.within(
                        first["source_netns"],
                        "iperf3",
                        "-c",
                        first["sink"],
                        "-B",
                        first["source"],
                        "-p",
                        port,
                        "-J",
                        "-t",
                        f"{recipe['duration_ms'] / 1000:g}",
                        "-i",
                        f"{max(0.1, recipe['interval_ms'] / 1000):g}",
                        "-P",
                        str(len(flows)),
                        "-C",
                        first["cc"],
                        "--get-server-output",
                    ),
                    wait=False,
                    out=self.path(run_directory.IPERF3.format(group)),
                )
            )
        return steps

    def sampler(self, sample: dict[str, Any], out: str, *epoch: str) -> Step:
        """Return the program that reads a qdisc's statistics."""
        return Step(
            "qsample",
            [
                tool("qsample"),
                "--duration-ms",
                str(self.recipe["duration_ms"]),
                *epoch,
                "--netns",
                self.netns(sample["netns"]),
                "--dev",
                sample["dev"],
                "--parent",
                sample["parent"],
                "--interval-ms",
                str(sample["interval_ms"]),
                "--out",
                self.path(out),
            ],
            wait=False,
        )

    def captures(self) -> list[str]:
        """Return words for a sampler that captures packets, in a quarter of the memory."""
        words = [
            word
            for ns in self.recipe["captures"]
            for word in (
                "--capture",
                f"{self.netns(ns)}={self.path(run_directory.CAPTURE.format(ns))}",
            )
        ]
        return [*words, "--capture-mb", str(256 * self.recipe["memory_gib"])] if words else []

    def programs(self) -> list[Step]:
        """Return the programs of --exec, after the samplers that count their packets."""
        usual = {"parent": "root", "interval_ms": self.recipe["interval_ms"]}
        return [
            *(
                self.sampler(
                    {**usual, **meter},
                    run_directory.METER.format(meter["group"]),
                    "--epoch-ns",
                    EPOCH,
                )
                for meter in self.recipe["meters"]
            ),
            *(
                Step(
                    one["name"],
                    self.within(one["netns"], "env", "-C", one["cwd"], *one["argv"]),
                    wait=False,
                    program=True,
                    lines=[shlex.join(one["argv"])],
                    at_ns=one["start_ns"],
                    out=self.path(one["name"]),
                )
                for one in self.recipe["programs"]
            ),
        ]

    def commands(self) -> bytes:
        """Return the list of commands for lab/traffic/conduct.c."""
        self._allowed_before = guest_kernel.prepare(self.recipe, guest=not self.prefix)
        words = (word for step in self.steps() for word in step.words())
        return b"".join(os.fsencode(word) + b"\0" for word in words)

    def steps(self) -> list[Step]:
        """Return all steps of the run in order."""
        queue = (self.recipe["sample"], run_directory.QUEUE, *self.captures())
        if self.recipe["generator"] == "iperf3":
            # iperf3's clients start at once, so the sampler has to start with them.
            return [*self.set_up(), *self.iperf3(), self.sampler(*queue)]
        flowgen = [self.flowgen()] if self.recipe["flows"] else []
        starts, changes = (
            [
                Step(
                    "tc",
                    [tool("tc"), "-n", self.netns(one["netns"]), *one["lines"][0].split()],
                    wait=False,
                    lines=one["lines"],
                    at_ns=one["at_ns"],
                )
                for one in self.recipe[key]
            ]
            for key in ("starts", "changes")
        )
        return [
            *self.set_up(),
            *starts,
            self.sampler(*queue, "--epoch-ns", EPOCH),
            *flowgen,
            *self.programs(),
            *changes,
        ]

    def end(self, report: str) -> None:
        """Write the outcome that conduct.c reports. Raises Failure if a program failed."""
        ended = re.match(r"(?:ended \d+ \d+\n)*", report)
        assert ended
        report = report[ended.end() :]
        if report:
            head, _, output = report.partition("\n")
            number, status = map(int, head.split())
            if number < 0:
                raise KeyboardInterrupt
            raise Failure(self.steps()[number].failure(status, output))
        sample = self.recipe["sample"]
        Path(self.path(run_directory.QDISC_TEXT)).write_text(
            self.qdiscs(sample["netns"], "-d", dev=sample["dev"])
        )
        # tc's output is not JSON if the kind has no plugin, or one that prints text.
        shown = self.qdiscs(sample["netns"], "-j", dev=sample["dev"])
        with contextlib.suppress(ValueError):
            json.loads(shown)
            Path(self.path(run_directory.QDISC_JSON)).write_text(shown)
        facts = self.facts()
        if self.recipe["programs"]:
            names = [step.name for step in self.steps()]
            facts["ended_ns"] = {
                names[int(number)]: int(at_ns)
                for number, at_ns in re.findall(r"ended (\d+) (\d+)", ended[0])
            }
        Path(self.path(run_directory.GUEST)).write_text(json.dumps(facts, indent=1) + "\n")

    def facts(self) -> dict[str, Any]:
        """Return the versions that the run used, and the counters of each namespace."""
        namespaces = self.recipe["namespaces"]
        # Packets may pass while this is read, so devices are read before and after the disciplines.
        before = {ns: self.counters(ns) for ns in namespaces}
        qdiscs = {ns: qdisc_counters(self.qdiscs(ns)) for ns in namespaces}
        after = {ns: self.counters(ns) for ns in namespaces}
        modules = {
            path.name: version.read_text().strip() if version.exists() else None
            for pattern in ("sch_*", "tcp_*")
            for path in sorted(Path("/sys/module").glob(pattern))
            if (version := path / "srcversion") and (path / "initstate").exists()
        }
        return {
            "kernel": platform.release(),
            "build": Path("/proc/version").read_text().strip(),
            "lab": {
                name.removeprefix("LAB_").lower(): value
                for name, value in sorted(os.environ.items())
                if name.startswith("LAB_")
            },
            "modules": modules,
            "tc": self.command([tool("tc"), "-V"]).strip(),
            "received_ce": {ns: counters["received_ce"] for ns, counters in after.items()},
            "counters": {
                "hops": self.recipe["hops"],
                "lossy": self.recipe["lossy"],
                "before": before,
                "qdiscs": qdiscs,
                "after": after,
                "softnet_dropped": self.softnet_dropped(),
            },
        }

    def qdiscs(self, ns: str, *options: str, dev: str = "") -> str:
        """Return the output of `tc -s qdisc show` for a namespace, or for one of its devices."""
        return self.command(
            [
                tool("tc"),
                "-s",
                *options,
                "-n",
                self.netns(ns),
                "qdisc",
                "show",
                *(["dev", dev] if dev else []),
            ]
        )

    def softnet_dropped(self) -> int:
        """Return the packets that the machine dropped during this run, see `counters`."""
        return softnet_dropped() - self._dropped_before

    def counters(self, ns: str) -> dict[str, Any]:
        """Return the counters of a namespace, for IPv4 and IPv6 together: packets by device,
        delivered and discarded packets, received ECT and CE, and TCP's timeouts."""
        shown = self.command([tool("ip"), "netns", "exec", self.netns(ns), "cat", *COUNTERS])
        devices, protocols = device_counters(shown), protocol_counters(shown)
        return {
            "devices": devices,
            "delivered": protocols["Ip InDelivers"] + protocols.get("Ip6InDelivers", 0),
            "received_ce": protocols["IpExt InCEPkts"] + protocols.get("Ip6InCEPkts", 0),
            "received_ect": received_ect(protocols),
            "timeouts": protocols["TcpExt TCPTimeouts"],
            "discarded": discards(protocols),
        }

    def tear_down(self) -> None:
        """Remove the namespaces and with them everything in them, and restore settings."""
        guest_kernel.restore(self._allowed_before)
        for ns in reversed(self.recipe["namespaces"]):
            subprocess.run([tool("ip"), "netns", "del", self.netns(ns)], capture_output=True)


def main(argv: list[str]) -> int:
    """Return the exit status: 0, 1 if a program failed, 130 if interrupted."""
    directory, *prefix = argv
    run = GuestProgram(Path(directory), "".join(prefix))
    # conduct gets the signal and stops its programs. Only conduct must end this program.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        os.write(1, run.commands())
        os.close(1)
        run.end(sys.stdin.read())
    except (Failure, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        if run.prefix:
            run.tear_down()
    return 0
