// What proposals would do: from today's step to the proposed one, hidden against exposed, gates, the track record.
"use strict";
const SAVES = "#009e73", COSTS = "#d55e00", HIDDEN = "#8c8c8c";

const withBounds = (figure, digits, sign) => {
  if (!figure) return "";
  const say = (v) => (v === null || v === undefined ? "?" : `${sign && v > 0 ? "+" : ""}${v.toFixed(digits)}`);
  if (figure.value === null) return `${say(figure.low)} to ${say(figure.high)}`;
  return figure.low === null && figure.high === null ? say(figure.value) : `${say(figure.value)} (${say(figure.low)} to ${say(figure.high)})`;
};

const range = (figure, digits) => (figure.low === null || figure.high === null ? "" : `, ${figure.low.toFixed(digits)} to ${figure.high.toFixed(digits)}`);

function whatifSection(data) {
  if (!data.whatif) return;
  const { document: doc, scores } = data.whatif, all = doc.proposals, last = all[all.length - 1];
  const left = doc.left_out ? `; ${counted(doc.left_out, "step")} of another form left out` : "";
  const made = section("whatif", "What-if", `What ${counted(all.length, "proposal")} would do to the step, replayed on the dependency graph of ${counted(doc.steps, "step")}${left}. Changes are modelled; intervals are 95 %, or the range of a given figure.`);
  const tiles = el("div", { class: "tiles" });
  tiles.append(tile(`${doc.step_ms.value.toFixed(3)} ms`, "today's step, p50", doc.step_ms.kind));
  if (last) tiles.append(tile(`${last.in_sequence.step_ms.value.toFixed(3)} ms`, `the step with all proposals${range(last.in_sequence.step_ms, 3)}`, last.in_sequence.step_ms.kind));
  if (doc.tokens_per_s) tiles.append(tile(withBounds(doc.tokens_per_s, 1), "tokens/s today", doc.tokens_per_s.kind));
  const rate = last?.in_sequence.tokens_per_s;
  if (rate) tiles.append(rate.value === null ? tile(withBounds(rate, 1), "tokens/s with all proposals", rate.kind) : tile(rate.value.toFixed(1), `tokens/s with all proposals${range(rate, 1)}`, rate.kind));
  tiles.append(tile(percent(doc.replay_error.wall_median), "error of the replay on steps that it was not fitted on (median)", "measured"));
  made.append(tiles);
  if (!all.length) return;
  made.append(el("h3", {}, "From today's step to the proposed one"), el("p", {}, "Each proposal on top of those before it; green with a falling bar saves, orange with hatching costs; whiskers are intervals. The axis does not start at 0."));
  chart(made, "Waterfall from today's step through each proposal", () => sequence(doc), 380);
  made.append(el("h3", {}, "Hidden against exposed"), el("p", {}, "How much work each proposal alone takes away, and what of it the step gets shorter by: hidden work saves nothing."));
  chart(made, "Removed work of each proposal: saved and hidden", () => hidden(all), Math.max(220, 90 + 34 * all.length));
  made.append(proposalTable(all), el("p", {}, `Node cost: ${us(doc.node_cost.cost.value, 2)} µs (${us(doc.node_cost.cost.low, 2)} to ${us(doc.node_cost.cost.high, 2)}), ${doc.node_cost.figure}: ${clean(doc.node_cost.basis)}.`));
  if (doc.table.length) made.append(folded(`tokens/s by step time, at ${doc.kept.value.toFixed(3)} kept tokens (${doc.kept.kind})`, ["step ms", "tokens/s", "kind"], doc.table.map((one) => cells(one.step_ms.toFixed(3), one.tokens_per_s.toFixed(1), one.kind))));
  if (scores) trackRecord(made, scores);
  if (doc.targets.length) made.append(table(["tokens/s", "takes a step of ms", "kind"], doc.targets.map((one) => cells(one.tokens_per_s.toFixed(1), one.step_ms.toFixed(3), one.kind)), "Steps that wanted rates take"));
}

// Numbers as in the table, so that two names that begin alike stay two.
const shortNames = (all) => all.map((one, i) => safe(`${i + 1} ${cut(one.name, innerWidth < 700 ? 14 : 34)}`));

