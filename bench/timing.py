# SPDX-License-Identifier: GPL-2.0
"""Time packets in nanoseconds, in user-mode Linux under the virtual clock.

module/qdisc_bench.c times rows of steps by the processor's counter. Mainline's kinds are built as
modules, too, because code of a module and of the kernel itself differ in speed. Each pass measures
all disciplines in the other order, so that what else the machine does meets all of them. A ratio
of two disciplines in one run is far more stable than their nanoseconds.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aqmlab.qdiscs.metadata import all_metadata
from bench.instructions import HOLD, LIMIT, REGIMES, BenchCell, Regime, begin, outcome, with_options
from labkit import kernels, modules
from labkit.engines import default_kernel

TOP = Path(__file__).resolve().parent.parent
FOLDER = TOP / "build" / "bench"
#: Mainline's kinds beside ours, and the files that have them. The others add nothing here.
SOURCES = {
    "red": "red",
    "choke": "choke",
    "sfb": "sfb",
    "sfq": "sfq",
    "fq": "fq",
    "fq_codel": "fq_codel",
    "fq_pie": "fq_pie",
    "cake": "cake",
}
PASSES, BOOTS = 3, 3
ROW = 32  # steps
PACE = 256_000  # ns of virtual time between rows
WARM = 32_768  # packets
COLD = 65_536  # KiB that are read between two packets

#: Half a million packets held, which no cache has.
MILLION = Regime("one in, one out, 500 000 held", 1, 1, fill=500_000, keep=500_000, total=16_384)
#: choke allows fewer packets.
TOO_MANY = ("choke", "million")
PATTERNS = {**REGIMES, "million": MILLION}
#: What docs/performance.md shows: the pattern and the number of flows. "cold" is with cold caches;
#: "dearest" is the longest of thousands of steps, each timed alone, in the calmest pass.
CELLS = (
    *(("empty", n) for n in (100,)),
    *(("standing", n) for n in (1, 100, 10_000, 1_000_000)),
    *(("overload", n) for n in (100, 10_000)),
    ("flood", 10_000),
    *(("burst", n) for n in (100, 10_000)),
    ("million", 1_000_000),
    *(("cold standing", n) for n in (100, 10_000)),
    *(("dearest overload", n) for n in (100, 10_000)),
)


@dataclass(frozen=True)
class Timed:
    """Nanoseconds of a cell, a number for each pass: see `rows`."""

    cell: BenchCell
    ns: tuple[float, ...]

    @property
    def least(self) -> float:
        """Return the least of the passes."""
        return min(self.ns)

    @property
    def median(self) -> float:
        """Return the median of the passes."""
        return statistics.median(self.ns)


def mainline(kernel: kernels.Kernel) -> Path:
    """Build mainline's kinds of a kernel as modules, and return their directory."""
    folder = FOLDER / "mainline"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = (kernel.path / "source").resolve() / "net" / "sched"
    for file in SOURCES.values():
        text = (source / f"sch_{file}.c").read_text()
        # The kernel's own cake_mq stays.
        (folder / f"sch_{file}.c").write_text(text.replace('"cake_mq"', '"cake_mqx"'))
    (folder / "Kbuild").write_text(
        "# SPDX-License-Identifier: GPL-2.0\n"
        f"ccflags-y += -D__DISABLE_EXPORTS -I{source}\n"
        f"obj-m += {' '.join(f'sch_{file}.o' for file in SOURCES.values())}\n"
    )
    return modules.ensure_module(kernel, folder)


def copy_of(tree: Path, folder: Path) -> None:
    """Copy the sources of a checkout's disciplines to a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("include", "frame"):
        if (tree / part).exists():
            shutil.copytree(tree / part, folder / part)
    for file in (tree / "Kbuild", tree / "VERSION", *tree.glob("sch_*.c")):
        if not file.name.endswith(".mod.c"):
            shutil.copy(file, folder)
    kbuild = (folder / "Kbuild").read_text()
    # The test modules of a checkout are not copied.
    (folder / "Kbuild").write_text(re.sub(r"^obj-m.*/.*$", "", kbuild, flags=re.MULTILINE))


def of_tree(kernel: kernels.Kernel, tree: Path) -> Path:
    """Build the disciplines of another checkout, and return the modules' directory."""
    folder = FOLDER / "other"
    copy_of(tree, folder)
    return modules.ensure_module(kernel, folder)


