# SPDX-License-Identifier: GPL-2.0
"""Measure disciplines on real drivers, in a QEMU guest with two network cards on one hub.

    exercise.py 'RUN QDISC'...

RUN is a key of RUNS below, and QDISC has the words for tc. Prints the features of the cards, and
then a line of JSON per run. test_drivers.py judges the results.

Each card is in its own namespace, with its driver's default offloads. The cards are slowed down to
about 10 Mb/s, so that their drivers stop the queue and return packets. For this, the bytes in a
card are limited, and it reports sent packets only INTERRUPTS times per second. (QEMU delays only
every second interrupt, so in fact it is twice as often.)
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

INTERRUPTS = 100  # per second, the driver's minimum
RING = 64  # transmit descriptors, the minimum; about 14 TCP packets fill it
GSO_BYTES = 6144  # a larger packet would block such a slow card for too long
ENDS = {"left": "02:00:00:00:00:01", "right": "02:00:00:00:00:02"}
ADDRESS = {"left": "10.9.0.1", "right": "10.9.0.2"}
FRAME = 1514  # bytes of a full packet
LIMIT = 20
PATIENCE_S = 20.0
SAMPLE_MS = 7  # does not divide the interval of interrupts, so samples have different phases
TCP_PORT, UDP_PORT = "5201", "5202"
COUNTERS = ("tx_bytes", "tx_packets", "tx_dropped")
BQL = "queues/tx-0/byte_queue_limits"
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Run:
    """A workload.

    options: words after the name of the discipline
    card: bytes that BQL allows in a card
    seconds: measured time
    measured, around: arguments of iperf3, for the measured traffic and for other traffic
    """

    options: str
    card: int
    seconds: int
    measured: tuple[str, ...]
    around: tuple[str, ...] = ()


SLOW_START = ("-O", "1")  # exclude the first second from the report
RUNS = {
    # TCP in both directions, with segmentation offload and without overflow.
    "both": Run("", 5000, 3, ("--bidir", "-P", "3", *SLOW_START)),
    # TCP in both directions, and UDP, through a queue that is always full. BQL lets the core take
    # the whole queue at once. It does not fit into the card's ring, so the driver returns the rest.
    "short": Run(
        f"limit {LIMIT}", 100_000, 2, ("--bidir", "-P", "4"), ("-u", "-b", "60M", "-l", "1448")
    ),
    # TCP in large packets against UDP at twice the rate of the card.
    "mixed": Run("", 5000, 3, ("-P", "3", *SLOW_START), ("-u", "-b", "20M", "-l", "1448")),
}


def sh(*words: str, text: str = "") -> str:
    """Run a command that must not fail, with TEXT as its input. Returns its output."""
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}{done.stdout}")
    return done.stdout


def enter(namespace: IO[str]) -> None:
    """Move this process, and all that it starts from now on, into a namespace."""
    if LIBC.setns(namespace.fileno(), 0):
        raise OSError(ctypes.get_errno(), f"setns {namespace.name}")


@contextlib.contextmanager
def inside(end: str) -> Iterator[None]:
    """Run a block in a namespace.

    This needs one process less than `ip netns exec`, and starting processes is slow without KVM.
    """
    with Path("/proc/self/ns/net").open() as home, Path(f"/run/netns/{end}").open() as there:
        enter(there)
        try:
            yield
        finally:
            enter(home)


def wait_for(holds: Callable[[], bool]) -> bool:
    """Wait for a condition, and return whether it became true in time."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait for a condition that must become true."""
    if not wait_for(holds):
        raise SystemExit(f"waited in vain: {what}")


def sysfs(end: str) -> Path:
    """Return the place where a namespace's sysfs is mounted."""
    return Path("/tmp") / end


def card(end: str, name: str) -> Path:
    """Return the path of a card's file in sysfs."""
    return sysfs(end) / "class" / "net" / "nic" / name


def read(end: str, name: str) -> int:
    """Read a number from a card's file in sysfs."""
    return int(card(end, name).read_text())


