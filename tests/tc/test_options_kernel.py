# SPDX-License-Identifier: GPL-2.0
"""The kernel's own checks of options. They are tested without tc, which would refuse first."""

from __future__ import annotations

import errno
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from uapi import out_of_range, width

from aqmlab.qdiscs import interface

TOP = Path(__file__).resolve().parents[2]
TALK = Path(__file__).with_name("talk.py")
KINDS = sorted(
    path.stem.removeprefix("sch_")
    for path in TOP.glob("sch_*.c")
    if "AQM_OPTIONS(" in path.read_text()
)
LETTERS = {1: "B", 4: "I", 8: "Q"}
GIVEN = 2  # attribute of every discipline with the mask of given options

Answer = tuple[int, str, dict[str, str]]


def packed(option: interface.Option, value: int) -> str:
    return struct.pack("=" + LETTERS[width(option)], value).hex()


def talk(asked: list[tuple[str, dict[int, str], str]]) -> list[Answer]:
    """Send all requests in one boot."""
    script = f'modprobe -a {" ".join("sch_" + k for k in KINDS)}; exec "$@"'
    done = subprocess.run(
        [
            TOP / "lab" / "boot",
            "--",
            "sh",
            "-c",
            script,
            "sh",
            sys.executable,
            TALK,
            json.dumps(asked),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=TOP,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answers: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked)
    return [(error, message, shown) for error, message, shown in answers]


def numbers(kind: str) -> list[interface.Option]:
    """Return the options with a numeric range."""
    return [o for o in interface.read(kind).options if o.type not in ("CODEPOINTS", "MASKED")]


def test_kernel_names_the_option_and_its_range() -> None:
    asked, expected = [], []
    for kind in KINDS:
        for option in numbers(kind):
            for value in out_of_range(option):
                asked.append((kind, {option.attribute: packed(option, value)}, "add"))
                expected.append((option, value))
    assert len(asked) > 10
    for (option, value), (error, message, shown) in zip(expected, talk(asked), strict=True):
        where = f"{option.name} {value}: {message}"
        assert error == errno.EINVAL, where
        assert f"{option.name} must be {option.least} to {option.greatest}" in message, where
        assert shown == {}, f"{where}: refused, but the qdisc exists"


def given(shown: dict[str, str]) -> set[int]:
    """Return the attributes that are in the mask of a dump."""
    mask = int.from_bytes(bytes.fromhex(shown[str(GIVEN)]), sys.byteorder)
    return {number for number in range(64) if mask >> number & 1}


def test_dump_has_the_given_values_and_their_mask() -> None:
    """Test without options, and with each option alone."""
    asked = []
    for kind in KINDS:
        asked.append((kind, {}, "add"))
        for option in numbers(kind):
            value = option.greatest if option.default is None else option.default
            asked.append((kind, {option.attribute: packed(option, value)}, "add"))
    answers = talk(asked)
    taken = 0
    for (kind, sent, _), (error, message, shown) in zip(asked, answers, strict=True):
        # A value in range may still conflict with other options.
        if error:
            assert error == errno.EINVAL, message
            assert " must be " not in message or " to " not in message, (kind, sent, message)
            assert shown == {}
            continue
        taken += 1
        assert given(shown) == set(sent), kind
        assert {int(at): value for at, value in shown.items()}.items() >= sent.items(), kind
    assert taken > len(answers) / 2


def test_given_option_can_be_derived_again() -> None:
    asked, options = [], []
    for kind in KINDS:
        limit = next(o for o in numbers(kind) if o.name == "limit")
        flag = next(o for o in numbers(kind) if o.type == "FLAG")
        asked += [
            (kind, {limit.attribute: packed(limit, 400)}, "add"),
            (kind, {flag.attribute: packed(flag, 1)}, "change"),
            (kind, {flag.attribute: packed(flag, 0)}, "change"),
            (kind, {limit.attribute: packed(limit, 0)}, "change"),
        ]
        options.append((limit, flag))
    answers = [shown for error, message, shown in talk(asked)]
    for number, (limit, flag) in enumerate(options):
        shown = answers[4 * number :][:4]
        both = {limit.attribute, flag.attribute}
        assert [*map(given, shown)] == [{limit.attribute}, both, both, {flag.attribute}]
        values = [attributes[str(limit.attribute)] for attributes in shown]
        assert values[:3] == [packed(limit, 400)] * 3
        assert values[3] != packed(limit, 400)


def test_dump_that_is_sent_back_restores_the_qdisc() -> None:
    """It also does so for a qdisc with other options. Derived values still follow the rate."""
    pairs = {kind: {o.name: o for o in numbers(kind)} for kind in KINDS}

    def rate(kind: str, value: int) -> dict[int, str]:
        option = pairs[kind]["bandwidth"]
        return {option.attribute: packed(option, value)}

    def memory(kind: str) -> dict[int, str]:
        option = pairs[kind]["memory_limit"]
        return {option.attribute: packed(option, 5_000_000)}

    first = talk([(kind, memory(kind), "add") for kind in KINDS])
    asked = []
    for kind, (_, _, shown) in zip(KINDS, first, strict=True):
        back = {int(at): value for at, value in shown.items()}
        limit = pairs[kind]["limit"]
        asked += [
            (kind, back, "add"),
            (kind, {limit.attribute: packed(limit, 400)}, "change"),
            (kind, back, "change"),
            (kind, rate(kind, 2_500_000), "change"),
            (kind, memory(kind) | rate(kind, 2_500_000), "add"),
        ]
    answers = talk(asked)
    assert [message for error, message, _ in answers if error] == []
    for at, (_, _, want) in zip(range(0, len(asked), 5), first, strict=True):
        added, _, changed, moved, fresh = (shown for _, _, shown in answers[at : at + 5])
        assert added == changed == want
        assert moved == fresh != want
