# SPDX-License-Identifier: GPL-2.0
"""The short matrix of parents on a kernel with KASAN and lockdep.

The lab fails a run if the kernel reports anything.
"""

from __future__ import annotations

import pytest

from tests.selftests import KINDS, Kind, matrix_names, run_selftest

#: A kind whose metadata names another one with the same code is left to make test-extra.
CHECKED = [
    pytest.param(kind, id=kind.name, marks=[pytest.mark.extra] if kind.metadata.get("LIKE") else [])
    for kind in KINDS
]


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["checked"])
@pytest.mark.parametrize("kind", CHECKED)
def test_matrix_passes_without_kernel_reports(kind: Kind, flavour: str) -> None:
    tap = run_selftest(["selftests/matrix", "-q", kind.name], ["--flavour", flavour])
    assert not tap.failed
    wanted = matrix_names(kind, "-q")
    ran = [name for name in wanted if kind.filters or ": filter-" not in name]
    assert sorted(tap.passed) == sorted(ran)
    assert tap.status == 0
