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

from . import engines, records, terminal
from .errors import EXIT_UNAVAILABLE, EXIT_USAGE, LabError, say
from .paths import CACHE
from .request import Request

EPILOG = """\
Runs COMMAND as root in a freshly booted kernel, in the checkout's directory, with the
checkout's modules for modprobe and its plugins for tc, and returns COMMAND's exit status.
It first builds what is missing: kernels in ~/.cache/sch-aqm (or $LAB_CACHE), and modules,
plugins and tools in build/.

The guest sees the host's files read-only. It can write to the checkout, to build/ and to each
--share directory. /tmp, /run and /dev are private. Its environment is LAB=1, LAB_SEED,
LAB_CLOCK, LAB_KERNEL, LAB_ENGINE, LAB_FLAVOUR, LAB_IMAGE, LAB_CACHE, PATH, HOME, LANG, LC_ALL,
TC_LIB_DIR, TOOLS_DIR, and the host's variables that begin with AQM_. Its stdin is empty except
with --shell.

exit status: COMMAND's own (128 + n when signal n ended it); 2 wrong usage; 69 the lab cannot
be set up; 70 oops, warning, KASAN, lockdep or kmemleak report, panic, hang, or a guest that
died, with the kernel log's name; 124 time limit; 130 or 143 interrupted.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of all options."""
    p = argparse.ArgumentParser(
        prog="lab/boot",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="lab/boot [OPTION]... -- COMMAND [ARGUMENT]...",
        allow_abbrev=False,
    )
    p.add_argument("--engine", default="uml", help="uml (default) or qemu")
    defaults = " and ".join(f"{records.names(e)[0]} for {e}" for e in engines.ENGINES)
    p.add_argument(
        "--kernel",
        default="",
        metavar="NAME|DIR",
        help=f"its version, see --list (default: {defaults}), or the directory of a tree",
    )
    p.add_argument("--clock", default="", help="virtual (default for uml) or wall")
    p.add_argument(
        "--flavour",
        default="fast",
        help="fast (default), kasan, lockdep, checked (both), or smp (two CPUs with the "
        "wall clock and lockdep)",
    )
    p.add_argument("--seed", type=int, default=1, help="seed of all randomness (default 1)")
    p.add_argument(
        "--icount", action="store_true", help="qemu: one guest instruction is one guest nanosecond"
    )
    p.add_argument(
        "--plugin",
        default="",
        metavar="FILE[,NAME=VALUE]...",
        help="qemu, with --icount: load this QEMU plugin",
    )
    p.add_argument(
        "--nics",
        type=int,
        default=0,
        metavar="N",
        help="qemu: N network cards (e1000e) on one hub, up to 8 (default 0)",
    )
    p.add_argument(
        "--shell",
        action="store_true",
        help="give COMMAND your terminal, with the wall clock; without COMMAND run a "
        "shell with all modules loaded",
    )
    p.add_argument(
        "--time-limit",
        type=float,
        metavar="S",
        help="end the guest after this many real seconds (default 600; no limit with --shell)",
    )
    p.add_argument("--memory", default="2G", help="the guest's memory (default 2G)")
    p.add_argument(
        "--share",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="another host directory that the guest may write to",
    )
    p.add_argument(
        "--module",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="build sch_NAME.c, tcp_NAME.c and q_NAME.c from a directory outside the "
        "checkout, for modprobe and tc",
    )
    p.add_argument("--build", action="store_true", help="only build what a run needs")
    p.add_argument(
        "--clean-cache",
        action="store_true",
        help="remove the kernels, sources, packages and results of Python that all checkouts share",
    )
    p.add_argument("--list", action="store_true", help="list kernels, engines and flavours")
    p.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    return p


def listing() -> str:
    """Return the table for --list."""
    rows = [("engine", "kernel", "flavours", "clocks", "same seed, same bytes")]
    for engine in engines.ENGINES:
        for name in engines.kernel_names(engine):
            same = engine == "uml" and records.user_mode_of(name).deterministic
            sure = "yes (virtual clock)" if same else "no"
            flavours = " ".join(engines.flavours(engine, name))
            rows.append((engine, name, flavours, " ".join(engines.CLOCKS[engine]), sure))
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
