# SPDX-License-Identifier: GPL-2.0
"""The QEMU engine with the virtual clock: unchanged kernels, and equal bytes for equal seeds.

QEMU counts instructions, each takes a nanosecond, and idling takes no real time (-icount with
sleep=off). So the guest's clock depends on nothing but its instructions, if no device answers
after a time that depends on the host. Therefore the guest has none: its files are in the
initramfs, and its results are in memory that we read when the machine is off (lab/src/init.c).

We switch recording on (rr=record), and throw the record away, because it makes QEMU's two threads
take turns. Without it, QEMU's main thread can see a CPU that has just halted, before the CPU's
thread has counted its last instructions. It then moves the clock to the next timer as if they had
not run, and the clock is some nanoseconds to microseconds late from then on. Under load this
happened in about every second run.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path

from . import bundle, images, initramfs, modules, process
from .errors import LabError, need
from .job import job_directory, parse_size
from .kernels import Kernel
from .orders import (
    EXTRAS_IN_GUEST,
    JOB_IN_GUEST,
    PATH,
    PROGRAMS_IN_GUEST,
    VIRTUAL_DEADLINE,
    Orders,
    facts,
)
from .request import Request, Result
from .uml import private_files

PROGRAM, PACKAGE = "qemu-system-x86_64", "qemu-system-x86"

#: Virtual time since boot at which the command starts, in milliseconds. Every kernel that we know
#: has booted by then.
BEGIN = "10000"

#: Memory for results: its physical address and size. No kernel and no initramfs is there if the
#: guest has at least LEAST_MEMORY.
WINDOW, WINDOW_BYTES = 0x800_0000, 128 << 20
LEAST_MEMORY = 1 << 30

#: Start of the guest's clock; the same moment as uml.START.
START = "2027-01-15T08:00:00"

MEMORY, INITRD = "memory", "initrd"


@functools.cache
def qemu_version() -> str:
    """Return the version of QEMU. Another one may give other bytes."""
    shown = subprocess.run(
        [need(PROGRAM, PACKAGE), "--version"], capture_output=True, text=True, check=True
    )
    return shown.stdout.splitlines()[0].removeprefix("QEMU emulator version ")


def environment(request: Request, values: dict[str, str]) -> dict[str, str]:
    """Return the command's environment. No path of the host may be in it."""
    return {
        "PATH": f"{PROGRAMS_IN_GUEST}:{PATH}",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TC_LIB_DIR": f"{EXTRAS_IN_GUEST}/tc",
        "TOOLS_DIR": PROGRAMS_IN_GUEST,
        "LAB": "1",
        **{f"LAB_{name.upper()}": value for name, value in values.items()},
        **request.environment,
    }


def orders_of(request: Request, values: dict[str, str]) -> Orders:
    """Return the instructions from a booted kernel to the running command."""
    orders = Orders()
    orders.add("mount", "proc", "/proc", "", "mount", "sysfs", "/sys", "")
    private_files(orders)
    orders.add("mkdir", JOB_IN_GUEST, "report", JOB_IN_GUEST, "send", JOB_IN_GUEST)
    for number in range(len(request.share)):
        orders.add("mkdir", shared(number), "send", shared(number))
    orders.add("window", hex(WINDOW), str(WINDOW_BYTES))
    orders.add("until", BEGIN, "entropy", str(request.seed), "loopback")
    for name, value in environment(request, values).items():
        orders.add("env", f"{name}={value}")
    orders.add("cwd", "/", "deadline", str(VIRTUAL_DEADLINE))
    for word in request.command:
        orders.add("arg", word)
    return orders


def check(request: Request) -> None:
    """Raise LabError for what this engine cannot do."""
    how = "--engine qemu --clock virtual"
    if request.modules:
        raise LabError(
            f"--module: {how} boots kernels with their own modules only; leave out --clock "
            "virtual, or use --engine uml"
        )
    if request.nics:
        raise LabError(f"--nics: {how} has no devices, because they would bring in the host's time")
    if request.icount or request.plugin:
        raise LabError(f"{how} counts instructions anyway: leave out --icount and --plugin")
    if parse_size(request.memory) < LEAST_MEMORY:
        raise LabError(f"--memory {request.memory}: {how} needs 1G at least")


