# SPDX-License-Identifier: GPL-2.0
"""With a size table (``tc ... stab``), segments of a GSO packet cost what single packets cost.

The expected charges follow the kernel's __qdisc_calculate_pkt_len() and tc's tc_calc_size_table(),
and for ATM the cells that the link sends.
"""

from __future__ import annotations

import itertools
import math
import subprocess
from dataclasses import dataclass

import pytest

from tests import selftests
from tests.userspace import KINDS, World

HEADERS, PAYLOAD = 14 + 20 + 20, 1448


@dataclass(frozen=True)
class SizeTable:
    """A ``stab`` as tc sends it: each length is for 2**cell_log bytes, in units of 2**size_log."""

    overhead: int
    cell_log: int = 0
    size_log: int = 0
    lengths: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        align = -1 if self.lengths else 0
        numbers = (self.overhead, align, self.cell_log, self.size_log, *self.lengths)
        return " ".join(map(str, numbers))

    def charge(self, length: int) -> int:
        total = length + self.overhead
        if not self.lengths:
            return max(total, 1)
        slot = max(total - 1, 0) >> self.cell_log
        times, rest = divmod(slot, len(self.lengths))
        units = self.lengths[rest] + (times * self.lengths[-1] if times else 0)
        return max(units << self.size_log, 1)


def table(overhead: int, *, mpu: int = 0, atm: bool = False, size_log: int = 0) -> SizeTable:
    """Return the table for packets up to 2047 bytes, in 512 steps of 4 bytes."""
    sizes = (max(4 * (step + 1), mpu) for step in range(512))
    lengths = (math.ceil(size / 48) * 53 if atm else size for size in sizes)
    return SizeTable(overhead, 2, size_log, tuple(length >> size_log for length in lengths))


TABLES = {
    "atm": table(40, atm=True),
    "ethernet": SizeTable(18),
    "ethernet, below": SizeTable(-14),
    "ethernet, mpu": table(20, mpu=1500),
    "units of 8 bytes": table(40, atm=True, size_log=3),
}


def test_the_atm_table_counts_cells() -> None:
    for length in (46, 100, 571, HEADERS + PAYLOAD):
        assert TABLES["atm"].charge(length) == math.ceil((length + 40) / 48) * 53


def send(world: World, payload: int, gso: bool) -> None:
    """Send PAYLOAD bytes at a time, in one GSO packet or in single packets."""
    if gso:
        world.enqueue(flow=1, proto="tcp", len=HEADERS + payload, gso=PAYLOAD)
        return
    for start in range(0, payload, PAYLOAD):
        world.enqueue(flow=1, proto="tcp", len=HEADERS + min(PAYLOAD, payload - start))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", KINDS)
def test_segments_are_charged_like_single_packets(kind: str, name: str) -> None:
    """The last of the segments is shorter. A size table at a child is for kernels before 2025."""
    World(kind, below="taprio").close()  # later worlds may get its address
    payload = 20 * PAYLOAD + 77
    expected = 20 * TABLES[name].charge(HEADERS + PAYLOAD) + TABLES[name].charge(HEADERS + 77)
    for below, level in (("htb", 1), ("hfsc prio", 2), ("hfsc prio", 1), ("htb", 0), ("root", 0)):
        for gso in (True, False):
            with World(kind, "bandwidth 1gbit limit 1000000", below=below) as world:
                top = 0 if below == "root" else len(below.split())
                world.do(f"w {top} 7 0 0 0")
                world.do(f"w {level} {TABLES[name].words}")
                send(world, payload, gso)
                assert world.stats(top).backlog == expected, (below, level, gso)
                world.bulk(5)
                world.requeue(3)
                assert len(world.dequeue(99)) == 21 - 2
                assert world.stats().bytes == expected, (below, level, gso)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unsplit_packet_keeps_the_charge_of_the_core(kind: str) -> None:
    with World(kind, "bandwidth 1gbit limit 1000000 nosplit_gso", below="htb") as world:
        world.do(f"w 1 {TABLES['atm'].words}")
        send(world, 20 * PAYLOAD, gso=True)
        assert world.stats(1).backlog == TABLES["atm"].charge(HEADERS + 20 * PAYLOAD)


@pytest.mark.parametrize("kind", KINDS)
def test_a_packet_is_split_while_another_processor_takes_the_device_down(kind: str) -> None:
    """The root is replaced without a lock, by a qdisc of no device."""
    for below, look in itertools.product(("htb", "hfsc prio", "root"), range(1, 6)):
        with World(kind, "bandwidth 1gbit limit 1000000", below=below) as world:
            world.do(f"f {look}")
            send(world, 20 * PAYLOAD, gso=True)
            assert len(world.dequeue(99)) == 20, (below, look)


def test_a_charge_has_the_bounds_of_the_core() -> None:
    """Newer kernels charge 1 byte to 1 MiB, so that the loops of drr and ets end."""
    for words, expected in (("-9999 0 0 0", 1), ("0 0 0 20 1", 1 << 20), ("0 0 11 30 65535", 1)):
        with World("tdrr", "limit 1000", below="htb") as world:
            world.do(f"w 1 {words}")
            send(world, 2 * PAYLOAD, gso=True)
            assert world.stats(1).backlog == 2 * expected, words


# As tc takes them.
ON_A_KERNEL = {
    "atm": "overhead 40 mtu 2047 linklayer atm",
    "ethernet": "overhead 18 linklayer ethernet",
    "ethernet, mpu": "overhead 20 mpu 1500 mtu 2047 linklayer ethernet",
}
SEGMENTS, FRAME = 40, 14 + 20 + 20 + 1000  # of the program burst

SENT = """
tc qdisc add dev g0 root handle 1: stab {stab} htb default 1
tc class add dev g0 parent 1: classid 1:1 htb rate 1gbit
tc qdisc add dev g0 parent 1:1 {kind} bandwidth 1gbit
for packets in '-g 40 g0 1' '-l 1054 g0 40'; do
    $TOOLS_DIR/burst $packets >/dev/null
    sleep 1
    tc -s class show dev g0 classid 1:1 | sed -n 's/.*Sent \\([0-9]*\\) bytes.*/{kind} \\1/p'
done
tc qdisc del dev g0 root
"""


@pytest.mark.parametrize("name", ON_A_KERNEL)
def test_a_shaper_on_a_kernel_charges_segments_like_single_packets(name: str) -> None:
    """The class counts what htb charges, first for the GSO packet, then for both bursts."""
    commands = [SENT.format(stab=ON_A_KERNEL[name], kind=kind) for kind in KINDS]
    script = "\n".join(
        [
            "sysctl -qw net.ipv6.conf.default.disable_ipv6=1",
            "ip link add g0 up type gate",
            "echo 1000000000 >/sys/class/net/g0/gate/credit",
            *commands,
        ]
    )
    done = subprocess.run(
        [selftests.TOP / "lab" / "boot", "--", "sh", "-ec", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    burst = SEGMENTS * TABLES[name].charge(FRAME)
    expected = [f"{kind} {times * burst}" for kind in KINDS for times in (1, 2)]
    assert done.stdout.split("\n")[:-1] == expected
