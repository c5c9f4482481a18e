# SPDX-License-Identifier: GPL-2.0
"""A kernel image of the user is recognised by its header."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import images
from labkit.errors import LabError


def test_an_image_for_arm64_is_refused_by_its_architecture(tmp_path: Path) -> None:
    """Linux's booting.rst for arm64: the magic number 0x644d5241, little endian, is at byte 56."""
    image = tmp_path / "Image"
    image.write_bytes(bytes(56) + (0x644D5241).to_bytes(4, "little") + bytes(4096))
    with pytest.raises(LabError, match=r"for arm64.*such as 6\.12-arm64"):
        images.of_file(str(image))
