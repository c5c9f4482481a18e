# SPDX-License-Identifier: GPL-2.0
"""The files of a guest that sees no directory of the host."""

from __future__ import annotations

import lzma
import subprocess
from pathlib import Path

import pytest

from labkit import guest_programs, initramfs
from labkit.cpio import Archive
from labkit.errors import LabError
from labkit.initramfs import Modules


def archive() -> Archive:
    made = Archive()
    made.file("/run/share0/flows", b"one\n")
    made.file("/init", b"#!", program=True)
    made.link("/bin/sh", "/init")
    made.directory("/proc")
    return made


def test_cpio_unpacks_what_was_packed(tmp_path: Path) -> None:
    busybox = guest_programs.ensure_busybox()
    data = archive().to_bytes()
    subprocess.run([busybox, "cpio", "-idm"], input=data, cwd=tmp_path, check=True)
    assert (tmp_path / "run" / "share0" / "flows").read_bytes() == b"one\n"
    assert (tmp_path / "init").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "run" / "share0" / "flows").stat().st_mode & 0o777 == 0o644
    assert str((tmp_path / "bin" / "sh").readlink()) == "/init"
    assert (tmp_path / "proc").is_dir()


def test_tc_is_linked_in_an_order_that_is_the_same_on_every_file_system() -> None:
    """In a guest with counted instructions the place of a function in tc changes the bytes."""
    archive_of_tc = guest_programs.ensure_iproute2() / "tc.a"
    shown = subprocess.run(["ar", "t", archive_of_tc], capture_output=True, text=True, check=True)
    objects = shown.stdout.split()
    assert "tc.o" in objects
    assert objects == sorted(objects)


def test_order_of_calls_changes_no_byte_and_two_files_of_a_name_are_refused() -> None:
    other = Archive()
    other.directory("/proc")
    other.link("/bin/sh", "/init")
    other.file("/init", b"#!", program=True)
    other.file("/run/share0/flows", b"one\n")
    assert other.to_bytes() == archive().to_bytes()
    with pytest.raises(ValueError, match="/init"):
        other.file("/init", b"")


def module(depends: str = "", *aliases: str) -> bytes:
    facts = ["license=GPL", *(f"alias={alias}" for alias in aliases), f"depends={depends}"]
    return b"\x7fELF" + b"".join(b"\0" + fact.encode() for fact in facts) + b"\0"


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_modules_come_with_all_that_they_depend_on(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel"
    write(kernel / "net" / "sched" / "sch_a.ko.xz", lzma.compress(module("b-b,built_in", "net-a")))
    write(kernel / "lib" / "b-b.ko", module("c"))
    write(kernel / "lib" / "c.ko", module())
    write(kernel / "drivers" / "gpu" / "large.ko", module())
    files = dict(Modules(tmp_path).files())
    assert sorted(files) == ["b_b.ko", "c.ko", "modules.alias", "modules.dep", "sch_a.ko"]
    assert files["sch_a.ko"] == module("b-b,built_in", "net-a")
    assert b"sch_a.ko: b_b.ko c.ko\n" in files["modules.dep"]
    assert files["modules.alias"] == b"alias net-a sch_a\n"


def test_further_modules_are_all_taken_with_what_they_need(tmp_path: Path) -> None:
    top, extra = tmp_path / "top", tmp_path / "extra"
    write(top / "kernel" / "lib" / "c.ko", module())
    write(extra / "sch_mine.ko", module("frame,c", "net-sch-mine"))
    write(extra / "frame.ko", module())
    files = dict(Modules(top, sorted(extra.iterdir())).files())
    assert b"sch_mine.ko: frame.ko c.ko\n" in files["modules.dep"]
    assert files["modules.alias"] == b"alias net-sch-mine sch_mine\n"


def test_file_that_is_no_module_is_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "kernel" / "net" / "sched" / "sch_a.ko.lz4", b"\x04\x22\x4d\x18")
    with pytest.raises(LabError, match=r"sch_a\.ko\.lz4 is not a kernel module"):
        Modules(tmp_path)


def test_later_archive_follows_the_base(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.write_bytes(b"base")
    initramfs.write(tmp_path / "both", base, {"/a": b"data"})
    assert (tmp_path / "both").read_bytes().startswith(b"base070701")
