# SPDX-License-Identifier: GPL-2.0
"""The vectors of the KUnit test equal the vectors of the model."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.tworegionred import vectors

TOP = Path(__file__).resolve().parents[3]
STORED = TOP / "selftests" / "kunit" / "two_region_vectors.h"


def test_stored_vectors_match_the_model() -> None:
    assert STORED.read_text() == vectors.text()
