# SPDX-License-Identifier: GPL-2.0
"""The files of a guest without any directory of the host: programs, and modules of its kernel."""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from . import cpio
from .cache import built, digest, digest_files, file_digest, files_under, mark, prune
from .cpio import Archive
from .errors import LabError, need
from .kernels import Kernel
from .modules import KEEP, Extras
from .orders import EXTRAS_IN_GUEST, OPTIONAL_PROGRAMS, OWN_PROGRAMS, PROGRAMS_IN_GUEST
from .paths import CACHE

#: Directories that programs and init need.
FOLDERS = ("/dev", "/etc", "/proc", "/run/netns", "/sys", "/tmp")

#: Modules of a guest, by their paths below kernel/, without the ending. Their dependencies follow.
WANTED = re.compile(
    r"net/sched/\w+|net/ipv4/tcp_\w+|drivers/net/(veth|ifb|dummy)|.*/(lib)?crc32c(_generic)?"
)
MODULE = re.compile(r"\.ko(\.\w+)?$")

#: File of a cached archive.
BASE = "base.cpio"

#: A line of a module's section .modinfo.
FACT = re.compile(rb"\0(alias|depends)=([^\0]*)")


def unpacked(path: Path) -> bytes:
    """Return a module without compression. Raises LabError if it is no module or unreadable."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    elif path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        zstd = [need("zstd", "zstd"), "-dcq", str(path)]
        data = subprocess.run(zstd, capture_output=True, check=True).stdout
    if not data.startswith(b"\x7fELF"):
        raise LabError(f"{path} is not a kernel module, or its compression is not known")
    return data


def module_name(path: Path) -> str:
    """Return the name by which modules depend on each other."""
    return MODULE.sub("", path.name).replace("-", "_")


class Modules:
    """Some modules of a kernel, and those that they depend on.

    top: the kernel's directory of modules, lib/modules/RELEASE
    more: files of further modules, which are all taken
    """

    def __init__(self, top: Path, more: Sequence[Path] = ()) -> None:
        self.top = top
        self.known = {module_name(path): path for path in (*top.rglob("*.ko*"), *more)}
        self.taken: dict[str, bytes] = {}
        self.needs: dict[str, list[str]] = {}
        self.aliases: dict[str, list[str]] = {}
        for name, path in sorted(self.known.items()):
            below = str(path.relative_to(top)) if path not in more else ""
            below = MODULE.sub("", below.removeprefix("kernel/").removeprefix("updates/"))
            if WANTED.fullmatch(below):
                self.take(name)
        for path in more:
            self.take(module_name(path))

    def take(self, name: str) -> None:
        """Add module NAME and its dependencies. One that the kernel has built in is no file."""
        if name in self.taken or name not in self.known:
            return
        data = self.taken[name] = unpacked(self.known[name])
        facts: dict[bytes, list[str]] = {b"alias": [], b"depends": []}
        for key, value in FACT.findall(data):
            facts[key].append(value.decode())
        words = ",".join(facts[b"depends"]).replace("-", "_").split(",")
        self.needs[name] = [word for word in words if word in self.known]
        self.aliases[name] = facts[b"alias"]
        for other in self.needs[name]:
            self.take(other)

    def closure(self, name: str) -> list[str]:
        """Return what module NAME needs, directly or not; each before those that it needs."""
        found: list[str] = []
        for other in self.needs[name]:
            found += [other, *self.closure(other)]
        last = {other: at for at, other in enumerate(found)}
        return sorted(last, key=lambda other: last[other])

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the path below lib/modules/RELEASE and the content of each file for modprobe."""
        dependencies, aliases = [], []
        for name in sorted(self.taken):
            yield f"{name}.ko", self.taken[name]
            needed = " ".join(f"{other}.ko" for other in self.closure(name))
            dependencies.append(f"{name}.ko: {needed}".rstrip())
            aliases += [f"alias {alias} {name}" for alias in self.aliases[name]]
        yield "modules.dep", "".join(f"{line}\n" for line in dependencies).encode()
        yield "modules.alias", "".join(f"{line}\n" for line in aliases).encode()


def ensure_base(kernel: Kernel, extras: Extras, init: Path, more: Sequence[Path] = ()) -> Path:
    """Return an archive of init, the programs, KERNEL's modules and MORE modules. Cached."""
    optional = (extras.bin / name for name in OPTIONAL_PROGRAMS)
    programs = [extras.bin / name for name in OWN_PROGRAMS]
    programs += [path for path in optional if path.exists()]
    tables = [path for path in files_under(extras.tc) if path.suffix == ".dist"]
    key = digest(
        part.encode()
        for part in (
            kernel.key,
            file_digest(init),
            digest_files(programs, extras.bin),
            digest_files(tables, extras.tc),
            Path(__file__).read_text(),
            Path(cpio.__file__).read_text(),
            *(file_digest(path) for path in more),
        )
    )

    def make(place: Path) -> None:
        archive = Archive()
        for folder in FOLDERS:
            archive.directory(folder)
        archive.device("/dev/console", 5, 1)
        archive.device("/dev/null", 1, 3)
        archive.file("/init", init.read_bytes(), program=True)
        for path in programs:
            archive.file(f"{PROGRAMS_IN_GUEST}/{path.name}", path.read_bytes(), program=True)
        for path in tables:
            archive.file(f"{EXTRAS_IN_GUEST}/tc/{path.name}", path.read_bytes())
        for program in ("/bin/sh", "/sbin/modprobe"):
            archive.link(program, f"{PROGRAMS_IN_GUEST}/busybox")
        if (extras.bin / "bash").exists():
            archive.link("/bin/bash", f"{PROGRAMS_IN_GUEST}/bash")
        for name, data in Modules(kernel.modules, more).files():
            archive.file(f"/lib/modules/{kernel.release}/{name}", data)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / BASE).write_bytes(archive.to_bytes())
        mark(place)

    place = built(CACHE / "initramfs" / f"{kernel.key}-{key}", make)
    prune(place.parent, "*-*[0-9a-f]", KEEP)
    return place / BASE


def write(target: Path, base: Path, files: Mapping[str, bytes]) -> None:
    """Write an initramfs of BASE, and of FILES by their paths in the guest, to TARGET."""
    archive = Archive()
    for path, data in sorted(files.items()):
        archive.file(path, data, program=data.startswith(b"#!"))
    target.write_bytes(base.read_bytes() + archive.to_bytes())
