# SPDX-License-Identifier: GPL-2.0
"""Kernel trees of the user, for `--kernel DIR`: built out of tree, and never written to.

The build sees a farm in the cache: a symbolic link for each source file of the tree. Files that
the lab edits are copies. So a tree may have been built in place, and every build is incremental.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from . import records
from .cache import digest, file_digest
from .errors import LabError, say
from .sources import Source

#: File names of a build, for trees that are not in git.
PRODUCTS = re.compile(
    r"\.(o|a|so|cmd|ko|mod|mod\.c|order|symvers|d|s)$|^(vmlinux.*|System\.map|\..*\.(cmd|d))$"
)
#: Headers that modules for user mode may include.
HEADER = re.compile(r"^(include|arch/(x86|um)(/um)?/include)/.*\.h$")
#: Files that a build leaves in the tree, and that make another build in another place fail.
CONFIGURED = (".config", "include/config/auto.conf", "include/generated/autoconf.h")


def is_tree(name: str) -> bool:
    """Return whether NAME of a kernel is a directory instead of a version."""
    return "/" in name


def named(text: str) -> str:
    """Return the kernel that a user means: the absolute path of a tree or a file, or a version."""
    path = Path(text)
    tree = text and (is_tree(text) or text in {".", ".."} or (path / "Kbuild").is_file())
    if tree or ("/" in text and path.exists()):
        return str(path.resolve())
    return text


def version(name: str) -> str:
    """Return the version of a tree, such as 7.3. Raises LabError if it is no kernel tree."""
    makefile = Path(name) / "Makefile"
    try:
        text = makefile.read_text(errors="replace")
    except OSError as error:
        raise LabError(f"--kernel {name}: {makefile}: {error.strerror}") from error
    found = [
        re.search(rf"^{word} = (\d+)$", text, flags=re.MULTILINE)
        for word in ("VERSION", "PATCHLEVEL")
    ]
    if not all(found):
        raise LabError(f"--kernel {name}: {makefile} does not say which Linux this is")
    return ".".join(match[1] for match in found if match)


def user_mode(name: str) -> records.UserMode:
    """Return how to build a tree for user mode: as the newest kernel known that is not newer.

    Edits that do not fit are left out. Then equal bytes are not promised. Raises LabError if the
    tree is older than all.
    """
    own = version(name)
    known = [other for other in records.names("uml") if records.order(other) <= records.order(own)]
    if not known:
        raise LabError(
            f"--kernel {name}: Linux {own} is older than {records.OLDEST}, the oldest that boots "
            "in user mode"
        )
    found = records.records()[known[0]].uml
    assert found
    fitting = tuple(edit for edit in found.edits if fits(Path(name), edit))
    return replace(
        found,
        suites=(),
        edits=fitting,
        deterministic=known[0] == own and len(fitting) == len(found.edits),
    )


def fits(tree: Path, edit: tuple[str, str, str]) -> bool:
    """Return whether a tree has the text that an edit replaces."""
    file, old, _ = edit
    try:
        return old in (tree / file).read_text(errors="replace")
    except OSError:
        return False


def files(tree: Path) -> list[str]:
    """Return the source files of a tree, relative to it. Raises LabError if none can know them."""
    if (tree / ".git").exists():
        done = subprocess.run(
            ["git", "-C", tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise LabError(f"--kernel {tree}: git: {os.fsdecode(done.stderr).strip()}")
        names = map(os.fsdecode, done.stdout.split(b"\0"))
        return sorted({name for name in names if name and os.path.lexists(tree / name)})
    if built := [file for file in CONFIGURED if (tree / file).exists()]:
        raise LabError(
            f"--kernel {tree}: it was built in place ({built[0]}) and is not in git, so its "
            "sources cannot be told from what was built: run make mrproper in it"
        )
    found = [
        str(Path(folder, file).relative_to(tree))
        for folder, _, here in os.walk(tree)
        for file in here
        if not PRODUCTS.search(file)
    ]
    return sorted(found)


def state(tree: Path, names: Iterable[str]) -> str:
    """Return a hash of names, sizes and times of a tree's files, which changes with any of them."""
    parts = []
    for name in names:
        seen = (tree / name).lstat()
        parts.append(f"{name} {seen.st_size} {seen.st_mtime_ns}".encode())
    return digest(parts)


def describe(name: str) -> str:
    """Return what git calls the state of a tree, with "dirty"; its version if it is not in git."""
    done = subprocess.run(
        ["git", "-C", name, "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if not done.returncode else version(name)


def label(name: str) -> str:
    """Return a short name of a kernel for tables: a version, or a file or tree and its state."""
    if is_tree(name) and Path(name).is_file():
        return f"{Path(name).name} {file_digest(Path(name))[:8]}"
    return f"{Path(name).name} {describe(name)}" if is_tree(name) else name


def sync(name: str, names: list[str], farm: Path) -> Source:
    """Make FARM a link to each of the tree's files, and edit copies of those that need it."""
    tree = Path(name)
    edits = user_mode(name).edits
    edited = {file for file, _, _ in edits}
    listed = farm.with_name("files")
    before = set(listed.read_text().split("\n")) if listed.exists() and farm.exists() else set()
    if not before:
        shutil.rmtree(farm, ignore_errors=True)
    wanted = set(names) - edited
    for gone in before - wanted:
        (farm / gone).unlink(missing_ok=True)
    for file in sorted(wanted - before):
        link = farm / file
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(tree / file)
    texts = {file: (tree / file).read_text(errors="replace") for file in edited}
    for file, old, new in edits:
        texts[file] = texts[file].replace(old, new)
    for file, text in texts.items():
        copy = farm / file
        if copy.is_symlink() or not copy.exists() or copy.read_text(errors="replace") != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            copy.write_text(text)
    listed.write_text("\n".join(sorted(wanted)))
    return Source(farm, version(name))


def warn(name: str) -> None:
    """Say what is not promised of a tree."""
    if not user_mode(name).deterministic:
        say(
            f"Linux {version(name)} of {name} is not a kernel that the lab knows, so equal seeds "
            "may give other bytes"
        )
