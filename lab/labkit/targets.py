# SPDX-License-Identifier: GPL-2.0
"""The architectures of guests: their compilers, and the machines that QEMU emulates for them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

from .errors import need
from .toolchain import compiler, compiler_path

#: Ending of the names of kernels for arm64, such as 6.12-arm64.
ARM64_SUFFIX = "-arm64"

#: Debian's name of this machine's architecture.
HOST_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


@dataclass(frozen=True)
class Target:
    """Describe an architecture.

    arch: the kernel's name; debian: Debian's name
    prefix: of the compiler's programs; empty for this machine's compiler
    emulator, package: the program that emulates it, and Debian's package of the program
    machine, processor: of the emulator
    console: the kernel's name of the serial line
    memory: physical address of the guest's memory
    words: of the kernel's command line, in addition to the words that all guests have
    """

    arch: str
    debian: str
    prefix: str
    emulator: str
    package: str
    machine: str
    processor: str
    console: str
    memory: int
    words: tuple[str, ...]

    def tool(self, name: str) -> str:
        """Return the path of a program of the compiler, such as ld. Raises LabError."""
        package = {"cc": "gcc", "gcc": "gcc"}.get(name, "binutils")
        if name == "cc" and not self.prefix:
            return compiler_path()
        if not self.prefix:
            return need(name, package)
        name = "gcc" if name == "cc" else name
        return need(f"{self.prefix}{name}", f"{package}-{self.prefix.rstrip('-')}")

    def compiler(self) -> str:
        """Return the version of the compiler, which is part of every key of compiled files."""
        if not self.prefix:
            return compiler()
        command = [self.tool("cc"), "--version"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return shown.splitlines()[0]


X86 = Target(
    "x86",
    "amd64",
    "",
    "qemu-system-x86_64",
    "qemu-system-x86",
    "pc,accel=tcg,memory-backend=ram",
    "qemu64",
    "ttyS0",
    0,
    ("nokaslr", "mitigations=off", "tsc=reliable", "no_timer_check"),
)

#: The device tree has no random numbers of the host.
ARM64 = Target(
    "arm64",
    "arm64",
    "aarch64-linux-gnu-",
    "qemu-system-aarch64",
    "qemu-system-arm",
    "virt,accel=tcg,memory-backend=ram,dtb-randomness=off",
    "cortex-a53",
    "ttyAMA0",
    0x4000_0000,
    ("nokaslr", "mitigations=off"),
)


def of_kernel(name: str) -> Target:
    """Return the architecture of one of Debian's kernels by its name."""
    return ARM64 if name.endswith(ARM64_SUFFIX) else X86


def of_architecture(arch: str) -> Target:
    """Return the architecture by the kernel's name for it, such as arm64."""
    return next(target for target in (X86, ARM64) if target.arch == arch)


def version_of(name: str) -> str:
    """Return the name of a kernel without its architecture, such as 6.12."""
    return name.removesuffix(ARM64_SUFFIX)
