#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write tdc's cases of our kinds, made from their tables.

    cases.py --write DIR [KIND]...

writes DIR/KIND.json, for tdc or for tools/testing/selftests/tc-testing/tc-tests/qdiscs of a kernel.

What is proven of each kind: what it is with nothing given, in text and JSON; every option at once;
that its text output is accepted as input; for each option, that a live change of it keeps the
rest, and what tc and the kernel refuse, each with its message; what its options exclude; its life
(replace, delete); its statistics when idle. That it keeps its contract with parents is proven by
parents.sh, and that the plugins' shared parser reads each type of value by tests/tc.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from table import Case, Kind, Option, Shown  # noqa: E402

SHOW = "$TC qdisc show dev $DUMMY"
SHOW_JSON = "$TC -j qdisc show dev $DUMMY"
OUT_OF_RANGE = r"(?:ERANGE|EINVAL): (?:integer out of range|Numerical result out of range)[^\n]*"
WRONG_LENGTH = r"(?:ERANGE|EINVAL): invalid attribute length[^\n]*"
EXTACK = r"Error: (?:sch_\w+: )?%s\."


def attributes(kind: str) -> dict[str, int]:
    """The numbers of a kind's netlink attributes, from its uapi header."""
    header = HERE.parent.parent / "include" / "uapi" / "linux" / f"pkt_sched_{kind}.h"
    prefix = f"TCA_{kind.upper()}_"
    names = re.findall(rf"^\t(?:__)?{prefix}(\w+),?(?=\s|$)", header.read_text(), re.MULTILINE)
    numbers: dict[str, int] = {}
    for name in names[names.index("UNSPEC") : names.index("MAX") + 1]:
        numbers[name] = len(numbers)
    return numbers


