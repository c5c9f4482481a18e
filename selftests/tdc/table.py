# SPDX-License-Identifier: GPL-2.0
"""What a kind's table is made of: its options, what is refused, and the cases that are special.

A table says how an option is typed, how JSON shows it and what is wrong; ``cases.py`` makes tdc's
cases of it. The numbers of netlink attributes come from the kind's uapi header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# As in JSON output. A mapping in the place of a value: several keys at once.
Shown = Any


@dataclass(frozen=True)
class Option:
    """One option.

    ``default`` is how help names it; "auto": it follows from others unless it is given.
    ``allowed`` is its range in tc's words. ``good`` maps what is typed to what JSON then shows:
    the first is the option's part of "every option at once", each other one is the target of a
    change from there. ``bad`` are values, with spaces between, that tc refuses, and ``raw``
    values, in the attribute's unit, that the kernel refuses by itself. ``fixed`` is the kernel's
    answer to a change, if the option cannot be changed.
    """

    name: str
    default: str
    allowed: str
    good: Mapping[str, Shown]
    bad: str = ""
    raw: Sequence[int] = ()
    fixed: str = ""
    is_flag: bool = False

    def words(self, typed: str) -> str:
        """What is typed for one of ``good``, with the option's name."""
        return typed if self.is_flag else f"{self.name} {typed}"


def choice(name: str, words: str) -> Option:
    """One of some words, of which the first is the default; all are tried."""
    default, *others = words.split()
    return Option(
        name, default, " | ".join(words.split()), {word: word for word in [*others, default]},
        bad="nonsense", raw=[len(others) + 1],
    )  # fmt: skip


def flag(name: str, default: bool = False) -> Option:
    """A flag: "NAME" sets it, "noNAME" clears it, or "NAME" clears what is called "noNAME"."""
    clear = name[2:] if name.startswith("no") else f"no{name}"
    words = {clear: False, name: True} if default else {name: True, clear: False}
    return Option(name, name if default else clear, "", words, raw=[2], is_flag=True)


# Marking instead of dropping, as each RED has it. nodrop cannot stay when ecn goes.
MARKING = (
    Option(
        "ecn", "noecn", "", {"ecn": True, "noecn drop": {"ecn": False, "nodrop": False}},
        raw=[2], is_flag=True,
    ),
    flag("nodrop"),
    flag("harddrop"),
)  # fmt: skip

SEED = Option(
    "seed", "auto", "1 to 4294967295", {"9": 9, "4294967295": 4294967295}, bad="-1 4294967296"
)

# What bounds and cuts up the packets held.
HOLDING = (
    Option(
        "memory_limit", "auto", "1b to 4Gb", {"2Mb": 2 << 20, "1": 1, "4294967295": 4294967295},
        bad="0 -1 4294967296",
    ),
    flag("split_gso", default=True),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A case as tdc has them: ``command`` exits with ``status``, then ``show`` is compared.

    ``json`` need not have all that is shown. Otherwise ``pattern`` is found ``count`` times.
    Nothing is torn down: the namespace goes with all that is in it.
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
    """Options that are each possible and not together: the kernel says why."""

    words: str
    message: str
    status: int = 2


@dataclass(frozen=True)
class Kind:
    """All that tdc is to know of a kind.

    ``idle`` is what the statistics of an empty queue have, with nothing given. ``alone`` are
    options that "every option at once" leaves out, because they exclude another.
    """

    name: str
    options: Sequence[Option]
    conflicts: Sequence[Conflict] = ()
    idle: Mapping[str, Shown] = field(default_factory=dict)
    alone: Sequence[str] = ()
    special: Sequence[Case] = ()


GATE = (
    "$IP link add g0 type gate",
    "$IP link set g0 addrgenmode none",
    "$IP link set g0 up",
)


def on_gate(
    name: str,
    add: str,
    command: str,
    show: str = "$TC -s -j qdisc show dev g0",
    *,
    then: Sequence[str] = (),
    **more: Any,
) -> Case:
    """A case on a device that sends nothing, where ``add`` names the kind and its options.

    ``then`` is what more the case needs before its command, a filter for example.
    """
    return Case(
        name,
        command,
        show,
        setup=(*GATE, f"$TC qdisc add dev g0 handle 1: root {add}", *then),
        **more,
    )


def stats(name: str, add: str, **fields: Shown) -> Case:
    """What the statistics have, just set up with these options."""
    return Case(
        name,
        f"$TC qdisc add dev $DUMMY handle 1: root {add}",
        "$TC -s -j qdisc show dev $DUMMY",
        json=[{"kind": add.split()[0], **fields}],
    )


def changed(name: str, add: str, change: str, text: str) -> Case:
    """What is shown after a change."""
    return Case(
        name,
        f"$TC qdisc change dev $DUMMY handle 1: root {change}",
        "$TC qdisc show dev $DUMMY",
        pattern=text,
        setup=(f"$TC qdisc add dev $DUMMY handle 1: root {add}",),
    )
