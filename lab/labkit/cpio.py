# SPDX-License-Identifier: GPL-2.0
"""Write an initramfs: a cpio archive in the kernel's format "newc". Equal files give equal bytes.

There is no time, user or inode number of the host in it.
"""

from __future__ import annotations

import stat
from pathlib import PurePosixPath

TRAILER = "TRAILER!!!"


class Archive:
    """Collect files, directories and links. Directories above a file are added by themselves."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes]] = {}

    def directory(self, path: str) -> None:
        """Add a directory and those above it, unless they are there."""
        for folder in (PurePosixPath(path), *PurePosixPath(path).parents):
            name = _name(str(folder))
            if name and name not in self._entries:
                self._entries[name] = (stat.S_IFDIR | 0o755, b"")

    def file(self, path: str, data: bytes, *, program: bool = False) -> None:
        """Add a file with DATA; a PROGRAM may be executed. Raises ValueError for a second one."""
        self._add(path, stat.S_IFREG | (0o755 if program else 0o644), data)

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link to TARGET."""
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path: str, major: int, minor: int) -> None:
        """Add a character device."""
        self._add(path, stat.S_IFCHR | 0o600, f"{major},{minor}".encode())

    def _add(self, path: str, mode: int, data: bytes) -> None:
        self.directory(str(PurePosixPath(path).parent))
        if _name(path) in self._entries:
            raise ValueError(f"{path} is in the archive already")
        self._entries[_name(path)] = (mode, data)

    def to_bytes(self) -> bytes:
        """Return the archive. The order of the calls makes no difference."""
        # A directory sorts before its files, as the kernel needs it.
        parts = [
            _entry(number, name, *self._entries[name])
            for number, name in enumerate(sorted(self._entries), 1)
        ]
        return b"".join([*parts, _entry(0, TRAILER, 0, b"")])


def _name(path: str) -> str:
    return path.strip("/")


def _entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    """Return the header, the name and the data of one entry."""
    device = (0, 0)
    if stat.S_ISCHR(mode):
        major, minor = data.decode().split(",")
        device, data = (int(major), int(minor)), b""
    links = 2 if stat.S_ISDIR(mode) else 1
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, *device, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
