# SPDX-License-Identifier: GPL-2.0
"""The interactive plots: their data, and what a browser makes of it."""

from __future__ import annotations

import json
import random
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from aqmlab.measure import logs, time_series
from aqmlab.report import html_report, interactive_plots, styles, tcp_plot
from tests.scenarios import handmade
from tests.scenarios.test_report import make

SETTINGS = {("fair", 2): 2.5, ("fair", 4): 2.5, ("plain", 2): 1.0, ("plain", 4): 0.5}

# Flow 0 is the only one of group near; flow 1, of group far, has another connection at 2 s.
TCP = """time_s,flow,state,cwnd,ssthresh,mss,srtt_ms,rttvar_ms,rto_ms,pacing_mbps,delivered,\
delivered_ce,retransmits,unacked,lost
0.000,0,open,2,,1460,40,1,200,5.5,0,0,0,2,0
0.000,1,open,2,,1460,200,1,200,5.5,0,0,0,2,0
1.000,0,open,20,,1460,40,1,200,5.5,0,0,0,20,0
1.000,1,open,4,3,1460,200,1,200,5.5,0,0,1,4,0
2.000,0,loss,10,10,1460,44.5,1,200,5.5,0,0,4,5,0
2.000,1,open,8,3,1460,200,1,200,5.5,0,0,1,4,0
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("report")
    make(where / "runs", SETTINGS)
    (where / "runs" / "fair-2" / "tcp.csv").write_text(TCP)
    assert html_report.main([str(where / "runs"), "--out", str(where / "report.html")]) == 0
    return where / "report.html"


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("seed", range(20))
def test_reduced_line_keeps_every_peak_and_dip(seed: int) -> None:
    rng = random.Random(seed)
    y = np.array([rng.choice((0.0, rng.random(), 100 * rng.random())) for _ in range(5000)])
    kept = time_series.envelope(y, time_series.POINTS)
    assert len(kept) <= time_series.POINTS
    assert (kept[0], kept[-1]) == (0, len(y) - 1)
    assert (np.diff(kept) > 0).all()
    assert {y.max(), y.min()} <= set(y[kept])
    # All points of a part are between its kept minimum and maximum.
    for part in np.array_split(np.arange(len(y)), time_series.POINTS // 2 - 1):
        inside = y[kept[(kept >= part[0]) & (kept <= part[-1])]]
        assert inside.max() == y[part].max()
        assert inside.min() == y[part].min()


def test_page_contains_each_flow_of_each_run(page: Path) -> None:
    data = data_of(page)
    assert [s["heading"] for s in data["sections"]] == ["Buffer 2 packets", "Buffer 4 packets"]
    for section in data["sections"]:
        assert section["fair"] == 0.25
        for name, runs in section["runs"].items():
            factor = SETTINGS[name, section["buffer"]]
            flows = runs[0]["flows"]
            # Flow 0 gets 200 kb/s; flow 1 gets 80 kb/s times the factor.
            assert flows["y"] == [0.2, pytest.approx(0.08 * factor)]
            assert [runs[0]["groups"][group] for group in flows["group"]] == ["near", "far"]
            assert flows["again"] == [0, 4]
            # 4, 2 and 0 packets of 1250 bytes at 1 Mb/s, sampled after the warm-up
            assert [runs[0]["delays"]["backlog"][i] for i in (0, 25, 50)] == [0, 20, 40]
            assert runs[0]["dropped"] == [0, 7, 8, 12]
            assert runs[0]["marked"] == [0, 2, 2, 5]
            assert runs[0]["state"]["marked"] == [0, 2, 2, 5]


def test_page_contains_the_state_of_tcp_over_time(page: Path) -> None:
    first = data_of(page)["sections"][0]["runs"]
    assert first["plain"][0]["tcp"] is None
    found = first["fair"][0]["tcp"]
    assert found["time"] == [pytest.approx(at, rel=1e-3) for at in (1 / 3, 1, 5 / 3)]
    assert found["of"].keys() == {"near", "far"}  # a single flow is its group
    near = found["of"]["near"]
    assert near["congestion window, segments"] == [[2, 20, 10]] * 3
    assert near["smoothed RTT, ms"][1] == [40, 40, 44.5]
    assert near["slow start threshold, segments"][1] == [None, None, 10]
    assert found["of"]["far"]["segments sent again since the start"][1] == [0, 1, 1]


def test_group_of_tcp_flows_has_a_band_and_first_flows(tmp_path: Path) -> None:
    place = handmade.more_flows(handmade.write(tmp_path))
    rows = [f"{t},{f},open,{f + t},,1,1,1,1,1,1,0,0,1,0" for t in (0, 1) for f in (0, 2, 3)]
    (place / "tcp.csv").write_text(
        "\n".join([*TCP.replace("\\\n", "").split("\n")[:1], *rows]) + "\n"
    )
    found = tcp_plot.of_run(logs.read(place))
    assert found
    assert [*found["of"]] == ["near", "near, flow 1", "near, flow 3", "near, flow 4"]
    assert found["of"]["near"]["congestion window, segments"] == [
        [0.4, 1.4],
        [2, 3],
        [2.8, 3.8],
    ]
    assert found["of"]["near, flow 4"]["congestion window, segments"] == [[3, 4]] * 3


def test_tables_can_be_downloaded_as_csv_without_scripts(page: Path) -> None:
    links = re.findall(
        r'<a download="([^"]+)" href="data:text/csv;charset=utf-8,([^"]+)"', page.read_text()
    )
    assert [name for name, _ in links] == ["buffer-2-packets.csv", "buffer-4-packets.csv"]
    assert "fair%2C" in unescape(links[0][1])


def test_band_has_the_percentiles_of_each_stretch_of_time() -> None:
    """60 stretches with 0, 1, ..., 10 packets each: 1, 5 and 9 are the 10th, 50th and 90th."""
    low, middle, high = interactive_plots._band(np.array([*range(11)] * 60, dtype=float))
    assert (low, middle, high) == ([1] * 60, [5] * 60, [9] * 60)


def _seen(colour: str, matrix: list[list[float]]) -> np.ndarray:
    """Return a colour as a dichromat sees it, in linear RGB."""
    part = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.array(matrix) @ np.where(
        part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4
    )


@pytest.mark.parametrize(
    "matrix",
    [
        # Machado, Oliveira and Fernandes 2009, severity 1: protanopia, deuteranopia, tritanopia.
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ],
)
def test_colours_stay_apart_for_colour_blind_readers(matrix: list[list[float]]) -> None:
    """The nearest two differ by a tenth of a channel's range, or more."""
    seen = [np.clip(_seen(colour, matrix), 0, 1) ** (1 / 2.4) for colour in styles.COLOURS]
    apart = min(
        float(np.linalg.norm(one - other)) for i, one in enumerate(seen) for other in seen[:i]
    )
    assert apart > 0.1


