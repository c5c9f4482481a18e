# SPDX-License-Identifier: GPL-2.0
"""How a run went: what the kernel's log, its taint mask and init's report say."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import EXIT_GUEST, EXIT_TIME
from .request import Result

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


def judge(job: Path, log: Path, timed_out: bool, limit: float) -> Result:
    """The verdict: the command's own status only when the kernel has nothing to complain of."""
    text = log.read_text(errors="replace") if log.exists() else ""
    status = read_status(job / "status")
    found = reports(text)
    leaks = job / "leaks"
    if leaks.exists() and leaks.stat().st_size:
        with log.open("a") as file:
            file.write("\n==== kmemleak ====\n" + leaks.read_text(errors="replace"))
        found.append("kmemleak: " + leaks.read_text(errors="replace").splitlines()[0])
    clock = float(status.get("clock", "0"))
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return Result(EXIT_GUEST, log, f"the kernel reported: {found[0]}{more}", clock)
    if timed_out:
        return Result(EXIT_TIME, log, f"time limit of {limit:g} s reached", clock)
    if "end" not in status:
        return Result(EXIT_GUEST, log, "the guest died before the command had ended", clock)
    bad = taints(int(status.get("taint", "0")))
    if bad:
        return Result(EXIT_GUEST, log, f"the kernel is tainted: {', '.join(bad)}", clock)
    kind, _, number = status["end"].partition(" ")
    if kind == "stuck":
        reason = f"hang: the command still ran after {clock:.0f} s of the guest's clock"
        return Result(EXIT_GUEST, log, reason, clock)
    return Result(int(number) + (128 if kind == "signal" else 0), log, "", clock)


def read_status(path: Path) -> dict[str, str]:
    """What init wrote at the end; empty when it did not get there."""
    if not path.exists():
        return {}
    pairs = (line.partition(" ") for line in path.read_text().splitlines())
    return {name: value for name, _, value in pairs}
