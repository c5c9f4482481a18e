# SPDX-License-Identifier: GPL-2.0
"""Prepare the kernel of a run for its TCP."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab.qdiscs import names as qdiscs

from .steps import Failure, Step, in_guest, tool

TCP = Path("/proc/sys/net/ipv4")
MEMORY = TCP / "tcp_mem"
ALLOWED = TCP / "tcp_allowed_congestion_control"
AVAILABLE = TCP / "tcp_available_congestion_control"
#: Names below /proc/sys in a recipe's sysctls.
DEFAULT, ECN = "net/ipv4/tcp_congestion_control", "net/ipv4/tcp_ecn"
#: Values of tcp_ecn that ask for AccECN, and a file that only kernels with AccECN have.
ACCURATE = ("3", "4", "5")
ACCURATE_ECN = TCP / "tcp_ecn_option"
NO_ACCURATE_ECN = "ecn=accecn: this kernel has no AccECN; Linux 6.18 and later have it"
#: Congestion controls that each kernel allows when it has booted.
ALWAYS = ("reno", "cubic")


def tcp_pages(memory_gib: int) -> int:
    """Return the pages of 4 KiB that TCP may use: three quarters of the guest's memory.

    The default of a small guest would limit the flows.
    """
    return memory_gib * (1 << 30) // 4096 * 3 // 4


def wanted(recipe: Mapping[str, Any]) -> set[str]:
    """Return the congestion controls that are the default of a namespace in a recipe."""
    return {values[DEFAULT] for values in recipe["sysctls"].values() if DEFAULT in values}


def _accurate(recipe: Mapping[str, Any]) -> bool:
    return any(values.get(ECN) in ACCURATE for values in recipe["sysctls"].values())


def missing(name: str) -> str:
    """Return the message for a congestion control that the kernel does not have."""
    return (
        f"congestion control {name}: this kernel does not have it; "
        f"{AVAILABLE} lists the ones that it has"
    )


def preparation(recipe: Mapping[str, Any]) -> tuple[list[Step], list[str]]:
    """Return what a guest's kernel needs: modules, congestion controls, ECN, and memory for TCP.

    Only allowed congestion controls can be the default of a namespace. The list is the machine's.
    Returns steps before the first namespace, and orders for lab/traffic/inspace.c.
    """
    pages = tcp_pages(int(recipe["memory_gib"]))
    orders = [f"- write {MEMORY} {pages} {pages} {pages}"]
    # A qdisc that the kernel loads on demand begins later by what the loading takes, and when a
    # qdisc begins can decide what it does.
    kinds = qdiscs.added(line for batch in recipe["batches"] for line in batch["lines"])
    modules = " ".join(shlex.quote(f"sch_{kind}") for kind in sorted(kinds))
    busybox = in_guest("busybox")
    lines = [f"{busybox} modprobe -qa {modules} 2>/dev/null"]
    if _accurate(recipe):
        lines.append(f"[ -e {ACCURATE_ECN} ] || {{ echo '{NO_ACCURATE_ECN}'; exit 1; }}")
    names = sorted(wanted(recipe) - {*ALWAYS})
    for name in names:
        known = f"{busybox} grep -qw {name} {AVAILABLE}"
        lines.append(
            f"{known} || {busybox} modprobe tcp_{name} 2>/dev/null; "
            f"{known} || {{ echo '{missing(name)}'; exit 1; }}"
        )
    if names:
        orders.append(f"- write {ALLOWED} {' '.join([*ALWAYS, *names])}")
    script = "\n".join([*lines, "true"])
    return [Step("kernel", [busybox, "sh", "-c", script], says=True)], orders


def prepare(recipe: Mapping[str, Any]) -> str:
    """Do on this machine what preparation() does in a guest, except for TCP's memory.

    Returns the allowed congestion controls before a change, or "". Raises Failure.
    """
    if _accurate(recipe) and not ACCURATE_ECN.exists():
        raise Failure(NO_ACCURATE_ECN)
    before = ALLOWED.read_text().strip()
    names = wanted(recipe) - {*before.split()}
    for name in sorted(names):
        if name not in AVAILABLE.read_text().split():
            subprocess.run([tool("modprobe"), f"tcp_{name}"], capture_output=True)
        if name not in AVAILABLE.read_text().split():
            raise Failure(missing(name))
    if not names:
        return ""
    ALLOWED.write_text(" ".join([before, *sorted(names)]))
    return before


def restore(allowed: str) -> None:
    """Undo prepare() with the list that it returned."""
    if allowed:
        ALLOWED.write_text(allowed)
