"""`stepprof gate` for a person: a verdict with its figures, and the ladder."""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.text import Text

from stepprof.analyses.gates.judge import Judged
from stepprof.analyses.gates.ladder import Rung
from stepprof.analyses.gates.verdict import Answer
from stepprof.profiler.report.receipt import figures_of, traced_launches
from stepprof.profiler.report.terminal import WIDTH, clean, show_tracing, show_warnings
from stepprof.profiler.report.terminal_compare import show_settings


def show_verdict(out: Console, answer: Answer) -> None:
    """Verdict, figures by round, side conditions, settings, warnings."""
    gate = answer.gate
    out.print(
        Text(f"{clean(gate.name)}: {answer.verdict}, rule {gate.rule} {'met' if answer.met else 'not met'}"),
        style="bold",
    )
    out.print(Text(textwrap.fill(clean(answer.reason), WIDTH, initial_indent="  ", subsequent_indent="  ")))
    unit = "%" if gate.bar_unit == "percent" else answer.unit
    out.print(Text(f"  {clean(gate.metric)}, bar {gate.bar:+g} {unit}, {answer.figure_kind}"))
    for number, one in enumerate(answer.rounds):
        out.print(Text(f"  round {number}: {one.verdict}\n{_figures(one, answer)}"))
        if one.permutation is not None:
            out.print(f"    Hodges-Lehmann {one.shift:+.4f}, permutation p {one.permutation.two_sided:.4f}")
    if answer.together is not None and len(answer.rounds) > 1:
        out.print(Text(f"  combined: {answer.together.verdict}\n{_figures(answer.together, answer)}"))
    for condition in answer.conditions:
        word = {True: "ok", False: "no", None: "unknown"}[condition.passed]
        out.print(Text(f"  {condition.name}: {word}, {clean(condition.text)}"))
    for cell in answer.cells:
        p = "" if cell.p is None else f", p {cell.p:.3f}"
        out.print(
            Text(
                f"    {clean(cell.cell)}: loss {cell.loss_percent:+.2f} % of {cell.allowed_percent:g} % allowed{p}, {cell.state}"
            )
        )
    show_settings(out, answer.settings)
    show_tracing(out, traced_launches(answer))
    show_warnings(out, answer.warnings)
    out.print(f"registered {answer.registered}, ledger head\n{answer.head}")


def _figures(one: Judged, answer: Answer) -> str:
    """Means and change on one line, interval and floor on the next."""
    return "    " + figures_of(one, answer).replace(", interval", "\n    interval")


def show_ladder(out: Console, rungs: list[Rung], head: str) -> None:
    """One block a gate."""
    out.print(f"{'gate':<20}{'bar':>9} {'rule':<6}{'predicted':>10}{'seen':>9}  {'made':<6}verdict", style="bold")
    for rung in rungs:
        unit = "%" if rung.bar_unit == "percent" else ""
        seen = "-" if rung.estimate is None else f"{rung.estimate:+.4f}"
        said = "-" if rung.predicted is None else f"{rung.predicted:+g}"
        verdict = "-" if rung.verdict is None else f"{rung.verdict}{', met' if rung.met else ''}"
        out.print(
            Text(
                f"{clean(rung.name)[:19]:<20}{f'{rung.bar:+g}{unit}':>9} {rung.rule:<6}{said:>10}{seen:>9}  "
                f"{f'{rung.launches}/{rung.of_launches}':<6}{verdict}"
            )
        )
        notes = [rung.metric, rung.cost and f"cost {rung.cost}", rung.owner and f"owner {rung.owner}"]
        out.print(Text(f"  {clean(', '.join(note for note in notes if note))}"), style="dim")
    out.print(f"ledger head {head}")
