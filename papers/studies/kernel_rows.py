# SPDX-License-Identifier: GPL-2.0
"""The runs of studies.kernels that are committed: one line each in kernels.csv."""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROWS = Path(__file__).with_name("kernels.csv")

#: Columns beside the numbers.
KEYS = ("scenario", "control", "qdisc", "kernel", "seed")
FACTS = ("package", "digest", "cpu_s", "processor", "qemu")


@dataclass(frozen=True)
class Row:
    """A run: what was run, its numbers by their names, and how it was run.

    package: version of Debian's kernel
    """

    scenario: str
    control: str
    qdisc: str
    kernel: str
    seed: int
    numbers: Mapping[str, float]
    package: str = ""
    digest: str = ""
    cpu_s: float = math.nan
    processor: str = ""
    qemu: str = ""


def facts(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that say how a run was made."""
    made = result["provenance"]
    package = re.search(r"Debian (\d\S*) \(\d{4}-", made["build"])
    return {
        "package": package[1] if package else result["kernel"],
        "digest": result["digest"][:16],
        "cpu_s": round(result["cpu_seconds"], 1),
        "processor": made["machine"]["processor"],
        "qemu": made["lab"]["qemu"].split()[0],
    }


def key_of(row: Row) -> tuple[str | int, ...]:
    """Return what was run, and with which seed."""
    return (row.scenario, row.control, row.qdisc, row.kernel, row.seed)


def add(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to a file, which keeps its rows of other runs, in the order of what was run."""
    kept = read(path) if path.exists() else []
    by_key = {key_of(row): row for row in (*kept, *rows)}
    found = [by_key[key] for key in sorted(by_key)]
    names = [*found[0].numbers]
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([*KEYS, *names, *FACTS])
        for row in found:
            numbers = ["" if math.isnan(x) else f"{x:.6g}" for x in row.numbers.values()]
            keys, told = ([getattr(row, key) for key in each] for each in (KEYS, FACTS))
            out.writerow([*keys, *numbers, *told])


def read(path: Path = ROWS) -> list[Row]:
    """Return the rows of a file."""
    found = []
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            numbers = {
                name: float(text) if text else math.nan
                for name, text in line.items()
                if name not in KEYS and name not in FACTS
            }
            told = {name: line[name] for name in (*KEYS, *FACTS) if name not in {"seed", "cpu_s"}}
            found.append(
                Row(numbers=numbers, seed=int(line["seed"]), cpu_s=float(line["cpu_s"]), **told)
            )
    return found


def is_asked(row: Row, args: argparse.Namespace) -> bool:
    """Return whether a stored row has the given kernels and so on; without --seeds, any seed."""
    return (
        row.kernel in args.kernels
        and row.scenario in args.scenarios
        and row.control in args.controls
        and row.qdisc in args.qdiscs
        and row.seed in (args.seeds or [row.seed])
    )
