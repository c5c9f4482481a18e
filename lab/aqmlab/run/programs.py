# SPDX-License-Identifier: GPL-2.0
"""Run the user's programs as traffic, on separate hosts (--exec).

    src-exec1                rtr                     dst                dst-exec1
    [servers]--s0   delay--r1[ ]b0 ======= d0[      ]p1----------------e0--[clients]
                                 bottleneck           counts packets

Each pair of hosts is a group: the servers of --exec, then their clients. Data of a server crosses
the bottleneck; data of a client goes the other way, which has no limit. A qdisc that drops nothing
counts the packets that reach the clients' host.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aqmlab.exceptions import UserError, unknown
from labkit.orders import hidden

from . import run_directory
from .guest_kernel import DEFAULT
from .links import Link
from .recipe import Batch, ExecProgram, Meter, Recipe
from .settings import Settings
from .topology import Group
from .wires import DELAY_LIMIT

ROLES = ("server", "client")
#: The lab has its own system directories only; writing into / is not for a program.
NOT_SHARED = Path("/")


@dataclass(frozen=True)
class Program:
    """A program of --exec.

    pair: number of its pair of hosts, from 1
    start_s: start time after the epoch; None: before it
    words: its command line, the program as a path, with placeholders
    """

    pair: int
    role: str
    start_s: float | None
    words: Sequence[str]

    @property
    def group(self) -> str:
        """Return the name of its pair of hosts."""
        return f"{run_directory.EXEC}{self.pair}"


def parse(texts: Sequence[str]) -> list[Program]:
    """Read the values of --exec. A server after a client begins the next pair of hosts.

    Raises UserError for a wrong role, time, or program.
    """
    programs: list[Program] = []
    pair = 1
    for text in texts:
        head, colon, command = text.partition(":")
        role, at, start = head.strip().partition("@")
        if not colon or not command.strip():
            raise UserError(f"--exec '{text}': needs 'server: PROGRAM' or 'client: PROGRAM'")
        if role not in ROLES:
            raise unknown("role of --exec", role, ROLES)
        if programs and role == "server" and programs[-1].role == "client":
            pair += 1
        start_s = 0.0 if role == "client" else None
        if at:
            if not re.fullmatch(r"\d+(\.\d+)?", start):
                raise UserError(f"--exec '{text}': needs seconds after @, as in '{role}@2.5: ...'")
            start_s = float(start)
        try:
            program, *words = shlex.split(command)
        except ValueError as error:
            raise UserError(f"--exec '{text}': {error}") from error
        programs.append(Program(pair, role, start_s, [_found(program), *words]))
    return programs


def _found(program: str) -> str:
    """Return the absolute path of a program, which may be a symbolic link."""
    path = shutil.which(program)
    if not path:
        raise UserError(
            f'--exec: there is no program "{program}" in PATH'
            if "/" not in program
            else f'--exec: "{program}" is not a program'
        )
    return str(Path(path).absolute())


def groups(programs: Sequence[Program], settings: Settings, others: Sequence[Group]) -> list[Group]:
    """Return a group for each pair of hosts. It is elastic if nothing else sends."""
    rtt_ms = settings.number("rtt") if "rtt" in settings.values else others[0].rtt_ms
    for program in programs:
        if (program.start_s or 0) * 1000 >= settings.end_ms:
            raise UserError(
                f"--exec: a {program.role} starts at {program.start_s:g} s, and the "
                f"run ends at {settings.end_ms / 1000:g} s"
            )
    return [
        Group(
            name=name,
            start_ns=[0],
            rtt_ms=rtt_ms,
            access_bps=0,
            congestion_control="",
            demand_bps=math.inf,
            payload=1.0,
            elastic=not others,
        )
        for name in dict.fromkeys(program.group for program in programs)
    ]


def attach(recipe: Recipe, programs: Sequence[Program], settings: Settings) -> Recipe:
    """Return the recipe with the clients' hosts, and with programs instead of their flows."""
    names = {program.group for program in programs}
    ends = {str(flow["group"]): flow for flow in recipe.flows if flow["group"] in names}
    links = sum(ns.startswith("src-") for ns in recipe.namespaces)
    namespaces, sysctls = [*recipe.namespaces], {**recipe.sysctls}
    offloads, meters = [*recipe.offloads], []
    first, *batches = recipe.batches
    family = ["-6"] if settings.ip == 6 else []
    forward = {key: value for key, value in recipe.sysctls["rtr"].items() if "forward" in key}
    own = {DEFAULT: settings.congestion_control}
    for number, (name, flow) in enumerate(ends.items(), start=1):
        source, sink, netns = (str(flow[key]) for key in ("source", "sink", "sink_netns"))
        source_netns, host = str(flow["source_netns"]), f"dst-{name}"
        link = Link(links + number, netns, f"p{number}", host, "e0")
        lines = link.commands(
            settings.ip, settings.count("mtu"), "" if settings.on("offloads") else "gso_max_segs 1 "
        )
        length, nodad = (128, " nodad") if family else (32, "")
        way = next(
            line.split()[4]
            for batch in batches
            if batch.netns == source_netns
            for line in batch.lines
            if line.startswith("route add") and " via " in line
        )
        options = "".join(f" {word}" for word in settings.tcp_profile.route)
        lines[source_netns] = [
            f"addr add {source}/{length} dev lo{nodad}",
            f"route add {sink}/{length} via {way} src {source}{options}",
        ]
        lines[netns] += [
            f"route add {sink}/{length} via {link.address(settings.ip, 1)} table local"
        ]
        lines[host] += [
            "link set lo up",
            f"addr add {sink}/{length} dev e0{nodad}",
            f"route add {source}/{length} via {link.address(settings.ip, 0)} src {sink}{options}",
        ]
        batches.append(Batch("ip", None, lines.pop(None)))
        batches += [Batch("ip", ns, each, family) for ns, each in lines.items() if ns]
        batches.append(
            Batch("tc", netns, [f"qdisc add dev {link.near} root pfifo limit {DELAY_LIMIT}"])
        )
        namespaces.append(host)
        sysctls[netns] = {**sysctls[netns], **forward}
        sysctls[host] = sysctls[source_netns] = {**sysctls[source_netns], **own}
        offloads += [(ns, dev, offloads[0][2]) for ns, dev in ((netns, link.near), (host, "e0"))]
        meters.append(Meter(name, int(flow["id"]), netns, link.near, source_netns))
    return replace(
        recipe,
        namespaces=namespaces,
        sysctls=sysctls,
        offloads=offloads,
        meters=meters,
        batches=[replace(first, lines=[f"netns add {ns}" for ns in namespaces]), *batches],
        flows=[flow for flow in recipe.flows if flow["group"] not in names],
        share=_shared(programs),
        programs=_named(programs, ends, settings),
    )


