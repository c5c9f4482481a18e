#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print a trace that resembles a wireless link, as CSV: wireless.py [SEED [SECONDS]].

Rate and delay walk at random, in steps of 0.2 s. Sometimes the link carries nothing for a step.
"""

import random
import sys

STEP_S = 0.2


def main(seed: int = 1, seconds: int = 20) -> None:
    """Print the trace."""
    rng = random.Random(seed)
    rate, delay = 24.0, 10.0
    print("time_s,rate_mbps,delay_ms")
    steps = round(seconds / STEP_S)
    for step in range(steps + 1):
        fades = rng.random() < 0.03 and 0 < step < steps
        print(f"{step * STEP_S:.1f},{0 if fades else rate:.1f},{delay:.0f}")
        rate = min(max(rate * 2 ** rng.uniform(-0.6, 0.6), 2), 60)
        delay = min(max(delay + rng.uniform(-4, 4), 5), 40)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
