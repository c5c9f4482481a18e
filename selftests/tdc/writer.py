# SPDX-License-Identifier: GPL-2.0
"""Generate the cases of a kind from its table, and from the lists of its uapi header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from table import Case, Kind, Option, Shown
from uapi import idle, width

from aqmlab.qdiscs import interface

SHOW = "$TC qdisc show dev $DUMMY"
SHOW_JSON = "$TC -j qdisc show dev $DUMMY"
NOTHING_GIVEN = (
    r'"kind":"%s",.*"given":\[\],"derived":\[[^]]*"bandwidth"[^]]*\],"assumed":\["bandwidth"\]'
)
WRONG_LENGTH = r"E\w+: (?:invalid attribute length|Attribute failed policy validation)"
EXTACK = r"Error: (?:sch_\w+: )?%s\."


class Writer:
    """Generates the cases of a kind."""

    def __init__(self, kind: Kind) -> None:
        """Generate cases from a table."""
        self.kind = kind
        self.listed = {option.name: option for option in interface.read(kind.name).options}
        together = [o for o in kind.options if o.name not in kind.alone]
        firsts = [(o, next(iter(o.good))) for o in together]
        self.every = " ".join(o.words(typed) for o, typed in firsts)
        self.every_shown: dict[str, Shown] = {}
        for option, typed in firsts:
            self.every_shown = option.shown_with(self.every_shown, typed)

    def qdisc(self, verb: str, words: str = "") -> str:
        """Return a tc command for the root of the dummy device."""
        return f"$TC qdisc {verb} dev $DUMMY handle 1: root {self.kind.name} {words}".strip()

    def raw(self, option: Option, value: int) -> str:
        """Return an attribute as an argument of rawqdisc."""
        listed = self.listed[option.name]
        return f"{listed.attribute}:{width(listed)}:{value}"

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
                json=[{"kind": self.kind.name, "drops": 0, "qlen": 0, **idle(self.kind)}],
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
        lines = "".join(rf"(?=.* {option.help_line()} )" for option in self.kind.options)
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
                json=self.shown(option.shown_with(before, typed)),
                setup=(self.qdisc("add", "" if alone else self.every),),
            )

    def refusals(self, option: Option) -> Case:
        """Return a case with wrong values for tc, and an attribute of half its size."""
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
        listed = self.listed[option.name]
        half = f"{listed.attribute}:{width(listed) // 2}:1"
        tried += [f"$RAW -c $DUMMY {self.kind.name} {half}"]
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
                f"$RAW -c $DUMMY {name} {max(o.attribute for o in self.listed.values()) + 1}:4:1",
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


def script(*commands: str, merge: bool = False) -> str:
    """Join commands into one command that ignores errors. merge: include standard error"""
    body = "; ".join([*(["exec 2>&1"] if merge else []), *commands, "true"])
    assert "'" not in body
    return f"sh -c '{body}'"


def same(show: str) -> str:
    """Return a command that prints "unchanged" if the output of ``show`` equals $before."""
    return f'[ "$before" = "$({show})" ] && echo unchanged'
