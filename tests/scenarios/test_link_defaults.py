# SPDX-License-Identifier: GPL-2.0
"""Default options beside the right `bandwidth`, below a shaper whose rate nobody tells.

The bounds are those that docs/defaults.md states: netns-scenarios/papers/links checks them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aqmlab import ROOT
from aqmlab.qdiscs.metadata import all_metadata

#: A fair queue without other feedback than its limit, and RED with derived thresholds.
SAMPLE = ("tdrr", "ared")
LINKS = 4  # lines of links --short


def defaults(out: Path, *kinds: str) -> str:
    """Return what the comparison prints; fails if a default is beyond its bounds."""
    done = subprocess.run(
        [ROOT / "netns-scenarios/papers/links", "--short", "--out", out, "--kinds", *kinds],
        capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_default_options_are_as_good_as_the_right_bandwidth(tmp_path: Path) -> None:
    assert defaults(tmp_path, *SAMPLE).count("\n| 20 ") == LINKS


@pytest.mark.extra
@pytest.mark.parametrize("kind", [kind for kind in all_metadata() if kind not in SAMPLE])
def test_default_options_of_all_kinds(kind: str, tmp_path: Path) -> None:
    assert defaults(tmp_path, kind).count("\n| 20 ") == LINKS
