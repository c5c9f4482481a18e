# SPDX-License-Identifier: GPL-2.0
"""Run each kind's table in the lab with tdc: options that tc and netlink accept, show, refuse."""

from __future__ import annotations

from pathlib import Path

from aqmlab.qdiscs import interface
from labkit.engines import default_kernel
from labkit.sources import ensure_source
from tests.selftests import KINDS, Kind, every_kind, run_selftest, tdc_cases


@every_kind
def test_all_tdc_cases_pass(kind: Kind, tmp_path: Path) -> None:
    ensure_source(default_kernel())  # it contains tdc
    tap = run_selftest(["selftests/tdc/run", kind.name])
    assert not tap.failed
    assert not tap.skipped
    assert len(tap.passed) == len(tdc_cases(kind.name, tmp_path))
    assert tap.status == 0


@every_kind
def test_table_has_each_option(kind: Kind, tmp_path: Path) -> None:
    """tdc tests only the options of the table."""
    commands = [case["cmdUnderTest"] for case in tdc_cases(kind.name, tmp_path)]
    words = {word for command in commands for word in command.split()}
    options = [option.name for option in interface.read(kind.name).options]
    missing = [name for name in options if not {name, f"no{name}"} & words]
    assert missing == [], f"add them to selftests/tdc/tables/{kind.name}.py"


def test_tdc_ids_are_unique(tmp_path: Path) -> None:
    ids = [case["id"] for kind in KINDS for case in tdc_cases(kind.name, tmp_path)]
    assert len(ids) == len(set(ids))