def test_disciplines_with_the_same_colour_have_other_dashes_and_marks() -> None:
    found = styles.styles(map(str, range(24)))
    assert len({(one.colour, one.dash) for one in found.values()}) == 24
    assert len({(one.colour, one.mark) for one in found.values()}) == 24


# What a reader does in the page. The results are appended to it.
PROBE = """
<script>
addEventListener("load", () => setTimeout(() => {
  const said = [];
  const models = (name) => Bokeh.documents.map((d) => d.get_model_by_name(name)).find((m) => m);
  const choose = (id, value) => {
    const at = document.getElementById(id);
    at.value = value;
    at.dispatchEvent(new Event("change"));
  };
  const flows = () => [...models("flows").data.y].map((y) => y.toFixed(3)).join(" ");
  said.push(["plots", document.querySelectorAll(".plots .bk-Figure").length]);
  said.push(["first", flows()]);
  choose("section", "1");
  said.push(["other buffer", flows()]);
  document.querySelector("#disciplines input[value=fair]").click();
  said.push(["one discipline", flows()]);
  choose("statistic", "marked");
  said.push(["state", models("state").data.ys.map((y) => [...y].join(" ")).join("|")]);
  const hidden = () => document.getElementById("of-tcp").hidden;
  said.push(["no tcp", hidden()]);
  choose("section", "0");
  document.querySelector("#disciplines input[value=fair]").click();
  choose("tcp-of", "far");
  choose("tcp-what", "smoothed RTT, ms");
  said.push(["tcp", models("tcp").data.ys.map((y) => [...y].join(" ")).join("|") + hidden()]);
  const table = document.querySelector("table");
  const names = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent.trim());
  table.tHead.rows[0].cells[3].click();
  said.push(["by sd", names().join(" ")]);
  table.tHead.rows[0].cells[3].click();
  said.push(["and back", names().join(" ")]);
  // A setting may have a long name.
  document.getElementById("section").add(new Option("x".repeat(200), "2"));
  const root = document.documentElement;
  const shown = () => ["flows", "flows-log"].filter((id) => !document.getElementById(id).hidden);
  said.push(["axis", shown().join()]);
  document.getElementById("log").click();
  said.push(["chosen", shown().join()]);
  const cell = table.querySelector("tbody td:nth-child(3)");
  said.push(["cell", getComputedStyle(cell).display === "flex"
    ? getComputedStyle(cell, "::before").content : "beside"]);
  said.push(["too wide", root.scrollWidth - root.clientWidth]);
  const places = [...document.querySelectorAll(".plots figure > div")];
  said.push(["drawn", places.filter((place) => place.clientHeight > 200).length]);
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify(Object.fromEntries(said));
  document.body.append(probe);
}, 2000));
</script>
"""


