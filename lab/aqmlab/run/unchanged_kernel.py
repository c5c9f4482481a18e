# SPDX-License-Identifier: GPL-2.0
"""Runs in a guest that sees no file of the host.

There instructions take virtual time: see labkit/icount.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab.exceptions import UserError
from aqmlab.qdiscs import names
from labkit import engines, icount, records

from .congestion_control import OURS as CONTROLS
from .recipe import Recipe
from .steps import Failure

HOW = "--engine qemu --clock virtual"
#: Kinds of the lab's own modules.
LAB_KINDS = ("tracelink",)

#: Start times by the guest's clock, ns after boot: of the first program, and between two programs.
#: A kernel boots in some seconds, and tc takes some milliseconds.
TIMES_NS = 11_000_000_000, 500_000_000
#: Seconds for which the processor is busy before the first program, at least.
BOOT_S = 1
#: Units of a second in /proc/stat (USER_HZ).
TICKS = 100
#: The largest share of a run's time for which it may be busy.
BUSIEST = 0.6
#: Real seconds for each virtual second of such a run, on a crowded machine. A run of 8 s has needed
#: more than 800 s when 40 processes wanted two processors.
LIMIT = 180


def counted(clock: str, lab_options: Mapping[str, Any]) -> bool:
    """Return whether instructions take virtual time in the guest of a run."""
    return engines.table(lab_options.get("engine", "uml"), clock) == "cloud"


def directory(clock: str, lab_options: Mapping[str, Any]) -> Path | None:
    """Return the place of a run's directory in its guest, if it is not the host's."""
    return Path(icount.shared(0)) if counted(clock, lab_options) else None


def busy(
    uptime: str, stat: str, duration_ms: int, counted_s: float | None = None
) -> dict[str, float]:
    """Return for which share of a run's time the guest's processor was busy.

    Linux 7.3 counts more idle time than there was, and busy ticks miss a sixth of the busy time
    since boot. If QEMU did not count we take the larger number, which is still too low on 7.3
    (docs/kernels.md).

    uptime: text of /proc/uptime after the run; empty in a guest whose instructions take no time
    stat: text of /proc/stat after the run
    counted_s: busy seconds after the boot by QEMU's count
    Raises Failure if the processor, and not the link, may have set the pace.
    """
    if not uptime:
        return {}
    total, idle = map(float, uptime.split())
    user, nice, system, _, _, irq, softirq = map(int, stat.split()[1:8])
    ticked = (user + nice + system + irq + softirq) / TICKS
    by_kernel = max(0.0, total - idle - BOOT_S, ticked - BOOT_S)
    share = (by_kernel if counted_s is None else counted_s) / (duration_ms / 1000)
    if share > BUSIEST:
        raise Failure(
            f"the guest's processor was busy for {100 * share:.0f} % of the run, allowed: "
            f"{100 * BUSIEST:.0f} %. With {HOW} instructions take time, so packets waited for "
            "the processor: give a lower rate or fewer flows"
        )
    return {"busy": round(share, 3)}


def check(recipe: Recipe, kernel: str) -> None:
    """Raise UserError if RECIPE needs a program of this machine, or a module that KERNEL lacks.

    kernel: its name, or the path of its image. Debian's for arm64 have our modules
    """
    if recipe.generator != "flowgen" or recipe.programs:
        raise UserError(
            f"{HOW}: the guest has no program of this machine: leave out --exec and "
            f"generator={recipe.generator}, or use --engine uml"
        )
    if kernel in records.arm64_names():
        return
    kinds = names.added(line for batch in recipe.batches for line in batch.lines)
    controls = {str(flow.get("cc", "")) for flow in recipe.flows}
    ours = [
        *(f"qdisc {kind}" for kind in kinds if kind in (*names.ours(), *LAB_KINDS)),
        *(
            f"congestion control {name}"
            for name in sorted(controls)
            if (CONTROLS / f"tcp_{name}.c").exists()
        ),
    ]
    if recipe.traces or ours:
        what = ours[0] if ours else "trace"
        raise UserError(
            f"{what}: {HOW} boots this kernel with its own modules only, and this is a module of "
            f"this project: use --engine uml, or --kernel {records.arm64_names()[0]}"
        )
