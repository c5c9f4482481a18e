# SPDX-License-Identifier: GPL-2.0
"""The loop of flows that add and halve, against what is exact for one flow."""

from __future__ import annotations

import pytest
from analysis import aimd

RATE, RTT = 1000.0, 0.1  # packets a second, s


def one_flow(buffer: float) -> float:
    """Part of the link that one flow uses, that halves when a queue of ``buffer`` times what the
    link has in flight is full; 0.75 without a queue.

    The window w, by what is in flight, grows in equal steps, a round trip each, from
    (1 + buffer) / 2 to 1 + buffer. A round trip lasts 1 below w = 1, where it sends w, and w above,
    where the link is full.
    """
    below, peak = (1 - buffer) / 2, 1 + buffer
    full = (peak * peak - 1) / 2
    return (below * (peak / 2 + 1) / 2 + full) / (below + full)


@pytest.mark.parametrize("buffer", [0.0, 0.25, 1.0])
def test_one_flow_uses_as_much_as_a_sawtooth_fills(buffer: float) -> None:
    got = aimd.used(aimd.TailDrop(), 1, RATE, buffer * RATE * RTT, rtts=(RTT, RTT),
                    warmup=20, duration=50)  # fmt: skip
    assert got == pytest.approx(one_flow(buffer), abs=0.02)
