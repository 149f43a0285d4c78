// The timeline of one step: a lane for each branch of each card, the critical path above and drawn over it.
"use strict";
const LANE = 24, HEAD = 30, LEFT = 92;

class Timeline {
  constructor(data, parent) {
    this.data = data;
    this.columns = data.timeline;
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": "Timeline of a step: card by card, branch by branch. Arrow keys move, plus and minus zoom, 0 shows the whole step, n and p go along the critical path." });
    this.detail = el("output", { id: "detail", "aria-live": "polite" }, "Choose an op to see what it is, or press n to go along the critical path.");
    this.select = el("select", { id: "step-choice", on: { change: () => this.show(this.columns.step.indexOf(Number(this.select.value))) } });
    for (const step of this.columns.step) this.select.append(el("option", { value: step }, `step ${step}: ${ms(this.wall(step))} ms`));
    this.role = el("select", { id: "role-choice", on: { change: () => this.draw() } }, el("option", { value: "" }, "all roles"));
    for (const row of data.breakdown.rows) this.role.append(el("option", { value: row.key }, row.key));
    const button = (text, label, act) => el("button", { type: "button", "aria-label": label, on: { click: act } }, text);
    parent.append(el("div", { class: "controls" }, el("label", { for: "step-choice" }, "Step"), this.select, button("+", "Zoom in", () => this.zoom(0.5)), button("−", "Zoom out", () => this.zoom(2)), button("Whole step", "Show the whole step", () => this.reset()), el("label", { for: "role-choice" }, "Highlight"), this.role), this.canvas, this.detail);
    this.listen();
    report.redraw.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.show(0);
  }

  wall(step) { const i = this.data.timeline.step.indexOf(step); return this.columns.wall_ns[i]; }

  show(i) {
    if (i < 0) return;
    this.i = i;
    this.select.value = this.columns.step[i];
    let at = 0;
    this.start = this.columns.start[i].map((delta) => (at += delta));
    this.onPath = new Map(this.columns.path[i].map(([op], n) => [op, n]));
    const lanes = new Map();
    this.columns.group[i].forEach((group, op) => lanes.set(1000 * this.data.groups.device[group] + this.columns.lane[i][op], 0));
    this.lanes = [...lanes.keys()].sort((a, b) => a - b);
    this.row = new Map(this.lanes.map((lane, n) => [lane, n]));
    this.chosen = null;
    this.reset();
  }

  reset() { this.low = 0; this.high = this.columns.wall_ns[this.i]; this.draw(); }

  zoom(factor, at = (this.low + this.high) / 2) {
    const span = Math.max(200, Math.min((this.high - this.low) * factor, this.columns.wall_ns[this.i]));
    this.low = at - ((at - this.low) * span) / (this.high - this.low);
    this.high = this.low + span;
    this.pan(0);
  }

  pan(by) {
    const wall = this.columns.wall_ns[this.i], span = this.high - this.low;
    this.low = Math.max(0, Math.min(this.low + by, wall - span));
    this.high = this.low + span;
    this.draw();
  }

  x(ns) { return LEFT + ((ns - this.low) / (this.high - this.low)) * (this.width - LEFT); }
  ns(x) { return this.low + ((x - LEFT) / (this.width - LEFT)) * (this.high - this.low); }

