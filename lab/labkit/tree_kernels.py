# SPDX-License-Identifier: GPL-2.0
"""Build the kernel of a tree of the user, incrementally."""

from __future__ import annotations

from pathlib import Path

from . import trees
from .cache import digest, lock, prune, touch
from .errors import say
from .kernels import (
    AGE,
    EXPECTED,
    KEEP,
    UML,
    Kernel,
    check_tools,
    configure,
    flags,
    link_helpers,
    linked_sources,
    make_kernel,
    report_lost,
    settings,
    user_mode_of,
)
from .paths import CACHE, LOGS
from .progress import run_logged
from .sources import Source
from .toolchain import compiler


def ensure(name: str, flavour: str) -> Kernel:
    """Return the user-mode kernel of a tree of the user, in FLAVOUR. Build what has changed.

    The key contains all headers, so that modules are built again only if one of them changes.
    """
    tree = Path(name)
    place = CACHE / "kernels" / f"tree-{tree.name}-{flavour}-{digest([name.encode()])}"
    place.mkdir(parents=True, exist_ok=True)
    with lock(place / "lock"):
        names = trees.files(tree)
        wanted = settings(name, flavour)
        how = digest(
            part.encode()
            for part in (
                wanted,
                repr(user_mode_of(name)),
                compiler(),
                *flags(name, flavour),
                *(source.read_text() for source in linked_sources()),
            )
        )
        now = f"{how} {trees.state(tree, names)}\n"
        done = place / "built"
        if not done.exists() or done.read_text() != now:
            build(trees.sync(name, names, place / "source"), place, name, flavour, how)
            done.write_text(now)
    touch(place)
    prune(place.parent, "tree-*", KEEP, AGE)
    made = place / "build"
    release = (made / "include" / "config" / "kernel.release").read_text().strip()
    headers = [place / "source" / file for file in names if trees.HEADER.search(file)]
    key = digest([how.encode(), *(file.read_bytes() for file in headers)])
    modules = made / "installed" / "lib" / "modules" / release
    return Kernel(name, flavour, f"{place.name}-{key}", made, release, made / "linux", modules)


def build(source: Source, place: Path, name: str, flavour: str, how: str) -> None:
    """Build a farm incrementally, and configure it if HOW it is built has changed."""
    check_tools()
    made, configured = place / "build", place / "configured"
    what = f"Linux {source.version} of {name}"
    log = LOGS / f"kernel-{place.name}.log"
    log.unlink(missing_ok=True)
    made.mkdir(exist_ok=True)
    (place / "built").unlink(missing_ok=True)
    first = not configured.exists()
    if first or configured.read_text() != how:
        trees.warn(name)
        report_lost(name, configure(source, made, settings(name, flavour), UML, what))
        configured.write_text(how)
    say(f"building {what}" + (" (a few minutes; later only what has changed)" if first else ""))
    make = [*make_kernel(source, made, UML), f"CFLAGS_KERNEL={' '.join(flags(name, flavour))}"]
    link = link_helpers(flavour, made, log)
    run_logged([*make, link, "all"], log, what, expected=EXPECTED[flavour] if first else 0)
    run_logged(
        [*make, "modules_install", f"INSTALL_MOD_PATH={made / 'installed'}"],
        log,
        f"{what}: its modules",
    )
