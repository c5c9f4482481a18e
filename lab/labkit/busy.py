# SPDX-License-Identifier: GPL-2.0
"""How long a guest's processor was busy, if QEMU counts its instructions.

No file of the guest tells it: Linux 7.3 counts more idle time than there was, and the ticks of all
kernels miss a part of the busy time.
"""

from __future__ import annotations

from pathlib import Path

from . import engines, icount, images
from .cache import built, digest, mark
from .errors import LabError
from .paths import BUILD
from .request import Request, Result

#: A command that does nothing.
IDLE = ("busybox", "true")


def after_boot(request: Request, result: Result) -> float | None:
    """Return the virtual seconds in which the processor of a guest ran after its boot.

    Boots a guest that does nothing, once for each kernel, and subtracts its seconds.

    request, result: of the guest
    Returns None if QEMU did not tell. Raises LabError if the other guest fails.
    """
    if result.busy is None:
        return None
    idle = Request(IDLE, request.engine, request.kernel, request.clock, memory=request.memory)
    idle = engines.settled(idle)

    def make(place: Path) -> None:
        found = engines.run(idle, capture=True)
        if found.status or found.busy is None:
            raise LabError(f"a guest that does nothing failed: {found.reason}; log: {found.log}")
        place.mkdir(parents=True, exist_ok=True)
        (place / "busy").write_text(str(found.busy))
        mark(place)

    kernel = images.ensure(idle.kernel)
    base = icount.ensure_base(kernel, idle).parent.name
    version = icount.qemu_version(images.target_of(idle.kernel))
    key = digest(part.encode() for part in (base, version, idle.memory))
    boot = built(BUILD / "boots" / f"{kernel.name}-{key}", make) / "busy"
    return result.busy - float(boot.read_text())
