// Small pieces that every part of the page uses: unpacking, elements, figures, colours, sections.
"use strict";
const report = { redraw: [] };

async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

// An element; texts go in as text, so that nothing from a trace is ever markup.
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Plotly reads a little HTML in texts: names from traces must not be read so.
const safe = (text) => String(text).replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "�").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const clean = (text) => String(text).replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "�");
const ms = (ns, digits = 3) => (ns / 1e6).toFixed(digits);
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const us = (ns, digits = 1) => (ns / 1e3).toFixed(digits);
const counted = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : what.endsWith("ch") ? "es" : "s"}`;
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const roleColour = (role) => report.data.colours.roles[role] ?? "#8c8c8c";
const gapColour = (gap) => report.data.colours.gaps[gap] ?? "#8c8c8c";

function swatch(colour) {
  const made = el("span", { class: "swatch", "aria-hidden": "true" });
  made.style.background = colour;
  return made;
}

// A section with its heading, an entry in the navigation, and a sentence that says how to read it.
function section(id, title, sentence) {
  const made = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title));
  if (sentence) made.append(el("p", {}, sentence));
  document.getElementById("main").append(made);
  document.getElementById("nav").append(el("li", {}, el("a", { href: `#${id}` }, title)));
  return made;
}

function table(heads, rows, caption) {
  const head = el("tr", {}, ...heads.map((text, i) => el("th", { scope: "col", class: i === 0 || rows[0]?.children[i]?.classList.contains("text") ? "text" : null }, text)));
  const made = el("table", {}, el("caption", { class: "skip" }, caption), el("thead", {}, head), el("tbody", {}, ...rows));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
}

// The figures of a chart as a table, folded away: for reading aloud, copying and printing.
const folded = (title, heads, rows) => el("details", {}, el("summary", {}, title), table(heads, rows, title));

function cells(first, ...values) {
  return el("tr", {}, el("td", {}, clean(first)), ...values.map((value) => el("td", {}, value === null || value === undefined ? "" : clean(value))));
}

// A Plotly chart that follows the theme; `make` returns its traces and layout anew. Where it is narrow its
// legend is a list below it, which wraps.
function chart(parent, label, make, height = 360) {
  const place = el("figure", { class: "chart", "aria-label": label }), list = el("ul", { class: "legend" });
  place.style.height = `${height}px`;
  parent.append(place, list);
  const draw = () => {
    const { traces, layout } = make(), narrow = place.clientWidth < 660;
    const axis = { gridcolor: css("--line"), zerolinecolor: css("--line") };
    const base = { paper_bgcolor: css("--ground"), plot_bgcolor: css("--ground"), font: { color: css("--ink"), family: "system-ui, sans-serif", size: 12 }, margin: { l: 60, r: 15, t: 10, b: 45 }, legend: { y: 0.92 }, height }; // below the bar of buttons, which a touch screen shows always
    const named = traces.filter((trace) => trace.name && trace.showlegend !== false);
    list.replaceChildren(...(narrow && named.length > 1 ? named.map(legendItem) : []));
    if (narrow) base.showlegend = false;
    if (document.documentElement.dataset.paper) base.width = place.clientWidth; // at once: a page is printed right after
    const full = { ...base, ...layout, xaxis: { ...axis, automargin: "bottom", ...layout.xaxis }, yaxis: { ...axis, automargin: "left", ...layout.yaxis } };
    Plotly.react(place, traces, full, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["toImage", "lasso2d", "select2d"] });
  };
  report.redraw.push(draw);
  draw();
  return place;
}

function legendItem(trace) {
  const mark = swatch(trace.marker.color ?? trace.line.color), hatched = trace.marker.pattern?.shape;
  if (hatched) mark.style.background = `repeating-linear-gradient(135deg, ${trace.marker.color} 0 2px, ${trace.marker.pattern.fillmode === "overlay" ? "#000" : css("--ground")} 2px 4px)`;
  return el("li", {}, mark, trace.name.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&"));
}

// Charts that have become narrow or wide are drawn anew.
function followWidth() {
  let narrow = innerWidth < 700;
  addEventListener("resize", () => { if (narrow !== innerWidth < 700) { narrow = innerWidth < 700; for (const draw of report.redraw) draw(); } });
}
