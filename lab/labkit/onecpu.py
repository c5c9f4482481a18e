# SPDX-License-Identifier: GPL-2.0
"""Keep each user-mode guest on one CPU of the host.

A guest does one thing at a time: its kernel and programs are processes that wake each other at
every system call. On one CPU this is a context switch. Across two CPUs it is an interrupt and the
wake-up of an idle CPU, which made a scenario take more than twice as long.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
from collections.abc import Iterator

#: Number of guests that may share a CPU. Above it the scheduler decides.
PLACES = 8


def claim(cpu: int, place: int) -> socket.socket | None:
    """Return a socket that reserves a place on CPU while it is open, or None if it is taken.

    The socket has an abstract name, which disappears with its owner.
    """
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        holder.bind(f"\0aqm-lab-cpu-{cpu}-{place}")
    except OSError:
        holder.close()
        return None
    return holder


@contextlib.contextmanager
def one_cpu() -> Iterator[int | None]:
    """Run this thread and its children on the CPU with the fewest guests.

    Yields the CPU, or None if all places are taken.
    """
    allowed = os.sched_getaffinity(0)
    for place, cpu in itertools.product(range(PLACES), sorted(allowed, reverse=True)):
        holder = claim(cpu, place)
        if holder:
            break
    else:
        yield None
        return
    with holder:
        os.sched_setaffinity(0, {cpu})
        try:
            yield cpu
        finally:
            os.sched_setaffinity(0, allowed)
