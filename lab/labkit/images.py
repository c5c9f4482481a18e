# SPDX-License-Identifier: GPL-2.0
"""Find kernels that somebody else has built: Debian's for clouds, by name, or any image.

A guest of labkit/icount.py needs the image and the modules, and no headers.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from . import fetch, headers, image_files, records, stock, targets
from .cache import built, digest, file_digest, mark
from .errors import LabError, say
from .headers import Headers
from .kernels import Kernel
from .paths import CACHE


def is_image(name: str) -> bool:
    """Return whether NAME of a kernel is the path of an image, and not a version or a tree."""
    return "/" in name and Path(name).is_file()


def module_directories(image: Path, release: str) -> list[Path]:
    """Return where the modules of an image may be: beside it, below its root, on this machine."""
    roots = [*image.resolve().parents][:2]
    found = [root / sub / release for root in roots for sub in ("lib/modules", "usr/lib/modules")]
    return [image.parent, *found, Path("/lib/modules") / release]


def of_file(name: str) -> Kernel:
    """Return the kernel of an image file, with its modules. Raises LabError without them."""
    image = Path(name)
    target, text, _ = image_files.read(image)
    release = text.split()[0]
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
    return Kernel(release, "stock", key, image.parent, release, image, modules, target.arch)


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

    place = built(CACHE / "stock" / f"{name}-cloud", make)
    images = [*place.glob("boot/vmlinuz-*"), *place.glob("usr/lib/modules/*/vmlinuz")]
    if len(images) != 1:
        raise LabError(f"the packages of Linux {name} have {len(images)} images; remove {place}")
    (image,) = images
    target, text, _ = image_files.read(image)
    release = text.split()[0]
    version = re.search(r"Debian (\d\S*)", text)
    modules = next(path for path in place.glob(f"**/lib/modules/{release}") if path.is_dir())
    key = f"{name}-cloud-{version[1] if version else release}"
    path = place if target == targets.X86 else place / "usr" / "src" / f"linux-headers-{release}"
    return Kernel(
        name, "stock", re.sub(r"[^\w.+~-]", "_", key), path, release, image, modules, target.arch
    )


def target_of(name: str) -> targets.Target:
    """Return the architecture of a kernel, by its name or by the header of its image file."""
    return image_files.read(Path(name))[0] if is_image(name) else targets.of_kernel(name)


def ensure(name: str) -> Kernel:
    """Return the kernel of a version, or of an image file."""
    return of_file(name) if is_image(name) else of_debian(name)
