# SPDX-License-Identifier: GPL-2.0
"""Write the sources of all programs in a wheel, which their licences ask for: GPL and LGPL.

    python -m labkit.source_archive DIRECTORY

The archive has the checkout, the kernel's source as it was built, and Debian's source packages of
the other programs and of the libraries in them.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

from . import engines, fetch, guest_programs, sources
from .errors import LabError, need, say
from .paths import LOGS, ROOT
from .progress import run_logged
from .toolchain import version

#: Source packages of programs from guest_programs.SUITE, and of this machine's static libraries.
PROGRAMS = ("iproute2", "busybox")
LIBRARIES = ("libnl3", "glibc")


def write(target: Path) -> Path:
    """Write the archive into the directory TARGET and return it. Raises LabError."""
    name = f"sch-aqm-sources-{version()}"
    place = target / name
    place.mkdir(parents=True)
    tree = sources.ensure_source(engines.default_kernel()).tree
    checkout = place / f"sch-aqm-{version()}.tar"
    subprocess.run(["git", "-C", ROOT, "archive", "-o", checkout, "HEAD"], check=True)
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", guest_programs.SUITE)
    for packages, release in ((PROGRAMS, guest_programs.SUITE), (LIBRARIES, suite)):
        for package in packages:
            say(f"fetching the source of {package} from Debian {release}")
            folder = place / package
            folder.mkdir()
            fetch.source_files(package, release, folder)
    archive = target / f"{name}.tar.zst"
    command = [need("tar", "tar"), f"--use-compress-program={need('zstd', 'zstd')} -9 -T0"]
    run_logged(
        [*command, "-cf", archive, "-C", tree.parent, tree.name, "-C", target, name],
        LOGS / "source-archive.log",
        "packing sources",
    )
    shutil.rmtree(place)
    return archive


def main() -> int:
    """Write the archive, and print its path and size. Return the exit status."""
    try:
        archive = write(Path(sys.argv[1]).resolve())
    except LabError as error:
        say(str(error))
        return 1
    print(f"{archive} {archive.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
