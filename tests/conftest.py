# SPDX-License-Identifier: GPL-2.0
"""How tests are spread over processes."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file's tests run in one process, as they share boots, unless they are grouped otherwise."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
