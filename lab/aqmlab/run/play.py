# SPDX-License-Identifier: GPL-2.0
"""Give the user a shell in a scenario's network, for run --shell.

The guest has the namespaces, links and qdiscs of a run, and sees the programs of this machine. The
clock is the wall's, because nobody can type in virtual time.
"""

from __future__ import annotations

import ipaddress
import math
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from aqmlab.exceptions import RunError, UserError
from labkit import engines, terminal
from labkit.errors import LabError
from labkit.orders import PROGRAMS_IN_GUEST
from labkit.request import Request

from .commands import REPORT, Commands
from .execute import terminated_as_interrupt
from .guest_kernel import DEFAULT
from .outcome import ended_ns
from .recipe import Batch, Recipe
from .steps import Failure, in_guest

#: Programs that people want to run, and the packages that have them.
WANTED = {"ping": "iputils-ping", "iperf3": "iperf3"}
#: Length of the prefix of a group's hosts, in IPv4 and in IPv6.
PREFIX = (16, 64)
#: Exit status of the script if the network could not be set up; conduct's report says why.
NOT_SET_UP = 97

#: Run a command in a node whose name the script has. Names of hosts are in /etc/hosts.
IN_NODE = """#!/bin/sh
node=${{0##*/}}
[ $# -gt 0 ] || if command -v bash >/dev/null; then set -- bash --norc; else set -- sh -i; fi
export PS1="$node# "
exec {ip} netns exec "$node" sh -c '
	{busybox} mount -o bind "$1" /etc/hosts 2>/dev/null
	shift
	exec "$@"' sh {hosts}/"$node" "$@"
"""
START = """#!/bin/sh
{programs}/conduct {list} {report} || exit
[ -s {report} ] && exit {not_set_up}
export PATH="{programs}:$PATH:{nodes}"
cat {banner}
exec {nodes}/{node}
"""


