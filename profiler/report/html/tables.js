// Layers by roles as a heat map, and the table of ops, which can be sorted and searched.
"use strict";

function heat(data) {
  const made = section("layers", "Layers", "Where in the model the time lies: a row a layer, a column a role. Exposed time is what a faster op could save; work is what the ops take, hidden or not.");
  const choice = el("select", { id: "heat-choice" }, el("option", { value: "exposed_ns" }, "exposed"), el("option", { value: "work_ns" }, "work"));
  made.append(el("div", { class: "controls" }, el("label", { for: "heat-choice" }, "Show"), choice));
  const make = () => ({
    traces: [{ type: "heatmap", x: data.heat.roles, y: data.heat.layers, z: data.heat[choice.value].map((row) => row.map((v) => (v ? v / 1e3 : null))), colorscale: "Cividis", reversescale: true, hoverongaps: false, colorbar: { title: { text: "µs a step" } }, hovertemplate: "layer %{y}, %{x}: %{z:.1f} µs<extra></extra>" }],
    layout: { xaxis: { tickangle: -40 }, yaxis: { type: "category", autorange: "reversed", title: { text: "layer" } } },
  });
  const place = chart(made, "Time by layer and role", make, Math.max(300, 80 + 14 * data.heat.layers.length));
  choice.addEventListener("change", () => report.redraw.forEach((draw) => draw()));
  return place;
}

const PAGE = 100;

class OpTable {
  constructor(data, parent) {
    this.groups = data.groups;
    this.words = data.words;
    this.sort = { key: "exposed_ns", down: true };
    this.shown = PAGE;
    this.columns = [["name", "op"], ["role", "role"], ["kind", "kind"], ["layer", "layer"], ["phase", "phase"], ["device", "card"], ["ops", "ops"], ["exposed_ns", "exposed µs"], ["work_ns", "work µs"], ["hidden_ns", "hidden µs"]];
    this.search = el("input", { id: "op-search", type: "search", on: { input: () => { this.shown = PAGE; this.draw(); } } });
    this.count = el("span", { role: "status" });
    this.head = el("tr");
    this.body = el("tbody");
    this.more = el("button", { type: "button", on: { click: () => { this.shown += PAGE; this.draw(); } } }, "Show more");
    const made = el("table", {}, el("caption", { class: "skip" }, "Ops, per step"), el("thead", {}, this.head), this.body);
    parent.append(el("div", { class: "controls" }, el("label", { for: "op-search" }, "Search names, ranges, roles and kinds"), this.search, this.count), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of ops" }, made), this.more);
    this.draw();
  }

  value(key, i) {
    const g = this.groups;
    if (key === "hidden_ns") return g.work_ns[i] - g.exposed_ns[i];
    if (key === "role" || key === "kind") return this.words[`${key}s`][g[key][i]];
    if (key === "phase") return g.phase[i] < 0 ? "" : this.words.phases[g.phase[i]];
    return key === "name" ? g.short[i] : g[key][i];
  }

  rows() {
    const wanted = this.search.value.toLowerCase().split(/\s+/).filter(Boolean), g = this.groups, { key, down } = this.sort;
    const text = (i) => `${g.name[i]} ${g.short[i]} ${g.label[i]} ${this.value("role", i)} ${this.value("kind", i)} ${this.value("phase", i)}`.toLowerCase();
    const found = [...Array(g.table_rows).keys()].filter((i) => !wanted.length || wanted.every((word) => text(i).includes(word)));
    const order = (a, b) => { const x = this.value(key, a), y = this.value(key, b); return (x < y ? -1 : x > y ? 1 : a - b) * (down ? -1 : 1); };
    return found.sort(order);
  }

  draw() {
    this.head.replaceChildren(...this.columns.map(([key, title]) => {
      const mine = this.sort.key === key, act = () => { this.sort = { key, down: mine ? !this.sort.down : !["name", "role", "kind", "phase", "layer", "device"].includes(key) }; this.draw(); };
      return el("th", { scope: "col", class: key === "name" ? "text" : null, "aria-sort": mine ? (this.sort.down ? "descending" : "ascending") : "none" }, el("button", { type: "button", "data-sort": key, on: { click: act } }, title + (mine ? (this.sort.down ? " ↓" : " ↑") : "")));
    }));
    const rows = this.rows();
    this.body.replaceChildren(...rows.slice(0, this.shown).map((i) => this.row(i)));
    const cut = this.groups.name.length - this.groups.table_rows;
    this.count.textContent = `${rows.length.toLocaleString("en")} rows${cut > 0 ? `; ${cut.toLocaleString("en")} more with the least exposed time are left out` : ""}`;
    this.more.hidden = rows.length <= this.shown;
  }

  row(i) {
    const g = this.groups, figures = [g.ops[i].toFixed(g.ops[i] % 1 ? 2 : 0), us(g.exposed_ns[i], 2), us(g.work_ns[i], 2), us(this.value("hidden_ns", i), 2)];
    const name = el("td", { class: "text", title: clean(g.name[i]) }, swatch(roleColour(this.value("role", i))), clean(g.short[i]), el("br"), el("small", {}, clean(g.label[i])));
    return el("tr", {}, name, ...[this.value("role", i), this.value("kind", i), g.layer[i] < 0 ? "" : g.layer[i], this.value("phase", i), g.device[i], ...figures].map((v) => el("td", {}, String(v))));
  }
}

function opsSection(data) {
  const made = section("ops", "Ops", "Ops that are the same in every step, one row each; figures are means per step. Choose a heading to sort.");
  report.opTable = new OpTable(data, made);
}