def load(path: Path) -> Kind:
    """The table in a file."""
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
    """Makes the cases of one kind."""

    def __init__(self, kind: Kind) -> None:
        """``kind`` is its table."""
        self.kind = kind
        self.attributes = attributes(kind.name)
        together = [o for o in kind.options if o.name not in kind.alone]
        firsts = [(o, next(iter(o.good))) for o in together]
        self.every = " ".join(o.words(typed) for o, typed in firsts)
        self.every_shown = kind.defaults()
        for option, typed in firsts:
            self.every_shown = overlay(self.every_shown, option, typed)

    def qdisc(self, verb: str, words: str = "") -> str:
        """A tc command on the root of the dummy device."""
        return f"$TC qdisc {verb} dev $DUMMY handle 1: root {self.kind.name} {words}".strip()

    def raw(self, option: Option, value: int, width: int | None = None) -> str:
        """An attribute as rawqdisc takes it."""
        attr = self.attributes[option.attr or option.name.upper()]
        return f"{attr}:{option.width if width is None else width}:{value}"

    def shown(self, options: dict[str, Shown]) -> list[dict[str, Shown]]:
        """JSON output with these options."""
        return [{"kind": self.kind.name, "handle": "1:", "root": True, "options": options}]

    def cases(self) -> Iterator[Case]:
        """All cases of the kind."""
        yield from self.added()
        for option in self.kind.options:
            yield from self.changes(option)
            yield self.refusals(option)
        yield from self.other_refusals()
        yield from self.conflicts()
        yield from self.life()
        if self.kind.idle:
            yield Case(
                f"Statistics of an idle {self.kind.name}", self.qdisc("add"),
                "$TC -s -j qdisc show dev $DUMMY",
                json=[{"kind": self.kind.name, "drops": 0, "qlen": 0, **self.kind.idle}],
                smoke=True,
            )  # fmt: skip
        yield from self.kind.special

    def added(self) -> Iterator[Case]:
        """Set up, with nothing given and with everything."""
        name, defaults = self.kind.name, self.shown(self.kind.defaults())
        yield Case(
            f"Add {name} with nothing given: all that is shown", self.qdisc("add"), SHOW,
            pattern=rf"\Aqdisc {name} 1: root refcnt [0-9]+ {re.escape(self.kind.text)} ?\n\Z",
            smoke=True,
        )  # fmt: skip
        yield Case(
            f"Add {name} with nothing given: JSON", self.qdisc("add"), SHOW_JSON,
            json=defaults, smoke=True,
        )  # fmt: skip
        yield Case(
            f"Add {name} without an options attribute", f"$RAW -n $DUMMY {name}", SHOW_JSON,
            json=defaults,
        )  # fmt: skip
        every_name = "".join(rf"(?=.*\b(?:no)?{re.escape(o.name)}\b)" for o in self.kind.options)
        yield Case(
            f"{name} help names every option and sets nothing up", self.qdisc("add", "help"),
            script(f"{self.qdisc('add', 'help')} 2>&1", SHOW),
            pattern=rf"\A{every_name}Usage: .*\nqdisc noqueue [^\n]*\n\Z", status=1,
        )  # fmt: skip
        yield Case(
            f"Add {name} with every option", self.qdisc("add", self.every), SHOW_JSON,
            json=self.shown(self.every_shown), smoke=True,
        )  # fmt: skip
        yield Case(
            f"What {name} prints it takes as input", self.qdisc("add", self.every),
            script(
                "set -- $($TC qdisc show dev $DUMMY)", "shift 6",
                f"$TC qdisc add dev $IFB handle 1: root {name} $*",
                "$TC qdisc show dev $IFB > /dev/null", 'a="$*"',
                "set -- $($TC qdisc show dev $IFB)", "shift 6",
                '[ "$a" = "$*" ] && echo "the same: $a"',
            ),
            pattern=r"\Athe same: \w+ ",
        )  # fmt: skip
        yield Case(
            f"Change {name} with no option changes nothing", self.qdisc("change"), SHOW_JSON,
            json=self.shown(self.every_shown), setup=(self.qdisc("add", self.every),),
        )  # fmt: skip

    def changes(self, option: Option) -> Iterator[Case]:
        """From every option at once to each other good value of one: the rest stays."""
        first, *others = option.good
        alone = option.name in self.kind.alone
        if option.fixed:
            return
        for typed in [first, *others] if alone else others:
            words = option.words(typed)
            before = self.kind.defaults() if alone else self.every_shown
            yield Case(
                f"Change {self.kind.name} to {words}, the rest stays",
                self.qdisc("change", words), SHOW_JSON,
                json=self.shown(overlay(before, option, typed)),
                setup=(self.qdisc("add", "" if alone else self.every),),
            )  # fmt: skip

    def refusals(self, option: Option) -> Case:
        """What tc refuses for one option, then what the kernel does; nothing is changed."""
        bad = option.bad.split()
        tried = [self.qdisc("change", f"{option.name} {value}") for value in bad]
        expected = [
            re.escape(f'{self.kind.name}: "{option.name} {value}" is not possible; allowed: ')
            + re.escape(option.allowed)
            for value in bad
        ]
        raw = [self.raw(option, value) for value in option.raw]
        expected += [OUT_OF_RANGE for _ in option.raw]
        raw += [self.raw(option, 1, option.width // 2)]
        expected += [WRONG_LENGTH]
        if option.fixed:
            tried += [self.qdisc("change", option.words(list(option.good)[-1]))]
            expected[len(bad) : len(bad)] = [EXTACK % re.escape(option.fixed)]
        tried += [f"$RAW -c $DUMMY {self.kind.name} {attribute}" for attribute in raw]
        return self.refused(f"Wrong values of {self.kind.name}'s {option.name}", tried, expected)

    def other_refusals(self) -> Iterator[Case]:
        """What is no option, or given twice, or not of the kind's netlink interface."""
        name = self.kind.name
        valued = next(o for o in self.kind.options if not o.is_flag)
        typed = valued.words(next(iter(valued.good)))
        yield self.refused(
            f"Options that {name} cannot read",
            [
                self.qdisc("change", valued.name),
                self.qdisc("change", f"{typed} {typed}"),
                self.qdisc("change", "nonsense 1") + " 2>&1 | head -n 1",
            ],
            [
                re.escape(f'{name}: "{valued.name}" lacks its value; allowed: {valued.allowed}'),
                re.escape(f'{name}: "{valued.name}" is given twice'),
                re.escape(f'{name}: what is "nonsense"?'),
            ],
        )
        unknown = self.attributes["MAX"]
        yield self.refused(
            f"Attributes that {name} does not know",
            [
                f"$RAW -c $DUMMY {name} {unknown}:4:1",
                f"$RAW -c -o $DUMMY {name} {self.raw(valued, 5)}",
            ],
            ["EINVAL: Unknown attribute type", "EINVAL: NLA_F_NESTED is missing"],
            status=1,
        )

    def refused(
        self, name: str, tried: Sequence[str], expected: Sequence[str], status: int = 1
    ) -> Case:
        """Commands that are all refused, with the lines that they say; what is there stays."""
        return Case(
            name, tried[0], script(f"before=$({SHOW})", *tried, same(SHOW), merge=True),
            pattern=r"\A" + "".join(f"{line}\\n+" for line in expected) + r"unchanged\n\Z",
            status=status, setup=(self.qdisc("add", self.every),),
        )  # fmt: skip

    def conflicts(self) -> Iterator[Case]:
        """Values that are not possible together: neither for a change nor to begin with."""
        for conflict in self.kind.conflicts:
            change = self.qdisc("change", conflict.words)
            add = f"$TC qdisc add dev $IFB root {self.kind.name} {conflict.words}"
            yield Case(
                f"The kernel refuses {self.kind.name} {conflict.words}", change,
                script(
                    f"before=$({SHOW})", change, add, same(SHOW), "$TC qdisc show dev $IFB",
                    merge=True,
                ),
                pattern=rf"\A(?:{EXTACK % conflict.message}\n+){{2}}unchanged\n"
                rf"qdisc (?!{self.kind.name})",
                status=conflict.status, setup=(self.qdisc("add"),),
            )  # fmt: skip

    def life(self) -> Iterator[Case]:
        """It goes, comes, and makes way; it has a size table; its classes are its own."""
        name = self.kind.name
        add = self.qdisc("add")
        yield Case(
            f"Replace {name} by pfifo, and pfifo by {name}",
            "$TC qdisc replace dev $DUMMY handle 2: root pfifo",
            script(
                SHOW, f"$TC qdisc replace dev $DUMMY handle 3: root {name} {self.every}", SHOW,
            ),
            pattern=rf"\Aqdisc pfifo 2: root [^\n]*\nqdisc {name} 3: root [^\n]*\n\Z", setup=(add,),
        )  # fmt: skip
        yield Case(
            f"Delete {name}, which then is not there", "$TC qdisc del dev $DUMMY handle 1: root",
            script(SHOW, "$TC qdisc del dev $DUMMY handle 1: root 2> /dev/null || echo no"),
            pattern=r"\Aqdisc noqueue [^\n]*\nno\n\Z", setup=(add,), smoke=True,
        )  # fmt: skip
        yield Case(
            f"{name} with a size table",
            f"$TC qdisc add dev $DUMMY handle 1: root stab overhead 24 {name} {self.every}",
            SHOW_JSON, json=self.shown(self.every_shown),
        )  # fmt: skip
        yield Case(
            f"Classes of {name} can be neither added nor filtered",
            "$TC filter add dev $DUMMY parent 1:1 matchall classid 1:1",
            script(
                f"$TC class add dev $DUMMY parent 1: classid 1:1 {name} 2> /dev/null || echo no",
                SHOW,
            ),
            pattern=rf"\Ano\nqdisc {name} 1:", status=2, setup=(add,),
        )  # fmt: skip


def overlay(shown: dict[str, Shown], option: Option, typed: str) -> dict[str, Shown]:
    """What JSON shows when, besides, one option is given."""
    value = option.good[typed]
    new = value if isinstance(value, dict) else {option.name: value}
    return {key: value for key, value in {**shown, **new}.items() if value is not None}


def script(*commands: str, merge: bool = False) -> str:
    """Several commands as one, whatever their statuses; ``merge``: what they complain, too."""
    body = "; ".join([*(["exec 2>&1"] if merge else []), *commands, "true"])
    assert "'" not in body
    return f"sh -c '{body}'"


def same(show: str) -> str:
    """Say whether what a command shows is still what $before holds."""
    return f'[ "$before" = "$({show})" ] && echo unchanged'


def as_tdc(kind: str, case: Case) -> dict[str, Any]:
    """A case in tdc's words. Its id depends on its name only, and is short: devices bear it."""
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
    """Write the cases of the kinds named, or of all."""
    parser = argparse.ArgumentParser(
        description="Write tdc's cases of our kinds, made from their tables."
    )
    parser.add_argument("--write", metavar="DIR", type=Path, required=True, help="where to")
    parser.add_argument("kind", nargs="*", metavar="KIND", help="all of them, if none is given")
    asked = parser.parse_args()
    tables = {path.stem: path for path in sorted((HERE / "tables").glob("*.py"))}
    for name in asked.kind or tables:
        if name not in tables:
            parser.error(f'there is no table of "{name}"; there are: {" ".join(tables)}')
        kind = load(tables[name])
        found = [as_tdc(name, case) for case in Writer(kind).cases()]
        asked.write.mkdir(parents=True, exist_ok=True)
        (asked.write / f"{name}.json").write_text(json.dumps(found, indent=4) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
