# SPDX-License-Identifier: GPL-2.0
"""Elements of a kind's table: options, conflicts, and special cases.

For each option, a table says what a user can type, how JSON shows it, and which values are wrong.
``cases.py`` generates tdc's cases from it. The numbers and sizes of netlink attributes and the
names of counters come from the lists in the kind's uapi header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# A value in JSON output. A mapping stands for several keys.
Shown = Any


@dataclass(frozen=True)
class Option:
    """An option.

    default: the default in the help text. "auto": derived from other options
    allowed: the range in the help text
    good: input, and the value that JSON then shows. The first one is used for "every option at
        once". Each other one is the target of a change from there
    bad: input that tc refuses, separated by spaces
    fixed: the kernel's message, if the option cannot be changed
    """

    name: str
    default: str
    allowed: str
    good: Mapping[str, Shown]
    bad: str = ""
    fixed: str = ""
    is_flag: bool = False

    def words(self, typed: str) -> str:
        """Return the words for one of ``good``, with the option's name."""
        return typed if self.is_flag else f"{self.name} {typed}"

    def help_line(self) -> str:
        """Return a pattern of the option's line in the help text, with single spaces."""
        name = f"[no]{self.name.removeprefix('no')}" if self.is_flag else self.name
        allowed = f" {self.allowed};" if self.allowed else ""
        part = r"(?:(?!default )[^;])*;"
        end = re.escape(f"{allowed} default {self.default}")
        return rf"{re.escape(name)} {part}(?:{part}){{0,2}}?{end}"

    def shown_with(self, shown: Mapping[str, Shown], typed: str) -> dict[str, Shown]:
        """Return tc's JSON output after this option is set, too."""
        value = self.good[typed]
        new = value if isinstance(value, dict) else {self.name: value}
        return {key: value for key, value in {**shown, **new}.items() if value is not None}


def choice(name: str, words: str) -> Option:
    """Return an option that is one of several words. The first is the default. All are tested."""
    default, *others = words.split()
    return Option(
        name,
        default,
        " | ".join(words.split()),
        {word: word for word in [*others, default]},
        bad="nonsense",
    )


def flag(name: str, default: bool = False) -> Option:
    """Return a flag. "NAME" sets it and "noNAME" clears it, or the reverse for a "noNAME"."""
    clear = name[2:] if name.startswith("no") else f"no{name}"
    words = {clear: False, name: True} if default else {name: True, clear: False}
    return Option(name, name if default else clear, "", words, is_flag=True)


# Options for marking, the same for each RED. nodrop ends together with ecn.
MARKING = (
    Option(
        "ecn",
        "noecn",
        "",
        {"ecn": True, "noecn drop": {"ecn": False, "nodrop": False}},
        is_flag=True,
    ),
    flag("nodrop"),
    flag("harddrop"),
)

SEED = Option(
    "seed", "auto", "1 to 4294967295", {"9": 9, "4294967295": 4294967295}, bad="-1 4294967296"
)

# Options of the buffer.
HOLDING = (
    Option(
        "memory_limit",
        "auto",
        "1b to 4294967295b",
        {"2Mb": 2 << 20, "1000000b": 1000000, "4096": 4096, "1": 1, "4294967295": 4294967295},
        bad="0 -1 x 4294967296",
    ),
    flag("split_gso", default=True),
)


@dataclass(frozen=True)
class Case:
    """A case for tdc. ``command`` must exit with ``status``, and the output of ``show`` match.

    json: must be contained in the output, or
    pattern, count: the pattern must occur this many times
    There is no teardown, because tdc deletes the namespace with everything in it.
    """

    name: str
    command: str
    show: str
    json: Sequence[Mapping[str, Shown]] | None = None
    pattern: str = ""
    count: int = 1
    status: int = 0
    setup: Sequence[str] = ()
    smoke: bool = False


@dataclass(frozen=True)
class Conflict:
    """Options that are valid alone but not together, and the kernel's message."""

    words: str
    message: str
    status: int = 2


@dataclass(frozen=True)
class Kind:
    """The table of a kind.

    idle: statistics of an empty queue without options, except counters of events, which are 0
    alone: options that are not part of "every option at once", because they exclude another
    """

    name: str
    options: Sequence[Option]
    conflicts: Sequence[Conflict] = ()
    idle: Mapping[str, Shown] = field(default_factory=dict)
    alone: Sequence[str] = ()
    special: Sequence[Case] = ()


GATE = ("$IP link add g0 type gate", "$IP link set g0 addrgenmode none", "$IP link set g0 up")


def on_gate(
    name: str,
    add: str,
    command: str,
    show: str = "$TC -s -j qdisc show dev g0",
    *,
    then: Sequence[str] = (),
    **more: Any,
) -> Case:
    """Return a case on a device that sends nothing.

    add: kind and options
    then: further commands before the case's command, for example a filter
    """
    return Case(
        name,
        command,
        show,
        setup=(*GATE, f"$TC qdisc add dev g0 handle 1: root {add}", *then),
        **more,
    )


def stats(name: str, add: str, **fields: Shown) -> Case:
    """Return a case that checks statistics right after adding a qdisc with these options."""
    return Case(
        name,
        f"$TC qdisc add dev $DUMMY handle 1: root {add}",
        "$TC -s -j qdisc show dev $DUMMY",
        json=[{"kind": add.split()[0], **fields}],
    )


def changed(name: str, add: str, change: str, text: str) -> Case:
    """Return a case that checks tc's output after a change."""
    return Case(
        name,
        f"$TC qdisc change dev $DUMMY handle 1: root {change}",
        "$TC qdisc show dev $DUMMY",
        pattern=text,
        setup=(f"$TC qdisc add dev $DUMMY handle 1: root {add}",),
    )
