// Starts the page: unpacks figures and Plotly, draws the sections, follows the theme.
"use strict";

function about(data) {
  const made = section("about", "Where this comes from", "How the run was made, as far as the file says.");
  const found = data.breakdown, facts = { ...data.about.run, cards: data.about.cards.map((card) => `${card.device}: ${card.name}`).join(", "), steps: `${found.steps} of ${data.about.steps} by ${found.method} (confidence ${found.confidence.toFixed(2)})`, "exposed, unknown role": percent(found.unknown_share), "exposed, vague role": percent(found.low_confidence_share), ...data.about.manifest, stepprof: data.version };
  const list = el("dl", { class: "facts" });
  for (const [key, value] of Object.entries(facts)) list.append(el("dt", {}, clean(key)), el("dd", {}, clean(value)));
  made.append(list);
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  const button = document.getElementById("theme");
  button.setAttribute("aria-pressed", String(dark));
  for (const draw of report.redraw) draw();
}

// On paper: light, as wide as the page, with all figures unfolded; afterwards as it was.
function printing() {
  let before = null;
  addEventListener("beforeprint", () => {
    before = { dark: document.documentElement.dataset.theme === "dark", folded: [...document.querySelectorAll("details:not([open])")] };
    document.documentElement.dataset.paper = "yes";
    for (const one of before.folded) one.open = true;
    theme(false);
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.paper;
    for (const one of before.folded) one.open = false;
    theme(before.dark);
  });
}

async function start() {
  const button = document.getElementById("theme");
  theme(matchMedia("(prefers-color-scheme: dark)").matches);
  button.addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
  const [text, plotly] = await Promise.all([unpacked("data"), unpacked("plotly")]);
  report.data = JSON.parse(text);
  document.head.append(Object.assign(document.createElement("script"), { textContent: plotly }));
  document.getElementById("source").textContent = clean(report.data.source);
  document.getElementById("loading").remove();
  for (const draw of [headline, where, timelineSection, sidecarSection, benchSection, heat, opsSection, whatifSection, comparisonSection, limits, about]) draw(report.data);
  printing();
  followWidth();
  document.getElementById("footer").textContent = `stepprof ${report.data.version}; this page uses no network.`;
  document.documentElement.dataset.ready = "yes";
}

start().catch((fault) => { document.getElementById("main").append(el("p", { class: "warn", role: "alert" }, `This report could not be drawn: ${fault.message}`)); });
