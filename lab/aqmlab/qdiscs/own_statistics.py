# SPDX-License-Identifier: GPL-2.0
"""Statistics of a qdisc from outside the checkout, by the names in its source.

A qdisc NAME whose dump_stats() copies a `struct tc_NAME_xstats`, as mainline's do, has names for
its statistics if sch_NAME.c, or a header beside it or in include/, declares that structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from aqmlab.exceptions import UserError
from labkit import outside

#: Name, offset in bytes, and type in the notation of `struct`; a list in run.json.
Field = Sequence[Any]

CODES = {8: "b", 16: "h", 32: "i", 64: "q"}
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_NAMES = r"\w+(?:\[\d+\])?(?:\s*,\s*\w+(?:\[\d+\])?)*"
_FIELD = re.compile(rf"(?:__)?(?:aligned_)?([us])(8|16|32|64)\s+({_NAMES})")


def _declared(words: str) -> Iterator[str]:
    """Yield each name of a declaration; `band[2]` has two."""
    for word in words.split(","):
        name, _, count = word.strip().rstrip("]").partition("[")
        if count:
            yield from (f"{name.strip()}[{i}]" for i in range(int(count)))
        else:
            yield name.strip()


def fields(text: str, kind: str) -> list[Field]:
    """Return the statistics in C text, in their order; none without the structure.

    Raises UserError for a member that is no integer.
    """
    text = _COMMENT.sub(" ", text)
    found = re.search(rf"struct\s+tc_{re.escape(kind)}_xstats\s*\{{(.*?)\}}([^;]*);", text, re.S)
    if not found:
        return []
    end = 0
    fields: list[Field] = []
    for line in filter(None, map(str.strip, found[1].split(";"))):
        declared = _FIELD.fullmatch(line)
        if not declared or "packed" in found[2]:
            raise UserError(
                f"struct tc_{kind}_xstats: {line if not declared else 'packed'}: allowed are "
                "members of the types u8 to u64 and s8 to s64, with or without __, and arrays of "
                "them with a number, in a structure that is not packed"
            )
        sign, bits, words = declared.groups()
        size, code = int(bits) // 8, CODES[int(bits)]
        for name in _declared(words):
            at = -(-end // size) * size
            fields.append([name, at, code if sign == "s" else code.upper()])
            end = at + size
    return fields


def of_module(folder: Path, kind: str) -> list[Field]:
    """Return the statistics of a qdisc in a directory of --module."""
    paths = [folder / f"sch_{kind}.c", *folder.glob("*.h"), *folder.glob("include/*.h")]
    texts = (path.read_text(errors="replace") for path in paths if path.exists())
    try:
        return next(filter(None, (fields(text, kind) for text in texts)), [])
    except UserError as error:
        raise UserError(f"--module {folder}: {error}") from error


def of_modules(folders: Iterable[Path]) -> dict[str, list[Field]]:
    """Return the statistics of all qdiscs in directories of --module that have some, by name."""
    return {
        kind: fields
        for folder in folders
        for kind in outside.names(folder, "sch_")
        if (fields := of_module(folder, kind))
    }
