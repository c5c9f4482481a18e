# SPDX-License-Identifier: GPL-2.0
"""Compute a run's result.json from its logs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab.run import run_directory
from aqmlab.run.execute import Cost
from aqmlab.run.packets import GSO_BYTES, frame_bytes
from aqmlab.run.settings import AMPLE_KB
from labkit.orders import FALLBACK

from . import (
    bulk_flows,
    ecn,
    integrity,
    iperf3,
    link_use,
    logs,
    loss_patterns,
    on_the_way,
    programs,
    sojourn,
    video,
)
from .metrics import phases, summarize

SCHEMA = 3


def digest(read: logs.Logs) -> str:
    """Return the SHA-256 of the run's final counters.

    It covers each flow's bytes, and all counters and statistics of the bottleneck's qdisc.
    """
    h = hashlib.sha256()
    for row in read.ends:
        h.update(f"flow {row['flow']} {row['bytes']} {row['bytes_sent']}\n".encode())
    last = read.queue.last_row
    for name in (*logs.COUNTERS, "packets", "bytes", "xstats"):
        h.update(f"qdisc {name} {last[name]}\n".encode())
    return h.hexdigest()


def write(directory: Path, cost: Cost) -> dict[str, Any]:
    """Compute a run's result, write it to result.json, and return it. See compute()."""
    iperf3.convert(directory)
    programs.convert(directory)
    sojourn.convert(directory)
    result = compute(directory, cost)
    (directory / run_directory.RESULT).write_text(as_text(result))
    return result


def as_text(result: dict[str, Any]) -> str:
    """Return the text of result.json."""
    return json.dumps(result, indent=1) + "\n"


def compute(directory: Path, cost: Cost) -> dict[str, Any]:
    """Compute a run's result from its logs, which this leaves alone.

    Raises BadLog if a log is malformed or an integrity check fails.
    """
    read = logs.read(directory)
    guest = json.loads((directory / run_directory.GUEST).read_text())
    parameters = read.run["parameters"]
    recipe = json.loads((directory / run_directory.RECIPE).read_text())
    hops, wrong = integrity.check(
        guest,
        ip=parameters.get("ip", 4),
        offloads=parameters.get("offloads") == "on",
        foreign={program["netns"] for program in recipe.get("programs", ())},
    )
    if "filter" not in read.run["qdisc"]:
        wrong += loss_patterns.in_step(
            read.ends,
            {
                str(flow["id"]): f"{flow['source_netns']} {flow['sink_netns']}"
                for flow in recipe["flows"]
            },
        )
    wrong += integrity.limited(
        read.ends,
        {name: group["rtt_ms"] for name, group in read.run["facts"]["groups"].items()},
        8e3 * float(read.queue["bytes"].max()) / read.run["facts"]["rate_bps"],
        window=parameters.get("window", 0) >= AMPLE_KB,
        other_queues=len(recipe.get("hops", ())) > 1,
    )
    if wrong:
        raise logs.BadLog("the run is not a valid result:\n" + "\n".join(wrong))
    summary, groups = summarize(read, video.segments(recipe))
    return {
        "schema": SCHEMA,
        **{key: read.run[key] for key in ("scenario", "qdisc", "seed", "clock")},
        "kernel": guest["kernel"],
        "parameters": read.run["parameters"],
        "summary": summary,
        "groups": groups,
        "phases": phases(read),
        "programs": programs.ended(recipe, guest),
        "hops": hops,
        "measured_at": f"{recipe['sample']['netns']} {recipe['sample']['dev']}",
        "warnings": [
            *ecn.warnings(
                read.ends, recipe, guest, parameters.get("ecn", ecn.OFF), summary["dropped"]
            ),
            *ecn.classic_dctcp(recipe, read.run["qdisc"], parameters.get("change", "")),
            *bulk_flows.warnings(read.run["facts"], read.ends, summary["goodput_bps"]),
            *link_use.warnings(
                read.run["facts"],
                read.queue,
                summary["utilization"],
                packet=_largest(read, recipe),
                follows=bool(recipe.get("starts")),
            ),
            *on_the_way.warnings(read.ends, groups, hops, guest["counters"]),
            *_userspace(guest),
        ],
        # Retransmission timeouts of all TCP connections over the whole run.
        "timeouts": sum(ns["timeouts"] for ns in guest["counters"]["after"].values()),
        "digest": digest(read),
        "provenance": {
            **read.run["made_with"],
            "outside": read.run.get("module", {}),
            "scenario_file": read.run.get("file", ""),
            **{key: guest[key] for key in ("build", "lab", "modules", "tc")},
        },
        "wall_seconds": round(cost.wall_s, 3),
        "cpu_seconds": round(cost.cpu_s, 3),
        "virtual_seconds": read.run["facts"]["end_s"],
    }


def _largest(read: logs.Logs, recipe: Mapping[str, Any]) -> int | None:
    """Return the bytes of the largest packet, or None if the bottleneck's rate is not exact.

    A trace changes the rate, and real time may be too short for it.
    """
    parameters = read.run["parameters"]
    if read.run["clock"] != "virtual" or recipe.get("starts") or "mtu" not in parameters:
        return None
    if parameters.get("offloads") == "on":
        return GSO_BYTES
    return frame_bytes(parameters["mtu"])


def _userspace(guest: Mapping[str, Any]) -> list[str]:
    """Return a warning if the kernel did not run its processes as usual."""
    if guest["lab"].get("userspace") != FALLBACK:
        return []
    return [f"processes ran by {FALLBACK}, so the bytes are not those of other machines"]


