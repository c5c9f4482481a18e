# SPDX-License-Identifier: GPL-2.0
"""What memory a discipline takes: many instances, and what the kernel says before and after.

Each is the leaf of a class of drr. The kernel's own sums are read: slab objects, vmalloc and
per-CPU memory in /proc/meminfo, which are whole pages, and so is what becomes of them among many
instances. What is free in the machine says whether something was missed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.instructions import KERNEL, MAINLINE, TOP, told

LEAVES = 200
#: A class of drr has a pfifo at first, which is replaced: one object of kmalloc-512.
PFIFO = 512
#: What cannot be set up without options, or has no default that means anything.
NEEDS = ("pfifo", "red", "choke", "sfb")
#: With few flows, of those that have a number of them.
THIN = "flows 128"
HAVE_FLOWS = ("fq_codel", "fq_pie", "sfq", "qsdrr", "tdrr", "redtail")
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
            found.append(Leaf(kind, THIN))
    return found


def script(leaves: Sequence[Leaf], folder: Path) -> str:
    """What the guest runs; FOLDER is for its batches of commands."""
    most = max(leaf.leaves for leaf in leaves)
    numbers = range(1, most + 1)
    (folder / "classes").write_text("".join(
        f"class add dev g0 parent 1: classid 1:{n:x} drr quantum 1514\n" for n in numbers))
    lines = [
        "set -eu",
        "modprobe aqm_gate",
        "ip link add g0 type gate && ip link set g0 up",
        "read_memory() {",
        f"  sleep {REST}",
        "  for cache in /sys/kernel/slab/*/shrink; do echo 1 > $cache; done",
        "  awk '/^(Slab|VmallocUsed|Percpu):/ { sum += $2 } /^MemFree:/ { free = $2 }",
        "       END { print \"memory\", sum, free }' /proc/meminfo",
        "}",
        "tc qdisc add dev g0 root handle 1: drr",
        f"tc -batch {folder}/classes 2> /dev/null",
    ]
    for number, leaf in enumerate(leaves):
        adds = folder / f"add-{number}"
        adds.write_text("".join(
            f"qdisc replace dev g0 parent 1:{n:x} {leaf.qdisc} {leaf.options}\n"
            for n in range(1, leaf.leaves + 1)))
        dels = folder / f"del-{number}"
        dels.write_text("".join(
            f"qdisc del dev g0 parent 1:{n:x}\n" for n in range(1, leaf.leaves + 1)))
        # The first of a kind loads its module, and fills what it keeps for all.
        lines += [
            f"echo leaf {number}",
            f"tc qdisc replace dev g0 parent 1:1 {leaf.qdisc} {leaf.options} 2> /dev/null",
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


def measured(leaves: Sequence[Leaf]) -> Iterator[tuple[Leaf, Taken]]:
    """What each takes, in a guest of its own."""
    folder = TOP / "build" / "bench" / f"memory-{os.getpid()}"
    folder.mkdir(parents=True)
    boot: list[str | Path] = [TOP / "lab" / "boot", "--engine", "qemu", "--kernel", KERNEL]
    boot += ["--icount", "--memory", "4G", "--time-limit", str(300 + 60 * len(leaves)), "--"]
    try:
        done = subprocess.run([*boot, "sh", "-c", script(leaves, folder)], stdout=subprocess.PIPE,
                              text=True, check=True)  # fmt: skip
        yield from taken(leaves, done.stdout)
    finally:
        shutil.rmtree(folder)