def hertz() -> float:
    """Return the frequency of the processor's counter, GHz."""
    found = re.search(r"^bogomips\s*:\s*([\d.]+)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    if not found:
        raise SystemExit("bench: /proc/cpuinfo does not say how fast the counter is")
    return float(found[1]) / 2000


def job(cell: BenchCell) -> str:
    """Return the module's job for a cell."""
    *how, pattern = cell.regime.split()
    cold = "cold" in how
    regime = PATTERNS[pattern]
    rows = 1 if how else max(1, min(ROW, 128 // regime.into))
    total = 80 if cold else min(regime.total, 8192 if regime.into < 64 else 65_536)
    hold = max(HOLD, regime.fill + 2 * LIMIT)
    return (
        f"time {rows} {rows * PACE // ROW} {COLD if cold else 0} g0 {cell.flows} {regime.size} "
        f"{total} {regime.into} {regime.out} {regime.fill} {regime.keep} {WARM} {hold} "
        f"{int(regime.pareto)}"
    )


def options(cell: BenchCell) -> str:
    """Return kind and options for a cell. For a million packets all have the room."""
    words = with_options(cell.qdisc, cell.regime)
    if cell.regime != "million":
        return words
    more = MILLION.fill // LIMIT + 1
    words = re.sub(r"\blimit (\d+)", lambda m: f"limit {more * int(m[1])}", words)
    if cell.qdisc == "cake":
        return re.sub(r"memlimit \w+", "memlimit 2000mb", words)
    if cell.qdisc in ("fq_codel", "fq_pie"):
        return f"{words} memory_limit 2000000000"
    return f"{words} memory_limit 2000mb" if cell.qdisc in all_metadata() else words


def script(cells: Sequence[BenchCell], built: Path, other: Path | None) -> str:
    """Return the commands of the guest. It prints a line for each cell and pass."""
    lines = [*begin()]
    for kind, file in SOURCES.items():
        lines += [
            f"tc qdisc replace dev g0 root {with_options(kind)} && measure 'unregister g0' && "
            f"tc qdisc del dev g0 root && insmod {built}/sch_{file}.ko || exit 1",
        ]
    trees: list[Path | None] = [None, other] if other else [None]
    for number in range(PASSES):
        for name in trees[:: -1 if number % 2 else 1]:
            ours = [cell.qdisc for cell in cells if cell.qdisc in all_metadata()]
            load = [f"modprobe -r sch_{kind} 2>/dev/null" for kind in dict.fromkeys(ours)]
            if name:
                load += [f"insmod {path}" for path in in_order(name, ours)]
            lines += load
            for cell in cells[:: -1 if number % 2 else 1]:
                lines += [
                    f"echo cell {'other' if name else 'this'} {cell.qdisc} {cell.regime} "
                    f"{cell.flows}",
                    f"tc qdisc replace dev g0 root handle 1: {options(cell)} 2>&1 && "
                    f"measure '{job(cell)}'",
                    "tc qdisc del dev g0 root 2> /dev/null",
                ]
            if name:
                lines += [f"rmmod {path}" for path in reversed(in_order(name, ours))]
    return "\n".join([*lines, "true", ""])


def in_order(folder: Path, kinds: Iterable[str]) -> list[Path]:
    """Return the modules of kinds. The frame, if there is one, comes first: all need it."""
    names = ["aqm", *dict.fromkeys(kinds)]
    return [path for name in names if (path := folder / f"sch_{name}.ko").exists()]


def rows(text: str) -> Iterator[tuple[str, BenchCell, float]]:
    """Yield tree, cell, and nanoseconds from the guest's output.

    They are per packet, and a quarter of the rows are faster than that. For "dearest" they are of
    the longest step. Raises SystemExit if a cell has no result.
    """
    ghz = hertz()
    for part in text.split("\ncell ")[1:]:
        name, *lines = part.splitlines()
        tree, qdisc, *regime, flows = name.split()
        counts = outcome(" ".join(lines))
        if "rows" not in counts:
            raise SystemExit(f"bench: {name}: {' '.join(lines)}")
        overhead = counts["overhead"][0]
        cycles = (counts["rows"][1] - overhead) / counts["per"][0]
        if regime[0] == "dearest":
            cycles = counts["rows"][4] - overhead
        yield tree, BenchCell(qdisc, " ".join(regime), int(flows)), cycles / ghz


def guest(seed: int, commands: str) -> str:
    """Run a guest in user mode, and return its output."""
    file = FOLDER / "time.sh"
    file.write_text(commands)
    boot: list[str | Path] = [TOP / "lab" / "boot", "--memory", "4G", "--time-limit", "3000"]
    boot += ["--seed", str(seed), "--", "sh", file]
    return subprocess.run(boot, stdout=subprocess.PIPE, text=True, check=True).stdout


def measured(
    kinds: Iterable[str],
    cells: Iterable[tuple[str, int]],
    other: Path | None = None,
    boots: int = BOOTS,
) -> Mapping[str, list[Timed]]:
    """Time disciplines, and return the cells of this checkout, "this", and of another one.

    Mainline's kinds have the same name in both.
    """
    kernel = kernels.ensure_uml(default_kernel(), "fast")
    kinds = list(kinds)
    wanted = [
        BenchCell(kind, *cell) for cell in cells for kind in kinds if (kind, cell[0]) != TOO_MANY
    ]
    commands = script(wanted, mainline(kernel), of_tree(kernel, other) if other else None)
    found: dict[str, dict[BenchCell, list[float]]] = {}
    for seed in range(1, boots + 1):
        for tree, cell, ns in rows(guest(seed, commands)):
            found.setdefault(tree, {}).setdefault(cell, []).append(ns)
    return {
        tree: [Timed(cell, tuple(ns)) for cell, ns in here.items()] for tree, here in found.items()
    }
