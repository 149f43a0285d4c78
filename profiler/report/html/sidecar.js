// The sidecar's calls: phases and kinds by rows, with the floor; waits at joins, layer by layer; headroom.
"use strict";

const rowsName = (group, one) => (group.rows === null ? (one ? "all" : "?") : String(group.rows));
const shownUs = (value) => (value === null || value === undefined ? "" : us(value * 1e3));

function sidecarSection(data) {
  const found = data.sidecar;
  if (!found) return;
  const doc = found.document, all = doc.all;
  const skipped = doc.skipped_share === null ? "" : `, ${percent(doc.skipped_share)} skipped`;
  const made = section("sidecar", "Sidecar", `${counted(doc.calls, "call")} in ${counted(doc.steps, "step")}, found by ${doc.source}, ${doc.rows_said}, ${doc.empty_calls} without rows${skipped}. All times are measured, but floors and headroom, which are modelled.`);
  const tiles = el("div", { class: "tiles" });
  tiles.append(tile(`${us(all.mean_us * 1e3)} µs`, `mean call, p50 ${us(all.p50_us * 1e3)}, p95 ${us(all.p95_us * 1e3)}`, "measured"));
  tiles.append(tile(`${ms(doc.join_wait_us_per_step * 1e3)} ms`, "of a step the main card waits at joins", "measured"));
  tiles.append(tile(`${ms(doc.held_us_per_step * 1e3)} ms`, "of a step with the wake-ups after those waits", "measured"));
  tiles.append(tile(`${ms(doc.away_us_per_step * 1e3)} ms`, "of a step away: first sidecar op of a call until main resumes", "measured"));
  tiles.append(doc.headroom_us === null ? tile("unknown", "headroom: no floor below the call is known") : tile(`${us(doc.headroom_us * 1e3)} µs`, "of a call above its floor", "modelled"));
  made.append(tiles, el("p", {}, clean(doc.headroom_said)));
  if (all.floor_us !== null) made.append(el("p", {}, `Floor: ${clean(doc.floor_said)}.`));
  made.append(el("h3", {}, "What a call is made of"));
  byRows(made, found, "phases", "Phases of the mean call by rows; grey parts are gaps, in which nothing of the call runs.");
  byRows(made, found, "kinds", "What the ops of the mean call do, by rows.");
  made.append(callTable(found), ...fitted(doc));
  joins(made, found);
}

const groupsOf = ({ document: doc }) => (doc.per_rows.length > 1 ? [...doc.per_rows, doc.all] : doc.per_rows);

// Bars stacked by phase or kind; a colour that comes twice is hatched the second time.
function byRows(made, found, what, label) {
  const groups = groupsOf(found), x = groups.map((group) => rowsName(group, group === found.document.all)), field = `${what}_mean_us`, met = {};
  const hatch = {};
  for (const name of found[what]) { const colour = found.colours[what][name]; met[colour] = (met[colour] ?? -1) + 1; hatch[name] = ["", "/", "x", "."][met[colour] % 4]; }
  const bar = (name) => ({ type: "bar", name: safe(name), x, y: groups.map((group) => group[field][name] ?? 0), marker: { color: found.colours[what][name], pattern: { shape: hatch[name], fgcolor: "#000", fillmode: "overlay", size: 6, solidity: 0.25 }, line: { color: css("--ground"), width: 0.5 } }, hovertemplate: `${safe(name)} %{y:.1f} µs<extra>%{x} rows</extra>` });
  const floor = { type: "scatter", mode: "lines+markers", name: "floor (modelled)", x, y: groups.map((group) => group.floor_us), line: { color: css("--ink"), dash: "dash", width: 2 }, marker: { symbol: "line-ew-open", size: 16, color: css("--ink") }, hovertemplate: "floor %{y:.1f} µs<extra>%{x} rows</extra>" };
  const make = () => ({ traces: [...found[what].map(bar), ...(found.document.all.floor_us === null ? [] : [{ ...floor, line: { ...floor.line, color: css("--ink") } }])], layout: { barmode: "stack", xaxis: { type: "category", tickangle: 0, title: { text: "rows of the call" } }, yaxis: { title: { text: "µs, mean call" } } } });
  made.append(el("p", {}, label));
  chart(made, `${what} of the mean call by rows`, make, 380);
  made.append(folded(`${what} by rows, µs`, [what.slice(0, -1), ...x.map((rows) => (rows === "all" ? rows : `rows ${rows}`))], found[what].map((name) => cells(name, ...groups.map((group) => shownUs(group[field][name] ?? 0))))));
}

