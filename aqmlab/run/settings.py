# SPDX-License-Identifier: GPL-2.0
"""One run as it was asked for, and the parameters that every scenario has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aqmlab.exceptions import UserError

from .params import Param, Value
from .tcp_profile import PROFILES, UNPACED, TcpProfile
from .topology import Bottleneck, frame_bytes, gso_packets, payload_share

BOTTLENECK = (
    Param("rate", 500.0, "Mb/s", "rate of the bottleneck, Ethernet headers included", 0.1, 100e3),
    Param("mtu", 1500, "bytes", "largest packet, IP header included", 576, 9000),
    Param("burst", 0, "packets", "bucket of the bottleneck's tbf; 0: 1 in virtual time, on the "
          "wall clock what passes in 0.5 ms, at least 2", 0, 1000),
    Param("trace", "", "", "file with the bottleneck's rate and delay over time, instead of rate"),
)
# A receive buffer of so much or more must not be what limits a flow; a smaller one may.
AMPLE_KB = 2000
TCP = (
    Param("era", "2001", "", "2001: Reno as in the papers; 2001-sack: with SACK; today: the "
          "kernel's defaults",
          choices=tuple(PROFILES)),
    Param("cc", "auto", "", "congestion control that the kernel has, or reno90 (tcp/tcp_reno90.c); "
          "auto: the era's"),
    Param("ecn", "off", "", "on: TCP negotiates ECN", choices=("off", "on")),
    Param("ip", 4, "", "version of IP, 4 or 6", 4, 6),
    Param("window", AMPLE_KB, "kB", "receive buffer; what it advertises at most is half", 8,
          100000),
    Param("memory", 2, "GiB", "of the lab's guest, three quarters of it for all of TCP; more where "
          "windows are wide and flows many", 1, 64),
    Param("rto_min", 0, "ms", "least that TCP's timer waits beyond the round trip; 0: the "
          "kernel's 200", 0, 60000),
    Param("pacing", "off", "", "on: TCP sends its window over most of the round trip, as with fq; "
          "off: within a tenth of it, where the access link is so fast. Nothing with access=0; BBR "
          "paces in any case", choices=("off", "on")),
)
TIME = (
    Param("warmup", 10.0, "s", "left out of every figure", 0.0, 3600.0),
    Param("duration", 50.0, "s", "measured time, after the warm-up", 0.1, 36000.0),
    Param("spread", 1.0, "s", "flows start at seeded random instants in 0..spread", 0.0, 600.0),
    Param("interval", 500, "ms", "between two readings of every flow's bytes", 1, 60000),
    Param("sample", 10, "ms", "between two readings of the queue", 1, 60000),
    Param("probe", "off", "", "on: a sparse flow of UDP crosses the bottlenecks, group `probe`",
          choices=("off", "on")),
    Param("probe_gap", 20.0, "ms", "between two of its datagrams, in the mean", 1.0, 10e3),
    Param("probe_size", 200, "bytes", "of its packets, IP header included", 100, 1500),
    Param("generator", "flowgen", "", "iperf3: on the wall clock only; starts all flows at once",
          choices=("flowgen", "iperf3")),
)
# iperf3 knows neither start and stop times nor groups that differ.
TIME_FLOWGEN = tuple(p for p in TIME if p.name != "generator")


def access(rate: float) -> Param:
    """The parameter `access`, with its default in Mb/s."""
    return Param("access", rate, "Mb/s", "rate of each TCP source's own link; 0: no limit",
                 0.0, 10e3)


def with_defaults(params: Sequence[Param], **defaults: Value) -> tuple[Param, ...]:
    """The same parameters, some with other defaults."""
    return tuple(replace(p, default=defaults.get(p.name, p.default)) for p in params)


@dataclass(frozen=True)
class Settings:
    """One run that was asked for. clock: virtual or wall."""

    values: Mapping[str, Value]
    qdisc: str
    seed: int
    clock: str

    def number(self, name: str) -> float:
        """A parameter, in its unit."""
        return float(self.values[name])

    def count(self, name: str) -> int:
        """A whole-numbered parameter."""
        return int(self.values[name])

    def text(self, name: str) -> str:
        """A parameter that is a word."""
        return str(self.values[name])

    def on(self, name: str) -> bool:
        """A parameter that is off or on; off where the scenario has none of this name."""
        return self.values.get(name) == "on"

    @property
    def era(self) -> TcpProfile:
        """The TCP that was asked for."""
        era, least_ms = PROFILES[self.text("era")], self.count("rto_min")
        if least_ms:
            era = replace(era, route=(*era.route, "rto_min", f"{least_ms}ms"))
        # Without access links there is no fq, and TCP paces nothing.
        faster = self.values.get("access") and not self.on("pacing")
        return replace(era, sysctls={**era.sysctls, **UNPACED}) if faster else era

    @property
    def congestion_control(self) -> str:
        """Its name."""
        cc = self.text("cc")
        return self.era.congestion_control if cc == "auto" else cc

    @property
    def ip(self) -> int:
        """4 or 6."""
        if self.count("ip") not in (4, 6):
            raise UserError(f"ip: {self.count('ip')} given, allowed: 4 or 6")
        return self.count("ip")

    @property
    def bottleneck(self) -> Bottleneck:
        """The bottleneck with the burst that the clock allows. With offloads, one large packet
        must fit, or tbf would segment it before the discipline sees it."""
        rate_bps = self.number("rate") * 1e6
        burst = self.count("burst")
        if not burst:
            half_ms = rate_bps * 0.0005 / 8 / frame_bytes(self.count("mtu"))
            burst = 1 if self.clock == "virtual" else max(2, round(half_ms))
            if self.on("offloads"):
                burst = max(burst, gso_packets(self.count("mtu")))
        return Bottleneck(rate_bps, self.qdisc, burst)

    @property
    def payload(self) -> float:
        """Share of the bottleneck's bits that are payload when all packets are full, 0..1."""
        return payload_share(self.count("mtu"), self.ip, self.era)

    @property
    def generator(self) -> str:
        """What makes the traffic, if the clock allows it."""
        generator = str(self.values.get("generator", "flowgen"))
        if generator == "iperf3" and self.clock == "virtual":
            raise UserError(
                "generator=iperf3 makes some 50 system calls a packet: give --clock wall, "
                "and a rate that the machine can carry"
            )
        if generator == "iperf3" and self.on("probe"):
            raise UserError("probe=on needs generator=flowgen")
        return generator

    @property
    def end_ms(self) -> int:
        """Length of the run, warm-up included."""
        return round((self.number("warmup") + self.number("duration")) * 1000)