def set_up() -> dict[str, Any]:
    """Create two namespaces with a slow card each. Returns the driver's features."""
    # The guest has already loaded the driver, with its default rate of interrupts.
    sh("modprobe", "-r", "e1000e")
    sh("modprobe", "e1000e", f"InterruptThrottleRate={INTERRUPTS},{INTERRUPTS}")
    sh("udevadm", "settle")  # udev renames the cards
    cards: dict[str, Path] = {}

    def found() -> bool:
        cards.clear()
        for path in Path("/sys/class/net").iterdir():
            cards[(path / "address").read_text().strip()] = path
        return set(ENDS.values()) <= set(cards)

    until("two network cards", found)
    offers: dict[str, Any] = {}
    for end, mac in ENDS.items():
        path = cards[mac]
        bql = (path / BQL).exists()
        sh("ip", "netns", "add", end)
        sh("ip", "link", "set", path.name, "down")
        sh("ethtool", "-G", path.name, "tx", str(RING))
        sh(
            "ip",
            "link",
            "set",
            path.name,
            "netns",
            end,
            "name",
            "nic",
            "gso_max_size",
            str(GSO_BYTES),
        )
        (other,) = ENDS.keys() - {end}
        with inside(end):
            # Only iperf3 may send.
            Path("/proc/sys/net/ipv6/conf/nic/disable_ipv6").write_text("1")
            sh("ip", "addr", "add", f"{ADDRESS[end]}/24", "dev", "nic")
            sh("ip", "link", "set", "lo", "up")
            sh("ip", "link", "set", "nic", "up")
            sh("ip", "neigh", "replace", ADDRESS[other], "lladdr", ENDS[other], "dev", "nic")
            # This counts packets before they reach the discipline at the root.
            sh("tc", "qdisc", "add", "dev", "nic", "clsact")
            sh("tc", "filter", "add", "dev", "nic", "egress", "matchall", "action", "pass")
            features = sh("ethtool", "-k", "nic")
            # A sysfs that is mounted here shows this namespace's devices to all processes.
            sysfs(end).mkdir()
            sh("mount", "-t", "sysfs", "sysfs", str(sysfs(end)))
        offers[end] = {"tso": "tcp-segmentation-offload: on" in features, "bql": bql}
    for end in ENDS:
        wait_for_link(end)
    return offers


def wait_for_link(end: str) -> None:
    """Wait until the card at END has a link."""
    until(f"a link at {end}", lambda: read(end, "carrier") == 1)


def statistics(end: str) -> dict[str, int]:
    """Return the counts before, in and after the discipline, and the bytes in the card."""
    asked = "qdisc show dev nic root\nfilter show dev nic egress\n"
    said = sh("tc", "-n", end, "-s", "-j", "-batch", "-", text=asked)
    qdisc, filters = filter(None, said.splitlines())
    shown = json.loads(qdisc)[0]
    out = {key: shown[key] for key in ("bytes", "packets", "drops", "requeues", "backlog", "qlen")}
    (action,) = (
        action
        for entry in json.loads(filters)
        for action in entry.get("options", {}).get("actions", ())
    )
    out |= {f"offered_{key}": action["stats"][key] for key in ("bytes", "packets")}
    out |= {name: read(end, f"statistics/{name}") for name in COUNTERS}
    return out | {"inflight": read(end, f"{BQL}/inflight")}


def allow(end: str, held: int) -> None:
    """Set the number of bytes that BQL allows in a card."""
    for name in ("limit_max", "limit_min"):
        card(end, f"{BQL}/{name}").write_text(str(held))


def rest() -> tuple[bool, dict[str, dict[str, int]]]:
    """Wait until disciplines and cards are empty. Returns whether they are, and consistent counts.

    Counts are consistent if nothing changed while they were read.
    """
    before: dict[str, dict[str, int]] = {}
    now = {end: statistics(end) for end in ENDS}

    def quiet() -> bool:
        nonlocal before, now
        before, now = now, {end: statistics(end) for end in ENDS}
        return before == now and not any(n["qlen"] or n["inflight"] for n in now.values())

    return wait_for(quiet), now


