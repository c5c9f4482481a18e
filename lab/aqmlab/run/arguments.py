# SPDX-License-Identifier: GPL-2.0
"""The options of netns-scenarios/run."""

from __future__ import annotations

import os
from pathlib import Path

from aqmlab import completion
from aqmlab.qdiscs import names
from labkit.usage import Parser, command

from .scenario import find_all

#: Options that choose the lab's kernel.
LAB_OPTIONS = ("engine", "kernel", "flavour")
#: The discipline without --qdisc.
QDISC = "pfifo limit 200"


def parser() -> Parser:
    """Return the parser of all options."""
    p = Parser(
        "run",
        "Run one scenario with one discipline at its bottleneck: docs/scenarios.md.",
        "SCENARIO",
        "dumbbell --qdisc tdrr --set flows=20 --set rate=50",
    )
    scenario = p.add_argument(
        "scenario",
        nargs="?",
        metavar="SCENARIO",
        help="its name, see --list, or a file with one: ./mine.py",
    )
    qdisc = p.add_argument(
        "--qdisc",
        action="append",
        metavar="'KIND OPTIONS'",
        help=f"as for tc, default: {QDISC}",
    )
    parameter = p.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the scenario, may be repeated",
    )
    p.add_argument(
        "--clock",
        choices=("virtual", "wall"),
        metavar="CLOCK",
        help="virtual, or wall (default with --here)",
    )
    p.add_argument(
        "--here",
        action="store_true",
        help="run on this machine's kernel, as root",
    )
    p.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed of all random numbers (%(default)s)",
    )
    p.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="of the results (out/SCENARIO-QDISC-SETTINGS-SEED)",
    )
    for option in LAB_OPTIONS:
        about = f"as for {command('boot')}"
        p.add_argument(f"--{option}", default="", metavar="NAME", help=about)
    p.add_argument(
        "--module",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="build the sch_NAME.c and tcp_NAME.c in it",
    )
    p.add_argument(
        "--exec",
        action="append",
        default=[],
        metavar="'ROLE: PROGRAM'",
        help="a server, then a client: see docs/your-own.md",
    )
    p.add_argument(
        "--pcap",
        action="append",
        default=[],
        metavar="NODE",
        help="write a node's packets to DIR/NODE.pcapng",
    )
    p.add_argument(
        "--tcp-state",
        action="store_true",
        help="write each flow's window, RTT etc. to DIR/tcp.csv",
    )
    p.add_argument(
        "--sojourn",
        action="store_true",
        help="write each packet's queueing time to DIR/sojourn.csv",
    )
    p.add_argument(
        "--shell",
        action="store_true",
        help="a shell in its network, without traffic: docs/shell.md",
    )
    p.add_argument(
        "--list",
        action="store_true",
        help="show SCENARIO, or all, with their parameters",
    )
    if completion.ASKED in os.environ:
        scenarios = find_all()
        completion.offer(scenario, list(scenarios))
        completion.offer(qdisc, sorted([*names.ours(), *names.mainline()]))
        keys = {f"{param.name}=" for each in scenarios.values() for param in each.params}
        completion.offer(parameter, sorted(keys))
    return p
