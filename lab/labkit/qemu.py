# SPDX-License-Identifier: GPL-2.0
"""The QEMU engine: boot Debian's stock kernels through virtme-ng, with the wall clock.

The guest sees the host's files read-only. The checkout, build/ and each --share directory are
writable.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from . import modules, outside, process, stock
from .cache import built, digest
from .errors import LabError, need, say
from .job import job_directory
from .kernels import Kernel
from .modules import Extras
from .orders import (
    EXTRAS_IN_GUEST,
    PATH,
    PROGRAMS_IN_GUEST,
    Orders,
    facts,
    hidden,
    writable_dirs,
)
from .paths import BUILD, CACHE
from .records import names
from .request import Request, Result

#: Drivers of QEMU's default devices and processor that we do not need and that start slowly
#: under emulation. udev must skip them, because the kernel loads a module's dependencies before
#: it refuses the module.
BLACKLIST = (
    "ahci,ata_piix,ata_generic,sr_mod,cdrom,sg,i2c_i801,iTCO_wdt,lpc_ich,i6300esb,kvm_amd,"
    "kvm_intel,psmouse,pcspkr,evdev,serio_raw,button,aesni_intel,ghash_clmulni_intel,"
    "sha1_ssse3,sha256_ssse3,sha512_ssse3,intel_pmc_bxt,e1000,bochs,powernow_k8,qemu_fw_cfg,"
    "crct10dif_pclmul,crc32_pclmul,crc32c_intel"
)

#: The card for --nics: a driver with byte queue limits, segmentation offload and one queue.
NIC = "e1000e"

#: Appears in the kernel's log when the first process starts.
FIRST_PROCESS = "as init process"

#: Seconds within which a guest must boot if KVM works.
TRIAL = 60.0


def find_vng() -> Path:
    """Return virtme-ng's program, from the virtual environment or PATH."""
    for candidate in (BUILD / "venv" / "bin" / "vng", Path(shutil.which("vng") or "/none")):
        if os.access(candidate, os.X_OK):
            return candidate
    raise LabError("virtme-ng is missing: make setup-tests  (or pip install virtme-ng)")


def write_orders(request: Request, kernel: Kernel, tree: Path, extras: Extras, job: Path) -> None:
    """Return the instructions from virtme-ng's guest to the running command."""
    orders = Orders()
    here = f"/lib/modules/{kernel.release}"
    below = f"lowerdir={tree / kernel.release}:{kernel.modules}"
    orders.add("mkdir", here, "mount", "overlay", here, below)
    for place, path in ((PROGRAMS_IN_GUEST, extras.bin), (f"{EXTRAS_IN_GUEST}/tc", extras.tc)):
        orders.add("mkdir", place, "bind", path, place)
    orders.add("loopback", "report", job)
    orders.command(request, kernel, extras)
    orders.write(job / "orders")


def command_line(request: Request, kernel: Kernel, job: Path, kvm: bool) -> list[str]:
    """Return the command line of virtme-ng."""
    cpus = 1 if request.icount else min(2, len(os.sched_getaffinity(0)))
    unwanted = BLACKLIST if request.nics else f"{BLACKLIST},{NIC}"
    words = [
        str(find_vng()),
        "--verbose",
        "--force-9p",
        "--user",
        "root",
        "--run",
        str(kernel.image),
        "--cpus",
        str(cpus),
        "--memory",
        request.memory,
        "--append",
        f"oops=panic panic=-1 ignore_loglevel modprobe.blacklist={unwanted}",
    ]
    if not kvm:
        words.append("--disable-kvm")
    if request.icount:
        # One instruction takes 2^0 ns of guest time. Idling takes no real time.
        words.append("--qemu-opts=-icount shift=0,sleep=off")
    if request.plugin:
        words.append(f"--qemu-opts=-plugin {request.plugin}")
    for number in range(request.nics):
        words.append(
            f"--qemu-opts=-netdev hubport,id=lab{number},hubid=0 -device {NIC},"
            f"netdev=lab{number},mac=02:00:00:00:00:{number + 1:02x}"
        )
    for path in [*writable_dirs(request), job]:
        words += ["--rwdir", str(path)]
    if hidden(CACHE):
        words += ["--rodir", str(CACHE)]
    return [*words, "--exec", f"{job}/init {job}"]


def kvm_works() -> bool:
    """Return whether a guest boots under KVM here. Tried once per host kernel and QEMU.

    The existence of /dev/kvm is not enough: in a virtual machine a guest may still die.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    version = subprocess.run(
        [need("qemu-system-x86_64", "qemu-system-x86"), "--version"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    key = digest([version.encode(), os.uname().release.encode(), os.uname().version.encode()])
    verdict = built(BUILD / "lab" / f"kvm-{key}", try_kvm, Path.exists)
    return verdict.read_text().strip() == "yes"


def try_kvm(verdict: Path) -> None:
    """Write into VERDICT whether a guest boots under KVM."""
    say("testing whether KVM works")
    trial = Request(
        command=["true"],
        engine="qemu",
        kernel=names("qemu")[0],
        clock="wall",
        time_limit=TRIAL,
        memory="1G",
    )
    works = boot(trial, kvm=True, capture=True).status == 0
    verdict.write_text("yes\n" if works else "no\n")
    say("KVM works" if works else "KVM does not work here: emulating, which is slow")


def boot(request: Request, kvm: bool, capture: bool) -> Result:
    """Boot REQUEST's kernel and follow it to its end."""
    kernel = stock.ensure_stock(request.kernel)
    tree = outside.ensure_tree(kernel, request.modules)
    extras = outside.ensure_plugins(request.modules)
    helpers = modules.ensure_helpers()
    with job_directory("64M") as job:
        shutil.copy(helpers / "init", job)
        write_orders(request, kernel, tree, extras, job)
        environment = {
            "LD_PRELOAD": str(helpers / "leash.so"),
            # virtme-ng looks for its parts in PATH, and for QEMU there or in /usr/bin.
            "PATH": f"{find_vng().parent}:{PATH}",
            "XDG_CACHE_HOME": str(job),
            "XDG_RUNTIME_DIR": str(job),
        }
        result = process.supervise(
            command_line(request, kernel, job, kvm), job, request, environment, capture
        )
        result.lab = facts(request, kernel)
        return result


def tripped(result: Result) -> bool:
    """Return whether the guest hit one of its own breakpoints before its first process.

    A kernel sets breakpoints while it rewrites its code and removes them when each CPU has
    seen the new code. QEMU's emulation of two CPUs sometimes stops at a removed breakpoint,
    about once in several hundred boots. REQUEST has not started at that time.
    """
    if "int3" not in result.reason or not result.log.exists():
        return False
    return FIRST_PROCESS not in result.log.read_text(errors="replace")


def run(request: Request, capture: bool) -> Result:
    """Boot a stock kernel for REQUEST, with KVM if it works, and follow it to its end.

    If the guest `tripped` under emulation, it is booted a second time.
    """
    need("qemu-system-x86_64", "qemu-system-x86")
    find_vng()
    # virtme-ng's guest has the host's root.
    request = replace(request, own_root=False, share=[path.resolve() for path in request.share])
    kvm = not request.icount and kvm_works()
    result = boot(request, kvm, capture)
    if not kvm and tripped(result):
        say(f"QEMU stopped at a removed breakpoint of the kernel; booting again: {result.log}")
        result = boot(request, kvm, capture)
    return result
