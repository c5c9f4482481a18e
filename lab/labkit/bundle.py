# SPDX-License-Identifier: GPL-2.0
"""What a guest needs, built elsewhere: the part of a wheel that is not Python.

    linux, System.map     the kernel; sha256sums has its digest
    modules/RELEASE       a tree for modprobe
    bin, tc               static programs of the guest, and netem's tables
    init                  the guest's first process
    qdiscs.json           options and statistics of the qdiscs
    manifest.json         kernel, flavour, release, key, compiler, version

tools/wheel makes it. A checkout has none, and builds these parts when they are needed.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path

from .errors import LabError
from .kernels import Kernel
from .modules import Extras
from .paths import BUNDLE

MANIFEST = "manifest.json"
QDISCS = "qdiscs.json"


@functools.cache
def manifest() -> dict[str, str]:
    """Return what the bundle was made of; empty without a bundle."""
    if BUNDLE is None:
        return {}
    return dict(json.loads((BUNDLE / MANIFEST).read_text()))


def parts(
    name: str, flavour: str, folders: Sequence[Path]
) -> tuple[Kernel, Path, Extras, Path] | None:
    """Return kernel, module tree, programs and the directory of init; None without a bundle.

    Raises LabError for what only a checkout can build.
    """
    if BUNDLE is None:
        return None
    known = manifest()
    if folders:
        raise LabError(
            "--module builds a kernel module, and this package has no kernel headers: "
            "use a checkout of the source, see docs/your-own.md"
        )
    if (name, flavour) != (known["kernel"], known["flavour"]):
        raise LabError(
            f"this package has Linux {known['kernel']} in flavour {known['flavour']} only; a "
            "checkout of the source builds others, see docs/lab.md"
        )
    release = known["release"]
    kernel = Kernel(
        name,
        flavour,
        known["key"],
        BUNDLE,
        release,
        BUNDLE / "linux",
        BUNDLE / "modules" / release,
    )
    programs = Extras(BUNDLE / "tc", BUNDLE / "bin", BUNDLE / "bin")
    return kernel, BUNDLE / "modules", programs, BUNDLE
