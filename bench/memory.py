# SPDX-License-Identifier: GPL-2.0
"""Measure a discipline's memory: create many instances, and compare the kernel's counters.

Each instance is the leaf of a drr class. The counters are slab objects, and vmalloc and per-CPU
memory in /proc/meminfo. They are in whole pages, which does not matter with many instances. The
free memory shows whether something was missed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.instructions import KERNEL, MAINLINE, TOP, with_options

LEAVES = 200
MANY = 20_000
#: A new drr class has a pfifo, which the instance replaces: one object of kmalloc-512.
PFIFO = 512
#: Kinds that need options, or have no useful defaults.
NEEDS = ("pfifo", "red", "choke", "sfb")
#: Options for few and for many flows, for kinds with such an option.
THIN, WIDE = "flows 128", "flows 4096"
HAVE_FLOWS = ("fq_codel", "fq_pie", "sfq", "qsdrr", "tdrr", "redtail")
#: fq_pie's timer visits each queue 67 times per second, which is too much for 200 instances.
QUIET = {"fq_pie": "tupdate 1000s"}
#: Seconds in the guest until RCU and work queues have freed everything.
REST = 10


@dataclass(frozen=True)
class Leaf:
    """A discipline with options."""

    qdisc: str
    options: str = ""
    leaves: int = LEAVES


@dataclass(frozen=True)
class Taken:
    """Bytes of one instance, by the kernel's counters and by the change of free memory."""

    counted: int
    gone: int


def leaves(kinds: Iterable[str]) -> list[Leaf]:
    """Return the measured configurations of kinds: with defaults, and with few flows."""
    found = []
    for kind in kinds:
        if kind in NEEDS:
            found.append(Leaf(kind, with_options(kind).removeprefix(kind).strip()))
        elif kind not in MAINLINE or with_options(kind).split()[0] == kind:
            found.append(Leaf(kind))
        if kind in HAVE_FLOWS:
            found += [Leaf(kind, THIN), Leaf(kind, WIDE)]
    return found


def script(leaves: Sequence[Leaf], folder: Path) -> str:
    """Return the commands of the guest. Their batch files are written to ``folder``."""
    most = max((leaf.leaves for leaf in leaves), default=MANY)
    numbers = range(1, most + 1)
    (folder / "classes").write_text(
        "".join(f"class add dev g0 parent 1: classid 1:{n:x} drr quantum 1514\n" for n in numbers)
    )
    lines = [
        "set -eu",
        "modprobe aqm_gate",
        "ip link add g0 type gate && ip link set g0 up",
        "read_memory() {",
        f"  sleep {REST}",
        "  for cache in /sys/kernel/slab/*/shrink; do [ ! -e $cache ] || echo 1 > $cache; done",
        "  awk '/^(Slab|VmallocUsed|Percpu):/ { sum += $2 } /^MemFree:/ { free = $2 }",
        '       END { print "memory", sum, free }\' /proc/meminfo',
        "}",
        "tc qdisc add dev g0 root handle 1: drr",
        f"tc -batch {folder}/classes 2> /dev/null",
    ]
    for number, leaf in enumerate(leaves):
        kind = f"{leaf.qdisc} {leaf.options} {QUIET.get(leaf.qdisc, '')}"
        adds = folder / f"add-{number}"
        adds.write_text(
            "".join(
                f"qdisc replace dev g0 parent 1:{n:x} {kind}\n" for n in range(1, leaf.leaves + 1)
            )
        )
        dels = folder / f"del-{number}"
        dels.write_text(
            "".join(f"qdisc del dev g0 parent 1:{n:x}\n" for n in range(1, leaf.leaves + 1))
        )
        # The first instance loads the module and allocates memory that all instances share.
        lines += [
            f"echo leaf {number}",
            f"tc qdisc replace dev g0 parent 1:1 {kind} 2> /dev/null",
            "tc qdisc del dev g0 parent 1:1",
            "read_memory",
            f"tc -batch {adds} 2> /dev/null",
            "read_memory",
            f"tc -batch {dels}",
        ]
    return "\n".join(lines)


def taken(leaves: Sequence[Leaf], text: str) -> Iterator[tuple[Leaf, Taken]]:
    """Yield the memory of each configuration, from the guest's output."""
    parts = text.split("leaf ")[1:]
    for number, (leaf, part) in enumerate(zip(leaves, parts, strict=True)):
        words = part.split()
        if int(words[0]) != number:
            raise SystemExit(f"bench: the guest printed leaf {words[0]} instead of {number}")
        kib = [int(word) for word in words[1:] if word != "memory"]
        before, free, after, left = kib
        yield (
            leaf,
            Taken(
                (after - before) * 1024 // leaf.leaves + PFIFO,
                (free - left) * 1024 // leaf.leaves + PFIFO,
            ),
        )


def guest(leaves: Sequence[Leaf], *how: str) -> str:
    """Run a guest for these configurations, and return its output."""
    folder = TOP / "build" / "bench" / f"memory-{os.getpid()}"
    folder.mkdir(parents=True)
    boot = [
        str(TOP / "lab" / "boot"),
        *how,
        "--memory",
        "4G",
        "--time-limit",
        str(600 + 60 * len(leaves)),
        "--",
    ]
    try:
        return subprocess.run(
            [*boot, "sh", "-c", script(leaves, folder)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
    finally:
        shutil.rmtree(folder)


def measured(leaves: Sequence[Leaf]) -> Iterator[tuple[Leaf, Taken]]:
    """Measure the memory of each configuration on Debian's kernel."""
    if leaves:
        how = ("--engine", "qemu", "--kernel", KERNEL, "--icount")
        yield from taken(leaves, guest(leaves, *how))


def many(kinds: Iterable[str]) -> Iterator[tuple[Leaf, Taken, float]]:
    """Measure memory and CPU seconds of MANY instances with few flows, in user-mode Linux.

    There, the guest uses this machine's CPU. We subtract the seconds of a guest that only boots and
    creates the classes.
    """

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    # Otherwise the first boot would build missing parts, and count their time.
    subprocess.run([TOP / "lab" / "boot", "--build"], check=True)
    start = spent()
    guest([])
    without = spent() - start
    for kind in kinds:
        leaf = Leaf(kind, THIN, MANY)
        start = spent()
        [(leaf, what)] = taken([leaf], guest([leaf]))
        yield leaf, what, spent() - start - without
