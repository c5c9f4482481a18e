# SPDX-License-Identifier: GPL-2.0
"""Carries out a plan as root: makes the namespaces, starts the tools, waits, and leaves nothing.

    guest.py DIRECTORY [PREFIX]

DIRECTORY holds plan.json and gets flows.csv, progress.csv, queue.csv, qdisc.txt and guest.json.
PREFIX goes before each namespace's name; without one the machine is taken to be a lab guest that
vanishes afterwards, and nothing is taken down.

Standard library only, and this file only: it starts with the bare interpreter of whatever
kernel the lab has booted, where every import costs time.
"""

from __future__ import annotations

import json
import os
import platform
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# The lab has its own copies of flowgen and qsample in PATH.
SEARCH = ":".join(
    (os.environ.get("PATH", ""), str(ROOT / "build" / "tools"), "/usr/sbin:/sbin:/usr/bin:/bin")
)
HOW_TO_GET = {
    "ip": "apt-get install iproute2",
    "tc": "apt-get install iproute2",
    "ss": "apt-get install iproute2",
    "ethtool": "apt-get install ethtool",
    "iperf3": "apt-get install iperf3",
    "flowgen": "make tools",
    "qsample": "make tools",
}

# Pages that all of TCP may use, of 4 KiB: the flows' buffers, not a small guest's default, decide.
TCP_PAGES = "393216 393216 393216"

# Virtual time stands still while programs start; on the wall clock they need a moment.
SETTLE_NS = 200_000_000


class Failure(Exception):
    """Something that the plan needs did not work; the message says what."""


def tool(name: str) -> str:
    """Path of a program, or Failure with how to get it."""
    path = shutil.which(name, path=SEARCH)
    if not path:
        raise Failure(f"{name} is missing: {HOW_TO_GET[name]}")
    return path


def batch_failure(program: str, lines: list[str], said: str) -> Failure:
    """What `ip -batch` or `tc -batch` complained about, with the line, and a remedy if known."""
    at = re.search(r"Command failed -:(\d+)", said)
    line = lines[int(at[1]) - 1] if at else " ; ".join(lines)
    said = re.sub(r"Command failed -:\d+", "", said).strip()
    hint = ""
    unknown = "qdisc kind is unknown" in said or "Unknown qdisc" in said
    if program == "tc" and unknown and (kind := re.search(r"(?:handle \w+: |root )(\w+)", line)):
        hint = (
            f"\nThis kernel or this tc has no {kind[1]}: of mainline's, modprobe sch_{kind[1]}; "
            "of this project's, make install"
        )
    return Failure(f"{program} {line}\n{said}{hint}")


