// What the trace cannot answer, with the way out, and the warnings of all sections.
"use strict";

function limits(data) {
  const made = section("limits", "What this trace cannot answer", data.refusals.length ? "Refused, with the reason and the way out; nothing is guessed in its place." : "Every question that was asked is answered; what is doubtful is listed below.");
  if (data.refusals.length) {
    const list = el("dl", { class: "limits" });
    for (const one of data.refusals) list.append(el("dt", {}, clean(one.question)), el("dd", {}, clean(one.text)));
    made.append(list);
  }
  const own = data.breakdown.warnings.map((one) => ({ ...one, sections: ["Where the step goes"] })), met = new Map();
  for (const one of [...own, ...data.warnings]) { const key = `${one.code} ${one.text}`; met.set(key, { ...one, sections: [...(met.get(key)?.sections ?? []), ...one.sections] }); }
  made.append(el("h3", {}, "Warnings of all sections"));
  if (!met.size) made.append(el("p", {}, "None."));
  const list = el("ul", { class: "warn" });
  for (const one of met.values()) list.append(el("li", {}, `${one.sections.join(", ")}: ${clean(one.text)}`));
  if (met.size) made.append(list);
}
