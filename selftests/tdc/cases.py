#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Generate tdc's cases of our kinds from their tables.

    cases.py --write DIR [KIND]...

writes DIR/KIND.json, for tdc or for tools/testing/selftests/tc-testing/tc-tests/qdiscs of a kernel.

For each kind the cases prove:

- Without options, tc shows no given options, and the statistics show the values in force.
- The help text has each range and default.
- All options can be given at once, and tc's text output is valid input.
- A live change of an option keeps the others.
- tc and the kernel refuse wrong values and conflicts, each with a message.
- The qdisc can be replaced and deleted.

parents.sh tests the contract with parents, and tests/tc tests the plugins' parser.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from table import Case, Kind, Option, Shown

HERE = Path(__file__).resolve().parent
SHOW = "$TC qdisc show dev $DUMMY"
SHOW_JSON = "$TC -j qdisc show dev $DUMMY"
NOTHING_GIVEN = (
    r'"kind":"%s",.*"given":\[\],"derived":\[[^]]*"bandwidth"[^]]*\],"assumed":\["bandwidth"\]'
)
OUT_OF_RANGE = r"(?:EINVAL: %s must be [^\n]+|ERANGE: integer out of range)"
WRONG_LENGTH = r"E\w+: (?:invalid attribute length|Attribute failed policy validation)"
EXTACK = r"Error: (?:sch_\w+: )?%s\."
HEADERS = HERE.parent.parent / "include" / "uapi" / "linux"
BYTES = {"FLAG": 1, "CHOICE": 1, "RATE": 8, "CODEPOINTS": 8, "MASKED": 8}  # of others: 4


@dataclass(frozen=True)
class Attribute:
    """A netlink attribute: number, and size in bytes."""

    number: int
    width: int


def attributes(kind: str) -> tuple[dict[str, Attribute], int]:
    """Return a kind's netlink attributes by option, and the highest number."""
    text = (HEADERS / f"pkt_sched_{kind}.h").read_text()
    text += (HEADERS / "pkt_sched_aqm.h").read_text()
    text = text.replace("\\\n", " ")
    lists = dict(
        re.findall(r"^#define (TC_\w+_OPTIONS?)\(_, x\b[^)]*\) +(.*)$", text, re.MULTILINE)
    )
    listed = f"TC_{kind.upper()}_OPTIONS"

    def expand(name: str) -> Iterator[tuple[str, str]]:
        for found in re.finditer(r"\b_\(x, *[\w#]+, *(\w+), *(\w+)|(\w+)\(_, x\b", lists[name]):
            if found[3]:
                yield from expand(found[3])
            else:
                yield found[1], found[2]

    before, _ = re.split(rf"\b{listed}\(TC_AQM_ATTRIBUTE", text)
    first = len(re.findall(r"\w+,", before[before.rindex("enum {") :]))
    options = list(expand(listed))
    numbers = {
        option: Attribute(first + i, BYTES.get(type_, 4))
        for i, (option, type_) in enumerate(options)
    }
    return numbers, first + len(options) - 1


