# SPDX-License-Identifier: GPL-2.0
"""Define the TCP profiles: settings of TCP in the end hosts.

`2001` is as close to the papers' Reno in ns-2 as Linux gets. These differences remain. Without
SACK, Linux's Reno is NewReno, where a partial ACK does not end recovery (with `cc=reno90` it does).
Linux uses proportional rate reduction during recovery, and limited transmit (RFC 3042).

`2001-sack` is the same with SACK. `today` has the kernel's defaults, and `today-iw3` an initial
window of 3 instead of 10 packets (RFC 3390).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

# Names below /proc/sys/net/ipv4, values, and reasons.
SYSCTLS_2001: dict[str, tuple[str, str]] = {
    "tcp_sack": ("0", "the papers' Reno has only cumulative ACKs"),
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

# Maximum rate of TCP through fq, in percent of a window per round trip. 1000 is the largest value
# that the kernel accepts.
UNPACED: dict[str, tuple[str, str]] = {
    "tcp_pacing_ss_ratio": ("1000", "200 % in slow start otherwise"),
    "tcp_pacing_ca_ratio": ("1000", "120 % in congestion avoidance otherwise"),
}


@dataclass(frozen=True)
class TcpProfile:
    """A TCP profile.

    header_bytes: TCP header of a data segment, with options
    route: words for `ip route` on the route to the other end
    """

    name: str
    congestion_control: str
    header_bytes: int
    sysctls: dict[str, tuple[str, str]] = field(default_factory=dict)
    route: tuple[str, ...] = ()


# quickack: an ACK per segment, as ns-2's plain TCPSink sends them. initcwnd 2: RFC 2581.
PROFILE_2001 = TcpProfile("2001", "reno", 20, SYSCTLS_2001, ("quickack", "1", "initcwnd", "2"))
PROFILES: dict[str, TcpProfile] = {
    profile.name: profile
    for profile in (
        PROFILE_2001,
        replace(
            PROFILE_2001,
            name="2001-sack",
            sysctls={
                **SYSCTLS_2001,
                "tcp_sack": ("1", "shows how much of a difference SACK explains"),
            },
        ),
        TcpProfile("today", "cubic", 32, SYSCTLS_TODAY),
        TcpProfile("today-iw3", "cubic", 32, SYSCTLS_TODAY, ("initcwnd", "3")),
    )
}
