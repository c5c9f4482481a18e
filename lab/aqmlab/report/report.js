// SPDX-License-Identifier: GPL-2.0
// The report's plots show what the reader chooses. A click on a title sorts a table.
"use strict";

(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const byId = (id) => document.getElementById(id);
  const data = read("data");
  const models = {};
  const chosen = new Set(data.shown);
  const DOMINATES = 10;  // times the median
  const MOST_BANDS = 2;  // more of them hide each other

  const option = (select, value, text) => select.add(new Option(text, value));

  /** The runs that are chosen: [name, run]. */
  function runs() {
    const section = data.sections[byId("section").value];
    const seed = Number(byId("seed").value);
    return Object.entries(section.runs)
      .filter(([name]) => chosen.has(name))
      .flatMap(([name, several]) => several.filter((r) => r.seed === seed).map((r) => [name, r]));
  }

  /** Fill a plot of lines: each {name, x, y, dash, band}, where band is [low, high]. */
  function lines(plot, all) {
    const numbers = (list) => list.map((v) => v ?? NaN);
    const bands = all.length <= MOST_BANDS ? all.filter((line) => line.band) : [];
    models[plot].data = {
      name: all.map((line) => line.name),
      xs: all.map((line) => line.x),
      ys: all.map((line) => numbers(line.y)),
      dash: all.map((line) => line.dash ?? data.styles[line.name].dash),
      colour: all.map((line) => data.styles[line.name].colour),
      ...(all.some((line) => line.band) ? {
        around: all.map((line) => bands.length ? [...line.x, ...line.x.toReversed()] : []),
        between: all.map(({ band }) => bands.length
          ? [...numbers(band[0]), ...numbers(band[1]).toReversed()] : []),
      } : {}),
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
    const flows = { x: [], y: [], name: [], colour: [], mark: [], flow: [], group: [], rtt: [],
                    again: [] };
    for (const [name, run] of visible) {
      const { y, group } = run.flows;
      const order = [...y.keys()].filter((i) => run.groups[group[i]] !== "probe")
        .sort((a, b) => group[a] - group[b] || y[a] - y[b]);
      order.forEach((i, rank) => {
        const flow = run.flows.flow[i];
        flows.x.push(rank + 1);
        flows.flow.push(flow + 1);
        flows.name.push(name);
        flows.colour.push(data.styles[name].colour);
        flows.mark.push(data.styles[name].mark);
        flows.group.push(run.groups[group[i]]);
        for (const key of ["y", "rtt", "again"]) flows[key].push(run.flows[key][i]);
      });
    }
    // If one flow has most of the link, the others would lie on the axis.
    const sorted = flows.y.filter((y) => y > 0).sort((a, b) => a - b);
    const dominated = sorted.at(-1) > DOMINATES * sorted[(sorted.length - 1) >> 1];
    if (!byId("log").dataset.chosen) byId("log").checked = dominated;
    byId("flows-log").hidden = !byId("log").checked;
    byId("flows").hidden = byId("log").checked;
    models.flows.data = flows;
    models["flows-log"].data = { ...flows, y: flows.y.map((y) => (y > 0 ? y : NaN)) };
    for (const name of ["flows", "flows-log"]) models[`fair-${name}`].location = section.fair;
    lines("queue", visible.map(([name, { time, queue: [low, y, high] }]) => (
      { name, x: time, y, band: [low, high] })));

    refill(byId("of"), [...new Set(visible.flatMap(([, run]) => Object.keys(run.delays)))]);
    const of = byId("of").value;
    lines("delays", visible.filter(([, run]) => run.delays[of])
      .map(([name, run]) => ({ name, x: run.delays[of], y: data.quantiles })));

    lines("losses", visible.flatMap(([name, run]) => [
      { name, x: run.time, y: run.dropped, dash: "solid" },
      ...(run.marked ? [{ name, x: run.time, y: run.marked, dash: "dashed" }] : []),
    ]));

    const senders = visible.filter(([, run]) => run.tcp);
    byId("of-tcp").hidden = !senders.length;
    refill(byId("tcp-of"), [...new Set(senders.flatMap(([, run]) => Object.keys(run.tcp.of)))]);
    const sender = byId("tcp-of").value;
    refill(byId("tcp-what"),
      [...new Set(senders.flatMap(([, run]) => Object.keys(run.tcp.of[sender] ?? {})))]);
    const what = byId("tcp-what").value;
    lines("tcp", senders.filter(([, run]) => run.tcp.of[sender]?.[what])
      .map(([name, { tcp: { time, of } }]) => {
        const [low, y, high] = of[sender][what];
        return { name, x: time, y, band: [low, high] };
      }));

    refill(byId("statistic"), [...new Set(visible.flatMap(([, run]) => Object.keys(run.state)))]
      .sort());
    const statistic = byId("statistic").value;
    byId("inside").hidden = !statistic;
    lines("state", visible.filter(([, run]) => run.state[statistic])
      .map(([name, run]) => ({ name, x: run.time, y: run.state[statistic] })));
  }

  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = { solid: "", dashed: "6", dotted: "2 3", dotdash: "2 3 6 3" };

  /** A short line that looks like the discipline's. */
  function swatch(style) {
    const svg = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "path");
    svg.setAttribute("viewBox", "0 0 26 10");
    for (const [key, value] of Object.entries({
      d: "M0 5H26", stroke: style.colour, "stroke-width": 5,
      "stroke-dasharray": DASHES[style.dash] })) line.setAttribute(key, value);
    svg.append(line);
    return svg;
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
    for (const id of ["seed", "of", "statistic", "tcp-of", "tcp-what"]) byId(id).addEventListener("change", show);
    byId("log").addEventListener("change", () => {
      byId("log").dataset.chosen = "1";
      show();
    });
    for (const [name, style] of Object.entries(data.styles)) {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = chosen.has(name);
      box.value = name;
      label.append(box, swatch(style), name);
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
          if (a === "" || b === "") return (a === "") - (b === "");  // empty cells come last
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
    for (const place of document.querySelectorAll(".plots figure > div")) {
      await Bokeh.embed.embed_item(read(`model-${place.id}`), place.id);
    }
    for (const name of ["flows", "queue", "delays", "losses", "tcp", "state", "flows-log",
      "fair-flows", "fair-flows-log"]) {
      models[name] = Bokeh.documents.map((d) => d.get_model_by_name(name)).find((m) => m);
    }
    controls();
    show();
    // A printed page has everything.
    addEventListener("beforeprint", () => {
      for (const part of document.querySelectorAll("details")) part.open = true;
    });
  }

  begin();
})();
