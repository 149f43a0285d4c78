"""`stepprof whatif --suggest` for a person: fusions by predicted saving, then how to go on."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from stepprof.analyses.short_names import short_name
from stepprof.analyses.whatif.suggest import Suggested, Suggestion
from stepprof.profiler.report.terminal import clean, paragraph, show_inflation, show_warnings


def show_suggestions(out: Console, found: Suggested) -> None:
    """One block a chain; the change is modelled."""
    if not found.rows:
        out.print("no chain of small ops repeats in two layers on the path: nothing to suggest.")
        return
    out.print(f"{'change, µs a step (modelled)':<34}{'places':>7}{'ops less':>9}{'on path':>9}", style="bold")
    for row in found.rows:
        _row(out, row)
    assert found.whatif is not None
    paragraph(out, f"node cost: {found.whatif.node_cost.figure}, {found.whatif.node_cost.basis}")
    show_inflation(out, found.inflation)
    show_warnings(out, list(found.whatif.warnings))


def _row(out: Console, row: Suggestion) -> None:
    delta, chain = row.answer.alone.delta_ms, row.chain
    assert delta.value is not None and delta.low is not None and delta.high is not None
    change = f"{1000 * delta.value:+.1f}  ({1000 * delta.low:+.1f} … {1000 * delta.high:+.1f})"
    out.print(
        Text(f"{change:<34}{len(chain.at):7}{chain.saved_ops:9}{100 * chain.critical_share:7.0f} %"), style="bold"
    )
    out.print(Text(f"  {clean(row.proposal.name)}{_layers(chain.layers)}"))
    for name, kind in zip(chain.names, chain.kinds, strict=True):
        out.print(Text(f"    {clean(short_name(name)):50} {kind}"))


def _layers(layers: list[int]) -> str:
    if not layers:
        return ""
    if layers == list(range(layers[0], layers[-1] + 1)):
        return f", layers {layers[0]} to {layers[-1]}"
    shown = ", ".join(map(str, layers[:8])) + (", …" if len(layers) > 8 else "")
    return f", layers {shown}"
