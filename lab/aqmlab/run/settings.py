# SPDX-License-Identifier: GPL-2.0
"""Hold the settings of a run, and the parameters that every scenario has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aqmlab.exceptions import UserError

from .guest_kernel import DEFAULT, ECN
from .packets import IPV6_MTU, Packets, frame_bytes, gso_packets, payload_share
from .params import Param, Value
from .queues import SHAPERS, changes
from .tcp_profile import PROFILES, UNPACED, TcpProfile
from .topology import Bottleneck, Hosts

BOTTLENECK = (
    Param("rate", 500.0, "Mb/s", "rate of the bottleneck, including Ethernet headers", 0.1, 100e3),
    Param(
        "rate_back",
        0.0,
        "Mb/s",
        "rate of the other direction, with the same qdisc; 0: no "
        "limit, or `rate` if data goes both ways",
        0.0,
        100e3,
    ),
    Param("mtu", 1500, "bytes", "largest packet, including the IP header", 576, 9000),
    Param(
        "burst",
        0,
        "packets",
        "bucket of the bottleneck's tbf; 0: 1 in virtual time; on the "
        "wall clock the packets of 0.5 ms, at least 2",
        0,
        1000,
    ),
    Param(
        "shaper",
        "tbf",
        "",
        "qdisc that limits the bottleneck's rate, above the discipline",
        choices=tuple(SHAPERS),
    ),
    Param(
        "change",
        "",
        "",
        "new options of the discipline during the run, and when, in s: "
        '"5 bandwidth 20mbit; 9 limit 100"',
    ),
    Param(
        "trace",
        "",
        "",
        "file with the bottleneck's rate and delay over time, instead of rate",
        instead_of=("rate", "burst", "shaper"),
    ),
    Param(
        "trace_back",
        "",
        "",
        "such a file for the other direction, instead of rate_back",
        instead_of=("rate_back",),
    ),
)
# A receive buffer of this size must not limit a flow. A smaller one may.
AMPLE_KB = 2000
# tcp_ecn of both ends: for connections that they accept and that they open.
TCP_ECN = {"on": "1", "accecn": "3"}
TCP = (
    Param(
        "tcp_profile",
        "2001",
        "",
        "2001: Reno as in the papers; 2001-sack: with SACK; today: the kernel's defaults",
        choices=tuple(PROFILES),
        alias="era",
    ),
    Param(
        "cc",
        "auto",
        "",
        "congestion control that the kernel has, or reno90 or dctcp_ect1 (lab/tcp); auto: the "
        "profile's",
    ),
    Param(
        "ecn",
        "off",
        "",
        "on: TCP negotiates ECN (RFC 3168); accecn: AccECN, from Linux "
        "6.18 on. dctcp negotiates ECN with off, too",
        choices=("off", *TCP_ECN),
    ),
    Param("ip", 4, "", "version of IP, 4 or 6", 4, 6),
    Param("window", AMPLE_KB, "kB", "receive buffer; TCP advertises at most half of it", 8, 100000),
    Param(
        "memory",
        2,
        "GiB",
        "memory of the lab's guest; TCP may use three quarters of it. Many "
        "flows with large windows need more",
        1,
        64,
    ),
    Param(
        "rto_min",
        0,
        "ms",
        "shortest retransmission timeout, added to the round-trip time; 0: the kernel's 200",
        0,
        60000,
    ),
    Param(
        "pacing",
        "off",
        "",
        "on: TCP spreads its window over most of the round trip, as with "
        "fq; off: over a tenth of it, if the access link is fast enough. No effect with "
        "access=0. BBR always paces",
        choices=("off", "on"),
    ),
)
TIME = (
    Param("warmup", 10.0, "s", "not part of any metric", 0.0, 3600.0),
    Param("duration", 50.0, "s", "measured time, after the warm-up", 0.1, 36000.0),
    Param("spread", 1.0, "s", "flows start at seeded random instants in 0..spread", 0.0, 600.0),
    Param("interval", 500, "ms", "time between two readings of every flow's bytes", 1, 60000),
    Param("sample", 10, "ms", "time between two readings of the queue", 1, 60000),
    Param(
        "probe",
        "off",
        "",
        "on: add a sparse UDP flow across the bottlenecks, group `probe`",
        choices=("off", "on"),
    ),
    Param(
        "probe_gap",
        20.0,
        "ms",
        "mean time between two datagrams of the probe",
        1.0,
        10e3,
        needs=(("probe", ("on",)),),
    ),
    Param(
        "probe_size",
        200,
        "bytes",
        "size of its packets, including the IP header",
        100,
        1500,
        needs=(("probe", ("on",)),),
    ),
    Param(
        "probe_ecn",
        "off",
        "",
        "ECN field of its packets: ect1 for the queue of L4S, ect0 for a classic one",
        choices=("off", "ect0", "ect1"),
        needs=(("probe", ("on",)),),
    ),
    Param(
        "generator",
        "flowgen",
        "",
        "iperf3: on the wall clock only; starts all flows at once",
        choices=("flowgen", "iperf3"),
    ),
)
# iperf3 cannot start and stop flows at given times, and all its groups are alike.
TIME_FLOWGEN = tuple(p for p in TIME if p.name != "generator")


def access(rate: float) -> Param:
    """Return the parameter `access` with its default in Mb/s."""
    return Param(
        "access", rate, "Mb/s", "rate of the link of each TCP source; 0: no limit", 0.0, 10e3
    )


def with_defaults(params: Sequence[Param], **defaults: Value) -> tuple[Param, ...]:
    """Return the same parameters with some other defaults.

    Raises ValueError if `params` has no parameter of this name.
    """
    by_name = {name: p.name for p in params for name in p.names}
    if missing := [name for name in defaults if name not in by_name]:
        raise ValueError(
            f"with_defaults: no parameter {', '.join(missing)} among {', '.join(by_name)}"
        )
    new = {by_name[name]: value for name, value in defaults.items()}
    return tuple(replace(p, default=new.get(p.name, p.default)) for p in params)


@dataclass(frozen=True)
class Settings:
    """The settings of one run.

    clock: "virtual" or "wall"
    """

    values: Mapping[str, Value]
    qdisc: str
    seed: int
    clock: str

    def _value(self, name: str) -> Value:
        """Return a parameter. Raises UserError if the scenario does not have it."""
        if name not in self.values:
            raise UserError(f"the scenario needs a parameter {name}: add it, as dumbbell.py does")
        return self.values[name]

    def number(self, name: str) -> float:
        """Return a parameter in its unit."""
        return float(self._value(name))

    def count(self, name: str) -> int:
        """Return an integer parameter."""
        return int(self._value(name))

    def text(self, name: str) -> str:
        """Return a parameter that is text."""
        return str(self._value(name))

    def on(self, name: str) -> bool:
        """Return whether a parameter is "on"; False if the scenario does not have it."""
        return self.values.get(name) == "on"

    @property
    def tcp_profile(self) -> TcpProfile:
        """Return the TCP profile, with the shortest timeout and pacing as set."""
        profile, least_ms = PROFILES[self.text("tcp_profile")], self.count("rto_min")
        if least_ms:
            profile = replace(profile, route=(*profile.route, "rto_min", f"{least_ms}ms"))
        # Without access links there is no fq, and TCP paces nothing.
        faster = self.values.get("access") and not self.on("pacing")
        return replace(profile, sysctls={**profile.sysctls, **UNPACED}) if faster else profile

    @property
    def congestion_control(self) -> str:
        """Return the name of the congestion control."""
        cc = self.text("cc")
        return self.tcp_profile.congestion_control if cc == "auto" else cc

    @property
    def hosts(self) -> Hosts:
        """Return TCP of the end hosts.

        iperf3 needs the congestion control as their default: its server has no option for it, and
        its client uses it late.
        """
        sysctls = {
            f"net/ipv4/{name}": value for name, (value, _) in self.tcp_profile.sysctls.items()
        }
        sysctls[ECN] = TCP_ECN.get(self.text("ecn"), "0")
        if self.generator == "iperf3":
            sysctls[DEFAULT] = self.congestion_control
        return Hosts(sysctls, self.tcp_profile.route)

    @property
    def packets(self) -> Packets:
        """Return how large packets are. Raises UserError if IPv6 does not allow it (RFC 8200)."""
        mtu = self.count("mtu")
        if self.ip == 6 and mtu < IPV6_MTU:
            raise UserError(f"mtu: {mtu} given, IPv6 needs {IPV6_MTU} or more")
        return Packets(self.ip, mtu, self.on("offloads"))

    @property
    def ip(self) -> int:
        """Return the version of IP: 4 or 6."""
        if self.count("ip") not in (4, 6):
            raise UserError(f"ip: {self.count('ip')} given, allowed: 4 or 6")
        return self.count("ip")

    @property
    def bottleneck(self) -> Bottleneck:
        """Return the bottleneck, with a burst that the clock allows. With offloads it must hold one
        large packet. Otherwise tbf would segment the packet before the discipline sees it."""
        rate_bps = self.number("rate") * 1e6
        burst = int(self.values.get("burst", 0))
        if not burst:
            half_ms = rate_bps * 0.0005 / 8 / frame_bytes(self.count("mtu"))
            burst = 1 if self.clock == "virtual" else max(2, round(half_ms))
            if self.on("offloads"):
                burst = max(burst, gso_packets(self.count("mtu")))
        later = changes(self.text("change"), self.end_ms / 1000)
        if later and self.generator == "iperf3":
            raise UserError("change: needs generator=flowgen; iperf3 was given")
        shaper = str(self.values.get("shaper", "tbf"))
        return Bottleneck(rate_bps, self.qdisc, burst, shaper, later)

    @property
    def payload(self) -> float:
        """Return the share of payload in a full packet at the bottleneck, 0..1."""
        return payload_share(self.count("mtu"), self.ip, self.tcp_profile)

    @property
    def generator(self) -> str:
        """Return the traffic generator. Raises UserError if clock or probe exclude it."""
        generator = str(self.values.get("generator", "flowgen"))
        if generator == "iperf3" and self.clock == "virtual":
            raise UserError(
                "generator=iperf3 makes about 50 system calls per packet, too many for virtual "
                "time: use --clock wall, and a rate that the machine can carry"
            )
        if generator == "iperf3" and self.on("probe"):
            raise UserError("probe=on needs generator=flowgen; iperf3 was given")
        return generator

    @property
    def end_ms(self) -> int:
        """Return the length of the run, including the warm-up."""
        return round((self.number("warmup") + self.number("duration")) * 1000)