def load(path: Path) -> Kind:
    """Load a table."""
    spec = importlib.util.spec_from_file_location(f"table_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kind = module.KIND
    assert isinstance(kind, Kind)
    assert kind.name == path.stem
    return kind


class Writer:
    """Generates the cases of a kind."""

    def __init__(self, kind: Kind) -> None:
        """Generate cases from a table."""
        self.kind = kind
        self.attributes, self.last = attributes(kind.name)
        together = [o for o in kind.options if o.name not in kind.alone]
        firsts = [(o, next(iter(o.good))) for o in together]
        self.every = " ".join(o.words(typed) for o, typed in firsts)
        self.every_shown: dict[str, Shown] = {}
        for option, typed in firsts:
            self.every_shown = overlay(self.every_shown, option, typed)

    def qdisc(self, verb: str, words: str = "") -> str:
        """Return a tc command for the root of the dummy device."""
        return f"$TC qdisc {verb} dev $DUMMY handle 1: root {self.kind.name} {words}".strip()

    def raw(self, option: Option, value: int) -> str:
        """Return an attribute as an argument of rawqdisc."""
        attribute = self.attributes[option.name]
        return f"{attribute.number}:{attribute.width}:{value}"

    def shown(self, options: dict[str, Shown]) -> list[dict[str, Shown]]:
        """Return tc's JSON output with these options."""
        return [{"kind": self.kind.name, "handle": "1:", "root": True, "options": options}]

    def cases(self) -> Iterator[Case]:
        """Yield all cases of the kind."""
        yield from self.added()
        for option in self.kind.options:
            yield from self.changes(option)
            yield self.refusals(option)
        yield from self.derived()
        yield from self.other_refusals()
        yield from self.conflicts()
        yield from self.life()
        if self.kind.idle:
            yield Case(
                f"Statistics of an idle {self.kind.name}",
                self.qdisc("add"),
                "$TC -s -j qdisc show dev $DUMMY",
                json=[{"kind": self.kind.name, "drops": 0, "qlen": 0, **self.kind.idle}],
                smoke=True,
            )
        yield from self.kind.special

    def added(self) -> Iterator[Case]:
        """Yield cases that add a qdisc without options, and with all of them."""
        name = self.kind.name
        yield Case(
            f"Add {name} with nothing given: all that is shown is auto or assumed",
            self.qdisc("add"),
            SHOW,
            smoke=True,
            pattern=rf"\Aqdisc {name} 1: root refcnt [0-9]+ "
            r"auto [^\n]* assumed bandwidth 1Gbit *\n\Z",
        )
        yield Case(
            f"Add {name} with nothing given: JSON",
            self.qdisc("add"),
            SHOW_JSON,
            pattern=NOTHING_GIVEN % name,
            smoke=True,
        )
        yield Case(
            f"Add {name} without an options attribute",
            f"$RAW -n $DUMMY {name}",
            SHOW_JSON,
            pattern=NOTHING_GIVEN % name,
        )
        lines = "".join(rf"(?=.* {help_line(option)} )" for option in self.kind.options)
        yield Case(
            f"{name} help has each option's range and default, and sets nothing up",
            self.qdisc("add", "help"),
            script(f"echo $({self.qdisc('add', 'help')} 2>&1)", SHOW),
            pattern=rf"\A{lines}Usage: .* man tc-{name}\nqdisc noqueue [^\n]*\n\Z",
            status=1,
        )
        yield Case(
            f"Add {name} with every option",
            self.qdisc("add", self.every),
            SHOW_JSON,
            json=self.shown(self.every_shown),
            smoke=True,
        )
        yield Case(
            f"What {name} prints it takes as input",
            self.qdisc("add", self.every),
            script(
                "set -- $($TC qdisc show dev $DUMMY)",
                "shift 6",
                f"$TC qdisc add dev $IFB handle 1: root {name} $*",
                "$TC qdisc show dev $IFB > /dev/null",
                'a="$*"',
                "set -- $($TC qdisc show dev $IFB)",
                "shift 6",
                '[ "$a" = "$*" ] && echo "the same: $a"',
            ),
            pattern=r"\Athe same: \w+ ",
        )
        yield Case(
            f"Change {name} with no option changes nothing",
            self.qdisc("change"),
            SHOW_JSON,
            json=self.shown(self.every_shown),
            setup=(self.qdisc("add", self.every),),
        )

    def changes(self, option: Option) -> Iterator[Case]:
        """Yield cases that change one option to each of its other good values."""
        first, *others = option.good
        alone = option.name in self.kind.alone
        if option.fixed:
            return
        for typed in [first, *others] if alone else others:
            words = option.words(typed)
            before = {} if alone else self.every_shown
            yield Case(
                f"Change {self.kind.name} to {words}, the rest stays",
                self.qdisc("change", words),
                SHOW_JSON,
                json=self.shown(overlay(before, option, typed)),
                setup=(self.qdisc("add", "" if alone else self.every),),
            )

    def refusals(self, option: Option) -> Case:
        """Return a case with wrong values of an option, for tc and for the kernel."""
        bad = option.bad.split()
        or_auto = ", or auto" if option.default == "auto" else ""
        tried = [self.qdisc("change", f"{option.name} {value}") for value in bad]
        expected = [
            re.escape(f'{self.kind.name}: "{option.name} {value}" is not possible; allowed: ')
            + re.escape(option.allowed + or_auto)
            for value in bad
        ]
        if option.fixed:
            tried += [self.qdisc("change", option.words(list(option.good)[-1]))]
            expected += [EXTACK % re.escape(option.fixed)]
        attribute = self.attributes[option.name]
        raw = [self.raw(option, value) for value in option.raw]
        raw += [f"{attribute.number}:{attribute.width // 2}:1"]
        tried += [f"$RAW -c $DUMMY {self.kind.name} {one}" for one in raw]
        expected += [OUT_OF_RANGE % option.name for _ in option.raw]
        expected += [WRONG_LENGTH]
        return self.refused(f"Wrong values of {self.kind.name}'s {option.name}", tried, expected)

    def derived(self) -> Iterator[Case]:
        """Derived options are shown as given, or after the word "auto"."""
        names = [o.name for o in self.kind.options if o.default == "auto" and not o.fixed]
        names = [name for name in names if name not in self.kind.alone]
        if names:
            yield Case(
                f"{self.kind.name}: auto forgets what was given",
                self.qdisc("change", " ".join(f"{name} auto" for name in names)),
                SHOW,
                pattern=rf"\A(?!.* (?:{'|'.join(names)}) .*auto )qdisc {self.kind.name} 1: .*auto ",
                setup=(self.qdisc("add", self.every),),
            )

    def other_refusals(self) -> Iterator[Case]:
        """Yield cases with unknown or repeated options, and unknown attributes."""
        name = self.kind.name
        valued = next(o for o in self.kind.options if not o.is_flag)
        typed = valued.words(next(iter(valued.good)))
        yield self.refused(
            f"Options that {name} cannot read",
            [
                self.qdisc("change", valued.name),
                self.qdisc("change", f"{typed} {typed}"),
                self.qdisc("change", "nonsense 1"),
            ],
            [
                re.escape(f'{name}: "{valued.name}" needs a value; allowed: {valued.allowed}')
                + "(?:, or auto)?",
                re.escape(f'{name}: "{valued.name}" is given twice'),
                re.escape(f'{name}: unknown option "nonsense"; "help" lists the options'),
            ],
        )
        yield self.refused(
            f"Attributes that {name} does not know",
            [
                f"$RAW -c $DUMMY {name} {self.last + 1}:4:1",
                f"$RAW -c -o $DUMMY {name} {self.raw(valued, 5)}",
            ],
            ["EINVAL: Unknown attribute type", "EINVAL: NLA_F_NESTED is missing"],
            status=1,
        )

    def refused(
        self, name: str, tried: Sequence[str], expected: Sequence[str], status: int = 1
    ) -> Case:
        """Return a case with commands that all fail, with these messages, and change nothing."""
        return Case(
            name,
            tried[0],
            script(f"before=$({SHOW})", *tried, same(SHOW), merge=True),
            pattern=r"\A" + "".join(f"{line}\\n+" for line in expected) + r"unchanged\n\Z",
            status=status,
            setup=(self.qdisc("add", self.every),),
        )

    def conflicts(self) -> Iterator[Case]:
        """Yield cases with conflicting options, when adding and when changing."""
        for conflict in self.kind.conflicts:
            change = self.qdisc("change", conflict.words)
            add = f"$TC qdisc add dev $IFB root {self.kind.name} {conflict.words}"
            yield Case(
                f"The kernel refuses {self.kind.name} {conflict.words}",
                change,
                script(
                    f"before=$({SHOW})",
                    change,
                    add,
                    same(SHOW),
                    "$TC qdisc show dev $IFB",
                    merge=True,
                ),
                pattern=rf"\A(?:{EXTACK % conflict.message}\n+){{2}}unchanged\n"
                rf"qdisc (?!{self.kind.name})",
                status=conflict.status,
                setup=(self.qdisc("add"),),
            )

    def life(self) -> Iterator[Case]:
        """Yield cases that replace and delete the qdisc, with a size table, and for its classes."""
        name = self.kind.name
        add = self.qdisc("add")
        yield Case(
            f"Replace {name} by pfifo, and pfifo by {name}",
            "$TC qdisc replace dev $DUMMY handle 2: root pfifo",
            script(SHOW, f"$TC qdisc replace dev $DUMMY handle 3: root {name} {self.every}", SHOW),
            pattern=rf"\Aqdisc pfifo 2: root [^\n]*\nqdisc {name} 3: root [^\n]*\n\Z",
            setup=(add,),
        )
        yield Case(
            f"Delete {name}, which then is not there",
            "$TC qdisc del dev $DUMMY handle 1: root",
            script(SHOW, "$TC qdisc del dev $DUMMY handle 1: root 2> /dev/null || echo no"),
            pattern=r"\Aqdisc noqueue [^\n]*\nno\n\Z",
            setup=(add,),
            smoke=True,
        )
        yield Case(
            f"{name} with a size table",
            f"$TC qdisc add dev $DUMMY handle 1: root stab overhead 24 {name} {self.every}",
            SHOW_JSON,
            json=self.shown(self.every_shown),
        )
        yield Case(
            f"Classes of {name} can be neither added nor filtered",
            "$TC filter add dev $DUMMY parent 1:1 matchall classid 1:1",
            script(
                f"$TC class add dev $DUMMY parent 1: classid 1:1 {name} 2> /dev/null || echo no",
                SHOW,
            ),
            pattern=rf"\Ano\nqdisc {name} 1:",
            status=2,
            setup=(add,),
        )


def help_line(option: Option) -> str:
    """Return the line of an option in the help text, with single spaces."""
    name = option.name
    if option.is_flag:
        name = f"[no]{name.removeprefix('no')}"
    allowed = f" {option.allowed};" if option.allowed else ""
    part = r"(?:(?!default )[^;])*;"
    end = re.escape(f"{allowed} default {option.default}")
    return rf"{re.escape(name)} {part}(?:{part}){{0,2}}?{end}"


def overlay(shown: dict[str, Shown], option: Option, typed: str) -> dict[str, Shown]:
    """Return JSON output with one more option."""
    value = option.good[typed]
    new = value if isinstance(value, dict) else {option.name: value}
    return {key: value for key, value in {**shown, **new}.items() if value is not None}


def script(*commands: str, merge: bool = False) -> str:
    """Join commands into one command that ignores errors. merge: include standard error"""
    body = "; ".join([*(["exec 2>&1"] if merge else []), *commands, "true"])
    assert "'" not in body
    return f"sh -c '{body}'"


def same(show: str) -> str:
    """Return a command that prints "unchanged" if the output of ``show`` equals $before."""
    return f'[ "$before" = "$({show})" ] && echo unchanged'


def as_tdc(kind: str, case: Case) -> dict[str, Any]:
    """Convert a case to tdc's format.

    The id depends only on the name. It is short, because it becomes part of device names.
    """
    verdict: dict[str, Any] = {"matchPattern": case.pattern, "matchCount": str(case.count)}
    if case.json is not None:
        verdict = {"matchJSON": case.json, "matchCount": "1"}
    return {
        "id": hashlib.blake2s(case.name.encode(), digest_size=3).hexdigest(),
        "name": case.name,
        "category": ["qdisc", kind, *(["smoke"] if case.smoke else [])],
        "plugins": {"requires": "nsPlugin"},
        "setup": list(case.setup),
        "cmdUnderTest": case.command,
        "expExitCode": str(case.status),
        "verifyCmd": case.show,
        **verdict,
        "teardown": [],
    }


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="Generate tdc's cases of our kinds from their tables."
    )
    parser.add_argument("--write", metavar="DIR", type=Path, required=True, help="where to")
    parser.add_argument("kind", nargs="*", metavar="KIND", help="default: all kinds")
    asked = parser.parse_args()
    tables = {path.stem: path for path in sorted((HERE / "tables").glob("*.py"))}
    for name in asked.kind or tables:
        if name not in tables:
            parser.error(f'no table for "{name}"; choose from: {" ".join(tables)}')
        kind = load(tables[name])
        found = [as_tdc(name, case) for case in Writer(kind).cases()]
        asked.write.mkdir(parents=True, exist_ok=True)
        (asked.write / f"{name}.json").write_text(json.dumps(found, indent=4) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
