# SPDX-License-Identifier: GPL-2.0
"""Run the unmodified ``sch_*.c`` in user space.

    from tests.userspace import World

    with World("qsdrr", "limit 200 flows 64", below="hfsc prio") as w:
        w.enqueue(flow=1, len=1514)
        w.advance(1_000_000)
        print(w.dequeue(10), w.stats().qlen, w.named()["overflows"])
        w.change("limit 20")

After every operation the counts of the discipline and of all its parents are compared with the
packets that are queued. A difference raises Violation. selftests/userspace/README.md describes the
operations and all checks.
"""

from __future__ import annotations

import builtins
import ctypes
import fcntl
import json
import os
import struct
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

TOP = Path(__file__).resolve().parent.parent
SOURCE = TOP / "selftests" / "userspace"
BUILD = TOP / "build" / "userspace"
KINDS = tuple(sorted(path.stem.removeprefix("sch_") for path in TOP.glob("sch_*.c")))

_BROKEN = -1000
_MALFORMED = -1001


class Violation(AssertionError):
    """A wrong count, a corrupt list, a trap, or a stall. The message says which."""


class Refused(RuntimeError):
    """tc or the module refused the options. The message is theirs."""


class Stats(NamedTuple):
    """Statistics of a qdisc or a class.

    active: whether the parent's class is active
    """

    minor: int
    qlen: int
    backlog: int
    drops: int
    overlimits: int
    requeues: int
    bytes: int
    packets: int
    active: bool
    xstats: builtins.bytes


_NUMBERS = struct.Struct("<6I2Q2I")


class _Stats(ctypes.Structure):
    _fields_ = [
        ("minor", ctypes.c_uint32),
        ("qlen", ctypes.c_uint32),
        ("backlog", ctypes.c_uint32),
        ("drops", ctypes.c_uint32),
        ("overlimits", ctypes.c_uint32),
        ("requeues", ctypes.c_uint32),
        ("bytes", ctypes.c_uint64),
        ("packets", ctypes.c_uint64),
        ("active", ctypes.c_uint32),
        ("xstats_len", ctypes.c_uint32),
        ("xstats", ctypes.c_ubyte * 512),
    ]

    def read(self) -> Stats:
        *numbers, active, length = _NUMBERS.unpack_from(self)
        at = ctypes.addressof(self) + _NUMBERS.size
        return Stats._make([*numbers, bool(active), ctypes.string_at(at, length)])


def build(*targets: str, out: Path = BUILD, **variables: str) -> None:
    """Run the Makefile in selftests/userspace, after any other process that does so."""
    out.mkdir(parents=True, exist_ok=True)
    words = [f"{name}={value}" for name, value in variables.items()]
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "-s", "-C", SOURCE, f"OUT={out}", *words, *targets],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "MAKEFLAGS": ""},
        )
    if done.returncode:
        raise RuntimeError(f"selftests/userspace does not build\n{done.stdout}\n{done.stderr}")


def load(path: Path) -> ctypes.CDLL:
    """Load the library of a kind and declare its functions."""
    lib = ctypes.CDLL(str(path))
    handle, text = ctypes.c_void_p, ctypes.c_char_p
    stats = ctypes.POINTER(_Stats)
    for name, result, *arguments in (
        ("world_new", handle, text, text, ctypes.c_uint64, ctypes.POINTER(text)),
        ("world_do", ctypes.c_int, handle, text),
        ("world_out", ctypes.POINTER(ctypes.c_uint32), handle, ctypes.POINTER(ctypes.c_uint32)),
        ("world_stats", ctypes.c_int, handle, ctypes.c_uint32, stats),
        ("world_classes", ctypes.c_int, handle, stats, ctypes.c_uint32),
        ("world_named", ctypes.c_int, handle, ctypes.c_uint32, text, ctypes.c_uint32),
        ("world_options", ctypes.c_int, handle, text, ctypes.c_uint32),
        ("world_now", ctypes.c_uint64, handle),
        ("world_violation", text, handle),
        ("world_verdict", ctypes.c_int, handle),
        ("world_message", text, handle),
        ("world_walk", None, handle),
        ("world_warnings", ctypes.c_uint, handle),
        ("world_free", ctypes.c_int, handle),
    ):
        getattr(lib, name).restype = result
        getattr(lib, name).argtypes = arguments
    return lib


@cache
def library(kind: str) -> ctypes.CDLL:
    """Build the library of a kind if it is not up to date, and load it."""
    build(str(BUILD / f"lib{kind}.so"))
    return load(BUILD / f"lib{kind}.so")


