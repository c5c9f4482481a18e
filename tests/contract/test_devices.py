# SPDX-License-Identifier: GPL-2.0
"""Each discipline on devices that stand on others, while these devices change.

A command that hangs in the kernel fails at once, see selftests/devices/stack.py. The lab fails a
run if the kernel reports anything, such as a lock that a process takes twice.
"""

from __future__ import annotations

import pytest

from tests.selftests import KINDS, Tap, run_selftest


def walk(*words: str, flavour: str = "checked", limit: int = 600) -> Tap:
    """Walk pairs of devices."""
    tap = run_selftest(["selftests/devices/walk", *words], ("--flavour", flavour), limit)
    assert not tap.failed
    assert tap.status == 0
    return tap


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["fast", pytest.param("checked", marks=pytest.mark.extra)])
def test_devices_on_a_device_with_a_lock_of_its_own(flavour: str) -> None:
    uppers = "bridge,macvlan,bond,vlan,vxlan"
    tap = walk("--lower", "dummy", "--upper", uppers, "--layout", "leaves", flavour=flavour)
    assert not tap.skipped


@pytest.mark.slow
@pytest.mark.extra
@pytest.mark.parametrize("turn", range(len(KINDS)))
def test_each_discipline_as_the_root_of_each_device(turn: int) -> None:
    walk("--layout", "root", "--lower", "dummy,netdevsim", "--turn", str(turn))


@pytest.mark.slow
@pytest.mark.extra
def test_each_pair_of_devices() -> None:
    tap = walk(limit=3600)
    assert len(tap.passed) > len(tap.skipped)
