# SPDX-License-Identifier: GPL-2.0
"""The pages of the ledger's site in a browser: dark mode, and sorting by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay import pages
from tests.scenarios.test_explore import said_by

TABLE = """<h1>Claims</h1><input>
<table id="claims"><thead><tr><th>claim</th><th>value</th></tr></thead><tbody>
<tr><td>A10</td><td class="confirmed">2</td></tr><tr><td>A9</td><td>10</td></tr></tbody></table>
"""
PROBE = """<script>
addEventListener("load", () => {
  const said = {}, rows = () => [...document.querySelectorAll("tbody tr")];
  const order = () => rows().map((row) => row.cells[0].innerText).join();
  const [claim, value] = document.querySelectorAll("th");
  const press = (head, key) =>
    head.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press(claim, "Enter");
  said.up = order() + " " + claim.getAttribute("aria-sort");
  press(claim, " ");
  said.down = order() + " " + claim.getAttribute("aria-sort");
  press(value, "Enter");
  said.value = order() + " " + claim.getAttribute("aria-sort");
  said.focus = claim.tabIndex;
  const light = (element) => getComputedStyle(element).backgroundColor.match(/\\d+/g).slice(0, 3)
    .reduce((sum, one) => sum + Number(one), 0) > 380;
  said.light = [document.body, claim, document.querySelector(".confirmed")].map(light).join();
  const pre = document.createElement("pre");
  pre.id = "probe";
  pre.textContent = JSON.stringify(said);
  document.body.append(pre);
});
</script>"""


@pytest.mark.parametrize("dark", [False, True])
def test_site_sorts_by_keyboard_and_has_a_dark_mode(dark: bool, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html>" + pages.render("site-head.html.j2") + TABLE + PROBE)
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += [f"--user-data-dir={tmp_path}", *(["--force-dark-mode"] if dark else [])]
    assert said_by(page, words) == {
        "up": "A9,A10 ascending",
        "down": "A10,A9 descending",
        "value": "A10,A9 null",
        "focus": 0,
        "light": "false,false,false" if dark else "true,true,true",
    }
