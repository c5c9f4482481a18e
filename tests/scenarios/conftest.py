# SPDX-License-Identifier: GPL-2.0
"""Fixtures for the tests of scenarios and papers."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay import paper
from replay.paper import Paper
from tests.scenarios.paper_by_hand import CLAIMS, SWEEP, run


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paper:
    """Return a paper in which `good` gets 0.9 of the link, and `bad` gets 0.3."""
    monkeypatch.setattr(paper, "PAPERS", tmp_path)
    directory = tmp_path / "made-up"
    directory.mkdir()
    (directory / "sweep.toml").write_text(SWEEP)
    (directory / "claims.toml").write_text(CLAIMS)
    one = paper.load("made-up")
    run(one, good=0.9, bad=0.3, third=0.1)
    return one
