// Headline, and where the step goes: the partition of every step, the median step as a waterfall, roles with kinds.
"use strict";

function tile(value, what, kind) {
  return el("div", { class: "tile" }, el("b", {}, value), el("span", {}, kind ? `${what} (${kind})` : what));
}

function headline(data) {
  const found = data.breakdown;
  const made = section("headline", "Headline");
  const tiles = el("div", { class: "tiles" });
  tiles.append(tile(`${ms(found.wall_ns.p50)} ms`, `p50 step of ${found.steps}, ${ms(found.wall_ns.min)} to ${ms(found.wall_ns.max)}`, "measured"));
  tiles.append(...rateTiles(data.speculation));
  const cost = found.tracing_inflation, interval = found.tracing_inflation_interval;
  const between = interval ? ` (${interval[0].toFixed(3)} to ${interval[1].toFixed(3)})` : "";
  tiles.append(cost ? tile(`${cost.toFixed(3)} ×`, `traced step over untraced${between}`, "measured") : tile("unknown", "tracing cost: no untraced control on record"));
  tiles.append(tile(`${ms(found.totals.gap_ns / found.steps)} ms`, "of a step in which the path finds no op running"));
  if (found.second_card_ns > 0) tiles.append(tile(`${ms(found.second_card_ns)} ms`, "of a step on the second card or waiting for it"));
  tiles.append(tile(percent(found.labelled_share), "of ops labelled by the program"));
  tiles.append(tile(percent(found.path.recorded + found.path.ordered), "of the path's links recorded or ordered; the rest is inferred"));
  made.append(tiles, advice(found));
  if (data.speculation && data.speculation.groups.length > 1) made.append(rateTable(data.speculation));
  if (found.warnings.length || found.mismatches.length) made.append(warnings(found));
}

// tokens/s and the tokens that a step keeps, of all classes at today's k.
function rateTiles(found) {
  if (!found) return [tile("unknown", "tokens/s: no facts of steps on record")];
  const lane = found.lanes[0], rate = lane.tokens_per_s, step = lane.step_ms;
  const timed = step ? ` ÷ ${step.value.toFixed(3)} ms mean period` : "";
  const made = rate ? [tile(rate.value.toFixed(1), `tokens/s: ${lane.kept.value.toFixed(3)} kept${timed}, ${lane.steps} steps at k = ${lane.k}`, rate.kind)] : [tile("unknown", "tokens/s: the steps have no period")];
  return [...made, tile(lane.kept.value.toFixed(3), "tokens kept a step", lane.kept.kind)];
}

function rateTable(found) {
  const figure = (one, digits) => (one ? one.value.toFixed(digits) : "");
  const rows = found.groups.map((one) => cells(one.class === null ? "all" : one.class, one.k, one.steps, figure(one.kept, 3), figure(one.step_ms, 3), figure(one.p50_step_ms, 3), figure(one.tokens_per_s, 1)));
  return el("div", {}, el("h3", {}, "tokens/s by class and drafts"), table(["class", "k", "steps", "kept", "mean ms", "p50 ms", "tokens/s"], rows, "tokens/s by class and drafts"));
}

function advice(found) {
  const top = found.rows[0];
  if (!top) return el("p", {}, "No op lies on the path.");
  const text = `${top.key} is the largest role: ${ms(top.exposed_ns)} ms of the step (${percent(top.share)}) can only be saved there; another ${ms(top.hidden_ns)} ms of its work is hidden behind other ops, and removing that alone would save nothing.`;
  const gap = found.gaps[0];
  const gaps = gap && gap.exposed_ns > top.exposed_ns ? ` The largest gap is larger still: ${ms(gap.exposed_ns)} ms (${percent(gap.share)}) ${gap.class}, in which no op of the path runs.` : "";
  return el("p", {}, text + gaps);
}

function warnings(found) {
  const list = el("ul", { class: "warn" });
  for (const one of found.warnings) list.append(el("li", {}, clean(one.text)));
  for (const one of found.mismatches) list.append(el("li", {}, clean(`${one.role}: ${percent(one.share, 0)} of its work is ${one.kind} (${one.kernel})`)));
  return el("div", {}, el("h3", {}, "What to know before reading on"), list);
}