  draw() {
    const width = this.canvas.clientWidth, height = HEAD + LANE * (this.lanes.length + 2) + 8;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.canvas.style.height = `${height}px`;
    [this.canvas.width, this.canvas.height] = [width * ratio, height * ratio];
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.ruler(pen, height);
    this.rows(pen);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, width - LEFT, height);
    pen.clip();
    this.ops(pen);
    this.path(pen);
    pen.restore();
  }

  ruler(pen, height) {
    const span = this.high - this.low, raw = span / Math.max(2, this.width / 120), power = 10 ** Math.floor(Math.log10(raw));
    const tick = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
    pen.fillStyle = css("--soft");
    pen.strokeStyle = css("--line");
    for (let t = Math.ceil(this.low / tick) * tick; t <= this.high; t += tick) {
      pen.beginPath(); pen.moveTo(this.x(t), 18); pen.lineTo(this.x(t), height); pen.stroke();
      pen.fillText(span > 2e6 ? `${(t / 1e6).toFixed(2)} ms` : `${(t / 1e3).toFixed(tick < 1000 ? 2 : 0)} µs`, this.x(t) + 3, 10);
    }
  }

  top(row) { return HEAD + LANE * row; }

  rows(pen) {
    pen.fillStyle = css("--ink");
    pen.fillText("path", 4, this.top(0) + LANE / 2);
    pen.fillText("gaps", 4, this.top(1) + LANE / 2);
    this.lanes.forEach((lane, n) => pen.fillText(`card ${Math.floor(lane / 1000)} · ${lane % 1000}`, 4, this.top(n + 2) + LANE / 2));
  }

  box(pen, row, start, length, colour, text, faint) {
    const left = Math.max(this.x(start), LEFT - 2), right = Math.min(this.x(start + length), this.width + 2);
    if (right < LEFT || left > this.width) return;
    const wide = Math.max(right - left, 0.75);
    pen.globalAlpha = faint ? 0.2 : 1;
    pen.fillStyle = colour;
    pen.fillRect(left, this.top(row) + 2, wide, LANE - 4);
    if (wide > 34 && !faint) { pen.save(); pen.beginPath(); pen.rect(left, this.top(row), wide - 2, LANE); pen.clip(); pen.fillStyle = "#000"; pen.fillText(text, left + 3, this.top(row) + LANE / 2); pen.restore(); }
    pen.globalAlpha = 1;
  }

  ops(pen) {
    const { groups, words } = this.data, only = this.role.value;
    this.columns.group[this.i].forEach((group, op) => {
      const role = words.roles[groups.role[group]], row = this.rowOf(op);
      this.box(pen, row, this.start[op], this.columns.length[this.i][op], roleColour(role), clean(groups.short[group]), only && role !== only);
      if (op === this.chosen) this.outline(pen, row, this.start[op], this.columns.length[this.i][op], css("--accent"), 3);
    });
  }

  path(pen) {
    const { groups, words } = this.data;
    let before = null;
    for (const [op, start, length] of this.columns.path[this.i]) {
      if (op < 0) continue;
      const role = words.roles[groups.role[this.columns.group[this.i][op]]], row = this.rowOf(op);
      this.box(pen, 0, start, length, roleColour(role), role, this.role.value && role !== this.role.value);
      if (this.x(length) - this.x(0) > 5) this.outline(pen, row, start, length, css("--ink"), 1.5);
      if (before) { pen.strokeStyle = css("--ink"); pen.lineWidth = 1; pen.beginPath(); pen.moveTo(this.x(before.end), before.y); pen.lineTo(this.x(start), this.top(row) + LANE / 2); pen.stroke(); }
      before = { end: start + length, y: this.top(row) + LANE / 2 };
    }
    for (const [gap, start, length] of this.columns.gaps[this.i]) this.box(pen, 1, start, length, gapColour(words.gaps[gap]), words.gaps[gap], false);
  }

  outline(pen, row, start, length, colour, width) {
    const left = this.x(start), right = this.x(start + length);
    if (right < LEFT || left > this.width) return;
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.strokeRect(left, this.top(row) + 2, Math.max(right - left, 0.75), LANE - 4);
  }

  rowOf(op) { return 2 + this.row.get(1000 * this.data.groups.device[this.columns.group[this.i][op]] + this.columns.lane[this.i][op]); }

  opAt(x, y) {
    const row = Math.floor((y - HEAD) / LANE), at = this.ns(x), slack = (2 * (this.high - this.low)) / (this.width - LEFT);
    if (row === 0) return this.columns.path[this.i].find(([, start, length]) => at >= start - slack && at <= start + length + slack)?.[0] ?? null;
    const found = this.start.findIndex((start, op) => this.rowOf(op) === row && at >= start - slack && at <= start + this.columns.length[this.i][op] + slack);
    return found < 0 ? null : found;
  }

  choose(op) {
    if (op === null || op < 0) return;
    this.chosen = op;
    const { groups, words } = this.data, group = this.columns.group[this.i][op], length = this.columns.length[this.i][op];
    const exposed = this.columns.path[this.i].filter(([on]) => on === op).reduce((sum, one) => sum + one[2], 0);
    const layer = groups.layer[group] < 0 ? "" : `, layer ${groups.layer[group]}`;
    this.detail.replaceChildren(el("b", {}, clean(groups.short[group])), ` — ${words.roles[groups.role[group]]} (${words.kinds[groups.kind[group]]})${layer}, card ${groups.device[group]}: starts at ${us(this.start[op])} µs, lasts ${us(length, 2)} µs, of which ${us(exposed, 2)} exposed and ${us(length - exposed, 2)} hidden or waiting. `, el("br"), clean(groups.label[group] ? `${groups.label[group]} · ` : ""), clean(groups.name[group]));
    this.draw();
  }

  alongPath(by) {
    const path = this.columns.path[this.i].filter(([op]) => op >= 0);
    const at = path.findIndex(([op]) => op === this.chosen);
    const next = path[Math.max(0, Math.min(path.length - 1, at < 0 ? 0 : at + by))];
    if (next[1] < this.low || next[1] + next[2] > this.high) this.pan(next[1] - (this.low + this.high) / 2);
    this.choose(next[0]);
  }

  listen() {
    let held = null;
    this.canvas.addEventListener("pointerdown", (e) => { held = { x: e.offsetX, moved: false }; this.canvas.setPointerCapture(e.pointerId); });
    this.canvas.addEventListener("pointermove", (e) => { if (!held) return; const by = e.offsetX - held.x; if (Math.abs(by) > 3 || held.moved) { held.moved = true; this.pan((-by * (this.high - this.low)) / (this.width - LEFT)); held.x = e.offsetX; } });
    this.canvas.addEventListener("pointerup", (e) => { if (held && !held.moved) this.choose(this.opAt(e.offsetX, e.offsetY)); held = null; });
    this.canvas.addEventListener("pointercancel", () => { held = null; });
    this.canvas.addEventListener("dblclick", (e) => this.zoom(0.25, this.ns(e.offsetX)));
    this.canvas.addEventListener("wheel", (e) => { if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return; e.preventDefault(); this.zoom((e.deltaY || e.deltaX) > 0 ? 1.25 : 0.8, this.ns(e.offsetX)); }, { passive: false });
    const keys = { ArrowLeft: () => this.pan((this.low - this.high) / 5), ArrowRight: () => this.pan((this.high - this.low) / 5), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.reset(), n: () => this.alongPath(1), p: () => this.alongPath(-1) };
    this.canvas.addEventListener("keydown", (e) => { const act = keys[e.key]; if (act && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); act(); } });
  }
}

function timelineSection(data) {
  const count = data.timeline.step.length, thinned = count < data.steps.of ? ` ${count} of ${data.steps.of} steps are at hand.` : "";
  const made = section("timeline", "Timeline", `One step, a lane for each branch of each card; what is outlined lies on the critical path, drawn alone in the first lane, with its gaps in the second. Drag to move; zoom with the buttons, a double click, or Ctrl, Cmd or Shift and the wheel.${thinned}`);
  report.timeline = new Timeline(data, made);
  report.showStep = (step, scroll) => {
    const i = data.timeline.step.indexOf(step);
    if (i >= 0) report.timeline.show(i);
    else report.timeline.detail.replaceChildren(`Step ${step} is not among the ${count} steps kept for the timeline.`);
    if (scroll) made.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  };
}
