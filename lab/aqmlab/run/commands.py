# SPDX-License-Identifier: GPL-2.0
"""Write the list of commands that carries out a recipe, for lab/traffic/conduct.c.

In the lab's guest nothing but these commands runs, so the list is complete before the boot. With a
prefix before each namespace's name the same list works on this machine.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import guest_kernel, run_directory
from .counters import COUNTERS, MODULE_FACTS, STAT, UPTIME, VERSIONS
from .steps import Step

EPOCH = "@EPOCH"

#: Files of the guest's directory in a run's directory: see run_directory.GUEST_FILES.
LIST, REPORT = "list", "report"
BEFORE, AFTER, TC = "before", "after", "tc"
SHOWN_JSON = "qdisc.json"


class Commands:
    """The programs of one run, with the names of namespaces and programs of its machine.

    tool: the path of a program by its name
    prefix: "" in a lab guest, which vanishes afterwards
    there: the place of the directory in the guest, if it is another one
    """

    def __init__(
        self,
        directory: Path,
        recipe: Mapping[str, Any],
        tool: Callable[[str], str],
        prefix: str = "",
        there: Path | None = None,
    ) -> None:
        self.directory = directory
        self.there = there or directory
        self.recipe = recipe
        self.tool = tool
        self.prefix = prefix

    def write(self, steps: Sequence[Step] | None = None) -> tuple[Path, Path]:
        """Write flowgen's flows and the list, and return conduct's two files: list and report.

        steps: the first ones of the run; None: all
        """
        with (self.directory / run_directory.FLOWS).open("w") as file:
            for flow in self.recipe["flows"]:
                keys = (
                    f"{k}={self.netns(v) if k.endswith('_netns') else v}" for k, v in flow.items()
                )
                file.write(" ".join(keys) + "\n")
        words = (word for step in steps or self.steps() for word in step.words())
        folder = self.directory / run_directory.GUEST_FILES
        folder.mkdir()
        (folder / LIST).write_bytes(b"".join(os.fsencode(word) + b"\0" for word in words))
        return folder / LIST, folder / REPORT

    def path(self, name: str) -> str:
        """Return the path of a file in the result directory, as programs see it."""
        return str(self.there / name)

    def shown(self, name: str) -> str:
        """Return the path of a file for what a command shows at the end."""
        return str(self.there / run_directory.GUEST_FILES / name)

    def netns(self, name: str) -> str:
        """Return the name that a namespace of the recipe has on this machine."""
        return self.prefix + name

    def within(self, netns: str, program: str, *arguments: str) -> list[str]:
        """Return the command line that runs a program in a namespace of the recipe."""
        return [self.tool("ip"), "netns", "exec", self.netns(netns), self.tool(program), *arguments]

    def inputs(self) -> dict[str, Path]:
        """Return the files that the programs read, by their places for them."""
        names = (run_directory.FLOWS, f"{run_directory.GUEST_FILES}/{LIST}")
        return {self.path(name): self.directory / name for name in names}

    def inspace(self, name: str, lines: list[str], out: str = "") -> Step:
        """Return a step of lab/traffic/inspace.c. With OUT it comes after the run."""
        text = "\n".join(lines) + "\n"
        return Step(name, [self.tool("inspace")], input=text, out=out, last=bool(out))

    def batch(self, step: Mapping[str, Any]) -> Step:
        """Return the step of one Batch of the recipe."""
        lines = [self.with_prefix(line) for line in step["lines"]]
        argv = [self.tool(step["tool"]), *step["options"]]
        if step["netns"]:
            argv += ["-n", self.netns(step["netns"])]
        return Step(
            step["tool"], [*argv, "-batch", "-"], input="\n".join(lines) + "\n", lines=lines
        )

    def with_prefix(self, line: str) -> str:
        """Return the line of a batch with this machine's names of namespaces."""
        return re.sub(
            r"\bnetns (add )?(\S+)", lambda m: f"netns {m[1] or ''}{self.netns(m[2])}", line
        )

    def set_up(self) -> list[Step]:
        """Return the steps for namespaces, links, TCP's options and disciplines."""
        recipe = self.recipe
        first, *rest = recipe["batches"]
        kernel, settings = ([], []) if self.prefix else guest_kernel.preparation(recipe)
        settings += [
            f"{self.netns(ns)} write /proc/sys/{name} {value}"
            for ns, values in recipe["sysctls"].items()
            for name, value in values.items()
        ]
        offloads = [
            f"{self.netns(ns)} offload {dev} {name} {state}"
            for ns, dev, words in recipe["offloads"]
            for name, state in zip(words[::2], words[1::2], strict=True)
        ]
        return [
            *kernel,
            self.batch(first),
            self.inspace("sysctl", settings),
            *(self.batch(step) for step in rest if step["tool"] == "ip"),
            self.inspace("offloads", offloads),
            *(self.batch(step) for step in rest if step["tool"] == "tc"),
        ]

    def flowgen(self) -> Step:
        """Return one process for all flows."""
        options = {
            "--duration-ms": str(self.recipe["duration_ms"]),
            "--epoch-ns": EPOCH,
            "--flows": self.path(run_directory.FLOWS),
            "--progress": self.path(run_directory.PROGRESS),
            "--ends": self.path(run_directory.ENDS),
            "--interval-ms": str(self.recipe["interval_ms"]),
            "--datagrams": self.path(run_directory.DATAGRAMS),
            "--delays": self.path(run_directory.DELAYS),
            "--requests": self.path(run_directory.REQUESTS),
        }
        if self.recipe["tcp_state"]:
            options["--tcp"] = self.path(run_directory.TCP)
        if self.recipe.get("quiet_ms"):
            options["--quiet-ms"] = str(self.recipe["quiet_ms"])
        words = [word for option in options.items() for word in option]
        return Step("flowgen", [self.tool("flowgen"), *words], wait=False)

    def iperf3(self) -> list[Step]:
        """Return one server, and one client with parallel streams, per group."""
        recipe = self.recipe
        groups: dict[str, list[dict[str, Any]]] = {}
        for flow in recipe["flows"]:
            groups.setdefault(flow["group"], []).append(flow)
        steps = []
        for number, (group, flows) in enumerate(groups.items()):
            first, port = flows[0], str(5201 + number)
            server = shlex.split(f"-s -1 -J -p {port} -B {first['sink']}")
            steps.append(
                Step("iperf3", self.within(first["sink_netns"], "iperf3", *server), wait=False)
            )
            listening = " ".join(self.within(first["sink_netns"], "ss", "-Hltn"))
            wait = (
                f"for i in $(seq 100); do [ \"$({listening} 'sport = :{port}')\" ] && exit; "
                f"sleep 0.05; done; echo nobody listens on port {port} after 5 s; exit 1"
            )
            steps.append(Step("iperf3 to listen", ["/bin/sh", "-c", wait]))
            client = shlex.split(
                f"-c {first['sink']} -B {first['source']} -p {port} -J "
                f"-t {recipe['duration_ms'] / 1000:g} "
                f"-i {max(0.1, recipe['interval_ms'] / 1000):g} "
                f"-P {len(flows)} -C {first['cc']} --get-server-output"
            )
            steps.append(
                Step(
                    "iperf3",
                    self.within(first["source_netns"], "iperf3", *client),
                    wait=False,
                    out=self.path(run_directory.IPERF3.format(group)),
                )
            )
        return steps

    def sampler(self, sample: Mapping[str, Any], out: str, *epoch: str) -> Step:
        """Return the program that reads a qdisc's statistics."""
        options = {
            "--duration-ms": str(self.recipe["duration_ms"]),
            "--netns": self.netns(sample["netns"]),
            "--dev": sample["dev"],
            "--parent": sample["parent"],
            "--interval-ms": str(sample["interval_ms"]),
            "--out": self.path(out),
        }
        words = [word for option in options.items() for word in option]
        return Step("qsample", [self.tool("qsample"), *words, *epoch], wait=False)

    def captures(self) -> list[str]:
        """Return words for a sampler that captures packets, in a quarter of the memory."""
        wanted = [*self.recipe["captures"]]
        if self.recipe["sojourn"] and (node := self.recipe["sample"]["netns"]) not in wanted:
            wanted.append(node)
        words = [
            word
            for ns in wanted
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
                    program["name"],
                    self.within(program["netns"], "env", "-C", program["cwd"], *program["argv"]),
                    wait=False,
                    program=True,
                    lines=[shlex.join(program["argv"])],
                    at_ns=program["start_ns"],
                    out=self.path(program["name"]),
                )
                for program in self.recipe["programs"]
            ),
        ]

    def timed(self, key: str) -> list[Step]:
        """Return the recipe's lines for tc that have a time."""
        return [
            Step(
                "tc",
                [self.tool("tc"), "-n", self.netns(batch["netns"]), *batch["lines"][0].split()],
                wait=False,
                lines=batch["lines"],
                at_ns=batch["at_ns"],
            )
            for batch in self.recipe[key]
        ]

    def traffic(self) -> list[Step]:
        """Return the steps that begin with the epoch."""
        queue = (self.recipe["sample"], run_directory.QUEUE, *self.captures())
        if self.recipe["generator"] == "iperf3":
            # iperf3's clients start at once, so the sampler has to start with them.
            return [*self.iperf3(), self.sampler(*queue)]
        flowgen = [self.flowgen()] if self.recipe["flows"] else []
        return [
            *self.timed("starts"),
            self.sampler(*queue, "--epoch-ns", EPOCH),
            *flowgen,
            *self.programs(),
            *self.timed("changes"),
        ]

    def show(self, out: str, *options: str, netns: str, dev: str = "") -> Step:
        """Return a step that shows the qdiscs of a namespace after the run."""
        argv = [self.tool("tc"), "-s", *options, "-n", self.netns(netns), "qdisc", "show"]
        return Step("tc", [*argv, *(["dev", dev] if dev else [])], out=out, last=True)

    def last(self) -> list[Step]:
        """Return the steps that show what the run has left.

        Packets may pass meanwhile, so devices are read before and after the disciplines.
        """
        sample, names = self.recipe["sample"], self.recipe["namespaces"]
        counters = [f"{self.netns(ns)} read {path}" for ns in names for path in COUNTERS]
        here = [f"- read {path}" for path in (*VERSIONS, *MODULE_FACTS)]
        if self.there != self.directory:
            here += [f"- read {UPTIME}", f"- read {STAT}"]
        of_sample = {"netns": sample["netns"], "dev": sample["dev"]}
        return [
            self.show(self.path(run_directory.QDISC_TEXT), "-d", **of_sample),
            # tc's output is not JSON if the kind has no plugin, or one that prints text.
            self.show(self.shown(SHOWN_JSON), "-j", **of_sample),
            self.inspace("counters", counters, self.shown(BEFORE)),
            *(self.show(self.shown(f"qdiscs-{ns}"), netns=ns) for ns in names),
            self.inspace("counters", [*counters, *here], self.shown(AFTER)),
            Step("tc", [self.tool("tc"), "-V"], out=self.shown(TC), last=True),
        ]

    def steps(self) -> list[Step]:
        """Return all steps of the run in order."""
        return [*self.set_up(), *self.traffic(), *self.last()]