def said_by(page: Path, words: list[str]) -> Any:
    """Open a page with a probe in a browser, and return what the probe found."""
    dom = subprocess.run(
        [*words, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom)
    assert found, "the page's script failed before the probe"
    return json.loads(unescape(found[1]))


def test_axis_is_logarithmic_if_one_flow_has_most_of_the_link(tmp_path: Path) -> None:
    """Flow 1 gets 8 Mb/s, and flow 0 gets 0.2."""
    make(tmp_path / "runs", {("fair", 2): 100.0})
    page = tmp_path / "report.html"
    assert html_report.main([str(tmp_path / "runs"), "--out", str(page)]) == 0
    start = PROBE.partition('said.push(["plots"')[0]
    end = PROBE[PROBE.index('const probe = document.createElement("pre")') :]
    seen = """
  const of = models("flows-log");
  said.push(["shown", document.getElementById("flows").hidden && [...of.data.y].join(" ")]);
  """
    page.write_text(page.read_text().replace("</body>", start + seen + end + "</body>"))
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000"]
    assert said_by(page, words) == {"shown": "0.2 8"}


@pytest.mark.parametrize("width", [500, 1400])
def test_browser_draws_selects_and_sorts(page: Path, width: int, tmp_path: Path) -> None:
    probed = tmp_path / "probed.html"
    probed.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
    words = [
        "chromium",
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={tmp_path}",
        "--virtual-time-budget=20000",
        f"--window-size={width},3000",
    ]
    said = said_by(probed, words)
    assert said == {
        "plots": 7,
        "drawn": 6,
        "too wide": 0,
        "first": "0.200 0.200 0.200 0.080",
        "other buffer": "0.200 0.200 0.200 0.040",
        "one discipline": "0.200 0.040",
        "state": "0 2 2 5",
        "axis": "flows",
        "chosen": "flows-log",
        "cell": '"goodput / fair share, %"' if width < 640 else "beside",
        "no tcp": True,
        "tcp": "200 200 200false",
        "by sd": "fair plain",
        "and back": "plain fair",
    }

    picture = tmp_path / "page.png"
    subprocess.run(
        [*words, f"--screenshot={picture}", page.as_uri()],
        capture_output=True,
        check=True,
        timeout=120,
    )
    with Image.open(picture) as seen:
        colours = {colour for _, colour in seen.convert("RGB").getcolors(1 << 24) or ()}
    wanted = {
        tuple(bytes.fromhex(style["colour"][1:])) for style in data_of(page)["styles"].values()
    }
    assert wanted <= colours, "the color of a discipline is missing in the screenshot"


def test_page_without_scripts_has_the_cards_the_scatter_and_the_tables(page: Path) -> None:
    bare = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.S)
    assert bare.count('<article class="card">') == bare.count("<svg") == 2
    # Flows of 0.20 and 0.08 or 0.04 Mb/s have an sd of 24 or 32 % of the fair share, 0.25 Mb/s.
    for deviation in ("24.0", "32.0"):
        assert bare.count(f"<title>plain: 39.60 ms, {deviation} %</title>") == 1


def test_tables_come_before_the_plots_and_each_has_a_caption(page: Path) -> None:
    """A reader of a phone gets the numbers first, and a screen reader what each table holds."""
    text = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.S)
    assert text.index('class="card"') < text.index("<table") < text.index('class="plots"')
    assert text.count("<table") == text.count("<caption>") > 0
    assert text.count('role="img"') == text.count('role="img" aria-label="') > 0


def test_report_of_one_discipline_says_why_it_has_no_cards(tmp_path: Path) -> None:
    make(tmp_path / "runs", {("fair", 2): 2.5})
    page = tmp_path / "report.html"
    assert html_report.main([str(tmp_path / "runs"), "--out", str(page)]) == 0
    assert "There are no cards, because each workload has one discipline." in page.read_text()


BANDS = """
  const bands = () => [...models("queue").data.between].map((band) => band.length > 0).join();
  said.push(["two", bands()]);
  const third = [...document.querySelectorAll("#disciplines input")].find((one) => !one.checked);
  third.click();
  said.push(["three", bands()]);
"""


def test_three_disciplines_have_no_bands_that_hide_each_other(tmp_path: Path) -> None:
    make(tmp_path / "runs", {("fair", 2): 2.5, ("plain", 2): 1.0, ("third", 2): 0.5})
    page = tmp_path / "report.html"
    assert html_report.main([str(tmp_path / "runs"), "--out", str(page)]) == 0
    text = page.read_text()
    start = PROBE.partition('said.push(["plots"')[0]
    end = PROBE[PROBE.index('const probe = document.createElement("pre")') :]
    shown = """for (const box of document.querySelectorAll("#disciplines input"))
      if (box.checked !== (box.value !== "third")) box.click();"""
    page.write_text(text.replace("</body>", start + shown + BANDS + end + "</body>"))
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000"]
    assert said_by(page, words) == {"two": "true,true", "three": "false,false,false"}


def test_page_loads_nothing(page: Path) -> None:
    bare = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.S)
    assert not re.search(r'(src|href)="(?!#|data:)', bare)
    assert "<script src" not in page.read_text()
