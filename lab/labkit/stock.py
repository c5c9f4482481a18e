# SPDX-License-Identifier: GPL-2.0
"""Debian's own kernels, as they are: the installed ones, else unpacked in the cache.

Nothing is installed for them: the packages of another release would bring their kernel into
the host's boot menu.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from . import fetch, records
from .cache import built, mark
from .errors import LabError, need, say
from .kernels import Kernel
from .paths import CACHE

#: Packages that are followed from one to the next and unpacked.
WANTED = re.compile(r"linux-(image|binary|modules|headers|kbuild)-[\w.+~-]+")


def installed(name: str) -> Kernel | None:
    """The newest installed kernel NAME that has its headers, if there is one."""
    found = []
    for image in Path("/boot").glob(f"vmlinuz-{name}.*-amd64"):
        release = image.name.removeprefix("vmlinuz-")
        if not re.search(r"-(rt|cloud)-", release):
            found += [k for k in [describe(name, Path("/"), release)] if k]
    return max(found, key=lambda k: [int(n) for n in re.findall(r"\d+", k.release)], default=None)


def describe(name: str, root: Path, release: str) -> Kernel | None:
    """The kernel RELEASE below ROOT; None when its image, modules or headers are missing."""
    image = root / "boot" / f"vmlinuz-{release}"
    modules = root / "lib" / "modules" / release
    headers = root / "usr" / "src" / f"linux-headers-{release}"
    if not modules.is_dir():
        modules = root / "usr" / "lib" / "modules" / release
    if not (image.exists() and modules.is_dir() and (headers / ".config").exists()):
        return None
    cc = "gcc"
    variables = headers / ".kernelvariables"
    if variables.exists():
        match = re.search(r"gcc-\d+", variables.read_text())
        cc = match[0] if match else cc
    # The ABI names the release; the build's own number tells updates of one ABI apart.
    version = re.search(rb"#1 SMP[^\0]*Debian (\S+)", image.read_bytes())
    key = f"{name}-stock-{version[1].decode() if version else release}"
    return Kernel(name, "stock", re.sub(r"[^\w.+~-]", "_", key), headers, release, image,
                  modules, "x86", cc)


def depends(package: str, options: list[str]) -> list[str]:
    """Kernel packages that PACKAGE needs, the first of each alternative."""
    shown = subprocess.run(
        [need("apt-cache", "apt"), *options, "show", "--no-all-versions", package],
        capture_output=True, text=True, check=False,
    ).stdout
    match = re.search(r"^Depends: (.*)$", shown, flags=re.MULTILINE)
    entries = match[1].split(",") if match else []
    names = [entry.split("|")[0].split("(")[0].strip() for entry in entries]
    return [name for name in names if WANTED.fullmatch(name)]


def fetch_stock(name: str, target: Path) -> None:
    """Unpack image, modules and headers of kernel NAME under TARGET."""
    release = Path("/etc/os-release").read_text()
    own = re.search(r"^VERSION_CODENAME=(\w+)", release, flags=re.MULTILINE)
    codename = own[1] if own else ""
    # The host's own release first: its build tools run with the host's C library.
    order = sorted(records.packages_of(name),
                   key=lambda entry: not entry[0].startswith(codename or "-"))
    problems = []
    for suite, ending in order:
        try:
            options = fetch.update(suite)
            todo = [f"linux-image-{ending}", f"linux-headers-{ending}"]
            done: list[str] = []
            while todo:
                package = todo.pop(0)
                if package in done:
                    continue
                done.append(package)
                todo += depends(package, options)
            say(f"fetching Debian's Linux {name} from {suite}: {len(done)} packages")
            for package in done:
                fetch.unpack_deb(fetch.download_with(package, options), target)
            return
        except LabError as problem:
            problems.append(f"{suite}: {problem}")
            shutil.rmtree(target, ignore_errors=True)
    raise LabError(f"cannot fetch Linux {name}:\n  " + "\n  ".join(problems))


def relocate(target: Path) -> None:
    """Make unpacked headers find each other where they are: Debian writes /usr/src/ in."""
    for makefile in target.glob("usr/src/linux-headers-*-amd64/Makefile"):
        text = makefile.read_text()
        makefile.write_text(text.replace("include /usr/src/", f"include {target}/usr/src/"))


def unpack_stock(name: str, target: Path) -> None:
    """Make TARGET hold kernel NAME, ready for modules to be built against."""
    shutil.rmtree(target, ignore_errors=True)
    fetch_stock(name, target)
    relocate(target)
    mark(target)


def ensure_stock(name: str) -> Kernel:
    """Debian's kernel NAME with modules and headers."""
    kernel = installed(name)
    if kernel:
        return kernel
    target = built(CACHE / "stock" / name, lambda place: unpack_stock(name, place))
    for image in target.glob("boot/vmlinuz-*"):
        found = describe(name, target, image.name.removeprefix("vmlinuz-"))
        if found:
            return found
    raise LabError(f"the packages of Linux {name} hold no usable kernel; remove {target}")
