# SPDX-License-Identifier: GPL-2.0
"""What memory a discipline takes: many instances, and what the kernel says before and after.

Each is the leaf of a class of drr. The kernel's own sums are read: slab objects, vmalloc and
per-CPU memory in /proc/meminfo, which are whole pages, and so is what becomes of them among many
instances. What is free in the machine says whether something was missed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.instructions import KERNEL, MAINLINE, TOP, told

LEAVES = 200
MANY = 20_000
#: A class of drr has a pfifo at first, which is replaced: one object of kmalloc-512.
PFIFO = 512
#: What cannot be set up without options, or has no default that means anything.
NEEDS = ("pfifo", "red", "choke", "sfb")
#: With few flows and with many, of those that have a number of them.
THIN, WIDE = "flows 128", "flows 4096"
HAVE_FLOWS = ("fq_codel", "fq_pie", "sfq", "qsdrr", "tdrr", "redtail")
#: Its timer looks at each queue 67 times a second: 200 of them leave the guest no time.
QUIET = {"fq_pie": "tupdate 1000s"}
#: Seconds of the guest's, before what is freed by RCU and by work queues has gone.
REST = 10


@dataclass(frozen=True)
class Leaf:
    """A discipline as it is measured: its kind, and its options beyond the defaults."""

    qdisc: str
    options: str = ""
    leaves: int = LEAVES


@dataclass(frozen=True)
class Taken:
    """Bytes for one instance, as the kernel counts them and by what was free before and after."""

    counted: int
    gone: int


def leaves(kinds: Iterable[str]) -> list[Leaf]:
    """What is measured of some kinds: each as it comes, and with few flows."""
    found = []
    for kind in kinds:
        if kind in NEEDS:
            found.append(Leaf(kind, told(kind).removeprefix(kind).strip()))
        elif kind not in MAINLINE or told(kind).split()[0] == kind:
            found.append(Leaf(kind))
        if kind in HAVE_FLOWS:
            found += [Leaf(kind, THIN), Leaf(kind, WIDE)]
    return found


def script(leaves: Sequence[Leaf], folder: Path) -> str:
    """What the guest runs; FOLDER is for its batches of commands."""
    most = max((leaf.leaves for leaf in leaves), default=MANY)
    numbers = range(1, most + 1)
    (folder / "classes").write_text("".join(
        f"class add dev g0 parent 1: classid 1:{n:x} drr quantum 1514\n" for n in numbers))
    lines = [
        "set -eu",
        "modprobe aqm_gate",
        "ip link add g0 type gate && ip link set g0 up",
        "read_memory() {",
        f"  sleep {REST}",
        "  for cache in /sys/kernel/slab/*/shrink; do [ ! -e $cache ] || echo 1 > $cache; done",
        "  awk '/^(Slab|VmallocUsed|Percpu):/ { sum += $2 } /^MemFree:/ { free = $2 }",
        "       END { print \"memory\", sum, free }' /proc/meminfo",
        "}",
        "tc qdisc add dev g0 root handle 1: drr",
        f"tc -batch {folder}/classes 2> /dev/null",
    ]
    for number, leaf in enumerate(leaves):
        kind = f"{leaf.qdisc} {leaf.options} {QUIET.get(leaf.qdisc, '')}"
        adds = folder / f"add-{number}"
        adds.write_text("".join(
            f"qdisc replace dev g0 parent 1:{n:x} {kind}\n"
            for n in range(1, leaf.leaves + 1)))
        dels = folder / f"del-{number}"
        dels.write_text("".join(
            f"qdisc del dev g0 parent 1:{n:x}\n" for n in range(1, leaf.leaves + 1)))
        # The first of a kind loads its module, and fills what it keeps for all.
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
    """What each took, from what the guest printed."""
    parts = text.split("leaf ")[1:]
    for number, (leaf, part) in enumerate(zip(leaves, parts, strict=True)):
        words = part.split()
        if int(words[0]) != number:
            raise SystemExit(f"bench: leaf {words[0]} came in the place of {number}")
        kib = [int(word) for word in words[1:] if word != "memory"]
        before, free, after, left = kib
        yield leaf, Taken((after - before) * 1024 // leaf.leaves + PFIFO,
                          (free - left) * 1024 // leaf.leaves + PFIFO)  # fmt: skip


def guest(leaves: Sequence[Leaf], *how: str) -> str:
    """What a guest says of these leaves."""
    folder = TOP / "build" / "bench" / f"memory-{os.getpid()}"
    folder.mkdir(parents=True)
    boot = [str(TOP / "lab" / "boot"), *how, "--memory", "4G",
            "--time-limit", str(600 + 60 * len(leaves)), "--"]  # fmt: skip
    try:
        return subprocess.run([*boot, "sh", "-c", script(leaves, folder)], stdout=subprocess.PIPE,
                              text=True, check=True).stdout  # fmt: skip
    finally:
        shutil.rmtree(folder)


def measured(leaves: Sequence[Leaf]) -> Iterator[tuple[Leaf, Taken]]:
    """What each takes, on Debian's kernel."""
    if leaves:
        how = ("--engine", "qemu", "--kernel", KERNEL, "--icount")
        yield from taken(leaves, guest(leaves, *how))


def many(kinds: Iterable[str]) -> Iterator[tuple[Leaf, Taken, float]]:
    """What MANY thin leaves take, and the processor's seconds for it.

    In user mode, where a guest's seconds are this machine's: what it takes to boot, to make the
    classes and to set up and delete the leaves, less a guest's that does all but the last.
    """

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    # Or the first boot would build what is absent.
    subprocess.run([TOP / "lab" / "boot", "--build"], check=True)
    start = spent()
    guest([])
    without = spent() - start
    for kind in kinds:
        leaf = Leaf(kind, THIN, MANY)
        start = spent()
        [(leaf, what)] = taken([leaf], guest([leaf]))
        yield leaf, what, spent() - start - without
