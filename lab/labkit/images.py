# SPDX-License-Identifier: GPL-2.0
"""Find kernels that somebody else has built: Debian's for clouds, by name, or any vmlinuz.

A guest of labkit/icount.py needs the image and the modules, and no headers.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from . import fetch, headers, records, stock, targets
from .cache import built, digest, file_digest, mark
from .errors import LabError, say
from .headers import Headers
from .kernels import Kernel
from .paths import CACHE
from .targets import Target

#: Place of the pointer to the version in a bzImage, and what is added to it.
VERSION_AT, VERSION_BASE, VERSION_BYTES = 0x20E, 0x200, 256
MAGIC, MAGIC_AT = b"HdrS", 0x202
#: The same of an uncompressed image for arm64 (Documentation/arch/arm64/booting.rst).
ARM64_MAGIC, ARM64_MAGIC_AT = b"ARM\x64", 56


def is_image(name: str) -> bool:
    """Return whether NAME of a kernel is the path of an image, and not a version or a tree."""
    return "/" in name and Path(name).is_file()


#: What a kernel prints first. An image for arm64 is not compressed.
BANNER = re.compile(rb"Linux version (\S+ \([^\0]*)")


def version_text(image: Path, target: Target = targets.X86) -> str:
    """Return what a kernel image says of itself; its first word is the release."""
    if target == targets.ARM64:
        found = BANNER.search(image.read_bytes())
        if not found:
            raise LabError(f"{image} is no uncompressed kernel image for arm64")
        return found[1].decode(errors="replace").strip()
    with image.open("rb") as file:
        head = file.read(1 << 16)
    if head[ARM64_MAGIC_AT : ARM64_MAGIC_AT + len(ARM64_MAGIC)] == ARM64_MAGIC:
        raise LabError(
            f"--kernel {image}: this is a kernel image for arm64, and only images for x86 can be "
            "given by path: give the name of a kernel for arm64, such as 6.12-arm64"
        )
    if head[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC:
        raise LabError(f"--kernel {image}: this is no kernel image for x86 (bzImage)")
    at = int.from_bytes(head[VERSION_AT : VERSION_AT + 2], "little") + VERSION_BASE
    return head[at : at + VERSION_BYTES].partition(b"\0")[0].decode(errors="replace")


def module_directories(image: Path, release: str) -> list[Path]:
    """Return where the modules of an image may be: beside it, below its root, on this machine."""
    roots = [*image.resolve().parents][:2]
    found = [root / sub / release for root in roots for sub in ("lib/modules", "usr/lib/modules")]
    return [image.parent, *found, Path("/lib/modules") / release]


def of_file(name: str) -> Kernel:
    """Return the kernel of an image file, with its modules. Raises LabError without them."""
    image = Path(name)
    release = version_text(image).split()[0]
    places = module_directories(image, release)
    modules = next((path for path in places if (path / "kernel").is_dir()), None)
    if modules is None:
        shown = ", ".join(str(path) for path in places)
        raise LabError(
            f"--kernel {name}: the modules of Linux {release} are in none of {shown}; put them "
            f"into lib/modules/{release} beside the image"
        )
    stamps = "".join(
        f"{path.relative_to(modules)} {path.stat().st_size} {path.stat().st_mtime_ns}\n"
        for path in sorted(modules.rglob("*.ko*"))
    )
    key = f"file-{digest([file_digest(image).encode(), stamps.encode()])}"
    return Kernel(release, "stock", key, image.parent, release, image, modules, "x86")


def fetch_image(name: str, target: Path) -> None:
    """Unpack image and modules of Debian's kernel NAME for clouds under TARGET.

    For arm64 the headers are added, with which our modules are built.
    """
    problems = []
    arch = targets.of_kernel(name).debian if name.endswith(targets.ARM64_SUFFIX) else ""
    for suite, amd64 in records.cloud_packages(targets.version_of(name)):
        shutil.rmtree(target, ignore_errors=True)
        ending = amd64.replace("amd64", arch or "amd64")
        try:
            options = fetch.update(suite, arch)
            todo, done = [f"linux-image-{ending}"], []
            while todo:
                package = todo.pop(0)
                if package not in done:
                    done.append(package)
                    todo += stock.depends(package, options)
            say(f"fetching Debian's Linux {name} for clouds from {suite}: {len(done)} packages")
            for package in done:
                fetch.unpack_deb(fetch.download_with(package, options), target)
            if arch:
                headers.add(Headers(suite, f"linux-headers-{ending}", arch), target)
            return
        except LabError as problem:
            problems.append(f"{suite}: {problem}")
    raise LabError(f"cannot fetch Linux {name}:\n  " + "\n  ".join(problems))


def of_debian(name: str) -> Kernel:
    """Return Debian's kernel NAME for clouds. Fetched once."""

    def make(place: Path) -> None:
        fetch_image(name, place)
        mark(place)

    target = targets.of_kernel(name)
    place = built(CACHE / "stock" / f"{name}-cloud", make)
    images = [*place.glob("boot/vmlinuz-*"), *place.glob("usr/lib/modules/*/vmlinuz")]
    if len(images) != 1:
        raise LabError(f"the packages of Linux {name} have {len(images)} images; remove {place}")
    (image,) = images
    text = version_text(image, target)
    release = text.split()[0]
    version = re.search(r"Debian (\d\S*)", text)
    modules = next(path for path in place.glob(f"**/lib/modules/{release}") if path.is_dir())
    key = f"{name}-cloud-{version[1] if version else release}"
    path = place if target == targets.X86 else place / "usr" / "src" / f"linux-headers-{release}"
    return Kernel(
        name, "stock", re.sub(r"[^\w.+~-]", "_", key), path, release, image, modules, target.arch
    )


def ensure(name: str) -> Kernel:
    """Return the kernel of a version, or of an image file."""
    return of_file(name) if is_image(name) else of_debian(name)