class World:
    """A discipline, at the root or below parents, with its packets.

    Without parents the world itself acts as one, and checks the contract.

    options: words after ``tc qdisc add ... KIND``
    below: up to two parents, from the root down: prio, tbf, drr, ets, qfq, htb, hfsc (link sharing
        only), hfsc-rt; or only "root", "mq" or "taprio", so that no parent counts its packets or
        can be told of them; or only "red", which the world then pretends to be
    seed: of the kernel's random numbers
    walk: also check the discipline's own lists and indexes after each operation
    A priority of 1:N selects class N.
    """

    def __init__(
        self,
        kind: str,
        options: str = "",
        *,
        below: str = "",
        seed: int = 1,
        walk: bool = False,
        lib: ctypes.CDLL | None = None,
    ) -> None:
        self.kind = kind
        self._lib = lib or library(kind)
        self._room = (_Stats * 64)()
        error = ctypes.c_char_p()
        self._world = self._lib.world_new(
            options.encode(), below.encode(), seed, ctypes.byref(error)
        )
        if error.value:
            text = error.value.decode()
            self._lib.world_free(self._world)
            self._world = None
            raise Refused(f"{kind} {options}: {text}")
        if walk:
            self._lib.world_walk(self._world)

    def __enter__(self) -> World:
        """Enter a with block, which closes the world at its end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Destroy everything. Raises Violation if memory or a packet is left."""
        if self._world is None:
            return
        world, self._world = self._world, None
        if self._lib.world_free(world):
            raise Violation("memory or packets are left after destroy; see stderr")

    def _checked(self, rc: int, what: str = "") -> int:
        if rc == _BROKEN:
            raise Violation(f"{self._lib.world_violation(self._world).decode()} ({what})")
        if rc == _MALFORMED:
            raise ValueError(f"not an operation: {what}")
        return rc

    def do(self, operation: str) -> int:
        """Carry out one line of a trace. Returns an errno, or 0."""
        return self._checked(self._lib.world_do(self._world, operation.encode()), operation)

    @property
    def out(self) -> list[tuple[int, int]]:
        """Return (number, TOS) of each packet that the last operation sent."""
        n = ctypes.c_uint32()
        out = self._lib.world_out(self._world, ctypes.byref(n))
        flat = out[: 2 * n.value] if n.value else []
        return list(zip(flat[::2], flat[1::2], strict=True))

    def enqueue(self, **fields: int | str) -> bool:
        """Enqueue a packet. Returns False if the sender is told that it was dropped."""
        return not self.do("e " + " ".join(f"{name}={value}" for name, value in fields.items()))

    def dequeue(self, packets: int = 1) -> list[tuple[int, int]]:
        """Dequeue up to so many packets. Returns (number, TOS) of each."""
        self.do(f"d {packets}")
        return self.out

    def peek(self) -> None:
        """Peek at the root of the tree."""
        self.do("p")

    def bulk(self, packets: int) -> None:
        """Let the driver take packets and hold them."""
        self.do(f"b {packets}")

    def requeue(self, packets: int) -> list[tuple[int, int]]:
        """Let the driver return the last of its packets and send the others."""
        self.do(f"q {packets}")
        return self.out

    def reset(self) -> None:
        """Reset the qdisc, as when the device goes down."""
        self.do("r")

    def advance(self, ns: int) -> None:
        """Advance the clock."""
        self.do(f"t {ns}")

    def fail_alloc(self, which: int = 1) -> None:
        """Let the n-th allocation from now fail, with n = which."""
        self.do(f"a {which}")

    def change(self, options: str) -> None:
        """Change the options, as ``tc qdisc change`` does. Raises Refused."""
        if rc := self.do(f"x {options}"):
            raise Refused(f"{os.strerror(rc)}: {self.message}")

    @property
    def verdict(self) -> int:
        """Return the result of the last enqueue, a NET_XMIT_ value."""
        return int(self._lib.world_verdict(self._world))

    @property
    def message(self) -> str:
        """Return the last extack message, or line of the kernel's log."""
        return bytes(self._lib.world_message(self._world)).decode()

    @property
    def warnings(self) -> int:
        """Return the number of lines in the kernel's log; ``message`` has the last."""
        return int(self._lib.world_warnings(self._world))

    @property
    def now(self) -> int:
        """Return CLOCK_MONOTONIC in ns."""
        return int(self._lib.world_now(self._world))

    def stats(self, level: int = 0) -> Stats:
        """Return the statistics of the discipline (level 0), its parent (1) or grandparent (2)."""
        st = _Stats()
        self._checked(self._lib.world_stats(self._world, level, ctypes.byref(st)), "stats")
        return st.read()

    def classes(self) -> dict[int, Stats]:
        """Return the statistics of the classes that tc would show, by minor number."""
        while True:
            room = len(self._room)
            n = self._checked(self._lib.world_classes(self._world, self._room, room), "classes")
            if n <= room:
                return {st.minor: st for st in (self._room[i].read() for i in range(n))}
            self._room = (_Stats * n)()

    def _json(self, call: Any, *arguments: int) -> dict[str, Any]:
        buffer = ctypes.create_string_buffer(65536)
        self._checked(call(self._world, *arguments, buffer, len(buffer)), "statistics")
        statistics: dict[str, Any] = json.loads(buffer.value)
        return statistics

    def named(self, minor: int = 0) -> dict[str, Any]:
        """Return the statistics under tc's names, of the qdisc or of the class 'minor'."""
        return self._json(self._lib.world_named, minor)

    def options(self) -> dict[str, Any]:
        """Return the dumped options under tc's names."""
        return self._json(self._lib.world_options)

    def given(self) -> dict[str, Any]:
        """Return the options that the user has given, without derived values and defaults."""
        shown = self.options()
        return {name: shown[name] for name in shown["given"]}
