# SPDX-License-Identifier: GPL-2.0
"""Build the instructions that a guest's first process, lab/src/init.c, executes."""

from __future__ import annotations

import os
from pathlib import Path

from . import kernels, trees
from .cache import file_digest, sums
from .errors import LabError
from .kernels import Kernel
from .modules import Extras
from .paths import BUILD, CACHE, ROOT
from .request import Request

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: Virtual seconds after which a command cannot end any more, because all processes sleep and
#: only the kernel's timers advance the clock.
VIRTUAL_DEADLINE = 1_000_000

#: Private directories of the guest, empty at the start.
PRIVATE = ("/run", "/tmp", "/dev")

JOB_IN_GUEST = "/run/lab"

#: How processes run if the user accepts other bytes, see engines.PTRACE.
FALLBACK = "ptrace, not seccomp"

#: The lab's own programs in a guest, and netem's tables beside them.
EXTRAS_IN_GUEST = "/run/aqm"
PROGRAMS_IN_GUEST = f"{EXTRAS_IN_GUEST}/bin"
OWN_PROGRAMS = ("busybox", "conduct", "flowgen", "inspace", "ip", "qsample", "tc")
#: Programs for the self-tests, which only guests with modules of ours have.
OPTIONAL_PROGRAMS = ("bash", "burst", "qdrive", "rawqdisc")

#: Length of the file, whatever the paths in it, so that each guest takes the same memory for it.
FILE_BYTES = 65536


def writable_dirs(request: Request) -> list[Path]:
    """Return the host directories that the guest may write to: checkout, build/, shared ones.

    A guest with its own root has only the shared ones.
    """
    dirs = [] if request.own_root else [ROOT, BUILD]
    for path in request.share:
        path = path.resolve()
        path.mkdir(parents=True, exist_ok=True)
        dirs.append(path)
    return dirs


def userspace(request: Request) -> str:
    """Return how a user-mode kernel runs its processes. Other bytes follow from another way."""
    if not kernels.user_mode_of(request.kernel).seccomp:
        return "ptrace"
    return FALLBACK if request.ptrace else "seccomp"


def hidden(path: Path) -> bool:
    """Return whether a private directory of the guest hides PATH."""
    return any(path.is_relative_to(top) for top in PRIVATE)


def facts(request: Request, kernel: Kernel) -> dict[str, str]:
    """Return what the bytes of a run depend on beside its command: kernel, seed and so on."""
    values = {
        "engine": request.engine,
        "kernel": kernel.name,
        "flavour": request.flavour,
        "image": sums(kernel.path).get(kernel.image.name) or file_digest(kernel.image),
        "seed": str(request.seed),
        "clock": request.clock,
    }
    if request.engine == "uml":
        values["userspace"] = userspace(request)
    if request.engine == "uml" and trees.is_tree(request.kernel):
        values["describe"] = trees.describe(request.kernel)
    return values


def environment(request: Request, kernel: Kernel, extras: Extras) -> dict[str, str]:
    """Return the command's whole environment. Only AQM_* variables come from the host."""
    values = {
        "PATH": f"{PROGRAMS_IN_GUEST if request.own_root else extras.tools}:{PATH}",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TC_LIB_DIR": f"{EXTRAS_IN_GUEST}/tc" if request.own_root else str(extras.tc),
        "TOOLS_DIR": str(extras.tools),
        "LAB": "1",
        "LAB_CACHE": str(CACHE),
    }
    values |= {f"LAB_{name.upper()}": value for name, value in facts(request, kernel).items()}
    values |= {name: value for name, value in os.environ.items() if name.startswith("AQM_")}
    return values | dict(request.environment)


class Orders:
    """Collect the words that lab/src/init.c executes."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def add(self, *words: str | Path) -> None:
        """Append WORDS."""
        self.words += [str(word) for word in words]

    def write(self, path: Path) -> None:
        """Write the words in the format of init."""
        encoded = [os.fsencode(word) for word in self.words]
        if any(b"\0" in word for word in encoded):
            raise LabError("a NUL byte cannot be part of a command")
        path.write_bytes(b"".join(word + b"\0" for word in encoded).ljust(FILE_BYTES, b"\0"))

    def command(self, request: Request, kernel: Kernel, extras: Extras) -> None:
        """Return the instructions to run the command of a request."""
        for name, value in environment(request, kernel, extras).items():
            self.add("env", f"{name}={value}")
        self.add("cwd", "/" if request.own_root else ROOT)
        if request.clock == "virtual":
            self.add("deadline", str(VIRTUAL_DEADLINE))
        if request.foreign:
            self.add("tsc")
        for word in request.command:
            self.add("arg", word)
