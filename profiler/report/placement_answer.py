"""The answer of `stepprof placement`, in the terminal and as a JSON document."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from stepprof.analyses.placement.choice import Placed, Point
from stepprof.analyses.placement.expert_use import ExpertUse
from stepprof.analyses.placement.layer_waits import Waits
from stepprof.analyses.placement.relocation import Relocation
from stepprof.profiler.link_speed import LinkSpeed
from stepprof.profiler.report.document import inflation_fields
from stepprof.profiler.report.placement_credit import credit_document, show_credit
from stepprof.profiler.report.terminal import paragraph, plain, show_inflation

POINTS = 12  # of the curve, in the terminal
BAR = 24
DRAWN = (
    "the file has counts only: which experts a call used together was drawn as if they were independent, so figures "
    "are simulated; stepprof run --expert-use writes the calls themselves"
)


@dataclass(frozen=True)
class PlacementAnswer:
    """What was asked and found."""

    uses: ExpertUse
    placed: Placed
    move: Relocation
    expert_bytes: int
    link: LinkSpeed
    budget: int
    waits: Waits

    @property
    def kind(self) -> str:
        """Of every wait that is not today's."""
        return "modelled" if self.uses.sets_known else "simulated"


def placement_document(answer: PlacementAnswer) -> dict[str, Any]:
    """`stepprof placement --json`; times in µs, waits a step."""
    placed, classes = answer.placed, answer.uses.classes
    figures = {"wait": placed.curve[0].wait_us, "left": placed.curve[-1].wait_us, "saved": placed.saved_us}
    return {
        "classes": [{"name": n, "steps": s} for n, s in zip(classes, answer.uses.steps, strict=True)],
        "sets_known": answer.uses.sets_known,
        "budget_experts": answer.budget,
        "expert_bytes": answer.expert_bytes,
        **{f"{name}_us_per_step": {"value": value, "kind": answer.kind} for name, value in figures.items()},
        "chosen": [{"layer": layer, "expert": expert} for layer, expert in placed.chosen],
        "curve": [_point(answer, point) for point in placed.curve],
        "move": dataclasses.asdict(answer.move) | {"kind": "modelled"},
        "link": {"value": answer.link.bytes_per_s, "kind": answer.link.kind, "source": answer.link.source},
        **inflation_fields(answer.waits.inflation),
        "notes": [] if answer.uses.sets_known else [DRAWN],
        **credit_document(answer.uses),
    }


def _point(answer: PlacementAnswer, point: Point) -> dict[str, Any]:
    by_class = dict(zip(answer.uses.classes, point.by_class, strict=True))
    size = point.experts * answer.expert_bytes
    return {"experts": point.experts, "bytes": size, "wait_us": point.wait_us, "by_class": by_class}


def show_placement(out: Console, answer: PlacementAnswer) -> None:
    """What is saved, the curve, the moves by layer, and when they pay."""
    placed, move = answer.placed, answer.move
    today, left = placed.curve[0].wait_us, placed.curve[-1].wait_us
    gone = f"{100 * placed.saved_us / today:.0f} % less" if today else "nothing to save"
    saved = f"{left:.1f} with {len(placed.chosen)} experts moved ({gone}, {answer.kind})"
    paragraph(out, f"join wait {today:.1f} µs a step today, {saved}", style="bold")
    for name, steps, before, after in zip(
        answer.uses.classes, answer.uses.steps, placed.curve[0].by_class, placed.curve[-1].by_class, strict=True
    ):
        out.print(plain(f"    {name or 'no class'}: {before:.1f} to {after:.1f} µs ({steps:,} steps)"))
    out.print(f"{'experts':>8}{'GB':>9}{'wait µs':>11}", style="bold")
    for point in _thinned(placed.curve):
        bar = "█" * round(BAR * point.wait_us / today) if today else ""
        out.print(
            Text(f"{point.experts:8}{point.experts * answer.expert_bytes / 1e9:9.2f}{point.wait_us:11.1f}  {bar}")
        )
    layers = Counter(layer for layer, _ in placed.chosen)
    parts = ", ".join(f"{layer}: {count}" for layer, count in sorted(layers.items()))
    out.print(Text(f"moves by layer  {parts or 'none save anything'}"))
    link = answer.link
    out.print(plain(f"link            {link.bytes_per_s / 1e9:.1f} GB/s ({link.source}, {link.kind})"))
    if move.break_even_steps is not None:
        out.print(
            f"moving          {move.bytes / 1e9:.2f} GB in {move.time_us / 1e3:.1f} ms; pays after "
            f"{move.break_even_steps:,} steps (modelled)"
        )
    if answer.waits.traced:
        out.print(Text("the waits are those of a traced run:"))
        show_inflation(out, answer.waits.inflation)
    if not answer.uses.sets_known:
        out.print(Text(f"warning: {DRAWN}"), style="yellow")
    show_credit(out, answer.uses)


def _thinned(curve: tuple[Point, ...]) -> list[Point]:
    """First, last, and evenly chosen points between."""
    if len(curve) <= POINTS:
        return list(curve)
    return [curve[round(i * (len(curve) - 1) / (POINTS - 1))] for i in range(POINTS)]