@contextlib.contextmanager
def iperf3(port: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a client at the left and a server at the right, and stop both at the end."""
    listens = f":{int(port):04X} 00000000:0000 0A "
    with inside("right"):
        server = subprocess.Popen(
            ["iperf3", "-4", "-s", "-1", "-p", port],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until("iperf3", lambda: listens in Path("/proc/self/net/tcp").read_text())
    with inside("left"):
        client = subprocess.Popen(
            ["iperf3", "-c", ADDRESS["right"], "-p", port, "-J", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    try:
        yield client
    finally:
        for child in (client, server):
            child.send_signal(signal.SIGINT)
            child.wait()


def traffic(load: Run) -> dict[str, Any]:
    """Run a workload. Returns iperf3's report."""
    with contextlib.ExitStack() as stack:
        if load.around:
            before = statistics("left")["bytes"]
            stack.enter_context(iperf3(UDP_PORT, "-t", "1000", *load.around))
            until("UDP", lambda: statistics("left")["bytes"] > before + 20000)
        client = stack.enter_context(iperf3(TCP_PORT, "-t", str(load.seconds), *load.measured))
        report: dict[str, Any] = json.loads(client.communicate()[0])
        return report


def received(report: dict[str, Any]) -> dict[str, list[int]]:
    """Return the rate of each TCP stream that arrived, in bit/s, by the sending end.

    For UDP, iperf3 only knows losses before the last datagram that arrived.
    """
    out: dict[str, list[int]] = {"left": [], "right": []}
    for stream in report.get("end", {}).get("streams", []):
        if "receiver" in stream:
            side = stream["receiver"]
            out["left" if side["sender"] else "right"].append(round(side["bits_per_second"]))
    return out


def seen(log: Path) -> dict[str, Any]:
    """Return metrics of the left queue: its length, its rate and longest pause while not empty.

    We do not use the start and end of the traffic, because the guest's clock jumps whenever the
    guest waits for the host.
    """
    samples = [
        (float(row[0]), int(row[1]), int(row[6]), int(row[7]), int(row[2]))
        for row in (line.split(",") for line in log.read_text().splitlines()[1:])
    ]
    silence, since = 0.0, samples[0]
    busy, sent = 0.0, 0
    for before, now in itertools.pairwise(samples):
        if before[1]:
            busy += now[0] - before[0]
            sent += now[3] - before[3]
        if now[2] != since[2] or not since[1]:
            since = now
        silence = max(silence, now[0] - since[0])
    held = [sample[1] for sample in samples if sample[1]]
    most_bytes = max(sample[4] for sample in samples)
    return {
        "most": max(held),
        "most_bytes": most_bytes,
        "mean": round(sum(held) / len(held), 1),
        "silence_ms": round(silence * 1000),
        "busy_s": round(busy, 2),
        "mbit": round(sent * 8e-6 / busy, 3),
    }


def measure(qdisc: str, run: str) -> dict[str, Any]:
    """Run a workload with the discipline at both roots."""
    load = RUNS[run]
    options = load.options
    if options and qdisc.startswith("redtail"):
        options = f"limit {LIMIT * FRAME}"  # in bytes
    words = f"{qdisc} {options}".split()
    for end in ENDS:
        allow(end, load.card)
        sh("tc", "-n", end, "qdisc", "replace", "dev", "nic", "root", *words)
    _, before = rest()
    log = Path("/tmp/queue.csv")
    sampler = subprocess.Popen(
        [
            "qsample",
            "--netns",
            "left",
            "--dev",
            "nic",
            "--out",
            str(log),
            "--interval-ms",
            str(SAMPLE_MS),
            "--duration-ms",
            "1000000",
        ]
    )
    try:
        report = traffic(load)
    finally:
        sampler.terminate()
        sampler.wait()
    empty, after = rest()
    for end in ENDS:
        sh("tc", "-n", end, "qdisc", "del", "dev", "nic", "root")
    return {
        "run": run,
        "qdisc": qdisc,
        "words": " ".join(words),
        "empty": empty,
        "error": report.get("error"),
        "received": received(report),
        "seen": seen(log),
        "counted": {
            end: {key: after[end][key] - before[end][key] for key in after[end]} for end in ENDS
        },
        "left_over": {
            end: [after[end][key] for key in ("backlog", "qlen", "inflight")] for end in ENDS
        },
    }


def main() -> None:
    """Carry out all requested runs."""
    print(json.dumps({"offers": set_up()}), flush=True)
    for words in sys.argv[1:]:
        run, _, qdisc = words.partition(" ")
        print(json.dumps(measure(qdisc, run)), flush=True)


if __name__ == "__main__":
    main()
