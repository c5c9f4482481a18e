# SPDX-License-Identifier: GPL-2.0
"""The cards of the disciplines in selftests/kinds, which shell scripts read as well."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from string import Template

from aqmlab import ROOT

CARDS = ROOT / "selftests" / "kinds"


def read_card(text: str) -> dict[str, str]:
    """A card as the shell reads it: KEY="VALUE", where $KEY stands for what went before."""
    card: dict[str, str] = {}
    for word in shlex.split(text, comments=True):
        key, value = word.split("=", 1)
        card[key] = Template(value).substitute(card)
    return card


@functools.cache
def cards() -> Mapping[str, Mapping[str, str]]:
    """All cards, by kind."""
    return {path.name: read_card(path.read_text()) for path in sorted(CARDS.iterdir())}
