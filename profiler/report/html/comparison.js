// Two arms of launches: the change of a step with its interval, where it went, ops of one arm alone, settings.
"use strict";
const MOST_BARS = 20;
const OUTCOMES = { lower: "The candidate's step is shorter", higher: "The candidate's step is longer", not_told_apart: "Not told apart", refused: "No answer" };
const signedUs = (ns) => `${ns > 0 ? "+" : ""}${us(ns, 2)}`;

function comparisonSection(data) {
  if (!data.comparison) return;
  const { document: doc, left_out: cut } = data.comparison, count = (arm) => doc[arm].launches.length;
  const made = section("comparison", "Comparison", `Candidate minus control: ${counted(count("control"), "launch")} of the control, ${counted(count("candidate"), "launch")} of the candidate. The launch is the unit; bounds are what chance among launches explains.`);
  const tiles = el("div", { class: "tiles" });
  for (const arm of ["control", "candidate"]) tiles.append(tile(`${doc[arm].mean.toFixed(4)} ms`, `step of the ${arm}, mean of ${counted(count(arm), "median")}`, doc.kind));
  const share = doc.relative === null ? "" : ` (${(100 * doc.relative).toFixed(2)} %)`, sign = doc.estimate > 0 ? "+" : "";
  tiles.append(tile(`${sign}${doc.estimate.toFixed(4)} ms`, doc.delta ? `change${share}, 95 % interval ${doc.delta.low.toFixed(4)} to ${doc.delta.high.toFixed(4)}` : `change${share}; no interval`, doc.kind));
  tiles.append(tile(doc.noise_floor === null ? "unknown" : `${doc.noise_floor.toFixed(4)} ms`, "noise floor of the controls"));
  made.append(tiles, el("p", { class: doc.outcome === "refused" ? "warn" : null }, `${OUTCOMES[doc.outcome]}: ${clean(doc.reason)}`));
  if (Object.keys(doc.rows).length) whereItWent(made, doc);
  if (doc.ops) opsOfOneArm(made, doc.ops, cut);
  if (doc.cells.length) made.append(table(["class@concurrency", "control", "candidate", "Δ", "bound"], doc.cells.map((one) => cells(one.cell, ...["control_tokens_per_s", "candidate_tokens_per_s", "delta"].map((key) => one[key].toFixed(1)), one.bound === null ? "" : one.bound.toFixed(1))), "tokens/s"));
  if (doc.settings.length) made.append(el("h3", {}, "Settings that differ"), table(["setting", "control", "candidate"], doc.settings.map((one) => textCells(one.setting + (one.within ? " (within an arm)" : ""), one.control.join(", "), one.candidate.join(", "))), "Settings that differ"));
  const launches = ["control", "candidate"].flatMap((arm) => doc[arm].launches.map((one) => cells(one.name, arm, one.median.toFixed(4), one.error === null ? "" : one.error.toFixed(4), one.steps, one.left_out, one.drifts ? "yes" : "", tracingOf(one))));
  made.append(folded("Launches", ["launch", "arm", "p50 ms", "error ms", "steps", "left out", "drifts", "traced ÷ untraced"], launches));
}

// What tracing did to a launch; nothing where it was not traced.
function tracingOf(one) {
  if (one.source !== "trace") return "";
  const cost = one.tracing_inflation, interval = one.tracing_inflation_interval;
  return cost === null ? "unknown" : cost.toFixed(3) + (interval ? ` (${interval[0].toFixed(3)} to ${interval[1].toFixed(3)})` : "");
}

const textCells = (...values) => el("tr", {}, ...values.map((value) => el("td", { class: "text" }, clean(value))));