def _named(
    programs: Sequence[Program], ends: Mapping[str, Mapping[str, int | str]], settings: Settings
) -> list[ExecProgram]:
    """Return the programs with unique names. Programs that start before the epoch come first."""
    named = []
    seen: dict[str, int] = {}
    for program in programs:
        name = f"{program.group}-{program.role}"
        seen[name] = seen.get(name, 0) + 1
        flow = ends[program.group]
        values = {
            "server": flow["source"],
            "client": flow["sink"],
            "seed": settings.seed,
            "seconds": f"{settings.end_ms / 1000:g}",
        }
        path = Path(program.words[0])
        named.append(
            ExecProgram(
                name if seen[name] == 1 else f"{name}{seen[name]}",
                program.group,
                program.role,
                str(flow["source_netns"]) if program.role == "server" else f"dst-{program.group}",
                [_filled(word, values) for word in program.words],
                str(Path.cwd()),
                None if program.start_s is None else round(program.start_s * 1e9),
                hashlib.sha256(path.read_bytes()).hexdigest(),
            )
        )
    return sorted(named, key=lambda program: program.start_ns is not None)


def _filled(word: str, values: Mapping[str, object]) -> str:
    """Replace the placeholders in a word. Raises UserError for an unknown placeholder."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise unknown("placeholder", match[1], values)
        return str(values[match[1]])

    return re.sub(r"\{([a-z]+)\}", value, word)


def _shared(programs: Sequence[Program]) -> list[str]:
    """Return directories that the lab's guest needs: the current one, where programs may write,
    and each program's, if the guest's own directories would hide it."""
    wanted = [
        Path.cwd(),
        *(Path(program.words[0]).parent for program in programs if hidden(Path(program.words[0]))),
    ]
    return [str(path) for path in dict.fromkeys(wanted) if path != NOT_SHARED]
