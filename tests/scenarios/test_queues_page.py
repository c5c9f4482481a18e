# SPDX-License-Identifier: GPL-2.0
"""docs/queues.html: what its queues do, and what a browser and a keyboard find in it."""

from __future__ import annotations

import json
import math
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.shortrun import ROOT

PAGE = ROOT / "docs" / "queues.html"
#: Play a run, and check in each slot that no packet appears or vanishes.
PLAY = """
const runs = begin(process.argv[1]);
let broken = 0, most = 0;
for (let slot = 0; slot < 4000; slot++) {
  for (const run of runs) {
    run.step();
    for (const flow of FLOWS) {
      const total = run.totals.get(flow);
      const queued = run.queue.queued().filter((packet) => packet.flow === flow).length;
      broken += total.offered !== total.sent + total.lost + queued;
    }
    most = Math.max(most, run.queue.queued().length);
  }
}
console.log(JSON.stringify({ broken, most, LIMIT, TARGET, INTERVAL, runs: runs.map((run) => ({
  name: run.queue.name, drops: run.drops, totals: Object.fromEntries(run.totals) })) }));
"""


def script() -> str:
    found = re.search(r"<script>(.*)</script>", PAGE.read_text(), re.S)
    assert found
    return found[1]


def play(traffic: str) -> dict[str, Any]:
    words = ["node", "-e", script() + PLAY, "--", traffic]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def shares(run: dict[str, Any]) -> dict[str, float]:
    return {flow: total["sent"] / 4000 for flow, total in run["totals"].items()}


@pytest.fixture(scope="module")
def flood() -> dict[str, Any]:
    return play("flood")


@pytest.mark.parametrize("traffic", ["flood", "equal", "far"])
def test_no_packet_appears_or_vanishes_and_no_buffer_overflows(traffic: str) -> None:
    found = play(traffic)
    assert found["broken"] == 0
    assert found["most"] <= found["LIMIT"]
    assert found == play(traffic)  # the same in each browser


def test_only_the_fair_queue_protects_from_the_flood(flood: dict[str, Any]) -> None:
    tail, red, codel, fair = map(shares, flood["runs"])
    for one in (tail, red, codel):
        assert one["d"] > 0.5
    assert max(fair.values()) - min(fair.values()) < 0.03


def test_red_and_codel_keep_the_wait_short() -> None:
    tail, red, codel, _ = play("equal")["runs"]

    def wait(run: dict[str, Any]) -> float:
        return sum(t["wait"] for t in run["totals"].values()) / 4000

    assert wait(red) < 0.6 * wait(tail)
    assert wait(codel) < 0.8 * wait(tail)


def test_close_senders_get_more_behind_drop_tail() -> None:
    tail, _, _, fair = map(shares, play("far")["runs"])
    assert tail["a"] + tail["b"] > 3 * (tail["c"] + tail["d"])
    assert fair["a"] + fair["b"] < 1.5 * (fair["c"] + fair["d"])


def test_codel_waits_for_an_interval_and_then_drops_faster_and_faster(
    flood: dict[str, Any],
) -> None:
    """RFC 8289: the n-th drop of a series comes an interval / sqrt(n) after the one before."""
    interval = flood["INTERVAL"]
    drops = [slot for slot, _, leaving in flood["runs"][2]["drops"] if leaving]
    assert drops[0] > interval
    at = drops[0]
    for n, drop in enumerate(drops[1:15], 1):
        at += interval / math.sqrt(n)
        assert 0 <= drop - at <= 1, n


PROBE = """
<script>
const at = (id) => document.getElementById(id);
const said = [];
for (let i = 0; i < 3; i++) at("step").click();
said.push(at("say").textContent.split(".")[0]);
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
said.push(at("say").textContent.split(".")[0]);
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
said.push(at("say").textContent.split(".")[0]);
at("on").click();
said.push(at("say").textContent.split(".")[0]);
said.push(document.querySelectorAll("section[aria-label] table caption").length);
said.push(document.querySelectorAll("ol.packets[aria-label]").length);
said.push([...document.querySelectorAll("button, select, input")].every(
  (one) => one.textContent || one.labels.length));
said.push(document.documentElement.scrollWidth - document.documentElement.clientWidth);
at("traffic").value = "far";
at("traffic").dispatchEvent(new Event("change"));
said.push(at("say").textContent.split(".")[0]);
const pre = document.createElement("pre");
pre.id = "probe";
pre.textContent = JSON.stringify(said);
document.body.append(pre);
</script>
"""


@pytest.mark.parametrize("width", [500, 1400])
def test_page_works_by_buttons_keys_and_names(width: int, tmp_path: Path) -> None:
    probed = tmp_path / "probed.html"
    probed.write_text(PAGE.read_text().replace("</body>", PROBE + "</body>"))
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += [f"--user-data-dir={tmp_path}", f"--window-size={width},1500", "--dump-dom"]
    dom = subprocess.run([*words, probed.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom.stdout)
    assert found, "the page's script failed"
    said = json.loads(unescape(found[1]))
    assert said == ["Slot 3", "Slot 4", "Slot 2", "Slot 102", 4, 4, True, 0, "Slot 0"]


def test_page_loads_nothing() -> None:
    assert not re.search(r"(src|href)=|@import|url\(|fetch\(", PAGE.read_text())
