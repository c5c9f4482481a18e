# SPDX-License-Identifier: GPL-2.0
"""Refuse what a kernel without modules of ours, in a guest without files of the host, cannot do."""

from __future__ import annotations

from aqmlab.exceptions import UserError
from aqmlab.qdiscs import names

from .congestion_control import OURS as CONTROLS
from .recipe import Recipe

HOW = "--engine qemu --clock virtual"
#: Kinds of the lab's own modules.
LAB_KINDS = ("tracelink",)


def check(recipe: Recipe) -> None:
    """Raise UserError if RECIPE needs a module of ours, or a program of this machine."""
    if recipe.generator != "flowgen" or recipe.programs:
        raise UserError(
            f"{HOW}: the guest has no program of this machine: leave out --exec and "
            f"generator={recipe.generator}, or use --engine uml"
        )
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
            f"{what}: {HOW} boots kernels with their own modules only, and this is a module of "
            "this project: use --engine uml"
        )
