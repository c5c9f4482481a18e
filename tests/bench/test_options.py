# SPDX-License-Identifier: GPL-2.0
"""bench/run refuses an option that would change nothing, with a sentence."""

from __future__ import annotations

import argparse

import pytest

from aqmlab.qdiscs.metadata import all_metadata
from bench import options
from bench.instructions import MAINLINE

KINDS = [*all_metadata(), *MAINLINE]
PARSER = options.parser(KINDS)


def refusal(words: str) -> str | None:
    return options.refusal(PARSER.parse_args(words.split()), KINDS)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--qdisc qsdrr --qdisc red --regime standing --flows 100 --flows 10000",
        "--qdisc qsdrr --json",
        "--write --accept",
        "--profile --qdisc tdrr --regime standing --write",
        "--whole --qdisc fq --write",
        "--memory --qdisc red --write",
        "--leaves --qdisc fq_codel --qdisc tdrr",
        "--time --write --accept",
        "--time --qdisc fq --regime standing --flows 10000 --base /tmp",
        "--time --regime overload",
        "--holds",
        "--layout --qdisc cbt --write",
    ],
)
def test_options_that_are_used_are_accepted(words: str) -> None:
    assert refusal(words) is None


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("--holds --qdisc tdrr", "--qdisc"),
        ("--holds --flows 4096", "--flows"),
        ("--holds --write", "--write"),
        ("--holds --json", "--json"),
        ("--layout --regime empty", "--regime"),
        ("--layout --json", "--json"),
        ("--layout --qdisc red", "--qdisc red"),  # not ours
        ("--memory --flows 10", "--flows"),
        ("--memory --base /tmp", "--base"),
        ("--memory --qdisc fq_codel-65536", "--qdisc fq_codel-65536"),
        ("--leaves --qdisc cbt", "--qdisc cbt"),  # has no flows
        ("--leaves --regime standing", "--regime"),
        ("--profile --json", "--json"),
        ("--profile --base /tmp", "--base"),
        ("--whole --regime standing", "--regime"),
        ("--whole --json", "--json"),
        ("--time --json", "--json"),
        ("--time --qdisc pie", "--qdisc pie"),
        ("--time --regime gso", "--regime gso"),
        ("--time --regime overload --regime gso", "--regime gso"),
        ("--time --flows 7", "--flows 7"),
        ("--time --regime flood --flows 100", "--regime flood"),  # flood has 10 000
        ("--time --write --qdisc tdrr", "--write"),
        ("--base /tmp", "--base"),
        ("--accept", "--accept"),
        ("--time --accept", "--accept"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused_by_name(words: str, option: str) -> None:
    assert option in (refusal(words) or "")


@pytest.mark.parametrize("words", ["--memory --leaves", "--holds --time", "--profile --whole"])
def test_one_thing_is_measured_at_a_time(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        PARSER.parse_args(words.split())
    assert "not allowed with" in capsys.readouterr().err


def test_each_part_says_of_each_option_whether_it_uses_it() -> None:
    """A new option is refused by every part until the table names it."""
    known = {*options.PARTS, "qdisc", "regime", "flows", "base", "json", "write", "accept"}
    empty = PARSER.parse_args([])
    assert {*vars(empty), "instructions"} == known
    for part in options.PARTS[1:]:
        asked = argparse.Namespace(**vars(empty) | {part: True, "base": "/tmp"})
        assert (options.refusal(asked, KINDS) is None) == (part == "time")
