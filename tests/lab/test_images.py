# SPDX-License-Identifier: GPL-2.0
"""A kernel's image depends only on source, settings and compiler. Builds one, for minutes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labkit import engines, fetch
from labkit.kernels import ensure_uml

ROOT = Path(__file__).resolve().parents[2]


def bytes_in(kernel: Path) -> dict[str, str]:
    """Return hashes of the image and of the modules of a built kernel, by name."""
    files = [kernel / "linux", *kernel.rglob("installed/**/*.ko")]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.extra
@pytest.mark.slow
def test_two_builds_in_two_directories_give_equal_images(tmp_path: Path) -> None:
    """Source and build are in other, deeper directories with other names."""
    kernel = ensure_uml(engines.default_kernel(), "fast")
    elsewhere = tmp_path / "another" / "cache-of-kernels"
    (elsewhere / "dl").mkdir(parents=True)
    package = fetch.cached(f"linux-source-{kernel.name}")
    assert package
    shutil.copy(package, elsewhere / "dl")
    build = f"from labkit.kernels import ensure_uml; ensure_uml({kernel.name!r}, 'fast')"
    subprocess.run(
        [sys.executable, "-c", build],
        check=True,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "lab"),
            "LAB_CACHE": str(elsewhere),
            "LOGNAME": "other",
            "TZ": "Asia/Tokyo",
        },
    )
    built = bytes_in(elsewhere / "kernels" / kernel.key)
    assert len(built) > 1
    assert built == bytes_in(kernel.path)
