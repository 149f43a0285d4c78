"""The terminal and the Markdown form of stepprof yardsticks: every figure with who measured it, ratios, spreads."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from stepprof.analyses.compare.yardsticks import Ratio, Spread, Yardstick, Yardsticks
from stepprof.profiler.report.terminal import clean, paragraph

HEADS = ("source", "test", "class", "mode", "at once", "figure", "kind", "measured by", "origin")


def show_yardsticks(out: Console, result: Yardsticks) -> None:
    """Blocks of one metric each; two lines a figure, so that nothing is cut."""
    for metric in dict.fromkeys(figure.metric for figure in result.figures):
        out.print(Text(f"{clean(metric)}"), style="bold")
        for figure in (figure for figure in result.figures if figure.metric == metric):
            out.print(Text(f"  {_amount(figure.low, figure.high):>16}  {clean(figure.source)}: {clean(_what(figure))}"))
            out.print(Text(f"  {'':16}  {clean(_origin(figure))}"), style="dim")
    if result.ratios:
        out.print(Text(f"{clean(result.ours or '')} ÷ other"), style="bold")
    for ratio in result.ratios:
        head, figures = _pair(ratio)
        out.print(Text(f"  {_amount(ratio.low, ratio.high, '.2f'):>16}× {clean(head)}"))
        paragraph(out, figures, style="dim", first=20, indent=20)
    if result.spreads:
        out.print("spread between classes", style="bold")
    for spread in result.spreads:
        out.print(Text(f"  {_amount(spread.low, spread.high, '.2f'):>16}× {clean(_classes(spread))}"))


def yardsticks_markdown(result: Yardsticks) -> str:
    """A table a metric, then ratios and spreads as lists; texts cannot break out of a cell."""
    lines: list[str] = []
    for metric in dict.fromkeys(figure.metric for figure in result.figures):
        lines += [f"**{_cell(metric)}**", "", _row(HEADS), _row(["---"] * len(HEADS))]
        lines += [_row(_columns(figure)) for figure in result.figures if figure.metric == metric]
        lines += [""]
    lines += [f"- {_amount(r.low, r.high, '.2f')}× {_cell(': '.join(_pair(r)))}" for r in result.ratios]
    lines += [f"- spread {_amount(s.low, s.high, '.2f')}× {_cell(_classes(s))}" for s in result.spreads]
    return "\n".join(lines).rstrip() + "\n"


def _columns(figure: Yardstick) -> list[str]:
    texts = (figure.source, figure.test, figure.class_ or "", figure.mode or "", str(figure.concurrency or ""))
    note = f" ({figure.note})" if figure.note else ""
    return [*texts, _amount(figure.low, figure.high) + note, figure.kind, figure.by, figure.origin]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    """Text that stays inside a Markdown cell and starts no HTML."""
    one_line = clean(" ".join(text.split()))
    return one_line.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _what(figure: Yardstick) -> str:
    at_once = None if figure.concurrency is None else f"{figure.concurrency} at once"
    return ", ".join(part for part in (figure.test, figure.class_, figure.mode, at_once) if part)


def _origin(figure: Yardstick) -> str:
    note = f"; {figure.note}" if figure.note else ""
    return f"{figure.kind}, by {figure.by}, {figure.origin}{note}"


def _pair(ratio: Ratio) -> tuple[str, str]:
    """What is compared; both figures, and what they do not share."""
    a, b = ratio.ours, ratio.other
    differs = "" if not ratio.differs else f"; not the same {' and '.join(ratio.differs)}"
    shared = ", ".join(p for p in (a.class_, f"{a.concurrency} at once" if a.concurrency else None) if p)
    figures = (
        f"{_amount(a.low, a.high)} ({a.kind}, {a.test}) ÷ {_amount(b.low, b.high)} ({b.kind}, {b.origin}, {b.test})"
    )
    return f"{b.source}{', ' + shared if shared else ''}", f"{figures}{differs}"


def _classes(spread: Spread) -> str:
    where = ", ".join(part for part in (spread.test, spread.mode) if part)
    return f"{spread.source}: {spread.largest} ÷ {spread.smallest} ({where})"


def _amount(low: float, high: float, form: str = ",.6g") -> str:
    return format(low, form) if low == high else f"{low:{form}} … {high:{form}}"
