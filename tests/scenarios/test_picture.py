# SPDX-License-Identifier: GPL-2.0
"""The scatter of delay against another metric, and the picture of a report."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aqmlab.report import picture, scatter, styles
from aqmlab.report.columns import DisciplineRow, column_of
from aqmlab.report.load_runs import Run, Section

SVG = "{http://www.w3.org/2000/svg}"


def result(seed: int, delay_ms: float | None, part: float) -> dict[str, Any]:
    """Return a run whose flows get a part of the fair share."""
    probe = {"probe": {"delay_ms": {"p99": delay_ms}, "loss": 0.0}} if delay_ms else {}
    return {
        "seed": seed,
        "scenario": "s",
        "phases": [{}],
        "groups": probe,
        "parameters": {"mtu": 1500, "rate": 10.0},
        "summary": {
            "goodput_bps": {"mean": part},
            "fair_share_bps": 1.0,
            "sd_over_fair_share": 1 - part,
            "queue_delay_ms": {"p50": 5, "p99": 9},
        },
    }


def drawn(points: Sequence[tuple[str, float | None, float]]) -> ET.Element:
    rows = [DisciplineRow(name, None, [result(1, delay, part)]) for name, delay, part in points]
    return ET.fromstring(
        scatter.picture(scatter.panel(rows, styles.styles(name for name, _, _ in points)))
    )


def marks(svg: ET.Element) -> dict[str, tuple[float, float]]:
    """Return the places of the marks by what a reader sees on pointing at one."""
    return {
        title.text or "": (float(place[0]), float(place[1]))
        for mark in svg.iter()
        if mark.tag != f"{SVG}g" and (title := mark.find(f"{SVG}title")) is not None
        for place in [re.findall(r"[\d.]+", mark.attrib["transform"])]
    }


def test_less_delay_is_left_and_more_goodput_is_up() -> None:
    """A tenth of the delay is as far away anywhere: 0.5, 5 and 50 ms."""
    places = marks(drawn([("a", 0.5, 1.0), ("b", 5.0, 0.6), ("c", 50.0, 0.2)]))
    a, b, c = (
        places[f"{name}: {value} %"]
        for name, value in (
            ("a", "0.50 ms, 100.0"),
            ("b", "5.00 ms, 60.0"),
            ("c", "50.00 ms, 20.0"),
        )
    )
    assert a[0] < b[0] < c[0]
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.11)
    assert a[1] < b[1] < c[1]
    assert b[1] - a[1] == pytest.approx(c[1] - b[1], abs=0.11)


def test_less_is_up_if_less_is_better() -> None:
    """The metric that decides has the vertical axis. Deviation is one minus the goodput here."""
    rows = [
        DisciplineRow(name, None, [result(1, 5.0, part)]) for name, part in (("a", 0.9), ("b", 0.5))
    ]
    places = marks(
        ET.fromstring(
            scatter.picture(scatter.panel(rows, styles.styles(["a", "b"]), column_of("sd")))
        )
    )
    assert places["a: 5.00 ms, 10.0 %"][1] < places["b: 5.00 ms, 50.0 %"][1]


def test_without_a_probe_it_shows_the_backlog() -> None:
    text = ET.tostring(drawn([("a", None, 1.0), ("b", None, 0.5)]), encoding="unicode")
    assert "backlog p99, ms" in text
    assert "probe" not in text


@pytest.mark.parametrize("seed", range(10))
def test_labels_stay_inside_and_do_not_overlap(seed: int) -> None:
    """Ten disciplines with nearly equal values."""
    rng = random.Random(seed)
    names = [f"discipline{i}" for i in range(10)]
    svg = drawn([(name, rng.uniform(8, 9), rng.uniform(0.9, 1)) for name in names])
    labels = [text for text in svg.iter(f"{SVG}text") if text.text in names]
    assert len(labels) == 10
    boxes = []
    for label in labels:
        x, y = float(label.attrib["x"]), float(label.attrib["y"])
        width = len(label.text or "") * scatter.CHARACTER
        left = x - width if label.attrib["text-anchor"] == "end" else x
        assert 0 < left < left + width <= scatter.WIDTH
        assert all(
            left + width <= one or other <= left or abs(y - line) >= 10
            for one, other, line in boxes
        )
        boxes.append((left, left + width, y))


def test_picture_has_the_card_and_the_scatter_of_each_section() -> None:
    def section(title: str, **parts: float) -> Section:
        return Section(
            9,
            {
                name: [Run(Path(), result(seed, 10.0, part)) for seed in (1, 2, 3)]
                for name, part in parts.items()
            },
            about={"title": title},
        )

    svg = ET.fromstring(
        picture.draw([section("First", a=0.9, b=0.9, c=0.6), section("Second", c=0.9, d=0.9)])
    )
    first, second = (group for group in svg.iter(f"{SVG}g") if group.find(f"{SVG}desc") is not None)
    texts = [[text.text for text in group.findall(f"{SVG}text")] for group in (first, second)]
    assert texts[0][::2] == ["First", "best: a\u00a010.0\u00a0%", "avoid: c\u00a040.0\u00a0%"]
    assert texts[1][0] == "Second"
    assert not any("best: " in (text or "") for text in texts[1])
    assert [group.findtext(f"{SVG}desc") for group in (first, second)] == [
        "as good as the best: a, b",
        "as good as the best: c, d",
    ]
    assert len(marks(first)) == 3
    # One discipline looks the same in both.
    colour = {
        group: mark.attrib["fill"]
        for group in (first, second)
        for mark in group.iter()
        if (mark.findtext(f"{SVG}title") or "").startswith("c: ")
    }
    assert colour[first] == colour[second]
