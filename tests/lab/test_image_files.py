# SPDX-License-Identifier: GPL-2.0
"""A kernel image of the user is recognised by its header, and unpacked.

The numbers of the headers are Linux's, from Documentation/arch/arm64/booting.rst (the magic number
0x644d5241 at byte 56), arch/riscv/include/asm/image.h (0x05435352 at byte 56),
arch/arm/boot/compressed/head.S (0x016f2818 at byte 36) and zboot-header.S of the EFI stub ("zimg"
at byte 4, then place and size of the packed image; the name of the compression at byte 24).
"""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from labkit import images, trees
from labkit.errors import LabError
from labkit.image_files import to_boot
from labkit.targets import ARM64, X86

RELEASE = "9.9.1-mine"
BANNER = f"Linux version {RELEASE} (a@b) (gcc) #1\n\0".encode()


def arm64(text: bytes = BANNER) -> bytes:
    """Return an uncompressed image: 56 bytes, the magic number, and somewhere the version."""
    return bytes(56) + struct.pack("<I", 0x644D5241) + bytes(1000) + text + bytes(1000)


def zboot(packed: bytes, packing: bytes) -> bytes:
    """Return an image for EFI that unpacks itself, with the packed image at byte 4096."""
    head = b"MZ\0\0zimg" + struct.pack("<IIQ", 4096, len(packed), 0) + packing
    return head.ljust(4096, b"\0") + packed + b"code of the firmware's program"


def packed_by_zstd(data: bytes) -> bytes:
    if not (zstd := shutil.which("zstd")):
        pytest.skip("apt-get install zstd")
    return subprocess.run([zstd, "-qc"], input=data, capture_output=True, check=True).stdout


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Return the place of an image whose modules are below its directory."""
    (tmp_path / "lib" / "modules" / RELEASE / "kernel").mkdir(parents=True)
    return tmp_path / "Image"


@pytest.mark.parametrize("how", ["plain", "gzip", "zstd", "zboot gzip", "zboot zstd"])
def test_an_image_for_arm64_has_its_modules_and_boots_unpacked(how: str, image: Path) -> None:
    data = arm64()
    for packing in how.split()[::-1]:
        if packing in {"gzip", "zstd"}:
            data = gzip.compress(data) if packing == "gzip" else packed_by_zstd(data)
        elif packing == "zboot":
            data = zboot(data, how.split()[1].encode())
    image.write_bytes(data)
    kernel = images.of_file(str(image))
    assert (kernel.name, kernel.arch, kernel.image) == (RELEASE, "arm64", image)
    assert kernel.modules == image.parent / "lib" / "modules" / RELEASE
    assert images.target_of(str(image)) == ARM64
    assert to_boot(image, image.with_name("unpacked")).read_bytes() == arm64()
    assert image.with_name("unpacked").exists() == (how != "plain")


def test_an_image_for_x86_is_not_taken_for_arm64_because_of_its_name(image: Path) -> None:
    image = image.with_name("vmlinuz-6.1-arm64")
    head = bytearray(0x400)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = struct.pack("<H", 0x100)
    head[0x300 : 0x300 + len(RELEASE)] = RELEASE.encode()
    image.write_bytes(bytes(head))
    assert images.of_file(str(image)).arch == "x86"
    assert images.target_of(str(image)) == X86


def test_tables_tell_two_images_of_one_name_apart(tmp_path: Path) -> None:
    files = [tmp_path / folder / "Image" for folder in ("before", "after")]
    for file in files:
        file.parent.mkdir()
        file.write_bytes(arm64() + file.parent.name.encode())
    before, after = (trees.label(str(file)) for file in files)
    assert before != after
    assert before.startswith("Image ")
    assert len(before) < 20


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (bytes(56) + struct.pack("<I", 0x05435352) + bytes(999), "image for riscv, and only"),
        (bytes(36) + struct.pack("<I", 0x016F2818) + bytes(999), "image for 32-bit arm, and only"),
        (b"\x7fELF" + bytes(999), r"no kernel image for x86 \(bzImage\) or arm64"),
        (b"", "no kernel image"),
        (gzip.compress(b"no kernel"), "no kernel image"),
        (gzip.compress(arm64())[:40], "cannot be unpacked, it may be cut short"),
        (zboot(b"BZh9", b"bzip2"), "packed by bzip2, and only gzip and zstd"),
        (arm64(b""), "does not say its version"),
    ],
    ids=["riscv", "arm", "ELF", "empty", "gzip of text", "cut short", "bzip2", "no version"],
)
def test_other_files_are_refused_with_a_sentence(data: bytes, said: str, image: Path) -> None:
    image.write_bytes(data)
    with pytest.raises(LabError, match=said):
        images.of_file(str(image))
