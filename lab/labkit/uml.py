# SPDX-License-Identifier: GPL-2.0
"""The user-mode engine: the kernel is a process of the host, its root the host's files.

The guest sees the host's file system read-only, the checkout and build/ (and what --share
names) writable, and /tmp, /run and /dev of its own. Its memory is a file in a tmpfs, of huge
pages where the host lets it (lab/src/huge.c).
"""

from __future__ import annotations

import contextlib
import functools
import shutil
from pathlib import Path

from . import kernels, modules, process
from .errors import LabError
from .job import job_directory
from .kernels import Kernel
from .modules import Extras
from .onecpu import one_cpu
from .orders import JOB_IN_GUEST, Orders, hidden, writable_dirs
from .paths import CACHE
from .records import user_mode_of
from .request import Request, Result
from .terminal import Terminal, size

#: The guest's virtual clock at boot, in nanoseconds since 1970 (January 2027); without it the
#: host's time would seed the guest's random numbers.
START = 1_800_000_000 * 10**9

#: When the command begins by the virtual clock, in milliseconds since boot; far enough for any
#: guest to be ready.
BEGIN = "100"

#: Directories made in every guest, needed or not; above what the longest paths take.
DIRECTORIES = "256"


def mount_point(path: Path) -> None:
    """Make sure that the host has PATH, for the guest can only cover what is there.

    A machine that never had a kernel of its own, such as a container, has no /lib/modules.
    """
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise LabError(f"{path} is missing on this machine: as root, mkdir {path}") from error


def write_orders(request: Request, kernel: Kernel, tree: Path, extras: Extras, job: Path) -> None:
    """The steps from a bare kernel on the host's files to the running command."""
    mount_point(Path("/lib/modules"))
    orders = Orders()
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
    # A device that comes up stirs the time into the random numbers: not before the guests are
    # in step.
    orders.add("loopback")
    if "lockdep" in kernels.FRAGMENTS[request.flavour]:
        orders.add("leaks")
    if request.terminal:
        orders.add("terminal", "/dev/tty1", *size())
    orders.command(request, kernel, extras)
    orders.write(job / "orders")


def command_line(request: Request, kernel: Kernel) -> list[str]:
    """The kernel's command line.

    The kernel mixes it into its random numbers, so nothing in it may differ from run to run.
    Hence init's path: before the guest has a /proc of its own, the host's shows through, and
    there the kernel's working directory is the job's.
    """
    words = [
        str(kernel.image), f"mem={request.memory}", "root=/dev/root", "rootfstype=hostfs",
        "rootflags=/", "rw", "init=/proc/self/cwd/init", "labjob=/proc/self/cwd",
        "uml_dir=./", "umid=lab", "con=null", "con0=null,fd:1", "console=tty0", "panic=-1",
        "ignore_loglevel", *user_mode_of(kernel.name).words,
    ]
    if request.clock == "virtual":
        words += ["time-travel=inf-cpu", f"time-travel-start={START}"]
    if request.flavour == "smp":
        # To remember who allocated each object, too, takes ten times as long.
        words += ["ncpus=2", "slab_debug=FZP"]
    return words


@functools.cache
def built(name: str, flavour: str) -> tuple[Kernel, Path, Extras, Path]:
    """The kernel NAME in FLAVOUR, its modules, the plugins and tools, and the lab's own programs.

    What is missing is built. A process that boots many guests looks for all that once: it takes
    as long as a boot, and files that change meanwhile must not change half of a sweep.
    """
    kernel = kernels.ensure_uml(name, flavour)
    return kernel, modules.ensure_modules(kernel), modules.ensure_extras(), modules.ensure_helpers()


def run(request: Request, capture: bool) -> Result:
    """Boot a user-mode kernel for REQUEST and see it through."""
    kernel, tree, extras, helpers = built(request.kernel, request.flavour)
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
        return process.supervise(words, job, request, environment, capture, terminal)
