# SPDX-License-Identifier: GPL-2.0
"""Which TCP the end hosts speak.

`2001` is as near to the papers' ns-2 Reno as Linux comes. What remains different:
Linux' Reno without SACK is NewReno (a partial ACK does not end recovery; with `cc=reno90` it
does), it uses proportional rate reduction during recovery, and limited transmit (RFC 3042).

`2001-sack` is the same with SACK, `today` the kernel's defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

# Each with the reason; names below /proc/sys/net/ipv4.
SYSCTLS_2001: dict[str, tuple[str, str]] = {
    "tcp_sack": ("0", "Reno of the papers knows cumulative ACKs only"),
    "tcp_dsack": ("0", "an extension of SACK"),
    "tcp_timestamps": ("0", "1460 bytes of payload in a 1500 byte packet; one RTT sample a window"),
    "tcp_recovery": ("0", "no RACK: three duplicate ACKs, not time, detect a loss"),
    "tcp_early_retrans": ("0", "no tail loss probe, no early retransmit (RFC 5827, 2010)"),
    "tcp_frto": ("0", "no detection of spurious timeouts (RFC 5682, 2009)"),
    "tcp_max_reordering": ("3", "the threshold of three duplicate ACKs does not adapt"),
    "tcp_mtu_probing": ("0", "every packet is 1500 bytes"),
    "tcp_slow_start_after_idle": ("1", "RFC 2581, section 4.1"),
    "tcp_no_metrics_save": ("1", "a connection learns nothing from an earlier one"),
    "tcp_moderate_rcvbuf": ("0", "the receive window is a parameter, not the kernel's guess"),
    "tcp_autocorking": ("0", "a segment leaves as soon as the window allows"),
    "tcp_retrans_collapse": ("0", "a retransmission has the boundaries of the original"),
}

SYSCTLS_TODAY: dict[str, tuple[str, str]] = {
    "tcp_no_metrics_save": ("1", "a connection learns nothing from an earlier one"),
}

# Percent of its window that TCP sends in a round-trip time through fq, at most. The most that the
# kernel takes, but for 0: then it does not pace.
UNPACED: dict[str, tuple[str, str]] = {
    "tcp_pacing_ss_ratio": ("1000", "200 % in slow start otherwise"),
    "tcp_pacing_ca_ratio": ("1000", "120 % in congestion avoidance otherwise"),
}


@dataclass(frozen=True)
class Era:
    """TCP of a time. `header_bytes` is TCP's header on a data segment, options included;
    `route` goes to `ip route` towards the other end."""

    name: str
    congestion_control: str
    header_bytes: int
    sysctls: dict[str, tuple[str, str]] = field(default_factory=dict)
    route: tuple[str, ...] = ()


# quickack: an ACK per segment, as ns-2's plain TCPSink sends them. initcwnd 2: RFC 2581.
ERA_2001 = Era("2001", "reno", 20, SYSCTLS_2001, ("quickack", "1", "initcwnd", "2"))
ERAS: dict[str, Era] = {era.name: era for era in (
    ERA_2001,
    replace(ERA_2001, name="2001-sack", sysctls={
        **SYSCTLS_2001, "tcp_sack": ("1", "what of a difference is SACK's")}),
    Era("today", "cubic", 32, SYSCTLS_TODAY),
)}
