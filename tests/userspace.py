# SPDX-License-Identifier: GPL-2.0
"""The disciplines in user space: the unmodified ``sch_*.c``, a million operations a second.

    from tests.userspace import World

    with World("qsdrr", "limit 200 flows 64", below="hfsc prio") as w:
        w.enqueue(flow=1, len=1514)
        w.advance(1_000_000)
        print(w.dequeue(10), w.stats().qlen, w.named()["overflows"])
        w.change("limit 20")

After every operation the counts of the discipline and of all its parents are compared with
the packets that are there; what does not agree raises Violation. See
selftests/userspace/README.md for the language of operations and for what is checked.
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
    """A count that does not agree, a corrupt list, a trap, a stall; the text says which."""


class Refused(RuntimeError):
    """Options that tc or the module refuses; the text is the module's message."""


class Stats(NamedTuple):
    """Of a qdisc or a class. ``active``: its class in the parent above is."""

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
    """Run the Makefile in selftests/userspace; one at a time, whoever else does."""
    out.mkdir(parents=True, exist_ok=True)
    words = [f"{name}={value}" for name, value in variables.items()]
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "-s", "-C", SOURCE, f"OUT={out}", *words, *targets],
            capture_output=True, text=True, check=False, env={**os.environ, "MAKEFLAGS": ""},
        )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"selftests/userspace does not build\n{done.stdout}\n{done.stderr}")


def load(path: Path) -> ctypes.CDLL:
    """A library of one kind, with the types of its functions."""
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
    """The library of a kind of the tree, built if it is not up to date."""
    build(str(BUILD / f"lib{kind}.so"))
    return load(BUILD / f"lib{kind}.so")


class World:
    """One discipline, at the root or below parents, and the packets in it.

    ``options`` as after ``tc qdisc add ... KIND``. ``below`` names up to two parents from the
    root down: prio, tbf, drr, ets, qfq, htb, hfsc (link-sharing only), hfsc-rt. ``seed`` is
    what the kernel's random numbers start from. Priorities of 1:N name classes. With ``walk`` each
    operation also checks the discipline's own lists and indexes.
    """

    def __init__(
        self, kind: str, options: str = "", *, below: str = "", seed: int = 1,
        walk: bool = False, lib: ctypes.CDLL | None = None,
    ) -> None:  # fmt: skip
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
        """For with: it is closed at the end."""
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
        """Destroy everything; what is left over then is a Violation."""
        if self._world is None:
            return
        world, self._world = self._world, None
        if self._lib.world_free(world):
            raise Violation("something is left after destroy; see stderr")

    def _checked(self, rc: int, what: str = "") -> int:
        if rc == _BROKEN:
            raise Violation(f"{self._lib.world_violation(self._world).decode()} ({what})")
        if rc == _MALFORMED:
            raise ValueError(f"not an operation: {what}")
        return rc

    def do(self, operation: str) -> int:
        """One line of a trace. Returns an errno, 0 if all is well."""
        return self._checked(self._lib.world_do(self._world, operation.encode()), operation)

    @property
    def out(self) -> list[tuple[int, int]]:
        """(number, TOS) of the packets that the last operation sent."""
        n = ctypes.c_uint32()
        out = self._lib.world_out(self._world, ctypes.byref(n))
        flat = out[: 2 * n.value] if n.value else []
        return list(zip(flat[::2], flat[1::2], strict=True))

    def enqueue(self, **fields: int | str) -> bool:
        """A packet arrives; False if the sender is told that it was dropped."""
        return not self.do("e " + " ".join(f"{name}={value}" for name, value in fields.items()))

    def dequeue(self, packets: int = 1) -> list[tuple[int, int]]:
        """Up to so many packets leave; (number, TOS) of each."""
        self.do(f"d {packets}")
        return self.out

    def peek(self) -> None:
        """Whoever is above peeks at the root of the tree."""
        self.do("p")

    def bulk(self, packets: int) -> None:
        """The driver takes packets and keeps them."""
        self.do(f"b {packets}")

    def requeue(self, packets: int) -> list[tuple[int, int]]:
        """The driver hands the last of its packets back and sends the others."""
        self.do(f"q {packets}")
        return self.out

    def reset(self) -> None:
        """As when the device goes down."""
        self.do("r")

    def advance(self, ns: int) -> None:
        """Time passes."""
        self.do(f"t {ns}")

    def fail_alloc(self, which: int = 1) -> None:
        """The so many-th allocation from now fails."""
        self.do(f"a {which}")

    def change(self, options: str) -> None:
        """``tc qdisc change``; raises Refused."""
        if rc := self.do(f"x {options}"):
            raise Refused(f"{os.strerror(rc)}: {self.message}")

    @property
    def verdict(self) -> int:
        """What the last enqueue returned, a NET_XMIT_..."""
        return self._lib.world_verdict(self._world)

    @property
    def message(self) -> str:
        """The last extack."""
        return self._lib.world_message(self._world).decode()

    @property
    def warnings(self) -> int:
        """Lines in the kernel's log so far; the last is ``message``."""
        return self._lib.world_warnings(self._world)

    @property
    def now(self) -> int:
        """CLOCK_MONOTONIC, ns."""
        return self._lib.world_now(self._world)

    def stats(self, level: int = 0) -> Stats:
        """Of the discipline (level 0), its parent (1), and its parent (2)."""
        st = _Stats()
        self._checked(self._lib.world_stats(self._world, level, ctypes.byref(st)), "stats")
        return st.read()

    def classes(self) -> dict[int, Stats]:
        """The classes that are shown, by minor number."""
        while True:
            room = len(self._room)
            n = self._checked(self._lib.world_classes(self._world, self._room, room), "classes")
            if n <= room:
                return {st.minor: st for st in (self._room[i].read() for i in range(n))}
            self._room = (_Stats * n)()

    def _json(self, call: Any, *arguments: int) -> dict[str, Any]:
        buffer = ctypes.create_string_buffer(65536)
        self._checked(call(self._world, *arguments, buffer, len(buffer)), "statistics")
        return json.loads(buffer.value)

    def named(self, minor: int = 0) -> dict[str, Any]:
        """The statistics by the names that ``tc -j -s`` gives them; of a class if one is given."""
        return self._json(self._lib.world_named, minor)

    def options(self) -> dict[str, Any]:
        """The options that are dumped, by the names that ``tc -j`` gives them."""
        return self._json(self._lib.world_options)

    def given(self) -> dict[str, Any]:
        """Those of ``options()`` that were given, and not derived or left at their default."""
        shown = self.options()
        return {name: shown[name] for name in shown["given"]}