function callTable(found) {
  const heads = ["rows", "calls", "p50 µs", "p95 µs", "p99 µs", "max µs", "mean µs", "floor µs", "wait µs", "away µs"];
  const rows = groupsOf(found).map((group) => cells(rowsName(group, group === found.document.all), group.calls, ...["p50_us", "p95_us", "p99_us", "max_us", "mean_us", "floor_us", "join_wait_us", "away_us"].map((key) => shownUs(group[key]))));
  return table(heads, rows, "Calls by rows");
}

function fitted(doc) {
  const term = (fit, key, unit) => {
    if (fit[key] === null) return null;
    const interval = fit.intervals[key];
    return `${fit[key].toFixed(1)}${interval ? ` (${interval[0].toFixed(1)} to ${interval[1].toFixed(1)})` : ""} µs${unit}`;
  };
  const said = [doc.fit, doc.fit_robust].filter((fit) => fit.fixed_us !== null).map((fit) => `A call costs ${[term(fit, "fixed_us", " fixed"), term(fit, "per_row_us", " a row"), term(fit, "per_expert_us", " an expert")].filter(Boolean).join(" + ")}; ${fit.estimator}, off by ${fit.max_residual_us.toFixed(1)} µs at most.`);
  return [...said, doc.fit_said].filter(Boolean).map((text) => el("p", {}, clean(text)));
}

function joins(made, found) {
  const layers = found.document.by_layer, x = layers.map((one) => (one.layer === null ? "?" : String(one.layer)));
  made.append(el("h3", {}, "Join wait by layer"), el("p", {}, "From where a call leaves the main card's work: when the main card is ready for the answer, when the sidecar has it, and how long the main card waits. A faster sidecar saves the wait, and what of the wake-up after it depends on it."));
  for (const text of found.document.waits_said) made.append(el("p", {}, clean(text)));
  const bar = (name, key, colour, hatch) => ({ type: "bar", name, x, y: layers.map((one) => one[key]), marker: { color: colour, pattern: hatch ? { shape: "/" } : undefined }, hovertemplate: `${name} %{y:.1f} µs<extra>layer %{x}</extra>` });
  const make = () => ({ traces: [bar("main ready", "main_ready_us", roleColour("dense_gemm")), bar("sidecar", "sidecar_us", roleColour("sidecar_gather")), bar("join wait", "join_wait_us", gapColour("sidecar_wait"), true)], layout: { barmode: "group", xaxis: { type: "category", tickangle: innerWidth < 700 && x.length > 12 ? -90 : 0, title: { text: "layer" } }, yaxis: { title: { text: "µs, mean call" } } } });
  chart(made, "Main ready, sidecar and join wait by layer", make, 360);
  const clocks = found.document.clocks_said;
  if (clocks) made.append(el("p", {}, `${clean(clocks[0].toUpperCase() + clocks.slice(1))}.`));
  made.append(folded("Join wait by layer, µs", ["layer", "rows", "main ready", "sidecar", "join wait"], layers.map((one, i) => cells(x[i], one.rows === null ? "?" : +one.rows.toFixed(2), shownUs(one.main_ready_us), shownUs(one.sidecar_us), shownUs(one.join_wait_us) + (one.below_bound ? ` (${one.below_bound} <)` : "")))));
}
