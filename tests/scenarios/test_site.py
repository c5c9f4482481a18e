# SPDX-License-Identifier: GPL-2.0
"""The pages of the ledger's site in a browser: dark mode, sorting by keyboard, and filters."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay import pages
from tests.scenarios.test_explore import said_by

TABLE = """<h1>Claims</h1>
<table id="claims"><thead><tr><th>claim</th><th>value</th></tr></thead><tbody>
<tr><td>A10</td><td class="confirmed">2</td></tr><tr><td>A9</td><td>10</td></tr></tbody></table>
"""
PROBE = """<script>
addEventListener("load", () => {
  const said = {}, rows = () => [...document.querySelectorAll("tbody tr")];
  const order = () => rows().map((row) => row.cells[0].innerText).join();
  const [claim, value] = document.querySelectorAll("th");
  const press = (head) => head.querySelector("button").click();  // by a mouse or a key
  press(claim);
  said.up = order() + " " + claim.getAttribute("aria-sort");
  press(claim);
  said.down = order() + " " + claim.getAttribute("aria-sort");
  press(value);
  said.value = order() + " " + claim.getAttribute("aria-sort");
  said.focus = claim.querySelector("button").tabIndex;
  const light = (element) => getComputedStyle(element).backgroundColor.match(/\\d+/g).slice(0, 3)
    .reduce((sum, one) => sum + Number(one), 0) > 380;
  const cell = document.querySelector("td");
  said.cell = getComputedStyle(cell).display === "block"
    ? getComputedStyle(cell, "::before").content : "beside";
  said.light = [document.body, claim, document.querySelector(".confirmed")].map(light).join();
  const pre = document.createElement("pre");
  pre.id = "probe";
  pre.textContent = JSON.stringify(said);
  document.body.append(pre);
});
</script>"""


@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 500)])
def test_site_sorts_by_keyboard_and_has_a_dark_mode(dark: bool, width: int, tmp_path: Path) -> None:
    """On a phone each value has the title of its column before it."""
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html>" + pages.render("site-head.html.j2") + TABLE + PROBE)
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += [f"--window-size={width},900"]
    words += [f"--user-data-dir={tmp_path}", *(["--force-dark-mode"] if dark else [])]
    assert said_by(page, words) == {
        "up": "A9,A10 ascending",
        "down": "A10,A9 descending",
        "value": "A10,A9 null",
        "focus": 0,
        "cell": "beside" if width == 1200 else '"claim: "',
        "light": "false,false,false" if dark else "true,true,true",
    }


CLAIMS = """<table id="claims"><thead><tr><th>paper</th><th>claim</th></tr></thead><tbody>
<tr data-paper="x" data-verdict="confirmed"><td>x</td><td>RED drops less
  <details><summary>more</summary><table><tr><th>changed</th></tr><tr><td>gentle off</td></tr>
  </table></details></td></tr>
<tr data-paper="x" data-verdict="contradicted"><td>x</td><td>RED drops more</td></tr>
<tr data-paper="y" data-verdict="confirmed"><td>y</td><td>CoDel drops less</td></tr>
</tbody></table>
"""
FILTERED = """<script>
addEventListener("load", () => {
  const form = document.querySelector("form"), said = {};
  const rows = [...document.getElementById("claims").tBodies[0].rows];
  const shown = () => rows.map((row) => (row.hidden ? 0 : 1)).join("") + " " +
    document.querySelector("[role=status]").textContent;
  const set = (name, value) => {
    form[name].value = value;
    form[name].dispatchEvent(new Event("input", { bubbles: true }));
    return shown();
  };
  said.first = shown();
  said.words = set("text", "less red");
  said.inside = set("text", "gentle");
  said.nested = document.querySelector("details tr").hidden;
  said.none = set("text", "fred");
  set("text", "");
  said.verdict = set("verdict", "confirmed");
  said.both = set("paper", "y");
  said.labels = [...form.querySelectorAll("input, select")].map((one) => one.labels.length).join();
  form.reset();
  setTimeout(() => {
    said.reset = shown();
    const pre = document.createElement("pre");
    pre.id = "probe";
    pre.textContent = JSON.stringify(said);
    document.body.append(pre);
  }, 50);
});
</script>"""


def test_filters_show_the_claims_that_match_and_say_how_many(tmp_path: Path) -> None:
    """A closed part of a claim is searched, too, and tables in it stay whole."""
    page = tmp_path / "page.html"
    text = '{% from "site-filter.html.j2" import filter with context %}{{ filter(names) }}'
    form = pages.environment(pages.PAPERS).from_string(text).render(names=[("x", "X"), ("y", "Y")])
    page.write_text(
        "<!DOCTYPE html>" + pages.render("site-head.html.j2") + form + CLAIMS + FILTERED
    )
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=5000"]
    assert said_by(page, words) == {
        "first": "111 3 of 3 claims",
        "words": "100 1 of 3 claims",
        "inside": "100 1 of 3 claims",
        "nested": False,
        "none": "000 0 of 3 claims",
        "verdict": "101 2 of 3 claims",
        "both": "001 1 of 3 claims",
        "labels": "1,1,1",
        "reset": "111 3 of 3 claims",
    }
