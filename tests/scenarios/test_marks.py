# SPDX-License-Identifier: GPL-2.0
"""For each kind that marks, result.json has as many marks as tc and the receivers count."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest

from aqmlab.qdiscs import interface
from tests.selftests import KINDS, Kind

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "netns-scenarios" / "run"
OURS = [kind for kind in KINDS if kind.metadata["MARKS"]]
# These kinds drop queued packets, which may already be marked.
VICTIMS = {"choke", *(kind.name for kind in OURS if kind.metadata.get("VICTIMS"))}

# Options with which ten flows are marked within 3 s, for about 50 packets at 50 Mb/s.
QDISCS = {
    **{kind.name: f"{kind.name} {kind.metadata['MARKS']}" for kind in OURS},
    "red": "red limit 300kb min 8kb max 60kb avpkt 1514 burst 10 probability 0.1 bandwidth 50mbit"
    " ecn",
    "choke": "choke limit 200 min 2 max 6 bandwidth 50mbit ecn",
    "codel": "codel limit 200 ecn",
    "fq_codel": "fq_codel limit 200 ecn",
    "pie": "pie limit 200 ecn",
    "fq_pie": "fq_pie limit 200 ecn",
    "sfb": "sfb limit 200 target 2 max 20",
    "cake": "cake bandwidth 45mbit",
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_marking_qdisc_has_options_for_marks(kind: Kind) -> None:
    """Each discipline with the option "ecn" is measured below."""
    options = {option.name for option in interface.read(kind.name).options}
    assert bool(kind.metadata["MARKS"]) == ("ecn" in options)


def counted_by_tc(shown: dict[str, object]) -> int | None:
    """Return the marks in the output of `tc -s -j`, or None if there are none.

    We use the total if tc prints one, and otherwise the sum of the parts.
    """
    flat: dict[str, int] = {}

    def walk(value: object) -> None:
        for key, inner in value.items() if isinstance(value, dict) else ():
            if isinstance(inner, dict):
                walk(inner)
            elif isinstance(inner, list):
                for item in inner:
                    walk(item)
            elif isinstance(inner, int) and not isinstance(inner, bool):
                flat[key] = flat.get(key, 0) + inner

    walk(shown)
    if "marked" in flat:
        return flat["marked"]
    parts = {
        "ecn_mark",
        "ce_mark",
        "early_mark",
        "forced_mark",
        "marked_low",
        "marked_high",
        "marked_max",
    } & set(flat)
    return sum(flat[name] for name in parts) if parts else None


@pytest.mark.parametrize("kind", QDISCS)
def test_marks_agree_with_tc_and_the_receivers(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "r"
    words = ["--qdisc", QDISCS[kind]]
    for setting in ("flows=10", "rate=50", "warmup=0", "duration=3", "ecn=on", "rtt=20"):
        words += ["--set", setting]
    done = subprocess.run([RUN, "dumbbell", "--out", out, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads((out / "result.json").read_text())
    shown = next(q for q in json.loads((out / "qdisc.json").read_text()) if q["kind"] == kind)
    marked = result["summary"]["marked"]
    assert marked > 0
    # There was no warm-up, and by the virtual clock tc looked a few us after the last sample was
    # taken: whatever it counts more came or went in between, a packet or two and the reset with
    # which each flow ends. A packet at which the shaper has looked is counted as sent, and is
    # still in the queue: when it goes, only the queue's length tells.
    counted = counted_by_tc(shown)
    with (out / "queue.csv").open(newline="") as file:
        *_, last = csv.DictReader(file)
    went = shown["packets"] - int(last["sent_packets"])
    came = went + shown["drops"] - int(last["dropped"]) + shown["qlen"] - int(last["packets"])
    assert 0 <= went <= 2 + 10
    assert -1 <= came <= 2 + 10
    assert 0 <= counted - marked <= went + came + 1
    received = json.loads((out / "guest.json").read_text())["received_ce"]
    assert received["src-all"] == 0
    # A marked packet is with the receiver, in the queue, in the shaper's hands, or was thrown out
    # of the queue later.
    lost = shown["drops"] if kind in VICTIMS else 0
    assert 0 <= counted - received["dst"] <= shown["qlen"] + 1 + lost
    assert received["dst"] > 0.5 * marked