class Runner:
    """One plan, carried out once. What it made and started is in `made` and `children`."""

    def __init__(self, directory: Path, prefix: str) -> None:
        self.directory = directory
        self.prefix = prefix
        self.children: list[tuple[str, subprocess.Popen[bytes]]] = []
        self.servers: list[subprocess.Popen[bytes]] = []
        self.made: list[str] = []
        self.plan: dict[str, Any] = json.loads((directory / "plan.json").read_text())

    def path(self, name: str) -> str:
        """Of a file in the result directory."""
        return str(self.directory / name)

    def netns(self, name: str) -> str:
        """The name that a namespace of the plan has on this machine."""
        return self.prefix + name

    def within(self, netns: str, program: str, *arguments: str) -> list[str]:
        """The command line that runs a program in a namespace of the plan."""
        return [tool("ip"), "netns", "exec", self.netns(netns), tool(program), *arguments]

    def command(self, argv: list[str], text: str = "") -> str:
        """Output of argv with `text` as its input; Failure when it fails."""
        done = subprocess.run(argv, input=text, capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip()
            raise Failure(f"{' '.join(argv)}: {said}")
        return done.stdout

    def batch(self, step: dict[str, Any]) -> None:
        """Run one Batch of the plan."""
        lines = [self.with_prefix(line) for line in step["lines"]]
        argv = [tool(step["tool"]), *step["options"]]
        if step["netns"]:
            argv += ["-n", self.netns(step["netns"])]
        done = subprocess.run([*argv, "-batch", "-"], input="\n".join(lines) + "\n",
                              capture_output=True, text=True)
        if done.returncode:
            raise batch_failure(step["tool"], lines, done.stderr)

    def with_prefix(self, line: str) -> str:
        """The line of a batch with this run's names of namespaces."""
        return re.sub(r"\bnetns (add )?(\S+)", lambda m: f"netns {m[1] or ''}{self.netns(m[2])}",
                      line)

    def set_up(self) -> None:
        """Namespaces, links, TCP's options, disciplines."""
        plan = self.plan
        if not self.prefix:
            Path("/proc/sys/net/ipv4/tcp_mem").write_text(TCP_PAGES)
        self.made = list(plan["namespaces"])
        batches = plan["batches"]
        self.batch(batches[0])
        for ns, values in plan["sysctls"].items():
            # A name that this kernel has not is a feature that it has not.
            script = "".join(
                f"[ ! -e /proc/sys/{k} ] || echo {v} > /proc/sys/{k}\n" for k, v in values.items()
            )
            self.command([tool("ip"), "netns", "exec", self.netns(ns), "sh", "-e"], script)
        for step in batches[1:]:
            if step["tool"] == "ip":
                self.batch(step)
        for ns, dev, words in plan["offloads"]:
            self.command(self.within(ns, "ethtool", "-K", dev, *words))
        for step in batches[1:]:
            if step["tool"] == "tc":
                self.batch(step)

    def start(self, name: str, argv: list[str], out: str = os.devnull) -> None:
        """Start a child whose failure is the run's; its output goes to the file `out`."""
        with Path(out).open("wb") as stdout:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout)
        self.children.append((name, child))

    def start_flowgen(self, common: list[str]) -> None:
        """One process for all flows."""
        with Path(self.path("flows.txt")).open("w") as file:
            for flow in self.plan["flows"]:
                words = (f"{k}={self.netns(v) if k.endswith('_netns') else v}"
                         for k, v in flow.items())
                file.write(" ".join(words) + "\n")
        self.start("flowgen", [
            tool("flowgen"), *common, "--flows", self.path("flows.txt"),
            "--progress", self.path("progress.csv"), "--ends", self.path("flows.csv"),
            "--interval-ms", str(self.plan["interval_ms"]),
            "--datagrams", self.path("datagrams.csv"), "--delays", self.path("delays.csv"),
            "--requests", self.path("requests.csv"),
        ])

    def start_iperf3(self) -> None:
        """One server, and one client with parallel streams, per group."""
        plan = self.plan
        groups: dict[str, list[dict[str, Any]]] = {}
        for flow in plan["flows"]:
            groups.setdefault(flow["group"], []).append(flow)
        for number, (group, flows) in enumerate(groups.items()):
            first = flows[0]
            port = str(5201 + number)
            server = self.within(first["sink_netns"], "iperf3", "-s", "-1", "-J", "-p", port,
                                 "-B", first["sink"])
            self.servers.append(
                subprocess.Popen(server, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            )
            self.wait_listening(first["sink_netns"], port)
            client = self.within(
                first["source_netns"], "iperf3", "-c", first["sink"], "-B", first["source"],
                "-p", port, "-J", "-t", f"{plan['duration_ms'] / 1000:g}",
                "-i", f"{max(0.1, plan['interval_ms'] / 1000):g}", "-P", str(len(flows)),
                "-C", first["cc"], "--get-server-output",
            )
            self.start("iperf3", client, self.path(f"iperf3-{group}.json"))

    def wait_listening(self, ns: str, port: str) -> None:
        """Until a server has its port; Failure after 5 s."""
        for _ in range(100):
            if self.command(self.within(ns, "ss", "-Hltn", f"sport = :{port}")).strip():
                return
            time.sleep(0.05)
        raise Failure(f"iperf3 does not listen on port {port} in {ns}")

    def run(self) -> None:
        """The measurement itself."""
        plan, sample = self.plan, self.plan["sample"]
        if plan["generator"] == "iperf3":
            self.start_iperf3()
            epoch = time.monotonic_ns()
        else:
            epoch = time.monotonic_ns() + SETTLE_NS
        common = ["--duration-ms", str(plan["duration_ms"]), "--epoch-ns", str(epoch)]
        self.start("qsample", [
            tool("qsample"), *common, "--netns", self.netns(sample["netns"]),
            "--dev", sample["dev"], "--parent", sample["parent"],
            "--interval-ms", str(sample["interval_ms"]), "--out", self.path("queue.csv"),
        ])
        if plan["generator"] == "flowgen":
            self.start_flowgen(common)
        self.wait_for_children()
        for server in self.servers:
            server.wait()
        for name, option in (("qdisc.txt", "-d"), ("qdisc.json", "-j")):
            shown = self.command([tool("tc"), "-s", option, "-n", self.netns(sample["netns"]),
                                  "qdisc", "show", "dev", sample["dev"]])
            Path(self.path(name)).write_text(shown)

    def facts(self) -> dict[str, Any]:
        """What the run was made with, and the CE marks that each namespace received."""
        modules = {
            path.name: version.read_text().strip() if version.exists() else None
            for path in sorted(Path("/sys/module").glob("sch_*"))
            if (version := path / "srcversion") and (path / "initstate").exists()
        }
        return {
            "kernel": platform.release(),
            "build": Path("/proc/version").read_text().strip(),
            "lab": {name.removeprefix("LAB_").lower(): value
                    for name, value in sorted(os.environ.items()) if name.startswith("LAB_")},
            "modules": modules,
            "tc": self.command([tool("tc"), "-V"]).strip(),
            "received_ce": {ns: self.received_ce(ns) for ns in self.plan["namespaces"]},
        }

    def received_ce(self, ns: str) -> int:
        """Packets with a CE mark that came in to a namespace, of both versions of IP."""
        enter = [tool("ip"), "netns", "exec", self.netns(ns), "cat"]
        names, values = (line.split() for line in
                         self.command([*enter, "/proc/net/netstat"]).splitlines()
                         if line.startswith("IpExt:"))
        count = int(values[names.index("InCEPkts")])
        if Path("/proc/net/snmp6").exists():
            count += sum(int(line.split()[1]) for line in
                         self.command([*enter, "/proc/net/snmp6"]).splitlines()
                         if line.startswith("Ip6InCEPkts"))
        return count

    def wait_for_children(self) -> None:
        """Until all have ended; Failure as soon as one fails, without waiting for the others."""
        left = {os.pidfd_open(child.pid): (name, child) for name, child in self.children}
        poller = select.poll()
        for fd in left:
            poller.register(fd, select.POLLIN)
        while left:
            for fd, _ in poller.poll():
                poller.unregister(fd)
                os.close(fd)
                name, child = left.pop(fd)
                if child.wait():
                    raise Failure(f"{name} failed with status {child.returncode}")

    def tear_down(self) -> None:
        """End what still runs, remove the namespaces and with them everything in them."""
        children = [*(child for _, child in self.children), *self.servers]
        for child in children:
            if child.poll() is None:
                child.terminate()
        for child in children:
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        for ns in reversed(self.made):
            subprocess.run([tool("ip"), "netns", "del", self.netns(ns)], capture_output=True)


def interrupt(_number: int, _frame: object) -> None:
    """SIGTERM unwinds as Ctrl-C does."""
    raise KeyboardInterrupt


def main(argv: list[str]) -> int:
    """Exit status: 0, 1 when something failed, 130 interrupted."""
    directory, prefix = Path(argv[0]), argv[1] if len(argv) > 1 else ""
    signal.signal(signal.SIGTERM, interrupt)
    runner = Runner(directory, prefix)
    began = time.monotonic_ns()
    try:
        runner.set_up()
        made = time.monotonic_ns()
        runner.run()
        facts = {**runner.facts(), "set_up_seconds": (made - began) / 1e9}
        (directory / "guest.json").write_text(json.dumps(facts, indent=1) + "\n")
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        if prefix:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            runner.tear_down()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
