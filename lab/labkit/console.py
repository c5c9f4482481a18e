# SPDX-License-Identifier: GPL-2.0
"""Finds in a kernel's console log what no run may pass over in silence."""

from __future__ import annotations

import re

#: How kernel reports begin, after the time stamp. KASAN and lockdep announce themselves with
#: BUG: or WARNING:, and so do RCU, refcount and the network core's own checks.
REPORT = re.compile(
    r"""^(?:\[[^]]*\]\s*)?(?:<\d>)?(
        WARNING:\ .* | BUG:\ .* | kernel\ BUG\ at\ .* | Kernel\ panic.* | .*\bOops\b.* |
        general\ protection.* | divide\ error.* | invalid\ opcode.* | Unable\ to\ handle.* |
        UBSAN:\ .* | INFO:\ (?:task|rcu|trying|possible)\b.* | rcu:\ INFO:.* |
        unreferenced\ object\ .* | ODEBUG:\ (?!selftest).* | list_(?:add|del)\ corruption.* |
        refcount_t:\ .* | watchdog:\ BUG.* | Internal\ error.* | Modules\ linked\ in:.* |
        =+\[\ cut.* | -+\[\ cut\ here\ \].* | sysrq:\ Trigger\ a\ crash.* | lab\ init:\ .*
    )$""",
    re.VERBOSE,
)

#: Lines that open a report but say nothing.
EMPTY = re.compile(r"cut here|Modules linked in")

#: /proc/sys/kernel/tainted: bad page, died, warned, soft lockup. Out-of-tree modules and KUnit
#: taint as well and mean no harm.
TAINTS = {1 << 5: "bad page", 1 << 7: "oops", 1 << 9: "warning", 1 << 14: "soft lockup"}


def reports(log: str) -> list[str]:
    """Headlines of the kernel reports in LOG, in order, each once."""
    found: list[str] = []
    for line in log.splitlines():
        match = REPORT.match(line.rstrip())
        if match and match[1] not in found:
            found.append(match[1])
    speaking = [line for line in found if not EMPTY.search(line)]
    return speaking or found


def taints(value: int) -> list[str]:
    """What VALUE of the taint mask says went wrong."""
    return [name for bit, name in TAINTS.items() if value & bit]
