# SPDX-License-Identifier: GPL-2.0
"""Reduce a run to its row: the metrics, what made it, and the command that makes it again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aqmlab.measure import logs, qdisc_state, traffic_metrics
from aqmlab.measure.metrics import elastic_goodput_bps, window
from aqmlab.qdiscs import names

from .row import Measured, Origin

DIGITS = 5  # significant, of every number

#: Keys of each phase. A run with one phase has them in its summary.
PHASE = (
    "name",
    "from_s",
    "to_s",
    "utilization",
    "goodput_bps",
    "queue_delay_ms",
    "queue_packets",
    "dropped",
    "marked",
    "sent",
    "groups",
)


def rounded(value: Any) -> Any:
    """Return the same structure with numbers of DIGITS digits, integers if they are whole, and
    without None in mappings."""
    if isinstance(value, Mapping):
        return {key: rounded(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    if not isinstance(value, float):
        return value
    value = float(f"{value:.{DIGITS}g}")
    return int(value) if value.is_integer() else value


def series(directory: Path, step_s: float) -> dict[str, list[float]]:
    """Return the goodput of each group in bit/s, in steps of step_s from the start of the run."""
    read = logs.read(directory)
    group_of = {int(row["flow"]): row["group"] for row in read.ends}
    progress = read.progress
    edges = np.arange(0, progress.time_s[-1] + 1e-6, step_s)
    at = np.searchsorted(progress.time_s, edges - 1e-6)
    found = {}
    for group in dict.fromkeys(group_of.values()):
        mine = np.array([group_of[int(flow)] == group for flow in progress.flows])
        total = progress.bytes[:, mine].sum(axis=1)[at]
        found[group] = [float(x) for x in np.diff(total) * 8 / step_s]
    return found


def delays(directory: Path) -> dict[str, list[float]]:
    """Return the percentiles traffic_metrics.PERCENTS of one-way delay, in ms, of each UDP group
    after the warm-up."""
    read = logs.read(directory)
    facts = read.run["facts"]
    found = {}
    for group in dict.fromkeys(row["group"] for row in read.ends):
        flows = np.array([int(row["flow"]) for row in read.ends if row["group"] == group])
        mine = traffic_metrics.of_flows(read.delays, flows, facts["warmup_s"], facts["end_s"])
        if len(mine):
            found[group] = traffic_metrics.percentiles(mine[:, 2])
    return found


def lengths(directory: Path, low: float, high: float) -> dict[str, dict[str, float]]:
    """Return statistics of the queue's length after the warm-up, also for each statistic qlen_*.

    Key `within`: the share of the time with `low` to `high` packets.
    """
    read = logs.read(directory)
    facts, time = read.run["facts"], read.queue["time_s"]
    measured = (time >= facts["warmup_s"] - 1e-9) & (time <= facts["end_s"] + 1e-9)
    samples = {"packets": read.queue["packets"]}
    states = qdisc_state.samples(names.kind(read.run["qdisc"]), read.queue.xstats)
    for name in (key for key in (states[0] if states else ()) if key.startswith("qlen_")):
        samples[name] = np.array([state[name] for state in states], dtype=float)
    return {
        name: {
            "mean": float(np.mean(x[measured])),
            "sd": float(np.std(x[measured])),
            "max": float(np.max(x[measured])),
            "within": float(np.mean((x[measured] >= low) & (x[measured] <= high))),
        }
        for name, x in samples.items()
    }


def estimates(read: logs.Logs) -> list[dict[str, float] | None]:
    """Of each phase, of a discipline that estimates the persistent queue (`q_est`): above_0, the
    share of the samples with an estimate above 0, and used, the utilization between those samples
    and the ones before, where there are any. None of another discipline's."""
    states = qdisc_state.samples(names.kind(read.run["qdisc"]), read.queue.xstats)
    phases = read.run["facts"]["phases"]
    if not states or "q_est" not in states[0]:
        return [None] * len(phases)
    time, sent = read.queue["time_s"], read.queue["sent_bytes"]
    above = np.array([float(state["q_est"]) > 0 for state in states])
    found: list[dict[str, float] | None] = []
    for phase in phases:
        first, last = window(time, phase["from_s"], phase["to_s"])
        mine = above[first + 1 : last + 1]
        seconds, bits = (np.diff(x[first : last + 1])[mine].sum() for x in (time, 8 * sent))
        found.append(
            {"above_0": float(mine.mean())}
            | ({"used": float(bits / seconds / read.run["facts"]["rate_bps"])} if seconds else {})
        )
    return found


