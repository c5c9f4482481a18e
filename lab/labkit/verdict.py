# SPDX-License-Identifier: GPL-2.0
"""Judge a run by the kernel's log, its taint mask and init's report."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import EXIT_GUEST, EXIT_TIME, LabError
from .request import Result

#: First lines of kernel reports, after the time stamp. KASAN, lockdep, RCU, refcount and the
#: checks of the network core begin with BUG: or WARNING:.
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

#: First lines of a report that carry no information.
EMPTY = re.compile(r"cut here|Modules linked in")

#: What a user-mode kernel says when its host forbids what it needs, and what that means.
FORBIDDEN = (
    (
        "SECCOMP userspace requested but not functional",
        "this machine forbids seccomp(2). AQM_PTRACE=1 runs the guest without it, slower and with "
        "other bytes",
    ),
    (
        "check_ptrace : expected SIGSTOP",
        "this machine forbids both seccomp(2) and ptrace(2), and the lab needs one of them",
    ),
    (
        "must be not mounted noexec",
        "this machine allows no file in memory that programs may run from: neither memfd_create(2) "
        "nor a directory without noexec",
    ),
)

#: /proc/sys/kernel/tainted: bad page, died, warned, soft lockup. Out-of-tree modules and KUnit
#: also taint, harmlessly.
TAINTS = {1 << 5: "bad page", 1 << 7: "oops", 1 << 9: "warning", 1 << 14: "soft lockup"}


def reports(log: str) -> list[str]:
    """Return the first lines of the kernel reports in LOG, in order, without duplicates."""
    found: list[str] = []
    for line in log.splitlines():
        match = REPORT.match(line.rstrip())
        if match and match[1] not in found:
            found.append(match[1])
    speaking = [line for line in found if not EMPTY.search(line)]
    return speaking or found


def taints(value: int) -> list[str]:
    """Return the faults that VALUE of the taint mask reports."""
    return [name for bit, name in TAINTS.items() if value & bit]


def judge(job: Path, log: Path, over: str) -> Result:
    """Return the result. It is the command's own status only if the kernel reports no fault.

    OVER says which time limit ended the guest, if one did. Raises LabError if the host forbids
    what the kernel needs.
    """
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
    if over:
        return Result(EXIT_TIME, log, over, clock)
    if "end" not in status:
        for said, reason in FORBIDDEN:
            if said in text:
                raise LabError(reason)
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
    """Return init's final report, or an empty string."""
    if not path.exists():
        return {}
    pairs = (line.partition(" ") for line in path.read_text().splitlines())
    return {name: value for name, _, value in pairs}
