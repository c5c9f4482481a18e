# SPDX-License-Identifier: GPL-2.0
"""A solution of exercise 3: when CoDel drops packets of a sender that does not slow down."""

import math
import sys

TARGET_S, INTERVAL_S = 0.005, 0.1


def drop_times(first_s: float, until_s: float) -> list[float]:
    """Return the times of CoDel's drops, from the first one on."""
    times = [first_s]
    while times[-1] < until_s:
        times.append(times[-1] + INTERVAL_S / math.sqrt(len(times)))
    return times[:-1]


def main() -> None:
    """Print how many packets CoDel has dropped at each second."""
    first_s, until_s = float(sys.argv[1]), float(sys.argv[2])
    times = drop_times(first_s, until_s)
    for second in range(int(until_s) + 1):
        print(second, sum(at <= second for at in times))


if __name__ == "__main__":
    main()
