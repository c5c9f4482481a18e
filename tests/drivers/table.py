#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print the table of docs/drivers.md from the last results of `make test-drivers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STORE = Path(__file__).resolve().parents[2] / "build" / "drivers"
FRAME, PAYLOAD = 1514, 1448  # bytes of a full TCP packet, and of its payload


def part(rate: float, mbit: float) -> str:
    """Return the share of the link that a TCP flow takes, in percent."""
    return f"{rate * 1e-4 * FRAME / PAYLOAD / mbit:.1f}"


def row(kernel: str, runs: dict[str, dict[str, Any]]) -> str:
    """Return the row of a discipline on a kernel."""
    both, short, mixed = (runs[name] for name in ("both", "short", "mixed"))
    ways = [f"{sum(both['received'][end]) / 1e6:.2f}" for end in ("left", "right")]
    tcp, mbit = mixed["received"]["left"], mixed["seen"]["mbit"]
    udp = 100 - sum(float(part(rate, mbit)) for rate in tcp)
    requeues = sum(short["counted"][end]["requeues"] for end in ("left", "right"))
    lost = sum(short["counted"][end]["drops"] for end in ("left", "right"))
    lost_part = lost / sum(short["counted"][end]["offered_packets"] for end in ("left", "right"))
    cells = [
        kernel,
        both["qdisc"].split()[0],
        *ways,
        ", ".join(part(rate, mbit) for rate in tcp),
        f"{udp:.1f}",
        str(short["seen"]["most"]),
        f"{short['seen']['mbit']:.2f}",
        str(requeues),
        f"{100 * lost_part:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the newest results of each kernel, for all kinds with complete results."""
    newest = {
        path.name.partition("-")[0]: path
        for path in sorted(STORE.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    }
    print(
        "| kernel | kind | TCP one way, Mb/s | the other | mixed: TCP, % | UDP, % "
        "| `limit 20`: most held | Mb/s | requeues | lost, % |"
    )
    print("|---" * 10 + "|")
    for kernel, path in sorted(newest.items()):
        kinds: dict[str, dict[str, dict[str, Any]]] = {}
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            kinds.setdefault(entry["qdisc"], {})[entry["run"]] = entry
        for runs in kinds.values():
            if len(runs) == 3:
                print(row(kernel, runs))


if __name__ == "__main__":
    main()
