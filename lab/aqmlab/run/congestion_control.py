# SPDX-License-Identifier: GPL-2.0
"""Which congestion controls TCP may be asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from aqmlab import ROOT
from aqmlab.exceptions import UserError, unknown
from labkit import outside

from .guest_kernel import DEFAULT
from .recipe import Recipe

OURS = ROOT / "lab" / "tcp"
CONFIG = ROOT / "lab" / "config" / "base.config"
#: Flags by which a module says so.
NEEDS_ECN = re.compile(r"\bTCP_CONG_NEEDS_(ACC)?ECN\b")
#: What this machine's kernel has built in or loaded.
HERE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def known() -> set[str]:
    """Name all that the lab's kernels have, and ours."""
    symbols = re.findall(r"^CONFIG_TCP_CONG_(\w+)=y$", CONFIG.read_text(), re.M)
    names = {
        "highspeed" if symbol == "HSTCP" else symbol.lower()
        for symbol in symbols
        if symbol != "ADVANCED"
    }
    files = (path for path in OURS.glob("tcp_*.c") if not path.name.endswith(".mod.c"))
    return {"reno", *names, *(path.stem.removeprefix("tcp_") for path in files)}


def check(recipe: Recipe, *, here: bool, modules: Sequence[Path] = ()) -> None:
    """Raise UserError for a flow whose congestion control does not exist.

    modules: directories outside the checkout that have more.
    """
    names = known().union(*(outside.names(folder, "tcp_") for folder in modules))
    names |= set(HERE.read_text().split()) if here and HERE.exists() else set()
    for cc in _used(recipe):
        if "," in cc:
            raise UserError(
                f"cc: {cc} given, needs one congestion control; several of them share a link in "
                f"scenario mixed, --set mix={cc}"
            )
        if cc not in names:
            raise unknown("congestion control", cc, names)


def needing_ecn(recipe: Recipe, modules: Sequence[Path] = ()) -> list[str]:
    """Return the congestion controls of a recipe that do not work without ECN.

    modules: as for check()
    """
    files = [path for folder in (OURS, *modules) for path in folder.glob("tcp_*.c")]
    needs = {
        path.stem.removeprefix("tcp_")
        for path in files
        if NEEDS_ECN.search(path.read_text(errors="replace"))
    }
    return sorted({"dctcp", *needs} & {*_used(recipe)})


def _used(recipe: Recipe) -> list[str]:
    """Return the names that flows and programs of --exec have, which get it by a sysctl."""
    controls = [
        *(str(flow.get("cc", "")) for flow in recipe.flows),
        *(values.get(DEFAULT, "") for values in recipe.sysctls.values()),
    ]
    return [cc for cc in dict.fromkeys(controls) if cc]  # UDP: ""
