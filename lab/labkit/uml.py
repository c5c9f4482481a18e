# SPDX-License-Identifier: GPL-2.0
"""The user-mode engine: the kernel is a process of the host and uses the host's files.

The guest sees the host's files read-only. The checkout, build/ and each --share directory are
writable; /tmp, /run and /dev are private. Its memory is a file in a tmpfs, with huge pages if
the host allows them (lab/src/huge.c).
"""

from __future__ import annotations

import contextlib
import functools
import shutil
from pathlib import Path

from . import kernels, modules, outside, process, tree_kernels, trees
from .errors import LabError
from .job import job_directory
from .kernels import Kernel
from .modules import Extras
from .onecpu import one_cpu
from .orders import JOB_IN_GUEST, Orders, hidden, writable_dirs
from .paths import CACHE
from .request import Request, Result
from .terminal import Terminal, size

#: Start of the virtual clock, in nanoseconds since 1970 (January 2027). Otherwise the host's
#: time would seed the guest's random numbers.
START = 1_800_000_000 * 10**9

#: Virtual time at which the command starts, in milliseconds since boot. Every guest is ready
#: by then.
BEGIN = "100"

#: Number of directories made in every guest; more than the longest path needs.
DIRECTORIES = "256"


def mount_point(path: Path) -> None:
    """Make sure that the host has PATH, because the guest can mount only over existing paths.

    A container, for example, may have no /lib/modules.
    """
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise LabError(f"{path} is missing on this machine: as root, mkdir {path}") from error


def write_orders(request: Request, kernel: Kernel, tree: Path, extras: Extras, job: Path) -> None:
    """Return the instructions from a booted kernel to the running command."""
    mount_point(Path("/lib/modules"))
    orders = Orders()
    family, number = request.sockets
    orders.add("sockets", str(family), str(number))
    orders.add("mount", "proc", "/proc", "", "mount", "sysfs", "/sys", "")
    if request.flavour != "fast":
        orders.add("mount", "debugfs", "/sys/kernel/debug", "")
    orders.add("mount", "tmpfs", "/run", "mode=755", "mkdir", "/run/host", "mkdir", JOB_IN_GUEST)
    orders.add("bind", "/", "/run/host")
    orders.add("mount", "tmpfs", "/tmp", "mode=1777", "mount", "devtmpfs", "/dev", "")
    orders.add("mkdir", "/dev/pts", "mount", "devpts", "/dev/pts", "")
    orders.add("mkdir", "/dev/shm", "mount", "tmpfs", "/dev/shm", "mode=1777")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        orders.add("link", f"/proc/self/fd{target}", f"/dev/{name}")
    for path in writable_dirs(request):
        if hidden(path):
            orders.add("mkdir", path)
        orders.add("bind", f"/run/host{path}", path)
    if hidden(CACHE):
        orders.add("mkdir", CACHE, "bind", f"/run/host{CACHE}", CACHE)
    orders.add("even", DIRECTORIES)
    orders.add("bind", f"/run/host{job}", JOB_IN_GUEST)
    orders.add("bind", f"/run/host{tree}", "/lib/modules")
    orders.add("lock", "/", "detach", "/run/host", "report", JOB_IN_GUEST)
    if request.clock == "virtual":
        orders.add("until", BEGIN)
    # A device that comes up adds the time to the random numbers, so it must come up after all
    # guests have reached the same time.
    orders.add("loopback")
    if "lockdep" in kernels.FRAGMENTS[request.flavour]:
        orders.add("leaks")
    if request.terminal:
        orders.add("terminal", "/dev/tty1", *size())
    orders.command(request, kernel, extras)
    orders.write(job / "orders")


def command_line(request: Request, kernel: Kernel) -> list[str]:
    """Return the kernel's command line.

    The kernel mixes it into its random numbers, so it must be the same in every run. So the
    path of init goes through /proc of the host, where the working directory is the job's.
    """
    words = [
        str(kernel.image),
        f"mem={request.memory}",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        "init=/proc/self/cwd/init",
        "labjob=/proc/self/cwd",
        "uml_dir=./",
        "umid=lab",
        "con=null",
        "con0=null,fd:1",
        "console=tty0",
        "panic=-1",
        "ignore_loglevel",
        *kernels.user_mode_of(kernel.name).words,
    ]
    if request.clock == "virtual":
        words += ["time-travel=inf-cpu", f"time-travel-start={START}"]
    if request.flavour == "smp":
        # Recording who allocated each object would take ten times as long.
        words += ["ncpus=2", "slab_debug=FZP"]
    return words


@functools.cache
def built(name: str, flavour: str, folders: tuple[Path, ...]) -> tuple[Kernel, Path, Extras, Path]:
    """Return kernel NAME in FLAVOUR, its modules, the plugins and tools, and the lab's programs.

    FOLDERS have more modules and plugins. Missing parts are built. A process that boots many guests
    checks only once, because a check takes as long as a boot, and because a sweep must not mix
    versions of changed files.
    """
    tree = trees.is_tree(name)
    kernel = (tree_kernels.ensure if tree else kernels.ensure_uml)(name, flavour)
    return (
        kernel,
        outside.ensure_tree(kernel, folders),
        outside.ensure_plugins(folders),
        modules.ensure_helpers(),
    )


def run(request: Request, capture: bool) -> Result:
    """Boot a user-mode kernel for REQUEST and follow it to its end."""
    kernel, tree, extras, helpers = built(request.kernel, request.flavour, tuple(request.modules))
    with contextlib.ExitStack() as stack:
        job = stack.enter_context(job_directory(request.memory))
        terminal = stack.enter_context(Terminal(job)) if request.terminal else None
        shutil.copy(helpers / "init", job)
        write_orders(request, kernel, tree, extras, job)
        preloaded = ":".join(f"{helpers}/{name}.so" for name in ("leash", "seeded", "huge"))
        environment = {"LD_PRELOAD": preloaded, "LAB_SEED": str(request.seed)}
        words = command_line(request, kernel)
        if terminal:
            words.append(f"con1=fd:{terminal.theirs}")
        if request.flavour != "smp":
            stack.enter_context(one_cpu())
        return process.supervise(
            words,
            job,
            request,
            environment,
            capture,
            terminal,
            kernel.path / "System.map" if request.clock == "virtual" else None,
        )