def worst_share(goodput_bps: Any, fair_share_bps: float) -> float:
    """Return the mean goodput of the 5 % of flows, at least one, that have least, over the fair
    share."""
    worst = np.sort(goodput_bps)[: math.ceil(len(goodput_bps) / 20)]
    return float(np.mean(worst)) / fair_share_bps


def compact(
    directory: Path,
    *,
    flows: bool = False,
    worst: bool = False,
    step_s: float = 0,
    delay: bool = False,
    band: Sequence[float] = (),
) -> Measured:
    """Return what the run in a directory gave: metrics, provenance and cost.

    flows: with each flow's goodput
    worst: with the share of the worst flows
    step_s: with each group's goodput over time, if not 0
    delay: with the distribution of each group's delay
    band: with `lengths`, if it has a low and a high end
    """
    result = logs.load_result(directory)
    run = logs.read_run(directory)
    metrics: dict[str, Any] = {
        "summary": result["summary"],
        "groups": result["groups"],
        "rate_bps": run["facts"]["rate_bps"],
        "timeouts": result["timeouts"],
        # Bytes of a datagram's payload, by group: its packet less the headers of IPv4 and UDP.
        "payload": {
            key.removesuffix("_size"): value - 28
            for key, value in run["parameters"].items()
            if key.endswith("_size")
        },
        # Of a group of UDP, headers included.
        "offered_bps": {
            key.removesuffix("_rate"): value
            * 1e6
            * run["parameters"].get(f"{key.removesuffix('_rate')}_flows", 1)
            for key, value in run["parameters"].items()
            if key.endswith("_rate")
        },
    }
    if len(result["hops"]) > 1:
        # Of each bottleneck, over the whole run.
        metrics["use"] = {
            hop.split()[0]: 8
            * packets["bytes"]
            / (run["facts"]["rate_bps"] * result["virtual_seconds"])
            for hop, packets in result["hops"].items()
        }
    if len(result["phases"]) > 1:
        metrics["phases"] = [
            {**{key: phase[key] for key in PHASE}, "estimate": estimate}
            for phase, estimate in zip(
                result["phases"], estimates(logs.read(directory)), strict=True
            )
        ]
    if flows:
        goodput = elastic_goodput_bps(logs.read(directory))
        metrics["flows_bps"] = [float(x) for x in goodput]
    if worst:
        metrics["worst_share"] = worst_share(
            elastic_goodput_bps(logs.read(directory)), result["summary"]["fair_share_bps"]
        )
    if step_s:
        metrics["series_bps"] = series(directory, step_s)
    if delay:
        metrics["delays_ms"] = delays(directory)
    if band:
        metrics["lengths"] = lengths(directory, *band)
    return {"metrics": rounded(metrics), **origin(result)}


def origin(result: Mapping[str, Any]) -> Origin:
    """Return the provenance of a run, its digest, and its cost."""
    provenance = result["provenance"]
    return {
        "made": {
            "edition": provenance.get("edition", 1),
            "version": provenance["version"],
            "modules": provenance["modules"],
            "kernel": f"{result['kernel']} {provenance['lab'].get('image', '')[:16]}".strip(),
            "compiler": provenance["compiler"],
            "tc": provenance["tc"],
        },
        "digest": result["digest"],
        "cpu_s": round(result["cpu_seconds"], 1),
        "virtual_s": result["virtual_seconds"],
    }
