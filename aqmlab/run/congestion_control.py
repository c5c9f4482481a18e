# SPDX-License-Identifier: GPL-2.0
"""Which congestion controls TCP may be asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from labkit import outside

from aqmlab import ROOT
from aqmlab.exceptions import unknown

from .recipe import Recipe

OURS = ROOT / "netns-scenarios" / "tcp"
CONFIG = ROOT / "lab" / "config" / "base.config"
#: What this machine's kernel has built in or loaded.
HERE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def known() -> set[str]:
    """Name all that the lab's kernels have, and ours."""
    symbols = re.findall(r"^CONFIG_TCP_CONG_(\w+)=y$", CONFIG.read_text(), re.M)
    names = {"highspeed" if symbol == "HSTCP" else symbol.lower()
             for symbol in symbols if symbol != "ADVANCED"}
    files = (path for path in OURS.glob("tcp_*.c") if not path.name.endswith(".mod.c"))
    return {"reno", *names, *(path.stem.removeprefix("tcp_") for path in files)}


def check(recipe: Recipe, *, here: bool, modules: Sequence[Path] = ()) -> None:
    """Raise UserError for a flow whose congestion control does not exist.

    modules: directories outside the checkout that have more.
    """
    names = known().union(*(outside.names(folder, "tcp_") for folder in modules))
    names |= set(HERE.read_text().split()) if here and HERE.exists() else set()
    # Empty for UDP. Programs of --exec get it by a sysctl.
    for cc in (*(str(flow.get("cc", "")) for flow in recipe.flows),
               *(values.get("net/ipv4/tcp_congestion_control", "")
                 for values in recipe.sysctls.values())):
        if cc and cc not in names:
            raise unknown("congestion control", cc, names)
