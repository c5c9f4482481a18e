# SPDX-License-Identifier: GPL-2.0
"""Keeps a user-mode guest on one CPU of the host, and two guests on two where there are two.

Such a guest has one thing to do at a time: its kernel and its programs are processes that wake
each other at every system call. On one CPU that is a switch; across two it is an interrupt and an
idle CPU's awakening, which made a scenario take more than twice as long.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
from collections.abc import Iterator

#: Guests that may share a CPU before the scheduler is left to it.
PLACES = 8


def claim(cpu: int, place: int) -> socket.socket | None:
    """A place on CPU, held while the socket is open; None when it is taken.

    An abstract name leaves nothing behind, however its owner ends.
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
    """While it lasts, this thread and what it starts run on the CPU that fewest guests have.

    Yields the CPU, or None when all places are taken.
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
