# SPDX-License-Identifier: GPL-2.0
"""Find Debian's unchanged kernels: installed on the host, or unpacked in the cache.

They are not installed, because a kernel package would change the host's boot menu.
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

#: Dependencies that are followed and unpacked.
WANTED = re.compile(r"linux-(image|binary|modules|headers|kbuild)-[\w.+~-]+")


def installed(name: str) -> Kernel | None:
    """Return the newest installed kernel NAME with headers, or None."""
    found = []
    for image in Path("/boot").glob(f"vmlinuz-{name}.*-amd64"):
        release = image.name.removeprefix("vmlinuz-")
        if not re.search(r"-(rt|cloud)-", release):
            found += [k for k in [describe(name, Path("/"), release)] if k]
    return max(found, key=lambda k: [int(n) for n in re.findall(r"\d+", k.release)], default=None)


def describe(name: str, root: Path, release: str) -> Kernel | None:
    """Return kernel RELEASE below ROOT, or None if image, modules or headers are missing."""
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
    # The release names the ABI only. The build number distinguishes updates of one ABI.
    version = re.search(rb"#1 SMP[^\0]*Debian (\S+)", image.read_bytes())
    key = f"{name}-stock-{version[1].decode() if version else release}"
    return Kernel(
        name, "stock", re.sub(r"[^\w.+~-]", "_", key), headers, release, image, modules, "x86", cc
    )


def depends(package: str, options: list[str], wanted: re.Pattern[str] = WANTED) -> list[str]:
    """Return the packages that PACKAGE needs and WANTED matches, the first of each alternative."""
    shown = subprocess.run(
        [need("apt-cache", "apt"), *options, "show", "--no-all-versions", package],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    match = re.search(r"^Depends: (.*)$", shown, flags=re.MULTILINE)
    entries = match[1].split(",") if match else []
    names = [entry.split("|")[0].split("(")[0].strip() for entry in entries]
    return [name for name in names if wanted.fullmatch(name)]


def fetch_stock(name: str, target: Path) -> None:
    """Unpack image, modules and headers of kernel NAME under TARGET."""
    release = Path("/etc/os-release").read_text()
    own = re.search(r"^VERSION_CODENAME=(\w+)", release, flags=re.MULTILINE)
    codename = own[1] if own else ""
    # Try the host's release first, because its build tools run with the host's C library.
    order = sorted(
        records.packages_of(name), key=lambda entry: not entry[0].startswith(codename or "-")
    )
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
    """Replace /usr/src/ in unpacked headers by their real place."""
    for makefile in target.glob("usr/src/linux-headers-*/Makefile"):
        text = makefile.read_text()
        makefile.write_text(re.sub(r"(?<=[ =])/usr/src/linux-", f"{target}/usr/src/linux-", text))


def unpack_stock(name: str, target: Path) -> None:
    """Make TARGET hold kernel NAME, ready for building modules."""
    shutil.rmtree(target, ignore_errors=True)
    fetch_stock(name, target)
    relocate(target)
    mark(target)


def ensure_stock(name: str) -> Kernel:
    """Return Debian's kernel NAME with modules and headers."""
    kernel = installed(name)
    if kernel:
        return kernel
    target = built(CACHE / "stock" / name, lambda place: unpack_stock(name, place))
    for image in target.glob("boot/vmlinuz-*"):
        found = describe(name, target, image.name.removeprefix("vmlinuz-"))
        if found:
            return found
    raise LabError(f"the packages of Linux {name} contain no usable kernel; remove {target}")
