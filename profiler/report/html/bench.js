// A bench file beside the trace: p50 by rows and mode, and what modes save, with the bar to be met as a dashed line.
"use strict";
const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];

function benchSection(data) {
  const found = data.bench;
  if (!found) return;
  const made = section("bench", "Bench", `stepprof bench ${clean(found.bench)}: ${clean(found.machine)}. Another run than the trace's; times of parts alone say nothing yet of a step.`);
  if (!found.complete) made.append(el("p", { class: "warn" }, "The bench was cut short: not all of its rows and modes are here."));
  for (const text of found.warnings) made.append(el("p", { class: "warn" }, `Warning: ${clean(text)}`));
  for (const name of new Set(found.results.map((one) => one.name))) {
    made.append(el("h3", {}, clean(name)));
    benchTimes(made, name, found.results.filter((one) => one.name === name));
    const saved = found.savings.filter((one) => one.name === name);
    if (saved.length) benchSavings(made, name, saved);
  }
}

function benchTimes(made, name, results) {
  const modes = [...new Set(results.map((one) => one.mode))];
  const trace = (mode, i) => {
    const mine = results.filter((one) => one.mode === mode), kinds = [...new Set(mine.map((one) => one.kind))].join(", ");
    return { type: "bar", name: safe(`${mode} (${kinds})`), x: mine.map((one) => String(one.rows)), y: mine.map((one) => one.p50_us), marker: { color: HUES[i % HUES.length] }, hovertemplate: `${safe(mode)} %{y:.1f} µs<extra>%{x} rows</extra>` };
  };
  chart(made, `${clean(name)}: p50 by rows and mode`, () => ({ traces: modes.map(trace), layout: { barmode: "group", xaxis: { type: "category", tickangle: 0, title: { text: "rows" } }, yaxis: { title: { text: "p50, µs" } } } }), 340);
  made.append(folded(`${name}: p50, µs`, ["rows", "mode", "p50 µs", "kind"], results.map((one) => cells(one.rows, one.mode, one.p50_us.toFixed(2), one.kind))));
}

function benchSavings(made, name, saved) {
  const modes = [...new Set(saved.map((one) => one.mode))], bar = saved[0].bar_us;
  made.append(el("p", {}, `Saved against ${clean(saved[0].against)}${bar === null ? "" : `; the dashed line is the bar of ${+bar.toFixed(3)} µs`}. Whiskers are 95 % intervals over blocks.`));
  const trace = (mode, i) => {
    const mine = saved.filter((one) => one.mode === mode), half = mine.map((one) => (one.high_us === null ? 0 : one.high_us - one.saved_us));
    return { type: "bar", name: safe(mode), x: mine.map((one) => String(one.rows)), y: mine.map((one) => one.saved_us), error_y: { type: "data", array: half, visible: half.some(Boolean), color: css("--ink") }, marker: { color: HUES[(i + 1) % HUES.length] }, hovertemplate: `${safe(mode)} saves %{y:.1f} µs<extra>%{x} rows</extra>` };
  };
  const line = () => (bar === null ? [] : [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: bar, y1: bar, line: { dash: "dash", width: 2, color: css("--ink") } }]);
  chart(made, `${clean(name)}: saved by mode`, () => ({ traces: modes.map(trace), layout: { barmode: "group", shapes: line(), xaxis: { type: "category", tickangle: 0, title: { text: "rows" } }, yaxis: { title: { text: "saved, µs" }, zeroline: true } } }), 320);
  const interval = (one) => (one.low_us === null ? "" : `${one.low_us.toFixed(2)} to ${one.high_us.toFixed(2)}`);
  made.append(table(["rows", "mode", "saved µs", "95 % interval", "bar met", "kind"], saved.map((one) => cells(one.rows, one.mode, one.saved_us.toFixed(2), interval(one), one.verdict ?? "", one.kind)), `${name}: saved, µs`));
}
