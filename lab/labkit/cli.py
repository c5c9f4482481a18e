# SPDX-License-Identifier: GPL-2.0
"""Parse lab/boot's command line and run it."""

from __future__ import annotations

import argparse
import errno
import math
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType

from . import engines, record, records, terminal
from .errors import EXIT_UNAVAILABLE, EXIT_USAGE, LabError, say
from .paths import CACHE
from .request import Request
from .usage import Parser


def parser() -> Parser:
    """Return the parser of all options."""
    p = Parser(
        "boot",
        "Run a command as root in a freshly booted kernel: docs/lab.md.",
        "-- COMMAND [ARGUMENT]...",
        "-- tc qdisc add dev lo root qsdrr",
        allow_abbrev=False,
    )
    p.add_argument("--engine", default="uml", help="uml (default) or qemu")
    defaults = ", ".join(f"{records.names(e)[0]} in {e}" for e in engines.ENGINES)
    p.add_argument(
        "--kernel",
        default="",
        metavar="NAME|PATH",
        help=f"see --list ({defaults}), tree or vmlinuz",
    )
    p.add_argument("--clock", default="", help="virtual (uml's default) or wall (qemu's)")
    p.add_argument(
        "--flavour",
        metavar="NAME",
        default="fast",
        help="fast (default), kasan, lockdep, checked, or smp",
    )
    p.add_argument("--seed", type=int, default=1, help="of all randomness (1)")
    p.add_argument(
        "--icount", action="store_true", help="qemu: an instruction is a guest's nanosecond"
    )
    p.add_argument(
        "--plugin",
        default="",
        metavar="FILE[,...]",
        help="qemu, with --icount: load a QEMU plugin",
    )
    p.add_argument(
        "--nics",
        type=int,
        default=0,
        metavar="N",
        help="qemu: N network cards on one hub, up to 8 (0)",
    )
    p.add_argument(
        "--shell",
        action="store_true",
        help="give COMMAND, or a shell, your terminal",
    )
    p.add_argument(
        "--time-limit",
        type=float,
        metavar="S",
        help="end the guest after S real seconds (600)",
    )
    p.add_argument("--memory", default="2G", help="of the guest (2G)")
    p.add_argument(
        "--record", type=Path, metavar="DIR", help="log all queues and interfaces, for report DIR"
    )
    p.add_argument(
        "--share",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="another directory that the guest may write to",
    )
    p.add_argument(
        "--module",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="build the sch_, tcp_ and q_NAME.c in it",
    )
    p.add_argument("--build", action="store_true", help="only build what a run needs")
    p.add_argument(
        "--clean-cache",
        action="store_true",
        help="remove what all checkouts share",
    )
    p.add_argument("--list", action="store_true", help="list kernels, engines and flavours")
    p.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return p


def listing() -> str:
    """Return the table for --list."""
    rows = [("engine", "kernel", "flavours", "clocks", "same seed, same bytes")]
    for name in engines.kernel_names("uml"):
        same = records.user_mode_of(name).deterministic
        sure = "yes (virtual clock)" if same else "no"
        flavours = " ".join(engines.flavours("uml", name))
        rows.append(("uml", name, flavours, " ".join(engines.CLOCKS["uml"]), sure))
    for clock in engines.CLOCKS["qemu"]:
        for name in engines.kernel_names("qemu", clock):
            rows.append(("qemu", name, "fast", clock, "yes" if clock == "virtual" else "no"))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


class Stopped(BaseException):
    """Raised when a signal asks the lab to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop(number: int, _frame: FrameType | None) -> None:
    """Raise Stopped once. A second signal must not interrupt the clean-up."""
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(number)


def main(argv: list[str] | None = None) -> int:
    """Run lab/boot and return its exit status."""
    options = parser().parse_args(argv)
    if options.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the output may be piped into `head`
        print(listing())
        return 0
    if options.clean_cache:
        # Remove only entries of the lab, because LAB_CACHE may name any directory.
        for name in ("apt", "dl", "kernels", "results", "src", "stock"):
            shutil.rmtree(CACHE / name, ignore_errors=True)
        say(f"{CACHE} is empty")
        return 0
    command = options.command
    if command[:1] == ["--"]:
        command = command[1:]
    if options.build:
        command = ["true"]
    elif options.shell and not command:
        command = terminal.shell()
    limit = options.time_limit
    if limit is None:
        limit = math.inf if options.shell else Request.time_limit
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    request = Request(
        command=command,
        engine=options.engine,
        kernel=options.kernel,
        clock=options.clock,
        flavour=options.flavour,
        seed=options.seed,
        time_limit=limit,
        memory=options.memory,
        icount=options.icount,
        plugin=options.plugin,
        nics=options.nics,
        foreign=True,
        terminal=options.shell,
        share=options.share,
        modules=[path.resolve() for path in options.module],
        environment=terminal.environment() if options.shell else {},
    )
    if not command:
        say("no command given; try: lab/boot -- uname -a")
        return EXIT_USAGE
    try:
        if options.record:
            result = engines.run(record.wrapped(request, options.record))
            record.finish(request, options.record, result)
        else:
            result = engines.run(request)
    except LabError as error:
        say(str(error))
        return EXIT_UNAVAILABLE
    except Stopped as stopped:
        say(f"stopped by {signal.Signals(stopped.number).name}")
        return 128 + stopped.number
    except BrokenPipeError:
        sys.stderr.close()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT):
            raise
        say(
            f"cannot write to {error.filename}: {error.strerror}; the lab needs a build/ in the "
            "checkout that it can write to; it may be a link"
        )
        return EXIT_UNAVAILABLE
    if result.reason:
        say(f"{result.reason}; kernel log: {result.log}")
    return result.status
