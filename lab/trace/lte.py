#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print a trace that resembles an LTE link, in mahimahi's format: lte.py [SEED [SECONDS [MBPS]]].

Each line is a ms in which a packet can leave. A base station gives a phone some of all ms, and then
several packets. The rate walks at random around MBPS. Sometimes nothing leaves for 0.1 s or more.
"""

import random
import sys

PACKET_BITS = 1514 * 8  # with the Ethernet header
SHARE = 0.4  # of the ms that the phone gets
STEP_MS = 20  # between two changes of the rate
FADE, RECOVER = 0.002, 0.15  # probabilities per step


def main(seed: int = 1, seconds: int = 60, mbps: int = 20) -> None:
    """Print the trace."""
    rng = random.Random(seed)
    factor, fades, left = 1.0, False, 0.0
    for ms in range(1, seconds * 1000 + 1):
        if ms % STEP_MS == 0:
            factor = min(max(factor * 2 ** rng.uniform(-0.4, 0.4), 0.4), 2)  # 1 in the mean
            fades = rng.random() >= RECOVER if fades else rng.random() < FADE
        if rng.random() < SHARE and not fades:
            left += factor * mbps * 1000 / SHARE / PACKET_BITS
        for _ in range(int(left)):
            print(ms)
        left -= int(left)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
