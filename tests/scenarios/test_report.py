# SPDX-License-Identifier: GPL-2.0
"""The demo's report, drawn from runs made by hand and read back as HTML."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest
from analysis import logs, report, result

from tests.scenarios import handmade

Runs = dict[tuple[str, int], list[report.Run]]


@dataclass
class Page(HTMLParser):
    """Text of the cells, row by row, of captions and headings; sources of pictures."""

    rows: list[list[str]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:  # noqa: D105
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.images.append(dict(attrs)["src"] or "")
        if tag in ("meta", "img"):
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def make(directory: Path, settings: dict[tuple[str, int], float]) -> Runs:
    """Runs of each (name, buffer), alike but for a factor to what flow 1 received."""
    runs: Runs = {}
    for (name, buffer), factor in settings.items():
        place = directory / f"{name}-{buffer}"
        place.mkdir(parents=True)
        handmade.write(place)
        rows = (place / "progress.csv").read_text().splitlines()
        scaled = [f"{at},{flow},{float(count) * (factor if flow == '1' else 1):.0f}"
                  for at, flow, count in (row.split(",") for row in rows[1:])]
        (place / "progress.csv").write_text("\n".join([rows[0], *scaled]) + "\n")
        result.write(place, 1.0)
        runs[name, buffer] = [report.Run(place, logs.load_result(place))]
    return runs


def render(tmp_path: Path, settings: dict[tuple[str, int], float]) -> Page:
    report.write(tmp_path / "report.html", make(tmp_path / "runs", settings))
    page = Page()
    page.feed((tmp_path / "report.html").read_text())
    page.close()
    assert page.open == []
    return page


def test_two_kinds_at_two_buffers(tmp_path: Path) -> None:
    page = render(tmp_path, {("fair", 2): 2.5, ("fair", 4): 2.5, ("plain", 2): 1.0,
                             ("plain", 4): 0.5})
    # Flow 0 gets 200 kb/s; flow 1 gets 80 kb/s times the factor; the fair share is 250 kb/s.
    assert [(row[0], row[3].split()[0]) for row in page.rows if row[0]] == [
        ("fair", "0.0"), ("plain", "24.0"), ("fair", "0.0"), ("plain", "32.0")]
    captions = page.texts["figcaption"]
    goodputs = [text for text in captions if "A dot is a flow" in text]
    assert len(goodputs) == 2
    assert re.search(r"most alike under fair, .* 0\.0 % .* least alike under plain, with 24\.0",
                     goodputs[0])
    assert "from 56.0 % of the fair share (plain) to 80.0 % (fair)" in goodputs[0]
    assert "from 48.0 % of the fair share (plain) to 80.0 % (fair)" in goodputs[1]
    assert [text for text in page.texts["h2"] if text.startswith("Buffer")] == [
        "Buffer 2 packets", "Buffer 4 packets"]
    for image in page.images:
        kind, _, data = image.partition(";base64,")
        assert kind.startswith("data:image/")
        assert len(base64.b64decode(data)) > 1000
    assert {path.name for path in tmp_path.glob("*.svg")} == {"goodput-2.svg", "goodput-4.svg"}


def test_a_tie_is_called_one(tmp_path: Path) -> None:
    page = render(tmp_path, {("one", 4): 1.0, ("two", 4): 1.0})
    said = " ".join(page.texts["figcaption"])
    # One reading of three is empty, one has 4 of 4 packets.
    assert "the queue is empty in 33.3 % of the readings under each discipline; nearly full " \
        "(90 % of the buffer) it is in 33.3 % under each" in said
    assert "equally alike under each discipline: their standard deviation is 24.0 % of" in said
    assert "on average they get 56.0 % of the fair share under each" in said
    assert "The median queue delay is 20.00 ms under each discipline" in said
    for wrong in ("most", "least", "longest", "shortest", "under one", "under two"):
        assert wrong not in said


@pytest.mark.parametrize("buffer", [4, 8])
def test_who_is_full_is_named(tmp_path: Path, buffer: int) -> None:
    runs = make(tmp_path, {("one", buffer): 1.0, ("two", buffer): 1.0})
    place = runs["two", buffer][0].directory
    queue = (place / "queue.csv").read_text()
    (place / "queue.csv").write_text(queue.replace("2.000000,2,", "2.000000,8,"))
    said = report.queue_sentence([(name, several[0]) for (name, _), several in runs.items()],
                                 buffer)
    assert json.loads((place / "run.json").read_text())["facts"]["warmup_s"] == 1
    full = {4: "66.7 %", 8: "33.3 %"}[buffer]
    assert f"most often nearly full (90 % of the buffer) is two, in {full} of the readings" in said
