"""The terminal form of stepprof speculate: today's figures, other k, the cost of a row, the table of steps."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from stepprof.analyses.speculation.result import Figure, Forecast, Group, Lane, Speculation
from stepprof.profiler.report.terminal import clean, paragraph, show_inflation, show_warnings


def show_speculation(out: Console, result: Speculation) -> None:
    """The whole answer; bounds are printed low … high."""
    for lane in result.lanes:
        _lane(out, result.source, lane)
        out.print()
    if len(result.groups) > 1:
        _groups(out, result.groups)
        out.print()
    row = result.row_ms
    if row is None:
        paragraph(out, f"draft row   cost unknown: {result.row_ms_reason or ''}", indent=12)
    else:
        out.print(f"draft row   {_text(row, 3)} ms each, {row.kind}")
    _table(out, result)
    if result.traced:
        show_inflation(out, result.inflation)
        out.print("steps are as traced")
    show_warnings(out, list(result.warnings))


def _lane(out: Console, source: str, lane: Lane) -> None:
    steps = "" if lane.steps is None else f", {lane.steps:,} steps"
    out.print(Text(f"{clean(source)}: {clean(lane.class_ or 'all classes')}, k = {lane.k}{steps}"), style="bold")
    step, rate = lane.step_ms, lane.tokens_per_s
    timed = "step time unknown" if step is None else f"÷ {_text(step, 3)} ms ({step.kind})"
    made = "" if rate is None else f" = {_text(rate, 1)} tokens/s ({rate.kind})"
    out.print(f"kept {_text(lane.kept, 3)} a step ({lane.kept.kind}) {timed}{made}")
    alpha = "" if lane.alpha is None else f"; one constant for all: {lane.alpha:.4f}"
    if lane.basis == "by position":
        out.print(f"first i drafts kept: {' '.join(f'{a:.3f}' for a in lane.acceptance)}{alpha}")
    elif lane.alpha is not None:
        out.print(f"fitted constant acceptance {lane.alpha:.4f} at every position, modelled")
    if lane.forecasts:
        head = f"{'k':>3}  {'kept':>13}  {'ties at step ms':>15}  {'step ms':>7}  {'tokens/s':>15}  {'change':>16}"
        out.print("with another k (modelled):")
        out.print(head, style="bold")
    for other in lane.forecasts:
        _forecast(out, other)
    if any(other.exact for other in lane.forecasts):
        out.print("fewer drafts: exact for sequential drafts verified token by token (--drafts, --verify)")


def _forecast(out: Console, other: Forecast) -> None:
    change = "-" if other.change is None else _percent(other.change)
    out.print(
        f"{other.k:3}  {_text(other.kept, 3):>13}  {_text(other.break_even_step_ms, 2):>15}  "
        f"{_text(other.step_ms, 2):>7}  {_text(other.tokens_per_s, 1):>15}  {change:>16}"
    )
    if other.beyond_block:
        out.print("     ! beyond the block the draft was trained for: an extrapolation", style="yellow")
    if other.needs is not None:
        chance = other.needs.chance
        how = "more than certainty gives" if chance is None else f"each with chance {chance:.3f}"
        out.print(f"     pays if new positions add {other.needs.acceptance_sum:.3f} kept tokens ({how})")


def _groups(out: Console, groups: tuple[Group, ...]) -> None:
    out.print(f"{'class':16}{'k':>3}{'steps':>9}{'kept':>8}{'mean ms':>10}{'p50 ms':>9}{'tokens/s':>10}", style="bold")
    for group in groups:
        figures = f"{_text(group.step_ms, 3):>10}{_text(group.p50_step_ms, 3):>9}{_text(group.tokens_per_s, 1):>10}"
        name = clean(group.class_ or "(all)")[:15]
        out.print(Text(f"{name:16}{group.k:3}{group.steps:9,}{_text(group.kept, 3):>8}{figures}"))
    out.print(f"times measured, kept {groups[0].kept.kind}; tokens/s is the sum of kept over the sum of time")


def _table(out: Console, result: Speculation) -> None:
    if result.table:
        kept = result.lanes[0].kept
        out.print(f"\n{'step ms':>8}  tokens/s at {_text(kept, 3)} kept ({kept.kind})", style="bold")
    for line in result.table:
        out.print(f"{line.step_ms:8.2f}  {line.tokens_per_s:8.1f}")
    for line in result.targets:
        out.print(f"{line.tokens_per_s:g} tokens/s take a step of {line.step_ms:.3f} ms with the same kept tokens")


def _text(figure: Figure | None, digits: int) -> str:
    """A point with its bounds in brackets, bounds alone, or a dash."""
    if figure is None:
        return "-"
    low, high = ("?" if x is None else f"{x:.{digits}f}" for x in (figure.low, figure.high))
    if figure.value is None:
        return f"{low} … {high}"
    point = f"{figure.value:.{digits}f}"
    return point if figure.low is None and figure.high is None else f"{point} ({low} … {high})"


def _percent(figure: Figure) -> str:
    parts = [None if x is None else 100 * x for x in (figure.value, figure.low, figure.high)]
    if parts[0] is not None:
        return f"{parts[0]:+.1f} %"
    low, high = ("?" if x is None else f"{x:+.1f}" for x in parts[1:])
    return f"{low} … {high} %"
