"""`python -m stepprof.runtime run`: prompts of one or more classes, N steps each, and what came of them.

Figures are tagged `measured`, or `simulated` where --simulate-acceptance or --cold-rate had a hand in them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from stepprof.runtime import tokenizer
from stepprof.runtime.engine import Engine
from stepprof.runtime.facts import Facts
from stepprof.runtime.options import Options
from stepprof.runtime.prompts import prompts


@dataclass
class Tally:
    """What the counted steps of a class did."""

    k: int
    step_ms: list[float] = field(default_factory=list[float])
    kept: list[int] = field(default_factory=list[int])  # by step and sequence, the token after the drafts included
    texts: dict[int, list[int]] = field(default_factory=dict[int, list[int]])

    def acceptance(self) -> list[float]:
        """P(first i drafts kept), i = 1 … k."""
        return [sum(n > i for n in self.kept) / max(1, len(self.kept)) for i in range(1, self.k + 1)]


@dataclass(frozen=True)
class Plan:
    """What to run: classes, steps to count, steps before them, and tokens of context to begin with."""

    classes: tuple[str, ...]
    steps: int
    warm_up: int = 2
    context: int = 0


def run(engine: Engine, plan: Plan, facts: Facts | None = None) -> dict[str, Any]:
    """One JSON document."""
    classes = [_class_figures(engine, name, plan, facts) for name in plan.classes]
    options = {**asdict(engine.options), "simulated": list(simulated(engine.options))}
    return {"preset": engine.config.name, "options": options, "classes": classes, "notes": _notes(engine)}


def simulated(options: Options) -> tuple[str, ...]:
    """The switches that impose what the model would decide."""
    imposed = {"--simulate-acceptance": bool(options.simulate_acceptance), "--cold-rate": options.cold_rate is not None}
    return tuple(name for name, on in imposed.items() if on)


def _class_figures(engine: Engine, name: str, plan: Plan, facts: Facts | None) -> dict[str, Any]:
    tally = Tally(engine.options.k)
    texts = [_prompt(text, plan.context) for text in prompts(name)]
    slots = [engine.add(texts[i % len(texts)]) for i in range(engine.options.batch)]
    for n in range(plan.warm_up + plan.steps):
        slots = _renewed(engine, slots, texts)
        start = time.perf_counter()
        kept = engine.step()
        if n >= plan.warm_up:
            tally.step_ms.append((time.perf_counter() - start) * 1e3)
            tally.kept += [len(one.tokens) for one in kept]
            for one in kept:
                tally.texts.setdefault(one.slot, []).extend(one.tokens)
        if facts is not None:
            _write_facts(facts, engine, kept, name)
    for slot in slots:
        engine.release(slot)
    return _figures(name, tally, engine.options)


def _figures(name: str, tally: Tally, options: Options) -> dict[str, Any]:
    kept_kind = "simulated" if options.simulate_acceptance else "measured"
    time_kind = "simulated" if options.cold_rate is not None else "measured"
    both = "simulated" if "simulated" in (kept_kind, time_kind) else "measured"
    acceptance = [figure(share, kept_kind) for share in tally.acceptance()]
    tokens_per_s = 1e3 * sum(tally.kept) / sum(tally.step_ms)
    return {
        "class": name,
        "steps": len(tally.step_ms),
        "p50_step_ms": figure(statistics.median(tally.step_ms), time_kind),
        "step_ms": [round(ms, 6) for ms in tally.step_ms],  # of the kind of their median
        "kept_per_step": figure(sum(tally.kept) / len(tally.kept), kept_kind),
        "tokens_per_s": figure(tokens_per_s, both),
        "acceptance": acceptance,
        "tokens": [tally.texts[slot] for slot in sorted(tally.texts)],
    }


def figure(value: float, kind: str) -> dict[str, Any]:
    """A number and where it is from."""
    return {"value": value, "kind": kind}


def _prompt(text: str, context: int) -> list[int]:
    tokens = tokenizer.encode(text)
    return (tokens * (1 + context // len(tokens)))[: max(context, len(tokens))]


def _renewed(engine: Engine, slots: Sequence[int], texts: Sequence[list[int]]) -> list[int]:
    """Sequences that are full make room for their prompt again."""
    full = {slot for slot in slots if not engine.state.room(slot)}
    for slot in full:
        engine.release(slot)
    return [engine.add(texts[i % len(texts)]) if slot in full else slot for i, slot in enumerate(slots)]


def _write_facts(facts: Facts, engine: Engine, kept: Sequence[Any], name: str) -> None:
    step, options = engine.state.steps - 1, engine.options
    total, longest = sum(len(one.tokens) for one in kept), max(one.context_length for one in kept)
    facts.step(step, options.k * len(kept), total, len(kept), name, longest)
    if (outbox := engine.runner.sidecar.outbox) is not None:
        rows = options.batch * options.rows_a_sequence
        facts.calls(step, outbox.counts(rows), skips=options.sidecar_mode in ("call", "persistent"))


def _notes(engine: Engine) -> list[str]:
    notes: list[str] = []
    if engine.options.k > engine.config.draft_block:
        block = engine.config.draft_block
        notes.append(
            f"k is above the draft head's block of {block}: acceptance beyond it is not what a trained head has."
        )
    if not engine.options.simulate_acceptance and engine.options.k:
        notes.append("with random weights acceptance is near chance: --simulate-acceptance imposes it.")
    return notes
