# SPDX-License-Identifier: GPL-2.0
"""For each parameter of each scenario: a change, and the metric that it must move.

Runs are short, on a slow link. A case names settings for both of its runs, the changed value, a
metric, and whether it must grow.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from aqmlab.run.scenario import find_all
from tests.scenarios.pcapng import OUTBOUND, read

PFIFO, MARKS, TINY, PRIO = (
    "pfifo limit 20",
    "codel ecn target 1ms interval 10ms",
    "pfifo limit 3",
    "prio bands 3 priomap 2 2 2 2 0 2 2 2 2 2 2 2 2 2 2 2",
)


@dataclass(frozen=True)
class Done:
    """A finished run: its directory and result.json."""

    directory: Path
    result: Mapping[str, Any]

    def rows(self, name: str, **equal: str) -> list[dict[str, str]]:
        """Return rows of a CSV file, empty without one; equal: values of columns."""
        path = self.directory / name
        if not path.exists():
            return []
        with path.open(newline="") as file:
            return [
                row
                for row in csv.DictReader(file)
                if all(row[key] == value for key, value in equal.items())
            ]

    def json(self, name: str) -> Any:
        """Return the contents of a JSON file."""
        return json.loads((self.directory / name).read_text())


Metric = Callable[[Done], float]


@dataclass(frozen=True)
class Case:
    """value: of the changed run. more: settings of both runs. grows: None if the digest must stay,
    because the parameter must not have an effect on the traffic."""

    value: str
    metric: Metric
    grows: bool | None = True
    more: tuple[str, ...] = ()
    qdisc: str = PFIFO
    moves: str = ""  # how the metric moves if `grows` is None
    pcap: str = ""  # the node whose packets both runs capture


def carried(done: Done) -> float:
    """Bytes that the first bottleneck sent."""
    return float(next(iter(done.result["hops"].values()))["bytes"])


def packet_bytes(done: Done) -> float:
    """Mean size of a packet at the first bottleneck."""
    hop = next(iter(done.result["hops"].values()))
    return float(hop["bytes"]) / float(hop["delivered"])


def deep(path: str) -> Metric:
    """Return a metric of result.json by its path."""

    def get(done: Done) -> float:
        value: Any = done.result
        for key in path.split("."):
            value = value[key]
        return float(value)

    return get


def second_lost(done: Done) -> float:
    """Packets that the second bottleneck dropped."""
    return float([*done.result["hops"].values()][1]["lost"])


def count(file: str, **equal: str) -> Metric:
    """Return the number of rows of a CSV file."""
    return lambda done: len(done.rows(file, **equal))


def flows(group: str = "") -> Metric:
    """Return the number of flows of a group."""
    return count("flows.csv", **({"group": group} if group else {}))


def least_rtt(group: str = "") -> Metric:
    """Return the smallest round-trip time that TCP of a group has measured."""
    return lambda done: min(
        float(row["min_rtt_ms"])
        for row in done.rows("flows.csv", **({"group": group} if group else {}))
        if float(row["min_rtt_ms"] or 0)
    )


def mss(done: Done) -> float:
    """Largest payload of a segment."""
    return max(float(row["mss"]) for row in done.rows("flows.csv"))


def mss_of(group: str) -> Metric:
    """Return the largest payload of a segment of a group."""
    return lambda done: max(float(row["mss"]) for row in done.rows("flows.csv", group=group))


def last_start(done: Done) -> float:
    """When the last flow of TCP started."""
    return max(float(row["start_s"]) for row in done.rows("flows.csv") if row["kind"] != "udp")


def datagrams(group: str) -> Metric:
    """Return how many datagrams a group has sent."""

    def get(done: Done) -> float:
        ids = {row["flow"] for row in done.rows("flows.csv", group=group)}
        return sum(int(row["sent"]) for row in done.rows("datagrams.csv") if row["flow"] in ids)

    return get


def received_ect(done: Done) -> float:
    """Packets with ECT or CE that arrived in any namespace."""
    after = done.json("guest.json")["counters"]["after"]
    return float(sum(one["received_ect"] for one in after.values()))


def of_requests(what: Callable[[list[dict[str, str]]], float]) -> Metric:
    """Return a metric of the rows of requests.csv."""
    return lambda done: what(done.rows("requests.csv"))


def sizes(rows: list[dict[str, str]]) -> list[int]:
    """Return the sizes of responses."""
    return [int(row["bytes"]) for row in rows]


def of_recipe(what: Callable[[Any], float]) -> Metric:
    """Return a metric of recipe.json."""
    return lambda done: what(done.json("recipe.json"))


def thinks(recipe: Any) -> list[int]:
    """Return all think times after the first of each flow, ns."""
    return [
        int(word.split(":")[0])
        for flow in recipe["flows"]
        if "requests" in flow
        for word in flow["requests"].split(",")[1:]
    ]


def short_gap(done: Done) -> float:
    """Time between data packets of a flow at the bottleneck that a tenth of them undercuts, s."""
    flows: dict[bytes, list[float]] = {}
    for one in read(done.directory / "rtr.pcapng"):
        if one.device.startswith("r") and one.direction != OUTBOUND and one.length > 1000:
            flows.setdefault(one.data[26:38], []).append(one.time_s)
    return statistics.quantiles(
        (after - before for times in flows.values() for before, after in pairwise(times)), n=10
    )[0]


def together(done: Done) -> float:
    """Share of full packets that reach dst at most 10 us after another one."""
    times = [
        one.time_s
        for one in read(done.directory / "dst.pcapng")
        if one.direction != OUTBOUND and one.length > 1000
    ]
    return statistics.mean(after - before < 10e-6 for before, after in pairwise(times))


def longest_silence(done: Done) -> float:
    """Longest time in which the bottleneck sent nothing of what it had, s."""
    longest, since, sent = 0.0, 0.0, ""
    for row in done.rows("queue.csv"):
        at, now = float(row["time_s"]), row["sent_packets"]
        if now != sent or row["packets"] == "0":
            since, sent = at, now
        longest = max(longest, at - since)
    return longest


def mean_rtt(done: Done) -> float:
    """Mean over flows of the round-trip time that TCP has smoothed at the end."""
    return statistics.mean(float(row["rtt_ms"]) for row in done.rows("flows.csv", kind="bulk"))


def delay_spread(done: Done) -> float:
    """Standard deviation of the packets in the queue."""
    return statistics.pstdev(int(row["packets"]) for row in done.rows("queue.csv"))


def phases(done: Done) -> float:
    """Number of phases."""
    return len(done.result["phases"])


#: Settings of each scenario's runs.
BASE = {
    "arrivals": ("forward=4@0-0.5", "rtt=20-40", "rate=5", "warmup=0.5", "duration=1.5"),
    "bully": ("flows=2", "rate=5", "warmup=0.5", "duration=1.5", "rtt=20", "spread=0.2"),
    "dumbbell": ("flows=4", "rate=5", "warmup=0.5", "duration=1.5", "rtt=20", "spread=0.2"),
    "first-use": ("rate=5", "warmup=0.5", "duration=1.5", "spread=0.2"),
    "incast": ("senders=8", "rounds=2", "every=0.5", "warmup=0.5", "rate=20", "rtt=10"),
    "mixed": (
        "flows=4",
        "mix=cubic,reno",
        "rtt=20-20",
        "rate=5",
        "warmup=0.5",
        "duration=1.5",
        "spread=0.2",
        "access=10",
    ),
    "multi-rtt": (
        "near_flows=2",
        "far_flows=2",
        "near_rtt=20",
        "far_rtt=60",
        "rate=5",
        "warmup=0.5",
        "duration=1.5",
        "spread=0.2",
    ),
    "parking-lot": (
        "hops=2",
        "end_flows=2",
        "cross_flows=2",
        "end_rtt=60",
        "cross_rtt=20",
        "rate=5",
        "warmup=0.5",
        "duration=1.5",
        "spread=0.2",
    ),
    "programs": ("rate=5", "duration=2", "rtt=20"),
    "rrul": (
        "down=2",
        "up=1",
        "rate=5",
        "rate_back=2",
        "rtt=20",
        "page=20",
        "page_gap=0.3",
        "segment=0.5",
        "video_rate=0.5",
        "warmup=0.5",
        "duration=1.5",
        "spread=0.2",
    ),
    "step-load": (
        "base_flows=2",
        "step_flows=2",
        "steps=1",
        "step_every=1",
        "rate=5",
        "warmup=0.5",
        "rtt=20",
        "spread=0.2",
    ),
    "udp-blast": (
        "flows=2",
        "udp_rate=2",
        "udp_size=500",
        "rate=5",
        "warmup=0.5",
        "duration=1.5",
        "rtt=20",
        "spread=0.2",
    ),
    "wireless": (
        "down=2",
        "up=1",
        "rate=5",
        "rate_back=5",
        "rtt=20",
        "swing=1",
        "fades=0",
        "jitter=0",
        "loss=0",
        "aggregate=1",
        "warmup=0.5",
        "duration=1.5",
        "spread=0.2",
    ),
    "web-mix": (
        "clients=10",
        "think=0.2",
        "long_flows=2",
        "web_start=0.2",
        "rate=5",
        "rtt_low=10",
        "rtt_high=40",
        "cbr_size=400",
        "warmup=0.5",
        "duration=1.5",
        "long_rtt=20",
        "window=2000",
        "mtu=1500",
        "spread=0.2",
    ),
}
#: Parameters that several scenarios have.
COMMON = {
    "rate": Case("2", carried, grows=False),
    "rate_back": Case("0.1", lambda done: len(done.result["hops"])),
    "mtu": Case("576", packet_bytes, grows=False),
    # The bucket is full when the first packets come: they pass in addition to the rate.
    "burst": Case("100", carried),
    # Another qdisc with the same rate, so that the traffic need not change.
    "shaper": Case(
        "htb", of_recipe(lambda recipe: json.dumps(recipe).count(" htb ")), grows=None, moves="up"
    ),
    # Half of the run with a shorter queue
    "change": Case("0.5 limit 2", deep("summary.queue_delay_ms.mean"), grows=False),
    "trace": Case("half", carried, grows=False),
    # Of all links: without a trace there is one, and the new one gets a queue.
    "trace_back": Case("half", lambda done: len(done.result["hops"])),
    "tcp_profile": Case("today", mss, grows=False),
    "cc": Case(
        "vegas",
        deep("summary.queue_packets.mean"),
        grows=False,
        qdisc="pfifo limit 100",
        more=("cc=reno",),
    ),
    "ecn": Case("on", received_ect, qdisc=MARKS),
    "ip": Case("6", mss, grows=False),
    "window": Case("8", carried, grows=False),
    "memory": Case("3", of_recipe(lambda recipe: recipe["memory_gib"]), grows=None, moves="up"),
    "rto_min": Case("1000", deep("timeouts"), grows=False, qdisc=TINY, more=("rate=1",)),
    "pacing": Case("on", short_gap, more=("access=100",), pcap="rtr"),
    "warmup": Case("1", deep("virtual_seconds")),
    "duration": Case("2", deep("virtual_seconds")),
    "spread": Case("0.8", last_start),
    "interval": Case("100", count("progress.csv"), grows=None, moves="up", more=("interval=500",)),
    "sample": Case("50", count("queue.csv"), grows=None, moves="down"),
    "probe": Case("on", flows("probe"), more=("probe=off",)),
    "probe_gap": Case("100", datagrams("probe"), grows=False, more=("probe=on",)),
    "probe_ecn": Case("ect1", received_ect, more=("probe=on", "probe_ecn=off"), qdisc=MARKS),
    "probe_size": Case("600", deep("groups.probe.goodput_bps.mean"), more=("probe=on",)),
    "access": Case("0.5", carried, grows=False),
}
ADAPTIVE = ("video=adaptive", "video_rate=3", "duration=3", "down=0")
#: Parameters that only one scenario has, or that need another case in it.
OWN = {
    "dumbbell": {"flows": Case("6", flows()), "rtt": Case("50", least_rtt())},
    "mixed": {
        "flows": Case("6", flows()),
        "back_flows": Case("4", flows("back-reno"), more=("back_flows=2",)),
        "mix": Case("cubic:3,bbr", flows("cubic"), more=("mix=cubic,bbr",)),
        "rto_min": Case(
            "1000", deep("timeouts"), grows=False, qdisc=TINY, more=("rate=1", "flows=8")
        ),
        "rtt": Case("50-50", least_rtt("reno")),
        "tcp_profile": Case("2001", mss),
    },
    "multi-rtt": {
        **{f"{one}_flows": Case("4", flows(one)) for one in ("near", "far")},
        **{f"{one}_rtt": Case("90", least_rtt(one)) for one in ("near", "far")},
        **{f"{one}_mtu": Case("576", mss_of(one), grows=False) for one in ("near", "far")},
    },
    "parking-lot": {
        "hops": Case("3", lambda done: len(done.result["hops"])),
        # With SACK, Reno fills the queue again soon.
        "cc": Case(
            "vegas",
            deep("summary.queue_packets.mean"),
            grows=False,
            more=("cc=reno", "tcp_profile=today", "warmup=1"),
            qdisc="pfifo limit 100",
        ),
        "end_flows": Case("4", flows("end")),
        "end_rtt": Case("90", least_rtt("end")),
        "cross_flows": Case("4", flows("cross1")),
        "cross_rtt": Case("90", least_rtt("cross1")),
        "other_qdisc": Case("pfifo limit 3", second_lost),
        "rate_back": Case("0.1", lambda done: len(done.result["hops"])),
    },
    "step-load": {
        "base_flows": Case("4", flows("step0")),
        "step_flows": Case("4", flows("step1")),
        "steps": Case("2", phases),
        "step_every": Case("1.5", deep("virtual_seconds")),
        "leave": Case("off", phases, grows=False),
        "rtt": Case("50", least_rtt()),
    },
    "rrul": {
        "down": Case("4", flows("down")),
        "up": Case("3", flows("up")),
        "rtt": Case("60", least_rtt("down")),
        "lookups": Case("3", flows("lookups")),
        "lookup_gap": Case("20", count("requests.csv"), more=("lookup_gap=200",)),
        "answer": Case("1000", deep("groups.lookups.goodput_bps.mean")),
        "pages": Case("3", flows("pages")),
        "page": Case("60", of_requests(lambda rows: max(sizes(rows)))),
        "page_gap": Case("0.05", count("requests.csv")),
        "videos": Case("3", flows("videos")),
        "video_rate": Case("2", of_requests(lambda rows: max(sizes(rows)))),
        "keep": Case(
            "on", deep("groups.pages.completion_s.mean"), grows=False, more=("down=0", "up=0")
        ),
        "connections": Case("6", flows("pages")),
        "video": Case("adaptive", count("flows.csv", kind="video"), more=("video_rate=3",)),
        "ladder": Case("0.1,5", deep("groups.videos.video.rate_bps"), grows=False, more=ADAPTIVE),
        # With a small buffer the player waits until there is room.
        "play_buffer": Case("1", count("requests.csv"), grows=False, more=ADAPTIVE),
        "segment": Case("0.2", count("requests.csv")),
        "rate_back": Case("0.4", deep("groups.up.goodput_bps.mean"), grows=False),
        "trace_back": Case("half", deep("groups.up.goodput_bps.mean"), qdisc="pfifo limit 50"),
        "tcp_profile": Case("2001", mss),
    },
    "first-use": {
        "flows": Case("3", flows("bulk")),
        "rtt": Case("50", least_rtt("bulk")),
        "tcp_profile": Case("2001", mss),
        "rto_min": Case(
            "1000", deep("timeouts"), grows=False, qdisc=TINY, more=("rate=1", "flows=6")
        ),
        # ACKs pace a single flow.
        "pacing": Case("on", short_gap, more=("access=100", "flows=4"), pcap="rtr"),
        "offloads": Case(
            "on",
            lambda done: (
                done.result["summary"]["queue_delay_ms"]["mean"]
                / max(1e-9, done.result["summary"]["queue_packets"]["mean"])
            ),
            qdisc="pfifo limit 100",
        ),
    },
    "bully": {
        "flows": Case("4", flows("rest")),
        "rto_min": Case(
            "1000", deep("timeouts"), grows=False, qdisc=TINY, more=("rate=1", "flows=6")
        ),
        "rtt": Case("50", least_rtt("rest")),
        "tcp_profile": Case("2001", mss),
        "bully": Case("udp", count("flows.csv", kind="udp")),
        "bully_flows": Case("3", flows("bully")),
        "bully_rate": Case(
            "3", deep("groups.bully.goodput_bps.mean"), more=("bully=udp", "bully_rate=1")
        ),
        "bully_size": Case("500", datagrams("bully"), more=("bully=udp", "bully_rate=2")),
    },
    "incast": {
        "senders": Case("12", flows("senders")),
        "size": Case("64", carried),
        "rounds": Case("4", count("requests.csv")),
        "every": Case("1", deep("virtual_seconds"), grows=None, moves="up", more=("warmup=1",)),
        "skew": Case("300", deep("summary.dropped"), grows=False),
        "rtt": Case("30", least_rtt()),
        "tcp_profile": Case("2001", mss),
        # Traffic begins with the last round of the warm-up, whatever its length.
        "warmup": Case("1", deep("virtual_seconds"), grows=None, moves="up"),
        "rate": Case("2", deep("groups.senders.completion_s.mean")),
        "burst": Case(
            "100",
            deep("groups.senders.completion_s.mean"),
            grows=None,
            moves="down",
            qdisc="pfifo limit 2000",
        ),
        "cc": Case(
            "vegas",
            deep("summary.queue_packets.mean"),
            grows=False,
            more=("cc=reno", "size=400"),
            qdisc="pfifo limit 200",
        ),
        "window": Case("8", deep("summary.dropped"), grows=False, more=("size=100",)),
        "access": Case(
            "1",
            deep("groups.senders.completion_s.mean"),
            more=("access=0",),
            qdisc="pfifo limit 2000",
        ),
        "trace": Case("half", deep("groups.senders.completion_s.mean"), qdisc="pfifo limit 2000"),
    },
    "programs": {
        # There is no other traffic whose packets could be marked later or earlier.
        "probe_ecn": Case(
            "ect1", received_ect, grows=None, moves="up", more=("probe=on", "probe_ecn=off")
        ),
        "rtt": Case("150", carried, grows=False),
        "tcp_profile": Case("2001", carried, grows=False, more=("rtt=150", "rate=20")),
        "ip": Case("6", lambda done: str(done.result["programs"]).count("fd00")),
        "duration": Case("3", deep("virtual_seconds")),
        "rto_min": Case(
            "5000", deep("timeouts"), grows=False, qdisc="netem loss random 30% limit 100"
        ),
        "cc": Case(
            "vegas", deep("summary.queue_packets.mean"), grows=False, qdisc="pfifo limit 100"
        ),
    },
    "udp-blast": {
        "flows": Case("4", flows("tcp")),
        "rtt": Case("50", least_rtt("tcp")),
        "udp_flows": Case("2", flows("udp")),
        "udp_rate": Case("3", deep("groups.udp.goodput_bps.mean")),
        "udp_size": Case("1000", datagrams("udp"), grows=False),
        "udp_jitter": Case(
            "0",
            deep("groups.udp.delay_ms.max"),
            grows=False,
            more=("flows=0", "udp_flows=3", "udp_rate=1"),
        ),
        "udp_start": Case("1", datagrams("udp"), grows=False),
        "udp_stop": Case("1", datagrams("udp"), grows=False),
        "udp_dscp": Case("46", deep("groups.udp.delay_ms.mean"), grows=False, qdisc=PRIO),
        "tagged_flows": Case("2", flows("tagged"), more=("tagged_flows=1",)),
        "tagged_rate": Case("1", deep("groups.tagged.goodput_bps.mean"), more=("tagged_flows=1",)),
        "tagged_size": Case("300", datagrams("tagged"), more=("tagged_flows=1",)),
        "tagged_dscp": Case(
            "0", deep("groups.tagged.delay_ms.mean"), more=("tagged_flows=1",), qdisc=PRIO
        ),
    },
    "arrivals": {
        "forward": Case("6@0-0.5", flows("forward0")),
        "back": Case("2@0-0.5", flows("back0")),
        "rtt": Case("60-80", least_rtt()),
        "size_dist": Case("fixed", count("requests.csv")),
        **{
            name: Case(value, metric, grows, ("think=0.1", "size=5", *more))
            for name, value, metric, grows, more in (
                (
                    "size",
                    "20",
                    of_requests(lambda rows: max(sizes(rows))),
                    True,
                    ("size_dist=fixed",),
                ),
                (
                    "size_shape",
                    "5",
                    of_requests(lambda rows: min(sizes(rows))),
                    True,
                    ("size_dist=pareto",),
                ),
                ("think", "0.5", count("requests.csv"), False, ("size_dist=fixed",)),
                (
                    "think_dist",
                    "fixed",
                    of_recipe(lambda recipe: len({*thinks(recipe)})),
                    False,
                    ("size_dist=fixed",),
                ),
                (
                    "think_shape",
                    "5",
                    of_recipe(lambda recipe: min(thinks(recipe))),
                    True,
                    ("size_dist=fixed", "think_dist=pareto"),
                ),
            )
        },
        "settle": Case("0.5", phases, grows=None, moves="up"),
        "access": Case("0.5", carried, grows=False, more=("access=0",)),
    },
    "wireless": {
        "down": Case("4", flows("down")),
        "up": Case("3", flows("up")),
        "rtt": Case("60", least_rtt("down")),
        "swing": Case("4", delay_spread, more=("aggregate=2",), qdisc="pfifo limit 100"),
        "fades": Case("20", carried, grows=False, more=("duration=3.5",)),
        "fade_time": Case(
            "400", longest_silence, more=("fades=20", "fade_time=20", "duration=9.5")
        ),
        "jitter": Case("100", mean_rtt, qdisc="pfifo limit 10"),
        "loss": Case("5", deep("groups.down.loss"), qdisc="pfifo limit 1000"),
        # As many losses: if they take a whole window, only a timeout helps.
        "loss_burst": Case("10", deep("timeouts"), more=("loss=3", "loss_burst=1", "duration=9.5")),
        "aggregate": Case("8", together, pcap="dst"),
        "rate_back": Case("1", deep("groups.up.goodput_bps.mean"), grows=False),
        "tcp_profile": Case("2001", mss),
        "rto_min": Case(
            "1000", deep("timeouts"), grows=False, more=("loss=10", "loss_burst=5", "duration=9.5")
        ),
    },
    "web-mix": {
        "long_flows": Case("4", flows("long")),
        "long_rtt": Case("50", least_rtt("long")),
        "far_flows": Case("4", flows("far")),
        "far_rtt": Case("40", least_rtt("far"), grows=False, more=("far_flows=2",)),
        "clients": Case("15", flows("web")),
        "web_start": Case(
            "1", of_requests(lambda rows: min(float(row["start_s"]) for row in rows))
        ),
        "size": Case("20", of_requests(lambda rows: min(sizes(rows)))),
        "size_dist": Case("fixed", of_requests(lambda rows: len({*sizes(rows)})), grows=False),
        "size_shape": Case("5", of_requests(lambda rows: min(sizes(rows)))),
        "think": Case("0.6", count("requests.csv"), grows=False),
        "think_dist": Case("fixed", of_recipe(lambda recipe: len({*thinks(recipe)})), grows=False),
        "think_shape": Case(
            "5", of_recipe(lambda recipe: min(thinks(recipe))), more=("think_dist=pareto",)
        ),
        "keep": Case(
            "on",
            deep("groups.web.completion_s.mean"),
            grows=False,
            more=("long_flows=0", "cbr_flows=0"),
        ),
        "rtt_low": Case(
            "100",
            deep("groups.web.completion_s.mean"),
            more=("long_flows=0", "cbr_flows=0", "rtt_high=100"),
        ),
        "rtt_high": Case(
            "200", deep("groups.web.completion_s.mean"), more=("long_flows=0", "cbr_flows=0")
        ),
        "rtt_steps": Case("2", of_recipe(lambda recipe: len(recipe["namespaces"])), grows=False),
        "cbr_flows": Case("2", flows("cbr")),
        "cbr_gap": Case("100", datagrams("cbr"), grows=False),
        "cbr_size": Case("900", deep("groups.cbr.goodput_bps.mean")),
    },
}
#: Parameters that this audit leaves to other tests, and why.
ELSEWHERE = {"generator": "needs the wall clock: test_run.py"}
#: A scenario that refuses a parameter.
REFUSED = {("parking-lot", name): "gives no link this trace" for name in ("trace", "trace_back")}


def cases() -> dict[tuple[str, str], Case | None]:
    """Return the case of each parameter of each scenario, or None."""
    return {
        (name, p.name): OWN[name].get(p.name, COMMON.get(p.name))
        for name, scenario in find_all().items()
        for p in scenario.params
        if p.name not in ELSEWHERE and (name, p.name) not in REFUSED
    }