def _describe_group(group: dict[str, Any]) -> str:
    flows, rtt_ms = group["flows"], group["rtt_ms"]
    # A probe has no round trip.
    words = [f"{flows} flow{'s' * (flows != 1)}" + (f" at {rtt_ms:g} ms" if rtt_ms else "")]
    if (share := group["share_of_fair"]) is not None:
        words.append(f"{100 * share:.1f} % of the fair share")
    if (loss := group["loss"]) is not None:
        # The loss of a TCP group is the share of bytes that its senders sent again.
        words.append(
            f"loss {100 * loss:.2f} %"
            if group["dropped"] is None
            else f"{100 * loss:.2f} % retransmitted, {100 * group['dropped']:.2f} % dropped"
        )
    if delay := group["delay_ms"]:
        words.append(f"delay mean {delay['mean']:.1f}, p99 {delay['p99']:.1f} ms")
    if stay := group.get("sojourn_ms"):
        words.append(f"in the queue mean {stay['mean']:.2f}, p99 {stay['p99']:.2f} ms")
    if (completion := group["completion_s"]) and completion["completed"]:
        p95, p99 = (
            "unknown" if completion[p] is None else f"{completion[p]:.3g}" for p in ("p95", "p99")
        )
        words.append(
            f"{completion['completed']} requests in mean {completion['mean']:.3g}, "
            f"p95 {p95}, p99 {p99} s, {completion['unfinished']} unfinished"
        )
    if (loaded := group.get("page_s")) and loaded["completed"]:
        words.append(f"{loaded['completed']} pages in mean {loaded['mean']:.3g} s")
    if (seen := group.get("video")) and seen["rate_bps"] is not None:
        words.append(
            f"video of {seen['rate_bps'] / 1e6:.2f} Mb/s, {seen['stalled_s']:.1f} s stalled, "
            f"{seen['switches']:.1f} switches"
        )
    return ", ".join(words)


def _tcp(parameters: Mapping[str, Any]) -> str:
    """Return which TCP the flows have, as the end of the first line."""
    profile, cc = parameters.get("tcp_profile"), parameters.get("cc", "auto")
    if not profile:
        return ""
    return f", TCP of {profile}" + ("" if cc == "auto" else f" with {cc}")


def _describe_goodput(s: dict[str, Any]) -> str:
    """Return how the flows share the link, as the end of the line about its utilization."""
    words, goodput, fair = "", s["goodput_bps"], s["fair_share_bps"]
    if goodput and fair:
        words += (
            f", goodput of a flow {goodput['mean'] / 1e6:.3f} "
            f"({goodput['min'] / 1e6:.3f} to {goodput['max'] / 1e6:.3f}; "
            f"fair {fair / 1e6:.3f}) Mb/s"
        )
    if s["sd_over_fair_share"] is not None:
        words += f", sd / fair share {100 * s['sd_over_fair_share']:.1f} %"
    return words if s["jain"] is None else f"{words}, Jain {s['jain']:.4f}"


def describe(result: dict[str, Any]) -> str:
    """Return a result as a few lines of text for a terminal."""
    s = result["summary"]
    delay = s["queue_delay_ms"]
    lines = [
        f"{result['scenario']}, {result['qdisc']}, seed {result['seed']}, "
        f"{result['clock']} clock, kernel {result['kernel']}{_tcp(result['parameters'])}",
        f"  utilization {100 * s['utilization']:.1f} %{_describe_goodput(s)}",
        f"  queue delay mean {delay['mean']:.2f}, p50 {delay['p50']:.2f}, p95 "
        f"{delay['p95']:.2f}, p99 {delay['p99']:.2f} ms; {s['dropped']} dropped, "
        f"{'an unknown number' if s['marked'] is None else s['marked']} marked, "
        f"{s['sent']} sent, {result['timeouts']} timeouts",
    ]
    if len(result["hops"]) > 1:
        lines += [
            f"  {counts.get('link', hop)}{' (measured)' * (hop == result['measured_at'])}: "
            f"{counts['offered']} packets, {counts['lost']} dropped over the run"
            for hop, counts in result["hops"].items()
        ]
    groups = result["groups"]
    lines += [f"  warning: {text}" for text in result["warnings"]]
    lines += programs.describe(result["programs"], groups)
    if len(groups) > 1 or any(group["completion_s"] for group in groups.values()):
        executed = {program["group"] for program in result["programs"]}
        lines += [
            f"  {name}: {_describe_group(group)}"
            for name, group in groups.items()
            if name not in executed
        ]
    if len(result["phases"]) > 1:
        for phase in result["phases"]:
            means = ", ".join(
                f"{name} {goodput['mean'] / 1e6:.3f}" for name, goodput in phase["groups"].items()
            )
            jain = "" if phase["jain"] is None else f"Jain {phase['jain']:.4f}, "
            lines.append(
                f"  {phase['from_s']:g} to {phase['to_s']:g} s: utilization "
                f"{100 * phase['utilization']:.1f} %, queue delay p50 "
                f"{phase['queue_delay_ms']['p50']:.2f} ms, {jain}Mb/s a flow: {means}"
            )
    lines.append(
        f"  {result['virtual_seconds']:g} s in {result['wall_seconds']:.1f} s of wall time; "
        f"digest {result['digest'][:16]}"
    )
    return "\n".join(lines)