// Bars of the change by role, kind, layer or gap class, largest first; whiskers are the bounds.
function whereItWent(made, doc) {
  made.append(el("h3", {}, "Where the change went"));
  const choice = el("select", { id: "change-choice" }, ...Object.keys(doc.rows).map((by) => el("option", { value: by }, by === "gap" ? "gap class" : by)));
  made.append(el("div", { class: "controls" }, el("label", { for: "change-choice" }, "By"), choice));
  const rows = () => doc.rows[choice.value].filter((row) => row.delta_ns);
  const colour = (row) => (choice.value === "role" ? roleColour(row.key) : choice.value === "gap" ? gapColour(row.key) : row.delta_ns < 0 ? SAVES : COSTS);
  const make = () => {
    const shown = rows().slice(0, MOST_BARS), bounds = shown.map((row) => (row.bound_ns ?? 0) / 1e3);
    const trace = { type: "bar", orientation: "h", y: shown.map((row) => safe(row.key)), x: shown.map((row) => row.delta_ns / 1e3), marker: { color: shown.map(colour), pattern: { shape: shown.map((row) => (row.delta_ns < 0 ? "" : "/")) } }, error_x: { type: "data", array: bounds, visible: bounds.some(Boolean), color: css("--ink") }, hovertemplate: "%{y} %{x:+.2f} µs<extra></extra>" };
    return { traces: [trace], layout: { yaxis: { type: "category", autorange: "reversed" }, xaxis: { title: { text: "µs a step, below 0 is saved" }, zeroline: true, zerolinewidth: 2 } } };
  };
  chart(made, "Change of exposed time and gaps", make, 420);
  const place = el("div", { id: "change-table" });
  const list = () => place.replaceChildren(table([choice.value === "gap" ? "gap class" : choice.value, "control µs", "candidate µs", "Δ µs", "bound µs", "beyond chance"], rows().map((row) => cells(row.key, us(row.control_ns, 2), us(row.candidate_ns, 2), signedUs(row.delta_ns), row.bound_ns === null ? "" : us(row.bound_ns, 2), row.beyond ? "yes" : "")), "Where the change went, per step"));
  choice.addEventListener("change", () => { list(); report.redraw.forEach((draw) => draw()); });
  made.append(place);
  list();
}

const FEW = 8;

function opsOfOneArm(made, ops, left) {
  const more = (name) => (left[name] ? ` ${left[name].toLocaleString("en")} more are left out.` : "");
  const heads = ["op", "range", "ops", "exposed µs", "work µs"];
  for (const name of ["appeared", "vanished"]) {
    if (!ops[name].length) continue;
    const total = ops[name].reduce((sum, one) => sum + one.ops, 0), whose = name === "appeared" ? "Only the candidate has them" : "Only the control has them";
    made.append(el("h3", {}, `Ops that ${name}`), el("p", {}, `${whose}: ${total.toLocaleString("en")} ops a step are listed; figures are per step.${more(name)}`));
    const rows = () => ops[name].map((one) => opCells([one.short, one.name], [one.label], one.ops, us(one.exposed_ns, 2), us(one.work_ns, 2)));
    made.append(table(heads, rows().slice(0, FEW), `Ops that ${name}, the most exposed`));
    if (ops[name].length > FEW) made.append(folded(`All ${ops[name].length} ops and ranges that ${name}`, heads, rows()));
  }
  if (!ops.aligned.length) return;
  const rows = ops.aligned.map((row) => opCells([row.short, row.key], us(row.control_ns, 2), us(row.candidate_ns, 2), signedUs(row.delta_ns), row.bound_ns === null ? "" : us(row.bound_ns, 2), row.beyond ? "yes" : ""));
  const like = ops.steps_share < 1 ? `${percent(ops.steps_share, 0)} of steps are like the typical one and count here.` : "";
  made.append(el("h3", {}, "Ops of both arms"), el("p", {}, `${like || "Every step counts."} Those that changed are listed.${more("aligned")}`), folded("Ops of both arms that changed, largest first", ["op", "control µs", "candidate µs", "Δ µs", "bound µs", "beyond chance"], rows));
}

// Cells given as lists are texts: what is shown and, where there is more of it, the whole for a pointer.
const opCells = (...values) => el("tr", {}, ...values.map((value) => (Array.isArray(value) ? el("td", { class: "text", title: value[1] ? clean(value[1]) : null }, clean(value[0])) : el("td", {}, clean(value)))));
