# SPDX-License-Identifier: GPL-2.0
"""Show a packet's instructions by function, and the cache lines that a discipline touches.

trace.c is a plugin for QEMU. While the discipline runs, it counts instructions by address, and
cache lines by operation. This module maps addresses to functions, with the guest's /proc/kallsyms,
and with the debugging information of our modules, which also names inlined functions.
"""

from __future__ import annotations

import bisect
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PHASES = ("enqueue", "drop", "dequeue", "release")
IMAGE = 0xFFFFFFFF80000000  # start of code and static data of the kernel and its modules
LINE = 64
HOT = 0.5  # a line is hot if this share of the operations touches it
FOREIGN = ("packet", "stack")


class Symbols:
    """The functions of a running kernel."""

    def __init__(self, kallsyms: str) -> None:
        """Parse the text of /proc/kallsyms."""
        found = []
        self.percpu = 0  # size of each CPU's static data, bytes
        for line in kallsyms.splitlines():
            address, kind, name, *module = line.split()
            if name == "__per_cpu_end":
                self.percpu = int(address, 16)
            if kind in "tTwW":
                found.append((int(address, 16), name, module[0].strip("[]") if module else ""))
        self.found = sorted(found)
        self.addresses = [address for address, _, _ in self.found]

    def at(self, address: int) -> tuple[str, str, int]:
        """Return the function at an address, its module or "", and the offset in the function."""
        start, name, module = self.found[bisect.bisect_right(self.addresses, address) - 1]
        return name, module, address - start


@dataclass
class MemoryTrace:
    """The output of trace.c for one run."""

    symbols: Symbols
    operations: Counter[str] = field(default_factory=Counter)
    instructions: dict[str, Counter[int]] = field(default_factory=dict)  # phase, address
    lines: dict[str, Counter[int]] = field(default_factory=dict)  # phase, address
    foreign: Counter[tuple[str, str]] = field(default_factory=Counter)  # phase, owner
    qdisc: int = 0
    private: int = 0  # offset of the private data in the Qdisc, bytes
    size: int = 0  # bytes of the Qdisc with its private data
    percpu: int = 0


@dataclass(frozen=True)
class Lines:
    """Distinct cache lines that an operation touches on average, by owner."""

    state: float
    private: float  # among them lines of the Qdisc and its private data
    packets: float
    kernel: float  # static data of the kernel and of modules, and per-CPU data


def read(text: str, symbols: Symbols) -> Iterator[MemoryTrace]:
    """Yield the runs in a file of trace.c."""
    trace = MemoryTrace(symbols)
    for line in text.splitlines():
        match line.split():
            case ["ops", phase, count]:
                trace.operations[phase] = int(count)
            case ["insn", phase, address, count]:
                trace.instructions.setdefault(phase, Counter())[int(address, 16)] = int(count)
            case ["line", phase, address, count]:
                trace.lines.setdefault(phase, Counter())[int(address, 16)] = int(count)
            case ["foreign", phase, kind, count]:
                trace.foreign[phase, FOREIGN[int(kind)]] = int(count)
            case ["qdisc", *parts]:
                trace.qdisc, begin, last = (int(address, 16) for address in parts)
                trace.private = begin - trace.qdisc
                trace.size = last + 1 - trace.qdisc
            case ["percpu", address]:
                trace.percpu = int(address, 16)
            case ["end"]:
                yield trace
                trace = MemoryTrace(symbols)
            case _:
                raise SystemExit(f"bench: this is not a line of trace.c's output: {line}")


