# SPDX-License-Identifier: GPL-2.0
"""Run the transcripts in pages, in a fresh copy of the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import transcript
from tests.scenarios.shortrun import copied

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "page",
    [
        "docs/your-own.md",
        *(
            pytest.param(page, marks=pytest.mark.extra)
            for page in ("docs/quic.md", "docs/l4s.md", "docs/forge.md", "CONTRIBUTING.md")
        ),
        pytest.param("docs/programs.md", marks=pytest.mark.extra),  # takes NeST from PyPI
    ],
)
def test_commands_print_the_output_in_the_page(page: str, tmp_path: Path) -> None:
    transcript.play(TOP / page, copied(tmp_path))


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ("one\ntwo 2\nthree\n", True),
        ("one\ntwo 2\n", True),
        ("two 2\n", False),
        ("one\ntwo 2\nthree\nfour\n", True),
        ("one\ntwo\n", False),
    ],
)
def test_dots_match_any_text(tmp_path: Path, said: str, fits: bool) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ printf {said!r}\none\ntwo ...\n...\n```\n")
    if fits:
        transcript.play(page, tmp_path)
    else:
        with pytest.raises(AssertionError, match="the page shows"):
            transcript.play(page, tmp_path)
