# SPDX-License-Identifier: GPL-2.0
"""What the kernel itself says to options, asked without tc, which would have refused them."""

from __future__ import annotations

import errno
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from analysis import lists

TOP = Path(__file__).resolve().parents[2]
TALK = Path(__file__).with_name("talk.py")
KINDS = sorted(
    path.stem.removeprefix("sch_")
    for path in TOP.glob("sch_*.c")
    if "<aqm/options.h>" in path.read_text()
)
WIDTHS = {"FLAG": "B", "CHOICE": "B", "RATE": "Q", "CODEPOINTS": "Q"}
GREATEST = {"B": 2**8 - 1, "I": 2**32 - 1, "Q": 2**64 - 1}

Answer = tuple[int, str, dict[str, str]]


def width(option: lists.Option) -> str:
    return WIDTHS.get(option.type, "I")


def packed(option: lists.Option, value: int) -> str:
    return struct.pack("=" + width(option), value).hex()


def talk(asked: list[tuple[str, dict[int, str], str]]) -> list[Answer]:
    """One boot for all that is asked."""
    script = f'modprobe -a {" ".join("sch_" + k for k in KINDS)}; exec "$@"'
    done = subprocess.run(
        [TOP / "lab" / "boot", "--", "sh", "-c", script, "sh", sys.executable, TALK,
         json.dumps(asked)],
        capture_output=True, text=True, check=False, cwd=TOP,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    answers: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked)
    return [(error, message, shown) for error, message, shown in answers]


def numbers(kind: str) -> list[lists.Option]:
    """The options whose range is one of numbers."""
    return [o for o in lists.read(kind).options if o.type not in ("CODEPOINTS", "MASKED")]


def test_the_kernel_names_the_option_and_its_range() -> None:
    asked, expected = [], []
    for kind in KINDS:
        for option in numbers(kind):
            derived = option.default is None
            for value in (option.least - 1, option.greatest + 1):
                if value < 0 or value > GREATEST[width(option)] or (derived and not value):
                    continue
                asked.append((kind, {option.attribute: packed(option, value)}, "add"))
                expected.append((option, value))
    assert len(asked) > 10
    for (option, value), (error, message, shown) in zip(expected, talk(asked), strict=True):
        where = f"{option.name} {value}: {message}"
        assert error == errno.EINVAL, where
        assert f"{option.name} must be {option.least} to {option.greatest}" in message, where
        assert shown == {}, f"{where}: it is there all the same"


def test_an_option_is_in_the_dump_if_it_was_given() -> None:
    """Each alone; then all changed away from derived and back."""
    asked, expected = [], []
    for kind in KINDS:
        asked.append((kind, {}, "add"))
        expected.append({})
        for option in numbers(kind):
            value = option.greatest if option.default is None else option.default
            given = {option.attribute: packed(option, value)}
            asked.append((kind, given, "add"))
            expected.append(given)
    answers = talk(asked)
    taken = 0
    for (kind, given, _), want, (error, message, shown) in zip(
        asked, expected, answers, strict=True
    ):
        # What does not fit the other options is refused for that; never for its range.
        if error:
            assert error == errno.EINVAL, message
            assert " must be " not in message or " to " not in message, (kind, given, message)
            assert shown == {}
            continue
        taken += 1
        assert {int(at): value for at, value in shown.items()} == want, kind
    assert taken > len(answers) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_given_can_be_derived_again(kind: str) -> None:
    seed = next(o for o in numbers(kind) if o.default is None and o.name in ("seed", "limit"))
    flag = next(o for o in numbers(kind) if o.type == "FLAG")
    on, off = packed(flag, 1), packed(flag, 0)
    asked = [
        (kind, {seed.attribute: packed(seed, 400)}, "add"),
        (kind, {flag.attribute: on}, "change"),
        (kind, {flag.attribute: off}, "change"),
        (kind, {seed.attribute: packed(seed, 0)}, "change"),
    ]
    shown = [
        {int(at): value for at, value in shown.items()} for error, message, shown in talk(asked)
    ]
    given = {seed.attribute: packed(seed, 400)}
    assert shown == [
        given,
        {**given, flag.attribute: on},
        {**given, flag.attribute: off},
        {flag.attribute: off},
    ]