def shared(number: int) -> str:
    """Return the place in the guest of a shared directory, which names no path of the host."""
    return f"/run/share{number}"


def command_line(kernel: Kernel, request: Request) -> list[str]:
    """Return the command line of QEMU."""
    size = parse_size(request.memory)
    words = [
        "console=ttyS0",
        "loglevel=5",
        "panic=-1",
        "oops=panic",
        "nokaslr",
        "mitigations=off",
        "tsc=reliable",
        "no_timer_check",
        "random.trust_cpu=off",
        "random.trust_bootloader=off",
        f"memmap={WINDOW_BYTES:#x}${WINDOW:#x}",
        "iomem=relaxed",
        f"labjob={JOB_IN_GUEST}",
    ]
    return [
        need(PROGRAM, PACKAGE),
        *("-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"),
        *("-M", "pc,accel=tcg,memory-backend=ram", "-cpu", "qemu64", "-smp", "1"),
        *("-m", f"{size >> 20}M"),
        *("-object", f"memory-backend-file,id=ram,size={size},mem-path={MEMORY},share=on"),
        *(
            "-icount",
            "shift=0,sleep=off,rr=record,rrfile=/dev/null",
            "-seed",
            str(request.seed & 0xFFFF_FFFF),
        ),
        *("-rtc", f"base={START},clock=vm"),
        *("-chardev", "file,id=log,path=/dev/stdout,append=on", "-serial", "chardev:log"),
        *("-kernel", str(kernel.image), "-initrd", INITRD, "-append", " ".join(words)),
    ]


def sent(memory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path in the guest and the content of each file that the guest has sent."""
    with memory.open("rb") as file:
        file.seek(WINDOW)
        total = int.from_bytes(file.read(8), "little")
        if total > WINDOW_BYTES - 8:
            raise LabError(f"{total} bytes of results in a window of {WINDOW_BYTES}")
        rest = file.read(total)
    while rest:
        name, _, rest = rest.partition(b"\0")
        size, _, rest = rest.partition(b"\0")
        yield name.decode(), rest[: int(size)]
        rest = rest[int(size) :]


def collect(request: Request, job: Path) -> None:
    """Write the files that the guest has sent into the job's directory and the shared ones."""
    places = {JOB_IN_GUEST: job}
    places |= {shared(number): path for number, path in enumerate(request.share)}
    for name, data in sent(job / MEMORY):
        top = next(place for place in places if name.startswith(f"{place}/"))
        below = Path(name).relative_to(top)
        if ".." in below.parts:
            raise LabError(f"the guest sent {name}")
        target = places[top] / below
        if top == JOB_IN_GUEST and below.name == "orders":
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def run(request: Request, capture: bool) -> Result:
    """Boot a kernel for REQUEST and follow it to its end."""
    kernel = images.ensure(request.kernel)
    extras, helpers = bundle.programs() or (modules.ensure_extras(), modules.ensure_helpers())
    base = initramfs.ensure_base(kernel, extras, helpers / "init")
    leash = helpers / "leash.so"  # a wheel has none
    values = facts(request, kernel) | {"qemu": qemu_version()}
    with job_directory(request.memory) as job:
        orders_of(request, values).write(job / "orders")
        files = {path: source.read_bytes() for path, source in request.inputs.items()}
        files[f"{JOB_IN_GUEST}/orders"] = (job / "orders").read_bytes()
        initramfs.write(job / INITRD, base, files)
        result = process.supervise(
            command_line(kernel, request),
            job,
            request,
            {"LD_PRELOAD": str(leash)} if leash.exists() else {},
            capture,
            collect=lambda: collect(request, job),
        )
        result.lab = values
        return result
