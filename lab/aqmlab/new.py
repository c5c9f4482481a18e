# SPDX-License-Identifier: GPL-2.0
"""Write a file to start from: a scenario, a queue discipline, or a congestion control."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from pathlib import Path

from aqmlab import ROOT
from aqmlab.qdiscs import names
from aqmlab.run import congestion_control
from aqmlab.run.scenario import find_all
from labkit.usage import Parser

EXAMPLES = ROOT / "docs" / "your-own"
#: What can be written: the example, and where it goes in the directory that the user is in.
KINDS = {
    "scenario": ("house.py", "{name}.py"),
    "qdisc": ("sch_mine.c", "{name}/sch_{name}.c"),
    "tcp": ("tcp_mine.c", "{name}/tcp_{name}.c"),
}
#: The first command to try with it.
TRY = {
    "scenario": "aqm run ./{name}.py",
    "qdisc": "aqm run dumbbell --module {name} --qdisc {name}",
    "tcp": "aqm run dumbbell --module {name} --set cc={name} --set tcp_profile=today",
}


def _taken(kind: str) -> Collection[str]:
    """Return the names that would hide something of the lab's or of its kernel's."""
    if kind == "scenario":
        return find_all()
    return congestion_control.known() if kind == "tcp" else {*names.ours(), *names.mainline()}


def main() -> int:
    """Write the file and print how to try it. Return the exit status."""
    p = Parser("new", "Write a file to start from.", "KIND NAME", "qdisc mine")
    p.add_argument(
        "kind", choices=KINDS, metavar="KIND", help="scenario, qdisc, or tcp (a congestion control)"
    )
    p.add_argument("name", metavar="NAME", help="letters, digits and _, beginning with a letter")
    args = p.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,14}", args.name):
        p.error(f"name: {args.name!r} given, needs at most 15 of a-z, 0-9 and _, a letter first")
    if args.name in _taken(args.kind):
        p.error(f"name: there is a {args.kind} {args.name} already, choose another name")
    example, place = KINDS[args.kind]
    target = Path(place.format(name=args.name))
    if target.exists():
        print(f"aqm new: {target} exists", file=sys.stderr)
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    text = (EXAMPLES / example).read_text()
    text = text.replace('Scenario(\n    "house"', f'Scenario(\n    "{args.name}"')  # not the node
    target.write_text(re.sub(r"(?<![a-z])mine(?![a-z])", args.name, text))
    print(f"{target}\ntry it: {TRY[args.kind].format(name=args.name)}")
    return 0
