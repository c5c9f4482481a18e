# SPDX-License-Identifier: GPL-2.0
"""The user-mode engine: the kernel is a process of the host and uses the host's files.

The guest of a scenario has its own root. Any other guest sees the host's files read-only, but the
checkout, build/ and each --share directory are writable. /tmp, /run and /dev are private. The
guest's memory is a file in a tmpfs, with huge pages if the host allows them (lab/src/huge.c).
"""

from __future__ import annotations

import contextlib
import functools
import shutil
from pathlib import Path

from . import bundle, kernels, modules, outside, process, tree_kernels, trees
from .errors import LabError
from .job import allows_execution, job_directory
from .kernels import Kernel
from .modules import Extras
from .onecpu import one_cpu
from .orders import (
    EXTRAS_IN_GUEST,
    JOB_IN_GUEST,
    PROGRAMS_IN_GUEST,
    Orders,
    facts,
    hidden,
    writable_dirs,
)
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


def private_files(orders: Orders) -> None:
    """Mount what belongs to the guest alone."""
    orders.add("mount", "tmpfs", "/tmp", "mode=1777", "mount", "devtmpfs", "/dev", "")
    orders.add("mkdir", "/dev/pts", "mount", "devpts", "/dev/pts", "")
    orders.add("mkdir", "/dev/shm", "mount", "tmpfs", "/dev/shm", "mode=1777")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        orders.add("link", f"/proc/self/fd{target}", f"/dev/{name}")


def mounts(tree: Path, extras: Extras, job: Path) -> dict[str, Path]:
    """Return the host's directories by their places in every guest."""
    return {
        JOB_IN_GUEST: job,
        PROGRAMS_IN_GUEST: extras.bin,
        f"{EXTRAS_IN_GUEST}/tc": extras.tc,
        "/lib/modules": tree,
    }


def host_root(request: Request, places: dict[str, Path], orders: Orders) -> None:
    """Give the guest the files of the host, which it cannot change."""
    mount_point(Path("/lib/modules"))
    orders.add("mount", "proc", "/proc", "", "mount", "sysfs", "/sys", "")
    if request.flavour != "fast":
        orders.add("mount", "debugfs", "/sys/kernel/debug", "")
    orders.add("mount", "tmpfs", "/run", "mode=755", "mkdir", "/run/host")
    orders.add("bind", "/", "/run/host")
    private_files(orders)
    for path in writable_dirs(request):
        if hidden(path):
            orders.add("mkdir", path)
        orders.add("bind", f"/run/host{path}", path)
    if hidden(CACHE):
        orders.add("mkdir", CACHE, "bind", f"/run/host{CACHE}", CACHE)
    for place, path in places.items():
        if hidden(Path(place)):
            orders.add("mkdir", place)
        orders.add("bind", f"/run/host{path}", place)
    orders.add("even", DIRECTORIES, "lock", "/", "detach", "/run/host")


def own_root(request: Request, places: dict[str, Path], orders: Orders) -> None:
    """Give the guest a root of its own, with the lab's programs and the shared directories."""
    # Every host has /proc, and so a place for the new root.
    orders.add("mount", "tmpfs", "/proc", "mode=755", "root", "/proc")
    for name in ("/bin", "/dev", "/etc", "/proc", "/run", "/sbin", "/sys", "/tmp"):
        orders.add("mkdir", name)
    orders.add("mount", "proc", "/proc", "", "mount", "sysfs", "/sys", "")
    if request.flavour != "fast":
        orders.add("mount", "debugfs", "/sys/kernel/debug", "")
    orders.add("mount", "tmpfs", "/run", "mode=755")
    private_files(orders)
    for program in ("/bin/sh", "/sbin/modprobe"):
        orders.add("link", f"{PROGRAMS_IN_GUEST}/busybox", program)
    shared = {str(path): path for path in writable_dirs(request)}
    for place, path in {**places, **shared}.items():
        orders.add("mkdir", place, "mount", "hostfs", place, path)
    for place in places:
        if place != JOB_IN_GUEST:
            orders.add("lock", place)
    orders.add("even", DIRECTORIES, "lock", "/")


def write_orders(request: Request, kernel: Kernel, tree: Path, extras: Extras, job: Path) -> None:
    """Return the instructions from a booted kernel to the running command."""
    orders = Orders()
    family, number = request.sockets
    orders.add("sockets", str(family), str(number))
    root = own_root if request.own_root else host_root
    root(request, mounts(tree, extras, job), orders)
    orders.add("report", JOB_IN_GUEST)
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
    if kernels.user_mode_of(kernel.name).seccomp:
        # "on" ends a kernel whose host forbids seccomp(2). With "auto" it would give other bytes.
        words.append("seccomp=off" if request.ptrace else "seccomp=on")
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
    if given := bundle.parts(name, flavour):
        kernel, modules_tree, extras, helpers = given
        return (
            kernel,
            outside.ensure_tree(kernel, folders, modules_tree),
            outside.ensure_plugins(folders, extras),
            helpers,
        )
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
        if allows_execution(job):
            shutil.copy(helpers / "init", job)
        else:
            (job / "init").symlink_to(helpers / "init")
        write_orders(request, kernel, tree, extras, job)
        words = command_line(request, kernel)
        if terminal:
            words.append(f"con1=fd:{terminal.theirs}")
        if request.flavour != "smp":
            stack.enter_context(one_cpu())
        result = process.supervise(
            words,
            job,
            request,
            {"LAB_SEED": str(request.seed)},
            capture,
            terminal,
            kernel.path / "System.map" if request.clock == "virtual" else None,
        )
        result.lab = facts(request, kernel)
        return result
