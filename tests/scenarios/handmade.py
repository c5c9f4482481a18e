# SPDX-License-Identifier: GPL-2.0
"""Logs of a small made-up run. All its metrics can be computed by hand."""

from __future__ import annotations

import json
import struct
from pathlib import Path

# Two flows, 1 s warm-up, 2 s measured, over 1 Mb/s. Bytes at 0, 1, 2, 3 s.
FLOW_BYTES = {0: (0, 10_000, 30_000, 60_000), 1: (0, 90_000, 100_000, 110_000)}
# time, packets, bytes, dropped, sent packets, sent bytes, marked
QUEUE = (
    (0.0, 0, 0, 0, 0, 0, 0),
    (1.0, 4, 5_000, 7, 100, 100_000, 2),
    (2.0, 2, 2_500, 8, 150, 180_000, 2),
    (3.0, 0, 0, 12, 220, 300_000, 5),
)

RUN = {
    "scenario": "dumbbell",
    "qdisc": "red limit 300000 ecn",
    "seed": 1,
    "clock": "virtual",
    "parameters": {
        "flows": 2,
        "rate": 1,
        "access": 10,
        "rtt": 40,
        "tcp_profile": "2001",
        "duration": 2,
        "warmup": 1,
        "sample": 1000,
    },
    "made_with": {"version": "1.2+3.g0123abc", "compiler": "cc", "argv": ["run"]},
    "facts": {
        "rate_bps": 1e6,
        "warmup_s": 1.0,
        "end_s": 3.0,
        "fair_share_bps": 250_000.0,
        "groups": {
            "near": {"flows": 1, "rtt_ms": 40.0, "fair_share_bps": 250_000.0},
            "far": {"flows": 1, "rtt_ms": 200.0, "fair_share_bps": 250_000.0},
        },
    },
}

GUEST = {
    "kernel": "7.3",
    "build": "Linux version 7.3",
    "lab": {"engine": "uml"},
    "modules": {"sch_red": "0A1B"},
    "tc": "tc utility, iproute2-6.1.0",
    "received_ce": {},
    "counters": {"hops": [], "before": {}, "after": {}, "qdiscs": {}, "softnet_dropped": 0},
}

RECIPE = {
    "sample": {"netns": "rtr", "dev": "b0"},
    "flows": [
        {"id": flow, "source_netns": f"src-{name}", "sink_netns": "dst"}
        for flow, name in enumerate(("near", "far"))
    ],
}

ENDS_HEADER = (
    "flow,group,kind,start_s,end_s,bytes,bytes_sent,bytes_retransmitted,retransmits,"
    "rtt_ms,min_rtt_ms,cwnd,mss,delivered_ce,busy_ms,rwnd_limited_ms,unsent,segs_sent,segs_received,"
    "error"
)


# Two more flows of group near, so that the mean of its goodputs differs from the median.
MORE_BYTES = {2: (0, 0, 0, 0), 3: (0, 2_000, 20_000, 42_000)}


def more_flows(directory: Path) -> Path:
    """Add two flows of group near to the logs in a directory."""
    run = json.loads((directory / "run.json").read_text())
    run["facts"]["groups"]["near"]["flows"] = 3
    (directory / "run.json").write_text(json.dumps(run))
    with (directory / "flows.csv").open("a") as file:
        file.writelines(
            f"{flow},near,bulk,0,3,{counts[-1]},{counts[-1]},0,0,40,40,9,1460,0,3000,0,"
            "90000,28,28,0\n"
            for flow, counts in MORE_BYTES.items()
        )
    lines = [
        f"{at}.000,{flow},{counts[at]}"
        for at in range(4)
        for flow, counts in (FLOW_BYTES | MORE_BYTES).items()
    ]
    (directory / "progress.csv").write_text("time_s,flow,bytes\n" + "\n".join(lines) + "\n")
    return directory


def red_xstats(marked: int) -> str:
    """Return struct tc_red_xstats (early, pdrop, other, marked) in hex."""
    return struct.pack("=4I", 0, 0, 0, marked).hex()


def write(directory: Path) -> Path:
    """Write the logs above, without result.json, to a directory."""
    (directory / "run.json").write_text(json.dumps(RUN))
    (directory / "guest.json").write_text(json.dumps(GUEST))
    (directory / "recipe.json").write_text(json.dumps(RECIPE))
    (directory / "flows.csv").write_text(
        f"{ENDS_HEADER}\n"
        "1,far,bulk,0,3,110000,120000,6000,4,200,200,9,1460,0,3000,300,90000,80,70,0\n"
        "0,near,bulk,0,3,60000,60000,0,0,40,40,9,1460,0,2000,0,90000,41,41,0\n"
    )
    progress = ["time_s,flow,bytes"]
    for at in range(4):
        # In this file flows are not sorted by number.
        progress += [f"{at}.000,{flow},{FLOW_BYTES[flow][at]}" for flow in (1, 0)]
    (directory / "progress.csv").write_text("\n".join(progress) + "\n")
    queue = ["time_s,packets,bytes,dropped,overlimits,requeues,sent_packets,sent_bytes,xstats"]
    queue += [
        f"{t:.6f},{p},{b},{d},0,0,{sp},{sb},{red_xstats(m)}" for t, p, b, d, sp, sb, m in QUEUE
    ]
    (directory / "queue.csv").write_text("\n".join(queue) + "\n")
    return directory
