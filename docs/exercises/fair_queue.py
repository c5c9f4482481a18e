# SPDX-License-Identifier: GPL-2.0
"""Exercise 4: a fair queue with less than one packet of buffer per flow.

Sixteen flows share a link that sends one packet per slot, and a buffer of eight packets. Flow 0
sends five times as much as each other one, and no flow slows down.
"""

import random

FLOWS, BUFFER, SLOTS = 16, 8, 20000


def victim(queues: list[int], sent: list[float]) -> int:
    """Return the flow that loses a packet when the buffer is full.

    queues: packets of each flow in the buffer, with the arrival
    sent: packets that each flow has sent, where older ones count less

    TODO: with one packet in most queues, lengths do not say which flow sends most. Use `sent`.
    """
    longest = max(queues)
    return random.choice([flow for flow, length in enumerate(queues) if length == longest])


def shares() -> list[float]:
    """Return each flow's share of the link."""
    random.seed(1)
    queues, sent, total, turn = [0] * FLOWS, [0.0] * FLOWS, [0] * FLOWS, 0
    rates = [0.5 if flow == 0 else 0.1 for flow in range(FLOWS)]
    for _ in range(SLOTS):
        for flow in random.sample(range(FLOWS), FLOWS):
            if random.random() < rates[flow]:
                queues[flow] += 1
                if sum(queues) > BUFFER:
                    queues[victim(queues, sent)] -= 1
        sent = [0.999 * one for one in sent]
        # Round robin
        waiting = [flow for flow in range(FLOWS) if queues[flow]]
        if waiting:
            turn = min(waiting, key=lambda flow: (flow - turn - 1) % FLOWS)
            queues[turn] -= 1
            sent[turn] += 1
            total[turn] += 1
    return [one / SLOTS for one in total]


if __name__ == "__main__":
    found = shares()
    for number, share in enumerate(found):
        print(f"flow {number:2}: {100 * share:4.1f} %", "#" * round(400 * share))
    print(f"flow 0 gets {found[0] * FLOWS:.1f} times an equal share")
