# SPDX-License-Identifier: GPL-2.0
"""Parameters of a scenario: each has a unit, a default and a range or a set of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aqmlab.exceptions import UserError, unknown

Value = int | float | str


@dataclass(frozen=True)
class Param:
    """A parameter. It has the type of `default`.

    low, high: range of a number, inclusive
    choices: allowed texts; empty: any text
    may_be_empty: whether an empty text has a meaning, although the default is another one
    needs: other parameters, and the values of them with which this one has an effect
    of: the number of what it describes; if that is 0, it must be given, so that nobody forgets it
    instead_of: other parameters, which have no effect if this one is given
    alias: the name in older versions, which is still accepted
    """

    name: str
    default: Value
    unit: str
    help: str
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    may_be_empty: bool = False
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    instead_of: tuple[str, ...] = ()
    of: str = ""
    alias: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that settings may use."""
        return (self.name, self.alias) if self.alias else (self.name,)

    def allowed(self) -> str:
        """Return the range or the choices as text."""
        if isinstance(self.default, str):
            return " | ".join(self.choices) if self.choices else "text"
        return f"{self.low:g} to {self.high:g}"

    def parse(self, text: str) -> Value:
        """Return the value of `text`. Raises UserError if it is not allowed."""
        if isinstance(self.default, str):
            if self.choices and text not in self.choices:
                raise UserError(f'{self.name}: "{text}" given, allowed: {self.allowed()}')
            if not text.strip() and self.default and not self.may_be_empty:
                raise UserError(f"{self.name}: nothing given, the default is {self.default}")
            return text
        kind = int if isinstance(self.default, int) else float
        unit = f" {self.unit}" if self.unit else ""
        try:
            value = kind(text)
        except ValueError:
            whole = "a whole number" if kind is int else "a number"
            raise UserError(
                f'{self.name}: "{text}" given, needs {whole} from {self.allowed()}{unit}'
            ) from None
        if not self.low <= value <= self.high:
            raise UserError(f"{self.name}: {text} given, allowed: {self.allowed()}{unit}")
        return value


def replaced(params: Sequence[Param], settings: Sequence[str]) -> list[str]:
    """Return a sentence for each setting that a later one of the same parameter replaces.

    Scripts add settings to a command that has some, so this is no error.
    """
    by_name = {name: p.name for p in params for name in p.names}
    last: dict[str, str] = {}
    said = []
    for setting in settings:
        name = by_name[setting.partition("=")[0]]
        if name in last:
            said.append(f"--set {last[name]} has no effect, because --set {setting} follows it")
        last[name] = setting
    return said


def resolve(params: Sequence[Param], settings: Sequence[str]) -> dict[str, Value]:
    """Return the values of all parameters: `NAME=VALUE` settings, else defaults.

    Raises UserError, also for a parameter that has no effect beside the others.
    """
    by_name = {name: p for p in params for name in p.names}
    values = {p.name: p.default for p in params}
    given = set()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f'--set "{setting}": needs NAME=VALUE')
        if name not in by_name:
            raise unknown("parameter", name, values)
        values[by_name[name].name] = by_name[name].parse(text)
        given.add(by_name[name].name)
    for p in params:
        if values[p.name] != p.default and (idle := given.intersection(p.instead_of)):
            name = min(idle)
            raise UserError(
                f"{name}: {values[name]} given, has no effect beside {p.name}; leave one out"
            )
        for other, wanted in p.needs if values[p.name] != p.default else ():
            if values[other] not in wanted:
                raise UserError(
                    f"{p.name}: {values[p.name]} given, has an effect only with "
                    f"{other}={' or '.join(wanted)}, and {other} is {values[other]}"
                )
        if p.of and p.name in given and p.of not in given and not values[p.of]:
            raise UserError(f"{p.name}: {values[p.name]} given, needs {p.of}, which is 0")
    return values
