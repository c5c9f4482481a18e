# SPDX-License-Identifier: GPL-2.0
"""Read the statistics of any qdisc (TCA_STATS_APP): this project's and mainline's.

The layout of mainline's statistics is part of the kernel's ABI, so this module has it as a table. A
test compares the table with <linux/pkt_sched.h>. The kernel adds statistics only at the end.
Statistics that an older kernel does not have are absent.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from . import interface
from .names import words
from .own_statistics import Field

#: Types (in the notation of `struct`) and names of the statistics of mainline's qdiscs. For
#: fq_codel these are the statistics of the qdisc, not of its classes.
MAINLINE = {
    "choke": ("5I", "early pdrop other marked matched"),
    "codel": (
        "4Ii4I",
        "maxpacket count lastcount ldelay drop_next drop_overlimit ecn_mark dropping ce_mark",
    ),
    "dualpi2": (
        "8Ii3I",
        "prob delay_c delay_l packets_in_c packets_in_l maxq ecn_mark step_marks "
        "credit memory_used max_memory_used memory_limit",
    ),
    "fq": (
        "7Qq4I7Q3I",
        "gc_flows highprio_packets tcp_retrans throttled flows_plimit "
        "pkts_too_long allocation_errors time_next_delayed_flow flows "
        "inactive_flows throttled_flows unthrottle_latency_ns ce_mark "
        "horizon_drops horizon_caps fastpath_packets band_drops[0] band_drops[1] "
        "band_drops[2] band_pkt_count[0] band_pkt_count[1] band_pkt_count[2]",
    ),
    "fq_codel": (
        "10I",
        "type maxpacket drop_overlimit ecn_mark new_flow_count new_flows_len "
        "old_flows_len ce_mark memory_usage drop_overmemory",
    ),
    "fq_pie": (
        "9I",
        "packets_in dropped overlimit overmemory ecn_mark new_flow_count "
        "new_flows_len old_flows_len memory_usage",
    ),
    "hhf": ("4I", "drop_overlimit hh_overlimit hh_tot_count hh_cur_count"),
    "htb": ("3I2i", "lends borrows giants tokens ctokens"),
    "netem": ("7Q", "delayed dropped corrupted duplicated reordered ecn_marked allocation_errors"),
    "pie": (
        "Q8I",
        "prob delay avg_dq_rate dq_rate_estimating packets_in dropped overlimit maxq ecn_mark",
    ),
    "red": ("4I", "early pdrop other marked"),
    "sfb": (
        "9I",
        "earlydrop penaltydrop bucketdrop queuedrop childdrop marked maxqlen maxprob avgprob",
    ),
    "sfq": ("i", "allot"),
}

#: Statistics that count marks. Their sum is the number of marks.
MARKS = frozenset({"marked", "ecn_mark", "ecn_marked", "ce_mark"})

#: Kinds without own statistics. They do not mark.
FIFOS = frozenset({"pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast"})

#: Kinds that report marks as part of their options, which qsample does not read.
ELSEWHERE = frozenset({"sfq", "gred"})

#: Attributes of cake's statistics: TCA_CAKE_STATS_TIN_STATS, TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS.
CAKE_TINS, CAKE_MARKED = 10, 8


def fields(kind: str) -> list[tuple[str, int, str]]:
    """Return name, offset and type of the statistics of one of mainline's qdiscs."""
    types, names = MAINLINE[kind]
    codes = "".join(code * int(count or 1) for count, code in re.findall(r"(\d*)([A-Za-z])", types))
    return [
        (name, struct.calcsize("=" + codes[:at]), codes[at])
        for at, name in enumerate(names.split())
    ]


def known(kind: str, own: Sequence[Field] = ()) -> bool:
    """Return whether we know the layout of a qdisc's statistics. own: of one from outside"""
    return bool(own) or kind in MAINLINE or kind in interface.kinds()


def values(kind: str, raw: bytes, own: Sequence[Field] = ()) -> dict[str, int]:
    """Return the kernel's statistics by name.

    raw: TCA_STATS_APP
    own: the layout of a qdisc from outside the checkout
    """
    if kind not in MAINLINE and not own:
        return interface.read(kind).statistics(raw)
    return {
        name: struct.unpack_from("=" + code, raw, offset)[0]
        for name, offset, code in own or fields(kind)
        if offset + struct.calcsize("=" + code) <= len(raw)
    }


def _attributes(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type (without flags) and the content of each netlink attribute in `raw`."""
    at = 0
    while at + 4 <= len(raw):
        length, kind = struct.unpack_from("=HH", raw, at)
        if length < 4:
            return
        yield kind & 0x3FFF, raw[at + 4 : at + length]
        at += -(-length // 4) * 4


def _cake(raw: bytes) -> int | None:
    """Return the sum of marks over cake's tins. cake sends nested attributes, not a struct."""
    marks = [
        int.from_bytes(value, "little")
        for outer, tins in _attributes(raw)
        if outer == CAKE_TINS
        for _, tin in _attributes(tins)
        for inner, value in _attributes(tin)
        if inner == CAKE_MARKED
    ]
    return sum(marks) if marks else None


def counters(kind: str, own: Sequence[Field] = ()) -> list[str]:
    """Return the names of the statistics that count marks. Their sum is the number of marks."""
    names = (
        [name for name, _, _ in own]
        if own
        else MAINLINE[kind][1].split()
        if kind in MAINLINE
        else [statistic.name for statistic in interface.read(kind).qdisc]
    )
    return [name for name in names if name in MARKS]


def marked(qdisc: str, raw: bytes, own: Sequence[Field] = ()) -> int | None:
    """Return how many packets `qdisc` has marked so far.

    qdisc: kind and options, as for tc
    raw: TCA_STATS_APP
    own: the layout of a qdisc from outside the checkout
    Returns None if the number is unknown, and 0 if the kind cannot mark.
    """
    kind, *options = words(qdisc)
    if kind in ELSEWHERE:
        return None if "ecn" in options else 0
    if kind == "cake":
        return _cake(raw)
    if not raw:
        return 0 if kind in FIFOS else None
    if not known(kind, own):
        return None
    found, names = values(kind, raw, own), counters(kind, own)
    return sum(found[name] for name in names) if set(names) <= set(found) else None
