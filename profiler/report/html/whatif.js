// What proposals would do: from today's step to the proposed one, hidden against exposed, gates, the track record.
"use strict";
const SAVES = "#009e73", COSTS = "#d55e00", HIDDEN = "#8c8c8c";

const withBounds = (figure, digits, sign) => {
  if (!figure) return "";
  const say = (v) => (v === null || v === undefined ? "?" : `${sign && v > 0 ? "+" : ""}${v.toFixed(digits)}`);
  if (figure.value === null) return `${say(figure.low)} to ${say(figure.high)}`;
  return figure.low === null && figure.high === null ? say(figure.value) : `${say(figure.value)} (${say(figure.low)} to ${say(figure.high)})`;
};

function whatifSection(data) {
  if (!data.whatif) return;
  const { document: doc, track_record: record } = data.whatif, all = doc.proposals, last = all[all.length - 1];
  const left = doc.left_out ? `; ${doc.left_out} steps of another form are left out` : "";
  const made = section("whatif", "What-if", `What ${all.length} proposals would do to the step, replayed on the dependency graph of ${doc.steps} steps${left}. Changes are modelled; intervals are 95 %, or the range of a given figure.`);
  const tiles = el("div", { class: "tiles" });
  tiles.append(tile(`${doc.step_ms.value.toFixed(3)} ms`, "today's step, p50", doc.step_ms.kind));
  if (last) tiles.append(tile(`${withBounds(last.in_sequence.step_ms, 3)} ms`, "the step with all proposals", last.in_sequence.step_ms.kind));
  if (doc.tokens_per_s) tiles.append(tile(withBounds(doc.tokens_per_s, 1), "tokens/s today", doc.tokens_per_s.kind));
  if (last?.in_sequence.tokens_per_s) tiles.append(tile(withBounds(last.in_sequence.tokens_per_s, 1), "tokens/s with all proposals", last.in_sequence.tokens_per_s.kind));
  tiles.append(tile(percent(doc.replay_error.wall_median), "error of the replay on steps that it was not fitted on (median)", "measured"));
  made.append(tiles);
  if (record) made.append(el("p", {}, clean(record)));
  if (!all.length) return;
  made.append(el("h3", {}, "From today's step to the proposed one"), el("p", {}, "Each proposal on top of those before it; green with a falling bar saves, orange with hatching costs; whiskers are intervals. The axis does not start at 0."));
  chart(made, "Waterfall from today's step through each proposal", () => sequence(doc), 380);
  made.append(el("h3", {}, "Hidden against exposed"), el("p", {}, "How much work each proposal alone takes away, and what of it the step gets shorter by: hidden work saves nothing."));
  chart(made, "Removed work of each proposal: saved and hidden", () => hidden(all), Math.max(220, 90 + 34 * all.length));
  made.append(proposalTable(all), el("p", {}, `Node cost: ${clean(doc.node_cost.basis)} (${doc.node_cost.figure}).`));
  if (doc.targets.length) made.append(table(["tokens/s", "takes a step of ms", "kind"], doc.targets.map((one) => cells(one.tokens_per_s.toFixed(1), one.step_ms.toFixed(3), one.kind)), "Steps that wanted rates take"));
}

function sequence(doc) {
  const today = doc.step_ms.value, all = doc.proposals, steps = all.map((one) => one.in_sequence.step_ms);
  const before = [today, ...steps.slice(0, -1).map((one) => one.value)], names = all.map((one) => safe(one.name));
  const ends = [today, ...steps.flatMap((one) => [one.value, one.low ?? one.value, one.high ?? one.value])];
  const low = Math.min(...ends), high = Math.max(...ends), room = Math.max((high - low) * 0.15, today * 0.002), floor = low - 2 * room;
  const down = steps.map((one, i) => one.value <= before[i]);
  const bars = { type: "bar", x: names, base: steps.map((one, i) => Math.min(one.value, before[i])), y: steps.map((one, i) => Math.abs(one.value - before[i])), marker: { color: down.map((yes) => (yes ? SAVES : COSTS)), pattern: { shape: down.map((yes) => (yes ? "" : "/")) } }, customdata: steps.map((one, i) => one.value - before[i]), hovertemplate: "%{x}: %{customdata:+.3f} ms<extra></extra>", showlegend: false };
  const whole = { type: "bar", x: ["today", "proposed"], base: [floor, floor], y: [today - floor, steps[steps.length - 1].value - floor], customdata: [today, steps[steps.length - 1].value], marker: { color: css("--soft") }, hovertemplate: "%{x}: %{customdata:.3f} ms<extra></extra>", showlegend: false };
  const ends2 = { type: "scatter", mode: "markers", x: names, y: steps.map((one) => one.value), marker: { color: css("--ink"), symbol: "line-ew-open", size: 12 }, error_y: { type: "data", symmetric: false, array: steps.map((one) => (one.high ?? one.value) - one.value), arrayminus: steps.map((one) => one.value - (one.low ?? one.value)), color: css("--ink") }, hovertemplate: "%{x}: step of %{y:.3f} ms<extra></extra>", showlegend: false };
  return { traces: [bars, whole, ends2], layout: { barmode: "overlay", xaxis: { type: "category", categoryorder: "array", categoryarray: ["today", ...names, "proposed"], tickangle: -30 }, yaxis: { title: { text: "ms a step" }, range: [floor, high + room] } } };
}

function hidden(all) {
  const y = all.map((one) => safe(one.name)), saved = all.map((one) => Math.max(0, -one.alone.delta_ms.value));
  const bar = (name, x, color, shape) => ({ type: "bar", orientation: "h", name, y, x, marker: { color, pattern: { shape } }, hovertemplate: `${name} %{x:.3f} ms<extra>%{y}</extra>` });
  return { traces: [bar("saved (exposed)", saved, SAVES, ""), bar("hidden", all.map((one) => one.hidden_ms.value), HIDDEN, "/")], layout: { barmode: "stack", yaxis: { type: "category", autorange: "reversed" }, xaxis: { title: { text: "ms a step" } } } };
}

function proposalTable(all) {
  const heads = ["proposal", "edits", "ops", "work ms", "removed ms", "hidden ms", "alone, Δ ms", "in sequence, Δ ms", "step ms", "tokens/s", "human's estimate", "gate", "verdict"];
  const rows = all.map((one) => {
    const row = cells(one.name, one.edits.join(", "), one.ops, withBounds(one.work_ms, 3), withBounds(one.removed_work_ms, 3), withBounds(one.hidden_ms, 3), withBounds(one.alone.delta_ms, 3, true), withBounds(one.in_sequence.delta_ms, 3, true), withBounds(one.in_sequence.step_ms, 3), withBounds(one.in_sequence.tokens_per_s, 1), withBounds(one.human_estimate_ms, 3, true), one.gate, one.verdict);
    row.firstChild.append(...one.notes.map((note) => el("small", {}, el("br"), clean(note))));
    return row;
  });
  return table(heads, rows, "Proposals, ms a step");
}