def hosts(recipe: Recipe) -> dict[tuple[str, str], tuple[str, str]]:
    """Return pairs of hosts that can reach each other, and the addresses of both."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for flow in recipe.flows:
        ends = str(flow["source_netns"]), str(flow["sink_netns"])
        found.setdefault(ends, (str(flow["source"]), str(flow["sink"])))
    return found


def _names(recipe: Recipe, node: str) -> dict[str, str]:
    """Return the addresses of the hosts that a node can reach, and its own, by their names."""
    names: dict[str, str] = {}
    for ends, addresses in hosts(recipe).items():
        if node in ends:
            other = 1 - ends.index(node)
            names.setdefault(ends[other], addresses[other])
            names.setdefault(node, addresses[1 - other])
    return names


def for_programs(recipe: Recipe) -> Recipe:
    """Return a recipe whose hosts do for any program what they do for flows.

    Flows bind to an address, and choose their congestion control. A program that does not would
    take the address of the device, from which no route leads back.
    """
    own = {
        (ns, ipaddress.ip_network((theirs, PREFIX[":" in theirs]), strict=False)): mine
        for ends, addresses in hosts(recipe).items()
        for ns, mine, theirs in (
            (ends[0], addresses[0], addresses[1]),
            (ends[1], addresses[1], addresses[0]),
        )
    }

    def lines(batch: Batch) -> Iterator[str]:
        for text in batch.lines:
            match batch.tool, text.split():
                case "ip", ["route", "add", net, "via", *_] if mine := own.get(
                    (str(batch.netns), ipaddress.ip_network(net))
                ):
                    # A prefix that is local does not make its addresses a source of IPv6.
                    yield from [f"addr add {mine}/128 dev lo nodad"] if ":" in mine else []
                    yield f"{text} src {mine}"
                case _:
                    yield text

    sysctls = {ns: {**values} for ns, values in recipe.sysctls.items()}
    for flow in recipe.flows:
        for ns in (str(flow["source_netns"]), str(flow["sink_netns"])):
            if flow["cc"]:
                sysctls[ns].setdefault(DEFAULT, str(flow["cc"]))
    return replace(
        recipe,
        sysctls=sysctls,
        batches=[replace(batch, lines=[*lines(batch)]) for batch in recipe.batches],
    )


def banner(recipe: Recipe, asked: Mapping[str, Any]) -> str:
    """Return what the user reads first."""
    at = recipe.sample
    near, far = next(iter(hosts(recipe)))
    others = [ns for ns in recipe.namespaces if not _names(recipe, ns)]
    missing = [
        f"{name} (apt-get install {package})"
        for name, package in WANTED.items()
        if not shutil.which(name)
    ]
    lines = [
        f"{asked['scenario']} with {asked['qdisc']} on device {at.dev} of {at.netns}, in real time",
        *(f"  {a} {one} - {b} {other}" for (a, b), (one, other) in hosts(recipe).items()),
        f"  between them: {' '.join(others)}",
        f"This shell is in {at.netns}. A node's name before a command runs it there:",
        "  tc -s qdisc show",
        f"  {near} ping -c 3 {far}",
        f"  {far} iperf3 -s -D; {near} iperf3 -c {far}",
        *([f"Not on this machine: {', '.join(missing)}"] if missing else []),
    ]
    return "\n".join(lines) + "\n"


def _write(directory: Path, recipe: Recipe, asked: Mapping[str, Any], commands: Commands) -> Path:
    """Write all files of the guest, and return the script that it starts."""
    list_of, report = (shlex.quote(str(path)) for path in commands.write(commands.set_up()))
    nodes, names = directory / "nodes", directory / "hosts"
    for folder in (nodes, names):
        folder.mkdir()
    for ns in recipe.namespaces:
        known = {"localhost": "::1" if "-6" in str(recipe.batches) else "127.0.0.1"}
        known |= _names(recipe, ns)
        (names / ns).write_text("".join(f"{at} {name}\n" for name, at in known.items()))
        (nodes / ns).write_text(
            IN_NODE.format(
                ip=in_guest("ip"), busybox=in_guest("busybox"), hosts=shlex.quote(str(names))
            )
        )
        (nodes / ns).chmod(0o755)
    greeting, script = directory / "banner", directory / "start"
    greeting.write_text(banner(recipe, asked))
    script.write_text(
        START.format(
            programs=PROGRAMS_IN_GUEST,
            list=list_of,
            report=report,
            not_set_up=NOT_SET_UP,
            banner=shlex.quote(str(greeting)),
            nodes=shlex.quote(str(nodes)),
            node=recipe.sample.netns,
        )
    )
    return script


def check(recipe: Recipe, wrong: Mapping[str, object]) -> None:
    """Raise UserError if a shell in a network is not possible.

    wrong: options that need traffic, or another machine or clock, with what was given for them
    """
    for option, given in wrong.items():
        if given:
            raise UserError(f"--shell starts no traffic, in real time: leave out {option}")
    if recipe.changes:
        raise UserError("--shell starts no traffic, so leave out the parameter change")
    if not sys.stdin.isatty():
        raise UserError("--shell needs a terminal; for programs of a script use --exec")


def run(recipe: Recipe, asked: Mapping[str, Any], lab_options: Mapping[str, Any]) -> int:
    """Let the user work in a network, and return the exit status of the shell. Raises RunError."""
    recipe = for_programs(recipe)
    with tempfile.TemporaryDirectory(prefix="aqm-shell-") as name, terminated_as_interrupt():
        directory = Path(name)
        commands = Commands(directory, recipe.as_json(), in_guest)
        script = _write(directory, recipe, asked, commands)
        request = Request(
            ["sh", str(script)],
            clock="wall",
            seed=asked["seed"],
            memory=f"{recipe.memory_gib}G",
            time_limit=math.inf,
            terminal=True,
            foreign=True,
            share=[directory],
            environment=terminal.environment(),
            **lab_options,
        )
        try:
            result = engines.run(request)
            ended_ns(commands, (directory / "guest" / REPORT).read_text(errors="replace"))
        except (LabError, Failure) as error:
            raise RunError(str(error)) from error
    if result.reason:
        raise RunError(f"{result.reason}; kernel log: {result.log}")
    return result.status