function where(data) {
  const steps = data.steps;
  const thinned = steps.index.length < steps.of ? ` ${steps.index.length} of ${steps.of} steps are drawn, chosen evenly with the shortest, the median and the longest.` : "";
  const made = section("where", "Where the step goes", `Every nanosecond of a step is an op on the path (exposed) or a gap; the bars add up to the wall exactly. Choose a bar to see that step op by op.${thinned}`);
  const place = chart(made, "Exposed time by role and gaps by class, for each step", () => perStep(steps), 380);
  place.on("plotly_click", (event) => report.showStep(steps.index[event.points[0].pointNumber], true));
  made.append(el("h3", {}, "The median step as a waterfall"));
  chart(made, "Median step split into roles and gaps, from largest to smallest", () => waterfall(steps), 400);
  made.append(el("h3", {}, "Roles, and what their ops really do"), roleTable(data));
}

function perStep(steps) {
  const bar = (name, values, colour, hatch) => ({ type: "bar", name, x: steps.index, y: values.map((v) => v / 1e6), marker: { color: colour, pattern: hatch ? { shape: "/" } : undefined }, hovertemplate: `${name} %{y:.3f} ms<extra>step %{x}</extra>` });
  const traces = Object.entries(steps.exposed).map(([role, values]) => bar(role, values, roleColour(role)));
  for (const [gap, values] of Object.entries(steps.gaps)) traces.push(bar(`gap: ${gap}`, values, gapColour(gap), gap.endsWith("wait")));
  return { traces, layout: { barmode: "stack", bargap: 0.08, xaxis: { title: { text: "step" }, tickformat: "d" }, yaxis: { title: { text: "ms" } } } };
}

function waterfall(steps) {
  const order = [...steps.wall_ns.keys()].sort((a, b) => steps.wall_ns[a] - steps.wall_ns[b]);
  const median = order[Math.floor(order.length / 2)];
  const part = (source, prefix, colour) => Object.entries(source).map(([key, v]) => ({ name: prefix + key, ns: v[median], colour: colour(key) })).filter((one) => one.ns > 0);
  const parts = [...part(steps.exposed, "", roleColour).sort((a, b) => b.ns - a.ns), ...part(steps.gaps, "gap: ", gapColour).sort((a, b) => b.ns - a.ns)];
  let sum = 0;
  const base = parts.map((one) => (sum += one.ns) - one.ns);
  const names = [...parts.map((one) => one.name), "wall"];
  const trace = { type: "bar", x: names, base: [...base, 0].map((v) => v / 1e6), y: [...parts.map((one) => one.ns), sum].map((v) => v / 1e6), marker: { color: [...parts.map((one) => one.colour), css("--soft")] }, hovertemplate: "%{x} %{y:.3f} ms<extra></extra>" };
  return { traces: [trace], layout: { xaxis: { tickangle: -40 }, yaxis: { title: { text: `ms of step ${steps.index[median]}` } } } };
}

function roleTable(data) {
  const rows = [];
  for (const row of data.breakdown.rows) {
    const bar = el("span", { class: "bar", "aria-hidden": "true" });
    bar.style.cssText = `width:${Math.max(1, 160 * row.share)}px;background:${roleColour(row.key)}`;
    rows.push(el("tr", {}, el("td", {}, swatch(roleColour(row.key)), row.key), ...[ms(row.exposed_ns), percent(row.share)].map((v) => el("td", {}, v)), el("td", { class: "text" }, bar), ...[ms(row.busy_ns), ms(row.work_ns), ms(row.hidden_ns), row.ops.toFixed(row.ops % 1 ? 1 : 0)].map((v) => el("td", {}, v))));
    const kinds = row.kinds.map((one) => `${one.kind} ${row.work_ns ? percent(one.work_ns / row.work_ns, 0) : ""}${one.fits ? "" : " (does not fit the role)"}`);
    rows.push(el("tr", { class: "kinds" }, el("td", { colspan: "8" }, kinds.join(" · "))));
  }
  for (const gap of data.breakdown.gaps) rows.push(el("tr", {}, el("td", {}, swatch(gapColour(gap.class)), `gap: ${gap.class}`), el("td", {}, ms(gap.exposed_ns)), el("td", {}, percent(gap.share)), el("td"), el("td"), el("td"), el("td"), el("td", {}, gap.count.toFixed(gap.count % 1 ? 1 : 0))));
  return table(["role", "exposed ms", "of wall", "share", "busy ms", "work ms", "hidden ms", "ops"], rows, "Roles and gaps, per step");
}
