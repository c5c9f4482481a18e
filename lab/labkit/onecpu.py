# SPDX-License-Identifier: GPL-2.0
"""Keeps a user-mode guest on one CPU of the host, and two guests on two.

Such a guest has one thing to do at a time: its kernel and its programs are processes that wake
each other at every system call. On one CPU that is a switch; across two it is an interrupt and an
idle CPU's awakening, which made a scenario take more than twice as long.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator


def claim(cpu: int) -> socket.socket | None:
    """The machine's only claim to CPU, held while the socket is open; None when it is taken.

    An abstract name leaves nothing behind, however its owner ends.
    """
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        holder.bind(f"\0aqm-lab-cpu-{cpu}")
    except OSError:
        holder.close()
        return None
    return holder


@contextlib.contextmanager
def one_cpu() -> Iterator[int | None]:
    """While it lasts, this thread and what it starts run on a CPU that no other guest has.

    Yields the CPU, or None when there are more guests than CPUs: then the scheduler decides.
    """
    allowed = os.sched_getaffinity(0)
    for cpu in sorted(allowed, reverse=True):
        holder = claim(cpu)
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
