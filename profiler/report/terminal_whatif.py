"""The terminal form of stepprof whatif: today's step, each proposal alone and in turn, the table of steps."""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.text import Text

from stepprof.analyses.speculation.result import Figure
from stepprof.analyses.whatif.result import Answer, Effect, WhatIf
from stepprof.profiler.report.terminal import WIDTH, clean, show_inflation, show_warnings

COLOURS = {"met": "green", "not met": "red", "open": "yellow"}


def show_whatif(out: Console, result: WhatIf) -> None:
    """The whole answer; bounds are printed low … high."""
    _head(out, result)
    for answer in result.proposals:
        out.print()
        _answer(out, result, answer)
    _table(out, result)
    out.print("changes, steps and tokens/s after a change are modelled; below 0 is shorter")
    show_inflation(out, result.inflation)
    show_warnings(out, list(result.warnings))


def _head(out: Console, result: WhatIf) -> None:
    left = f", {result.left_out} of another kind left out" if result.left_out else ""
    out.print(Text(f"{clean(result.source)}: {result.steps:,} steps{left}, {clean(result.gpu)}"), style="bold")
    period = "" if result.period_ms is None else f", {result.period_ms.value:.3f} ms start to start"
    out.print(f"step today   {result.step_ms.value:.3f} ms p50{period}, measured")
    if result.kept is not None and result.tokens_per_s is not None:
        rate = f"{result.tokens_per_s.value:.1f} tokens/s ({result.tokens_per_s.kind})"
        out.print(f"kept tokens  {result.kept.value:.3f} a step ({result.kept.kind}) = {rate}")
    error, cost = result.replay_error, result.node_cost
    out.print(
        f"replay       off by {error.wall_median:.2%} of the step ({error.wall_max:.2%} at most) "
        "where it was not fitted"
    )
    value, low, high = (x / 1000 for x in (cost.cost.value, cost.cost.low, cost.cost.high))
    _wrapped(out, "node cost    ", f"{value:.2f} us ({low:.2f} … {high:.2f}), {cost.figure}: {clean(cost.basis)}")


def _answer(out: Console, result: WhatIf, answer: Answer) -> None:
    what = f"{', '.join(dict.fromkeys(answer.edits))}; {answer.ops:,} ops of {answer.work_ms.value:.3f} ms"
    out.print(Text(f"{clean(answer.name)}  [{what}]"), style="bold")
    out.print(f"  alone    {_effect(answer.alone, result)}")
    if len(result.proposals) > 1:
        out.print(f"  in turn  {_effect(answer.in_sequence, result)}")
    hidden, work = answer.hidden_ms.value or 0.0, answer.removed_work_ms.value or 0.0
    if work > 0:
        out.print(f"  hidden   {hidden:.3f} of the {work:.3f} ms less work: other ops cover it today")
    said = [f"sum of removed work {answer.null_sum_of_work_ms:+.3f}", "no change 0"]
    if answer.human_estimate_ms is not None:
        said.insert(0, f"human {answer.human_estimate_ms.value:+.3f} (quoted)")
    out.print(f"  beside   {', '.join(said)} ms")
    if answer.gate is not None and answer.verdict is not None:
        out.print(Text(f"  gate     {answer.gate}: {answer.verdict}", style=COLOURS[answer.verdict]))
    if answer.kept is not None:
        out.print(f"  kept     {_bounds(answer.kept, 3)} tokens a step, modelled")
    for note in answer.notes:
        _wrapped(out, "  note     ", clean(note))


def _wrapped(out: Console, head: str, text: str) -> None:
    """A text under a head, broken at the width of the answer."""
    lines = textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    out.print(Text("\n".join(lines)))


def _effect(effect: Effect, result: WhatIf) -> str:
    delta = effect.delta_ms
    line = f"{delta.value:+.3f} ms ({delta.low:+.3f} … {delta.high:+.3f})  step "
    line += f"{result.step_ms.value:.3f} → {effect.step_ms.value:.3f} ms"
    return line if effect.tokens_per_s is None else f"{line}  {_bounds(effect.tokens_per_s, 0, short=True)} tok/s"


def _bounds(figure: Figure, digits: int, short: bool = False) -> str:
    """A point, with its bounds unless `short`; bounds alone where there is no point."""
    low, high = ("?" if x is None else f"{x:.{digits}f}" for x in (figure.low, figure.high))
    if figure.value is None:
        return f"{low} … {high}"
    point = f"{figure.value:.{digits}f}"
    return point if short or figure.low is None else f"{point} ({low} … {high})"


def _table(out: Console, result: WhatIf) -> None:
    kept = result.kept
    if result.table and kept is not None:
        out.print(f"\n{'step ms':>8}  tokens/s at {kept.value:.3f} kept ({kept.kind})", style="bold")
    for line in result.table:
        out.print(f"{line.step_ms:8.2f}  {line.tokens_per_s:8.1f}")
    for line in result.targets:
        out.print(f"{line.tokens_per_s:g} tokens/s take a step of {line.step_ms:.3f} ms with the same kept tokens")
    out.print()
