# SPDX-License-Identifier: GPL-2.0
"""Runs in a QEMU guest with two network cards on one hub: disciplines at their roots.

    exercise.py RATE RUNS QDISC...

Each card is in a namespace of its own, with the offloads that its driver turns on. The cards are
slowed down to some RATE Mb/s, so that their drivers stop the queue and hand packets back: a card
reports what it has sent INTERRUPTS times a second, and may hold only so many bytes meanwhile.
RUNS are names out of RUNS below, with commas between them; QDISC is what tc gets. Prints a line of
JSON per run; whoever reads it judges.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

INTERRUPTS = 100  # a second, the fewest that the driver takes
GSO_BYTES = 6144  # a larger packet would take more than its share of such a slow card
ENDS = {"left": "02:00:00:00:00:01", "right": "02:00:00:00:00:02"}
ADDRESS = {"left": "10.9.0.1", "right": "10.9.0.2"}
SECONDS = 4
PATIENCE_S = 20.0
PORTS = ("5201", "5202")
SAMPLE_MS = 20
BLAST = ("-u", "-b", "400M", "-l", "1448")

#: What follows the discipline, and the words for one iperf3 each, all at once.
RUNS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    # TCP in both directions: segmentation offload, and nothing that overflows.
    "both": ("", (("--bidir", "-P", "3"),)),
    # UDP in both directions through a queue that is always full.
    "short": ("limit 20", (("--bidir", *BLAST),)),
    # TCP in large packets against UDP that does not give way.
    "mixed": ("", (("-P", "3"), BLAST)),
}


def sh(*words: str) -> str:
    """Output of a command that must not fail."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}{done.stdout}")
    return done.stdout


def within(end: str, *words: str) -> list[str]:
    """The command line in a namespace."""
    return ["ip", "netns", "exec", end, *words]


def until(what: str, holds: Any) -> None:
    """Wait for a condition; it has to come."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain: {what}")
        time.sleep(0.1)


def set_up(rate: float) -> dict[str, Any]:
    """Two namespaces with a slow card each; what the driver offers."""
    sh("modprobe", "e1000e", f"InterruptThrottleRate={INTERRUPTS},{INTERRUPTS}")
    cards: dict[str, Path] = {}

    def found() -> bool:
        for path in Path("/sys/class/net").iterdir():
            cards[(path / "address").read_text().strip()] = path
        return set(ENDS.values()) <= set(cards)

    until("two network cards", found)
    offers: dict[str, Any] = {}
    for end, mac in ENDS.items():
        path = cards[mac]
        limit = path / "queues" / "tx-0" / "byte_queue_limits" / "limit_max"
        bql = limit.exists()
        limit.write_text(f"{rate * 1e6 / 8 / INTERRUPTS:.0f}")
        sh("ip", "netns", "add", end)
        sh("ip", "link", "set", path.name, "down")
        sh("ip", "link", "set", path.name, "netns", end, "name", "nic", "gso_max_size",
           str(GSO_BYTES))
        sh("ip", "-n", end, "addr", "add", f"{ADDRESS[end]}/24", "dev", "nic")
        sh("ip", "-n", end, "link", "set", "lo", "up")
        sh("ip", "-n", end, "link", "set", "nic", "up")
        features = sh(*within(end, "ethtool", "-k", "nic"))
        offers[end] = {"tso": "tcp-segmentation-offload: on" in features, "bql": bql}
    for end in ENDS:
        until(f"a link at {end}", lambda end=end: "LOWER_UP" in sh("ip", "-n", end, "link"))
    for port in PORTS:
        subprocess.Popen(within("right", "iperf3", "-s", "-p", port), stdout=subprocess.DEVNULL)
        until("iperf3", lambda port=port: sh(*within("right", "ss", "-Hltn", f"sport = :{port}")))
    return offers


def statistics(end: str) -> dict[str, int]:
    """What the discipline and the driver have counted."""
    shown = json.loads(sh("tc", "-n", end, "-s", "-j", "qdisc", "show", "dev", "nic", "root"))[0]
    out = {key: shown[key] for key in ("bytes", "packets", "drops", "requeues", "backlog", "qlen")}
    for name in ("tx_bytes", "tx_packets", "tx_dropped"):
        place = f"/sys/class/net/nic/statistics/{name}"
        out[name] = int(sh(*within(end, "cat", place)))
    return out


def drained() -> bool:
    """Whether both disciplines are empty."""
    return not any(statistics(end)["qlen"] for end in ENDS)


def traffic(loads: tuple[tuple[str, ...], ...]) -> list[dict[str, Any]]:
    """The reports of iperf3 from left to right, one for each of the loads."""
    children = [
        subprocess.Popen(
            within("left", "iperf3", "-c", ADDRESS["right"], "-p", port, "-J", "-t", str(SECONDS),
                   "--connect-timeout", "5000", *words),
            stdout=subprocess.PIPE, text=True)
        for port, words in zip(PORTS, loads, strict=False)
    ]
    return [json.loads(child.communicate()[0]) for child in children]


def received(report: dict[str, Any]) -> dict[str, list[int]]:
    """Bytes of each TCP stream that arrived, by the end that sent. Of UDP a client only knows
    what was lost before the last datagram that came through."""
    out: dict[str, list[int]] = {"left": [], "right": []}
    for stream in report.get("end", {}).get("streams", []):
        if "receiver" in stream:
            side = stream["receiver"]
            out["left" if side["sender"] else "right"].append(side["bytes"])
    return out


def measure(qdisc: str, run: str) -> dict[str, Any]:
    """One run with the discipline at both roots."""
    options, loads = RUNS[run]
    if options and qdisc.startswith("redtail"):
        options = f"limit {20 * 1514}"
    words = f"{qdisc} {options}".split()
    for end in ENDS:
        sh("tc", "-n", end, "qdisc", "replace", "dev", "nic", "root", *words)
    before = {end: statistics(end) for end in ENDS}
    log = Path("/tmp/queue.csv")
    sampler = subprocess.Popen(
        ["qsample", "--netns", "left", "--dev", "nic", "--out", str(log), "--interval-ms",
         str(SAMPLE_MS), "--duration-ms", "100000"])
    reports = traffic(loads)
    sampler.terminate()
    sampler.wait()
    until(f"{' '.join(words)} to run empty", drained)
    after = {end: statistics(end) for end in ENDS}
    for end in ENDS:
        sh("tc", "-n", end, "qdisc", "del", "dev", "nic", "root")
    held = [int(line.split(",")[1]) for line in log.read_text().splitlines()[1:]]
    return {
        "run": run, "qdisc": " ".join(words),
        "errors": [report["error"] for report in reports if "error" in report],
        "received": [received(report) for report in reports],
        "held": {"most": max(held), "mean": round(sum(held) / len(held), 1)},
        "counted": {end: {key: after[end][key] - before[end][key] for key in after[end]}
                    for end in ENDS},
        "left_over": {end: [after[end]["backlog"], after[end]["qlen"]] for end in ENDS},
    }


def main() -> None:
    """Every run of every discipline."""
    rate, runs, *qdiscs = sys.argv[1:]
    print(json.dumps({"offers": set_up(float(rate))}), flush=True)
    for qdisc in qdiscs:
        for run in runs.split(","):
            print(json.dumps(measure(qdisc, run)), flush=True)


if __name__ == "__main__":
    main()
