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
from dataclasses import replace
from pathlib import Path

from . import bundle, cross, image_files, images, initramfs, modules, process, targets
from .errors import LabError, need
from .job import job_directory, parse_size
from .kernels import Kernel
from .orders import (
    EXTRAS_IN_GUEST,
    JOB_IN_GUEST,
    OPTIONAL_PROGRAMS,
    OWN_PROGRAMS,
    PATH,
    PROGRAMS_IN_GUEST,
    VIRTUAL_DEADLINE,
    Orders,
    facts,
)
from .paths import BUNDLE
from .request import Request, Result
from .targets import X86, Target
from .uml import private_files

#: Virtual time since boot at which the command starts, in milliseconds. Every kernel that we know
#: has booted by then.
BEGIN = "10000"

#: Memory for results: its place in an x86 guest's memory, and its size. No kernel and no initramfs
#: is there if the guest has at least LEAST_MEMORY. An arm64 kernel cannot be told of a hole, so
#: the last bytes of memory are not its own.
WINDOW, WINDOW_BYTES = 0x800_0000, 128 << 20
LEAST_MEMORY = 1 << 30

#: Start of the guest's clock; the same moment as uml.START.
START = "2027-01-15T08:00:00"

MEMORY, INITRD, IMAGE = "memory", "initrd", "image"


@functools.cache
def qemu_version(target: Target = X86) -> str:
    """Return the version of QEMU. Another one may give other bytes."""
    command = [need(target.emulator, target.package), "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
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


def window(target: Target, size: int) -> int:
    """Return the place of the memory for results in a guest's SIZE bytes of memory."""
    return WINDOW if target == X86 else size - WINDOW_BYTES


def by_busybox(name: str) -> list[str]:
    """Return ["busybox"] if a guest has no file for a program.

    It has the lab's programs and the shells. Busybox has the others, or says that it has not.
    """
    files = (*OWN_PROGRAMS, *OPTIONAL_PROGRAMS, "sh")
    return [] if "/" in name or name in files else ["busybox"]


def orders_of(request: Request, values: dict[str, str], address: int) -> Orders:
    """Return the instructions from a booted kernel to the running command.

    address: physical address of the memory for results
    """
    orders = Orders()
    orders.add("mount", "proc", "/proc", "", "mount", "sysfs", "/sys", "")
    private_files(orders)
    orders.add("mkdir", JOB_IN_GUEST, "report", JOB_IN_GUEST, "send", JOB_IN_GUEST)
    for number in range(len(request.share)):
        orders.add("mkdir", shared(number), "send", shared(number))
    orders.add("window", hex(address), str(WINDOW_BYTES))
    orders.add("until", BEGIN, "entropy", str(request.seed), "loopback")
    for name, value in environment(request, values).items():
        orders.add("env", f"{name}={value}")
    orders.add("cwd", "/", "deadline", str(VIRTUAL_DEADLINE))
    for word in [*by_busybox(request.command[0]), *request.command]:
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
    if BUNDLE and images.target_of(request.kernel) != X86:
        raise LabError(
            f"--kernel {request.kernel}: this package has programs for x86-64 only; use a checkout"
        )
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
    target = targets.of_architecture(kernel.arch)
    own = f"memmap={WINDOW_BYTES:#x}${WINDOW:#x}"
    words = [
        f"console={target.console}",
        "loglevel=5",
        "panic=-1",
        "oops=panic",
        *target.words,
        "random.trust_cpu=off",
        "random.trust_bootloader=off",
        own if target == X86 else f"mem={size - WINDOW_BYTES}",
        "iomem=relaxed",
        f"labjob={JOB_IN_GUEST}",
    ]
    return [
        need(target.emulator, target.package),
        *("-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"),
        *("-M", target.machine, "-cpu", target.processor, "-smp", "1"),
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


def sent(memory: Path, place: int) -> Iterator[tuple[str, bytes]]:
    """Yield the path in the guest and the content of each file that the guest has sent to PLACE."""
    with memory.open("rb") as file:
        file.seek(place)
        total = int.from_bytes(file.read(8), "little")
        if total > WINDOW_BYTES - 8:
            raise LabError(f"{total} bytes of results in a window of {WINDOW_BYTES}")
        rest = file.read(total)
    while rest:
        name, _, rest = rest.partition(b"\0")
        size, _, rest = rest.partition(b"\0")
        yield name.decode(), rest[: int(size)]
        rest = rest[int(size) :]


def collect(request: Request, job: Path, place: int) -> None:
    """Write the files that the guest has sent to PLACE into the job's directory and shared ones."""
    places = {JOB_IN_GUEST: job}
    places |= {shared(number): path for number, path in enumerate(request.share)}
    for name, data in sent(job / MEMORY, place):
        top = next(known for known in places if name.startswith(f"{known}/"))
        below = Path(name).relative_to(top)
        if ".." in below.parts:
            raise LabError(f"the guest sent {name}")
        target = places[top] / below
        if top == JOB_IN_GUEST and below.name == "orders":
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def ensure_base(kernel: Kernel, request: Request) -> Path:
    """Return the initramfs of all requests for KERNEL, which REQUEST names. Cached."""
    target = targets.of_architecture(kernel.arch)
    more: list[Path] = []
    if target == X86:
        extras, helpers = bundle.programs() or (modules.ensure_extras(), modules.ensure_helpers())
        init = helpers / "init"
    else:
        extras, init = cross.ensure_programs(target)
        # Our modules need headers, which come with Debian's packages only.
        more = [] if images.is_image(request.kernel) else cross.ensure_modules(kernel)
    return initramfs.ensure_base(kernel, extras, init, more)


def preloaded() -> dict[str, str]:
    """Return QEMU's environment. A wheel has no libraries to preload."""
    helpers = BUNDLE or modules.ensure_helpers()
    libraries = [helpers / f"{name}.so" for name in modules.PRELOADED]
    found = [str(path) for path in libraries if path.exists()]
    return {"LD_PRELOAD": ":".join(found)} if found else {}


def run(request: Request, capture: bool) -> Result:
    """Boot a kernel for REQUEST and follow it to its end."""
    kernel = images.ensure(request.kernel)
    target = targets.of_architecture(kernel.arch)
    base = ensure_base(kernel, request)
    values = facts(request, kernel) | {"qemu": qemu_version(target)}
    place = window(target, parse_size(request.memory))
    with job_directory(request.memory) as job:
        orders_of(request, values, target.memory + place).write(job / "orders")
        files = {path: source.read_bytes() for path, source in request.inputs.items()}
        files[f"{JOB_IN_GUEST}/orders"] = (job / "orders").read_bytes()
        initramfs.write(job / INITRD, base, files)
        plain = image_files.to_boot(kernel.image, job / IMAGE)
        result = process.supervise(
            command_line(replace(kernel, image=plain), request),
            job,
            request,
            preloaded(),
            capture,
            collect=lambda: collect(request, job, place),
        )
        result.lab = values
        result.busy = busy_seconds(job)
        return result


def busy_seconds(job: Path) -> float | None:
    """Return the virtual seconds in which the guest's processor ran. Each instruction takes 1 ns.

    None if this QEMU did not count its instructions, or if it was killed: lab/src/count.c
    """
    counted = job / "instructions"
    return int(counted.read_text()) / 1e9 if counted.exists() else None
