"""`python -m stepprof.runtime run`: prompts of one or more classes, N steps each, and what came of them.

Figures are tagged `measured`, or `simulated` where --simulate-acceptance, --cold-rate or a stubbed sidecar had a hand
in them. Where k is above the block that the draft head was made for, the run carries the flag `k_beyond_block`, and
every figure that drafts beyond it had a hand in is marked `beyond_block`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from stepprof.runtime import tokenizer
from stepprof.runtime.engine import Engine
from stepprof.runtime.facts import ExpertUseFile, Facts
from stepprof.runtime.options import Options
from stepprof.runtime.profiled import Profiled
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


def run(
    engine: Engine,
    plan: Plan,
    facts: Facts | None = None,
    profile: Profiled | None = None,
    uses: ExpertUseFile | None = None,
) -> dict[str, Any]:
    """One JSON document; facts and cold experts of every step go to the open files, a profile has the counted ones."""
    classes = [_class_figures(engine, name, plan, facts, profile, uses) for name in plan.classes]
    options = {**asdict(engine.options), "simulated": list(simulated(engine.options))}
    flags = ["k_beyond_block"] if beyond_block(engine) else []
    head = {"preset": engine.config.name, "options": options, "draft_block": engine.config.draft_block, "flags": flags}
    return {**head, "classes": classes, "notes": _notes(engine)}


def beyond_block(engine: Engine) -> bool:
    """Whether more is drafted than the draft head was made to propose."""
    return engine.options.k > engine.config.draft_block


def simulated(options: Options) -> tuple[str, ...]:
    """The switches that impose what the model would decide."""
    imposed = {"--simulate-acceptance": bool(options.simulate_acceptance), "--cold-rate": options.cold_rate is not None}
    imposed["--sidecar-mode stub"] = options.sidecar_mode == "stub"
    return tuple(name for name, on in imposed.items() if on)


def _class_figures(
    engine: Engine, name: str, plan: Plan, facts: Facts | None, profile: Profiled | None, uses: ExpertUseFile | None
) -> dict[str, Any]:
    tally = Tally(engine.options.k)
    texts = [_prompt(text, plan.context) for text in prompts(name)]
    slots = [engine.add(texts[i % len(texts)]) for i in range(engine.options.batch)]
    for n in range(plan.warm_up + plan.steps):
        slots = _renewed(engine, slots, texts)
        if profile is not None and n == plan.warm_up:
            profile.start()
        start = time.perf_counter()
        kept = engine.step()
        if n >= plan.warm_up:
            tally.step_ms.append((time.perf_counter() - start) * 1e3)
            tally.kept += [len(one.tokens) for one in kept]
            for one in kept:
                tally.texts.setdefault(one.slot, []).extend(one.tokens)
        if facts is not None:
            facts.note(engine, kept, name)
        if uses is not None and (outbox := engine.runner.sidecar.outbox) is not None:
            rows = engine.options.batch * engine.options.rows_a_sequence
            uses.step(engine.state.steps - 1, name, outbox.uses(rows))
    for slot in slots:
        engine.release(slot)
    return _figures(name, tally, engine)


def _figures(name: str, tally: Tally, engine: Engine) -> dict[str, Any]:
    options, block, beyond = engine.options, engine.config.draft_block, beyond_block(engine)
    stub = options.sidecar_mode == "stub"
    kept_kind = "simulated" if options.simulate_acceptance or stub else "measured"
    time_kind = "simulated" if options.cold_rate is not None or stub else "measured"
    both = "simulated" if "simulated" in (kept_kind, time_kind) else "measured"
    acceptance = [figure(share, kept_kind, i > block) for i, share in enumerate(tally.acceptance(), 1)]
    tokens_per_s = 1e3 * sum(tally.kept) / sum(tally.step_ms)
    return {
        "class": name,
        "steps": len(tally.step_ms),
        "p50_step_ms": figure(statistics.median(tally.step_ms), time_kind),
        "step_ms": [round(ms, 6) for ms in tally.step_ms],  # of the kind of their median
        "kept_per_step": figure(sum(tally.kept) / len(tally.kept), kept_kind, beyond),
        "tokens_per_s": figure(tokens_per_s, both, beyond),
        "acceptance": acceptance,
        "tokens": [tally.texts[slot] for slot in sorted(tally.texts)],
    }


def figure(value: float, kind: str, beyond: bool = False) -> dict[str, Any]:
    """A number and where it is from; marked where drafts beyond the trained block had a hand in it."""
    return {"value": value, "kind": kind, **({"beyond_block": True} if beyond else {})}


def _prompt(text: str, context: int) -> list[int]:
    tokens = tokenizer.encode(text)
    return (tokens * (1 + context // len(tokens)))[: max(context, len(tokens))]


def _renewed(engine: Engine, slots: Sequence[int], texts: Sequence[list[int]]) -> list[int]:
    """Sequences that are full make room for their prompt again."""
    full = {slot for slot in slots if not engine.state.room(slot)}
    for slot in full:
        engine.release(slot)
    return [engine.add(texts[i % len(texts)]) if slot in full else slot for i, slot in enumerate(slots)]


def _notes(engine: Engine) -> list[str]:
    notes: list[str] = []
    if beyond_block(engine):
        block = engine.config.draft_block
        notes.append(
            f"k is above the draft head's block of {block}: acceptance beyond it is not what a trained head has."
        )
    if not engine.options.simulate_acceptance and engine.options.k:
        notes.append("with random weights acceptance is near chance: --simulate-acceptance imposes it.")
    return notes
