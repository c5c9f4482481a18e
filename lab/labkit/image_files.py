# SPDX-License-Identifier: GPL-2.0
"""Recognise a kernel image of the user by its header, and unpack it if QEMU cannot boot it packed.

The formats are in Linux: Documentation/arch/x86/boot.rst and Documentation/arch/arm64/booting.rst,
arch/riscv/include/asm/image.h, arch/arm/boot/compressed/head.S, and for EFI images that unpack
themselves ("zboot") drivers/firmware/efi/libstub/zboot-header.S.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import zlib
from pathlib import Path

from . import targets
from .errors import LabError, need
from .targets import Target

#: What a kernel prints first. It is text in an uncompressed image.
BANNER = re.compile(rb"Linux version (\S+ \([^\0]*)")

#: Place of the pointer to the version in a bzImage, and what is added to it.
VERSION_AT, VERSION_BASE, VERSION_BYTES = 0x20E, 0x200, 256

#: Magic bytes of the headers of images, and where they are.
MAGICS = {
    "x86": (0x202, b"HdrS"),
    "arm64": (56, b"ARM\x64"),
    "riscv": (56, b"RSC\x05"),
    "32-bit arm": (36, (0x016F2818).to_bytes(4, "little")),
}

#: Magic bytes of an EFI image that unpacks itself. Then follow two numbers of four bytes (place
#: and size of the packed image), eight bytes, and the name of the compression.
ZBOOT_AT, ZBOOT, ZBOOT_NUMBERS, ZBOOT_PACKING = 4, b"zimg", (8, 12), slice(24, 56)

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def unpacked(data: bytes, image: Path) -> bytes:
    """Return DATA of IMAGE without the packing by gzip, or by EFI's zboot. Raises LabError."""
    if data[ZBOOT_AT : ZBOOT_AT + len(ZBOOT)] == ZBOOT:
        place, size = (int.from_bytes(data[at : at + 4], "little") for at in ZBOOT_NUMBERS)
        packing = data[ZBOOT_PACKING].partition(b"\0")[0].decode(errors="replace")
        data = data[place : place + size]
        if not data.startswith((GZIP, ZSTD)):
            raise LabError(
                f"--kernel {image}: this image is packed by {packing}, and only gzip and zstd can "
                "be unpacked: give the uncompressed Image"
            )
    try:
        if data.startswith(GZIP):
            return gzip.decompress(data)
        if data.startswith(ZSTD):
            zstd = [need("zstd", "zstd"), "-dcq"]
            return subprocess.run(zstd, input=data, capture_output=True, check=True).stdout
    except (OSError, EOFError, zlib.error, subprocess.CalledProcessError) as problem:
        raise LabError(f"--kernel {image}: cannot be unpacked, it may be cut short") from problem
    return data


def architecture(data: bytes, image: Path) -> Target:
    """Return the architecture of unpacked DATA of IMAGE. Raises LabError."""
    found = [name for name, (at, magic) in MAGICS.items() if data[at : at + len(magic)] == magic]
    if not found:
        raise LabError(
            f"--kernel {image}: this is no kernel image for x86 (bzImage) or arm64 (Image)"
        )
    if found[0] not in {"x86", "arm64"}:
        raise LabError(
            f"--kernel {image}: this is a kernel image for {found[0]}, and only images for x86 "
            "and arm64 can be booted"
        )
    return targets.of_architecture(found[0])


def read(image: Path) -> tuple[Target, str, bytes]:
    """Return the architecture of IMAGE, what it says of itself, and its unpacked bytes.

    The first word of the text is the release. Raises LabError.
    """
    data = unpacked(image.read_bytes(), image)
    target = architecture(data, image)
    if target == targets.X86:
        at = int.from_bytes(data[VERSION_AT : VERSION_AT + 2], "little") + VERSION_BASE
        text = data[at : at + VERSION_BYTES].partition(b"\0")[0]
    else:
        found = BANNER.search(data)
        text = found[1].strip() if found else b""
    if not text.strip():
        raise LabError(f"--kernel {image}: this image does not say its version")
    return target, text.decode(errors="replace"), data


def to_boot(image: Path, place: Path) -> Path:
    """Return IMAGE if it is not packed; otherwise write it unpacked to PLACE, and return that."""
    data = image.read_bytes()
    plain = unpacked(data, image)
    if plain == data:
        return image
    place.write_bytes(plain)
    return place
