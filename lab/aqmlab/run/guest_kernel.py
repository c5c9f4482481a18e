# SPDX-License-Identifier: GPL-2.0
"""Prepare the kernel of a run for its TCP.

Standard library only: guest_program.py needs it in the lab's guest.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .steps import Failure, tool

TCP = Path("/proc/sys/net/ipv4")
MEMORY = TCP / "tcp_mem"
ALLOWED = TCP / "tcp_allowed_congestion_control"
AVAILABLE = TCP / "tcp_available_congestion_control"
#: Names below /proc/sys in a recipe's sysctls.
DEFAULT, ECN = "net/ipv4/tcp_congestion_control", "net/ipv4/tcp_ecn"
#: Values of tcp_ecn that ask for AccECN, and a file that only kernels with AccECN have.
ACCURATE = ("3", "4", "5")
ACCURATE_ECN = TCP / "tcp_ecn_option"


def tcp_pages(memory_gib: int) -> int:
    """Return the pages of 4 KiB that TCP may use: three quarters of the guest's memory.

    The default of a small guest would limit the flows.
    """
    return memory_gib * (1 << 30) // 4096 * 3 // 4


def prepare(recipe: Mapping[str, Any], *, guest: bool) -> str:
    """Let the hosts of a recipe have their congestion control and their ECN.

    Only allowed congestion controls can be the default of a namespace. The list is the machine's.

    guest: whether the kernel is a lab guest's, which has its memory for TCP
    Returns the list before a change, or "". Raises Failure.
    """
    if guest:
        MEMORY.write_text(f"{tcp_pages(int(recipe['memory_gib']))} " * 3)
    sysctls = [*recipe["sysctls"].values()]
    if any(one.get(ECN) in ACCURATE for one in sysctls) and not ACCURATE_ECN.exists():
        raise Failure("ecn=accecn: this kernel has no AccECN; Linux 6.18 and later have it")
    before = ALLOWED.read_text().strip()
    wanted = {one[DEFAULT] for one in sysctls if DEFAULT in one} - {*before.split()}
    for name in sorted(wanted):
        if name not in AVAILABLE.read_text().split():
            subprocess.run([tool("modprobe"), f"tcp_{name}"], capture_output=True)
        if name not in AVAILABLE.read_text().split():
            raise Failure(
                f"congestion control {name}: this kernel does not have it; "
                f"{AVAILABLE} lists the ones that it has"
            )
    if not wanted:
        return ""
    ALLOWED.write_text(" ".join([before, *sorted(wanted)]))
    return before


def restore(allowed: str) -> None:
    """Undo prepare() with the list that it returned."""
    if allowed:
        ALLOWED.write_text(allowed)