def inlined(module: Path, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Return the inlined function at each (function, offset), from debugging information."""
    symbols = subprocess.run(["nm", module], capture_output=True, text=True, check=True).stdout
    start = {
        name: int(at, 16)
        for at, kind, name in (line.split() for line in symbols.splitlines() if line[0] != " ")
        if kind in "tT"
    }
    known = [place for place in places if place[0] in start]
    asked = "\n".join(f"{start[name] + offset:#x}" for name, offset in known)
    output = subprocess.run(
        ["addr2line", "-f", "-j", ".text", "-e", module],
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return {place: output[2 * i] for i, place in enumerate(known)}


def functions(trace: MemoryTrace, modules: Path) -> dict[str, Counter[str]]:
    """Return instructions by phase and function: "inlined < function", or the function alone."""
    places = {
        address: trace.symbols.at(address)
        for counts in trace.instructions.values()
        for address in counts
    }
    names = {address: name for address, (name, _, _) in places.items()}
    for module in {module for _, module, _ in places.values() if module}:
        file = next(modules.rglob(f"extra/{module}.ko"), None)
        if not file:
            continue
        here = {
            address: (name, offset)
            for address, (name, owner, offset) in places.items()
            if owner == module
        }
        source = inlined(file, list(here.values()))
        for address, (name, offset) in here.items():
            inner = source.get((name, offset), name)
            # A function that the compiler has cloned has a suffix after a dot.
            plain = re.sub(r"\..*", "", name)
            names[address] = name if inner in {plain, "??"} else f"{inner} < {name}"
    result = {}
    for phase, counts in trace.instructions.items():
        result[phase] = Counter[str]()
        for address, count in counts.items():
            result[phase][names[address]] += count
    return result


def profile(trace: MemoryTrace, modules: Path, offered: int) -> str:
    """Return a table of instructions per offered packet, by function and phase."""
    by_phase = functions(trace, modules)
    phases = ("enqueue", "dequeue", "release")
    total = Counter[str]()
    for phase in phases:
        total.update(by_phase.get(phase, {}))
    lines = [f"{'all':>8}" + "".join(f"{phase:>9}" for phase in phases) + "  per offered packet"]
    sums = [sum(by_phase.get(phase, {}).values()) / offered for phase in phases]
    lines.append(f"{sum(sums):8.1f}" + "".join(f"{part:9.1f}" for part in sums) + "  all")
    for name, count in total.most_common():
        if count / offered < 0.5:
            break
        here = [by_phase.get(phase, Counter[str]())[name] / offered for phase in phases]
        shown = [f"{part:9.1f}" if part else " " * 9 for part in here]
        lines.append(f"{count / offered:8.1f}{''.join(shown)}  {name}")
    return "\n".join(lines)


def lines_of(trace: MemoryTrace) -> dict[str, Lines]:
    """Return the distinct cache lines that each operation touches."""
    result = {}
    for phase in PHASES:
        count = trace.operations[phase]
        if not count:
            continue
        state = private = kernel = 0
        for address, touched in trace.lines.get(phase, {}).items():
            if address >= IMAGE or 0 <= address - trace.percpu < trace.symbols.percpu:
                kernel += touched
            else:
                state += touched
                private += touched * (0 <= address - trace.qdisc < trace.size)
        result[phase] = Lines(
            round(state / count, 2),
            round(private / count, 2),
            round(trace.foreign[phase, "packet"] / count, 2),
            round(kernel / count, 2),
        )
    return result


def private(trace: MemoryTrace) -> dict[int, dict[str, float]]:
    """Return the share of operations that touch each line of the Qdisc and its private data."""
    result: dict[int, dict[str, float]] = {}
    for phase in PHASES:
        for address, touched in trace.lines.get(phase, {}).items():
            if 0 <= address - trace.qdisc < trace.size:
                share = touched / trace.operations[phase]
                result.setdefault(address - trace.qdisc, {})[phase] = round(share, 2)
    return dict(sorted(result.items()))


def hot(trace: MemoryTrace) -> int:
    """Return the number of lines in the private data that are hot in some phase."""
    return sum(
        offset >= trace.private // LINE * LINE and max(shares.values()) >= HOT
        for offset, shares in private(trace).items()
    )


def build(folder: Path, source: Path) -> Path:
    """Build the plugin for the installed QEMU."""
    version = subprocess.run(
        ["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True
    ).stdout
    major = re.search(r"version (\d+)", version)
    api = 3 if major and int(major[1]) > 8 else 1
    folder.mkdir(parents=True, exist_ok=True)
    plugin = folder / f"trace-{api}.so"
    if not plugin.exists() or plugin.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(
            [
                "cc",
                "-O2",
                "-shared",
                "-fPIC",
                "-fvisibility=hidden",
                f"-DPLUGIN_API={api}",
                "-o",
                plugin,
                source,
            ],
            check=True,
        )
    return plugin


def report(trace: MemoryTrace, modules: Path, offered: int) -> str:
    """Format the results of a run for a person."""
    lines = [
        profile(trace, modules, offered),
        "cache lines that an operation touches: the discipline's, packets', static ones",
    ]
    lines += [
        f"{phase:>9}: {mean.state:6.2f} {mean.packets:6.2f} {mean.kernel:6.2f}"
        for phase, mean in lines_of(trace).items()
    ]
    lines.append("share of operations that touch each line of the Qdisc, by offset")
    for offset, shares in private(trace).items():
        shown = "  ".join(f"{phase} {share}" for phase, share in shares.items())
        lines.append(f"  {offset:#6x}  {shown}")
    return "\n".join(lines)
