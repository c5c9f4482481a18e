// SPDX-License-Identifier: GPL-2.0
// The report's pictures: shows what was chosen of the data in the page. Tables sort by a click.
"use strict";

(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const byId = (id) => document.getElementById(id);
  const data = read("data");
  const models = {};
  const chosen = new Set(data.shown);

  const option = (select, value, text) => select.add(new Option(text, value));

  /** The runs that are to be seen: [name, run]. */
  function runs() {
    const section = data.sections[byId("section").value];
    const seed = Number(byId("seed").value);
    return Object.entries(section.runs)
      .filter(([name]) => chosen.has(name))
      .flatMap(([name, several]) => several.filter((r) => r.seed === seed).map((r) => [name, r]));
  }

  /** Fill a picture of lines: each [name, x, y, dash]. */
  function lines(picture, all) {
    models[picture].data = {
      name: all.map(([name]) => name),
      xs: all.map(([, x]) => x),
      ys: all.map(([, , y]) => y.map((v) => v ?? NaN)),
      dash: all.map(([, , , dash]) => dash ?? "solid"),
      colour: all.map(([name]) => data.colours[name]),
    };
  }

  function refill(select, wanted) {
    const before = select.value;
    select.replaceChildren();
    for (const name of wanted) option(select, name, name);
    if (wanted.includes(before)) select.value = before;
  }

  function show() {
    const section = data.sections[byId("section").value];
    const visible = runs();
    const flows = { x: [], y: [], name: [], colour: [], flow: [], group: [], rtt: [], again: [] };
    for (const [name, run] of visible) {
      run.flows.flow.forEach((flow, i) => {
        flows.x.push(flow + 1);
        flows.flow.push(flow + 1);
        flows.name.push(name);
        flows.colour.push(data.colours[name]);
        for (const key of ["y", "group", "rtt", "again"]) flows[key].push(run.flows[key][i]);
      });
    }
    models.flows.data = flows;
    models.fair.location = section.fair;
    lines("queue", visible.map(([name, run]) => [name, run.queue.x, run.queue.y]));

    refill(byId("of"), [...new Set(visible.flatMap(([, run]) => Object.keys(run.delays)))]);
    const of = byId("of").value;
    lines("delays", visible.filter(([, run]) => run.delays[of])
      .map(([name, run]) => [name, run.delays[of], data.quantiles]));

    lines("losses", visible.flatMap(([name, run]) => [
      [name, run.time, run.dropped],
      ...(run.marked ? [[name, run.time, run.marked, "dashed"]] : []),
    ]));

    refill(byId("statistic"), [...new Set(visible.flatMap(([, run]) => Object.keys(run.state)))]
      .sort());
    const statistic = byId("statistic").value;
    lines("state", visible.filter(([, run]) => run.state[statistic])
      .map(([name, run]) => [name, run.time, run.state[statistic]]));
  }

  function controls() {
    data.sections.forEach((section, i) => option(byId("section"), i, section.heading));
    const seeds = () => {
      const all = Object.values(data.sections[byId("section").value].runs).flat();
      refill(byId("seed"), [...new Set(all.map((run) => run.seed))].sort((a, b) => a - b)
        .map(String));
    };
    seeds();
    byId("section").addEventListener("change", () => { seeds(); show(); });
    for (const id of ["seed", "of", "statistic"]) byId(id).addEventListener("change", show);
    for (const [name, colour] of Object.entries(data.colours)) {
      const label = document.createElement("label");
      const box = document.createElement("input");
      const swatch = document.createElement("i");
      box.type = "checkbox";
      box.checked = chosen.has(name);
      box.value = name;
      swatch.style.background = colour;
      label.append(box, swatch, name);
      byId("disciplines").append(label);
      box.addEventListener("change", () => {
        if (box.checked) chosen.add(name);
        else chosen.delete(name);
        show();
      });
    }
    for (const [id, checked] of [["all", true], ["none", false]]) {
      byId(id).addEventListener("click", () => {
        for (const box of byId("disciplines").querySelectorAll("input")) {
          box.checked = checked;
          if (checked) chosen.add(box.value);
          else chosen.delete(box.value);
        }
        show();
      });
    }
    byId("download").href = URL.createObjectURL(
      new Blob([byId("data").textContent], { type: "application/json" }));
  }

  /** A click on a title sorts the table by its column, a second one the other way. */
  function sortable(table) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((title, column) => {
      title.tabIndex = 0;
      const sort = () => {
        const down = title.getAttribute("aria-sort") === "ascending";
        for (const other of title.parentNode.cells) other.removeAttribute("aria-sort");
        title.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => {
          const text = row.cells[column].firstChild?.textContent.trim() ?? "";
          return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
        };
        const order = (a, b) => {
          if (a === "" || b === "") return (a === "") - (b === "");  // what is absent is last
          const less = typeof a === "number" && typeof b === "number"
            ? a - b : String(a).localeCompare(String(b));
          return down ? -less : less;
        };
        [...body.rows].sort((a, b) => order(key(a), key(b))).forEach((row) => body.append(row));
      };
      title.addEventListener("click", sort);
      title.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
    });
  }

  async function begin() {
    document.documentElement.classList.add("scripted");
    for (const table of document.querySelectorAll("table")) sortable(table);
    for (const place of document.querySelectorAll(".pictures figure > div")) {
      await Bokeh.embed.embed_item(read(`model-${place.id}`), place.id);
    }
    for (const name of ["flows", "queue", "delays", "losses", "state", "fair"]) {
      models[name] = Bokeh.documents.map((d) => d.get_model_by_name(name)).find((m) => m);
    }
    controls();
    show();
    for (const still of document.querySelectorAll("details.still")) still.open = false;
  }

  begin();
})();