function sequence(doc) {
  const today = doc.step_ms.value, all = doc.proposals, steps = all.map((one) => one.in_sequence.step_ms);
  const before = [today, ...steps.slice(0, -1).map((one) => one.value)], names = shortNames(all);
  const ends = [today, ...steps.flatMap((one) => [one.value, one.low ?? one.value, one.high ?? one.value])];
  const low = Math.min(...ends), high = Math.max(...ends), room = Math.max((high - low) * 0.15, today * 0.002), floor = low - 2 * room;
  const down = steps.map((one, i) => one.value <= before[i]);
  const bars = { type: "bar", x: names, base: steps.map((one, i) => Math.min(one.value, before[i])), y: steps.map((one, i) => Math.abs(one.value - before[i])), marker: { color: down.map((yes) => (yes ? SAVES : COSTS)), pattern: { shape: down.map((yes) => (yes ? "" : "/")) } }, customdata: steps.map((one, i) => one.value - before[i]), hovertemplate: "%{x}: %{customdata:+.3f} ms<extra></extra>", showlegend: false };
  const whole = { type: "bar", x: ["today", "proposed"], base: [floor, floor], y: [today - floor, steps[steps.length - 1].value - floor], customdata: [today, steps[steps.length - 1].value], marker: { color: css("--soft") }, hovertemplate: "%{x}: %{customdata:.3f} ms<extra></extra>", showlegend: false };
  const ends2 = { type: "scatter", mode: "markers", x: names, y: steps.map((one) => one.value), marker: { color: css("--ink"), symbol: "line-ew-open", size: 12 }, error_y: { type: "data", symmetric: false, array: steps.map((one) => (one.high ?? one.value) - one.value), arrayminus: steps.map((one) => one.value - (one.low ?? one.value)), color: css("--ink") }, hovertemplate: "%{x}: step of %{y:.3f} ms<extra></extra>", showlegend: false };
  return { traces: [bars, whole, ends2], layout: { barmode: "overlay", xaxis: { type: "category", categoryorder: "array", categoryarray: ["today", ...names, "proposed"], tickangle: -30 }, yaxis: { title: { text: "ms a step" }, range: [floor, high + room] } } };
}

function hidden(all) {
  const y = shortNames(all), saved = all.map((one) => Math.max(0, -one.alone.delta_ms.value));
  const bar = (name, x, color, shape) => ({ type: "bar", orientation: "h", name, y, x, marker: { color, pattern: { shape } }, hovertemplate: `${name} %{x:.3f} ms<extra>%{y}</extra>` });
  return { traces: [bar("saved (exposed)", saved, SAVES, ""), bar("hidden", all.map((one) => one.hidden_ms.value), HIDDEN, "/")], layout: { barmode: "stack", yaxis: { type: "category", autorange: "reversed" }, xaxis: { title: { text: "ms a step" } } } };
}

function proposalTable(all) {
  const heads = ["proposal", "edits", "ops", "work ms", "removed ms", "hidden ms", "alone, Δ ms", "in sequence, Δ ms", "step ms", "tokens/s", "human's estimate", "gate", "verdict"];
  const rows = all.map((one, i) => {
    const edits = [...new Set(one.edits)].map((kind) => { const n = one.edits.filter((other) => other === kind).length; return n > 1 ? `${n} × ${kind}` : kind; });
    const row = cells(`${i + 1} ${one.name}`, edits.join(", "), one.ops, withBounds(one.work_ms, 3), withBounds(one.removed_work_ms, 3), withBounds(one.hidden_ms, 3), withBounds(one.alone.delta_ms, 3, true), withBounds(one.in_sequence.delta_ms, 3, true), withBounds(one.in_sequence.step_ms, 3), withBounds(one.in_sequence.tokens_per_s, 1), withBounds(one.human_estimate_ms, 3, true), one.gate, one.verdict);
    row.firstChild.className = "text name";
    const kept = one.kept ? [`kept tokens ${withBounds(one.kept, 3)} (${one.kept.kind})`] : [];
    row.firstChild.append(...[...one.notes, ...kept].map((note) => el("small", {}, el("br"), clean(note))));
    return row;
  });
  return table(heads, rows, "Proposals, ms a step");
}

function trackRecord(made, scores) {
  made.append(el("h3", {}, "Track record"), el("p", {}, clean(scores.record)));
  if (!scores.scored.length) return;
  const yes = (value) => (value === null ? "" : value ? "yes" : "no"), heads = ["proposal", "date", "GPU", "predicted saving ms", "measured saving ms", "noise floor ms", "step off by", "sign right", "saving right", "in interval"];
  const rows = scores.scored.map((one) => cells(one.proposal, one.date, one.gpu, `${one.predicted_saving_ms.toFixed(3)} (${one.interval_ms[0].toFixed(3)} to ${one.interval_ms[1].toFixed(3)})`, one.measured_saving_ms.toFixed(3), one.noise_floor_ms === null ? "" : one.noise_floor_ms.toFixed(3), percent(one.step_error), yes(one.sign_right), yes(one.saving_right), yes(one.covered)));
  made.append(table(heads, rows, "Scored predictions"));
}
