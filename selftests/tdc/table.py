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

    ``default`` is what JSON shows when the option is not given; None: nothing, as where it is
    derived. ``good`` maps what is typed to what JSON shows: the first is the option's part of
    "every option at once" and differs from the default, each other one is the target of a change
    from there. ``bad`` are values, with spaces between, that tc refuses, with ``allowed`` at the
    end of its message, and ``raw`` values, in the attribute's unit, that the kernel refuses by
    itself. ``fixed`` is the kernel's answer to a change, if the option cannot be changed.
    """

    name: str
    width: int
    default: Shown
    good: Mapping[str, Shown]
    allowed: str = ""
    bad: str = ""
    raw: Sequence[int] = ()
    attr: str = ""
    fixed: str = ""
    is_flag: bool = False

    def words(self, typed: str) -> str:
        """What is typed for one of ``good``, with the option's name."""
        return typed if self.is_flag else f"{self.name} {typed}"


def number(
    name: str, default: Shown, good: Mapping[str, Shown], allowed: str, **more: Any
) -> Option:
    """An option of 32 bits."""
    return Option(name, 4, default, good, allowed, **more)


def long_number(
    name: str, default: Shown, good: Mapping[str, Shown], allowed: str, **more: Any
) -> Option:
    """An option of 64 bits."""
    return Option(name, 8, default, good, allowed, **more)


def choice(name: str, words: str, **more: Any) -> Option:
    """One of some words, of which the first is the default; all others are tried."""
    default, *others = words.split()
    return Option(
        name,
        1,
        default,
        {word: word for word in [*others, default]},
        allowed=" | ".join(words.split()),
        bad="nonsense",
        raw=[len(others) + 1],
        **more,
    )


def flag(name: str, default: bool = False, **more: Any) -> Option:
    """A flag: "NAME" sets it, "noNAME" clears it."""
    words = {name: True, f"no{name}": False} if not default else {f"no{name}": False, name: True}
    return Option(name, 1, default, words, raw=[2], is_flag=True, **more)


def ecn(nodrop: Option) -> Option:
    """The flag that marks instead of dropping. ``nodrop`` cannot stay when it goes."""
    back = list(nodrop.good)[-1]
    off = {"ecn": False, nodrop.name: nodrop.good[back]}
    return Option("ecn", 1, False, {"ecn": True, f"noecn {back}": off}, raw=[2], is_flag=True)


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

    ``text`` is what ``tc qdisc show`` prints with nothing given. ``idle`` is what the statistics
    of an empty queue have. ``alone`` are options that "every option at once" leaves out,
    because they exclude another.
    """

    name: str
    text: str
    options: Sequence[Option]
    conflicts: Sequence[Conflict] = ()
    idle: Mapping[str, Shown] = field(default_factory=dict)
    alone: Sequence[str] = ()
    special: Sequence[Case] = ()

    def defaults(self) -> dict[str, Shown]:
        """What JSON shows as options when nothing is given."""
        return {o.name: o.default for o in self.options if o.default is not None}


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
