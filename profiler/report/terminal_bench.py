"""Bench files in the terminal: figures by rows and mode, savings as bars with the bar to be met dashed, determinism."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from stepprof.analyses.bench.determinism import Determinism, Line
from stepprof.analyses.bench.results import BenchFile, BenchHead, BenchResult, Figure, further_warnings, machine_of
from stepprof.analyses.bench.savings import Saving, unjudged
from stepprof.profiler.report.terminal import clean, paragraph, plain, show_warnings

WIDTH = 18  # columns of a bar
WORDS = {"yes": "met", "no": "missed", "open": "open", None: ""}


def show_bench(out: Console, file: BenchFile, found: Sequence[Saving]) -> None:
    """Figures, then savings where there are several modes."""
    out.print(plain(f"bench {file.bench}: {machine_of(file)}"))
    show_warnings(out, further_warnings(file) + unjudged(file, found))
    if file.clock:
        paragraph(out, f"clock   {file.clock}", indent=8)
    if not file.complete:
        out.print("warning: not complete, the run was cut off", style="yellow")
    for name in dict.fromkeys(one.name for one in file.results):
        out.print(plain(name), style="bold")
        _show_figures(out, [one for one in file.results if one.name == name])
        if mine := [one for one in found if one.name == name]:
            _show_savings(out, mine)


def _show_figures(out: Console, results: Sequence[BenchResult]) -> None:
    chain = any(one.in_chain_us for one in results)
    last = "in chain" if chain else "floor"
    out.print(f"{'mode':19}{'rows':>5}{'p50':>8}{'p95':>8}{'p99':>8}{'max':>9}{last:>9}  µs", style="bold")
    for one in results:
        more = one.in_chain_us if chain else one.floor_us
        figures = "".join(map(_figure, (one.p95_us, one.p99_us)))
        line = f"{clean(one.mode)[:18]:19}{one.rows:5}{_figure(one.p50_us)}{figures}{_figure(one.max_us, 9)}"
        out.print(Text(f"{line}{_figure(more, 9)}  {_kinds(one)}".rstrip()))


def _figure(figure: Figure | None, width: int = 8) -> str:
    return f"{'-':>{width}}" if figure is None else f"{_short(figure.value):>{width}}"


def _short(value: float, digits: int = 2) -> str:
    """Fewer digits where the number is large."""
    return f"{value:.{0 if abs(value) >= 1000 else digits}f}"


def _kinds(one: BenchResult) -> str:
    """Said where it is not plainly measured; a floor is always modelled."""
    return "" if one.p50_us.kind == "measured" else one.p50_us.kind


def _show_savings(out: Console, found: Sequence[Saving]) -> None:
    bar = found[0].bar_us
    how = "mean over blocks, 95 % interval" if found[0].blocks else "difference of p50s, no interval"
    wanted = "" if bar is None else f"; bar {bar:g} µs dashed"
    out.print(plain(f"saved against {found[0].against}, µs, {found[0].kind}{wanted}"))
    out.print(f"    ({how})", style="dim")
    ends = [0.0, *(one.saved_us for one in found), *([bar] if bar is not None else [])]
    for one in found:
        interval = "" if one.low_us is None else f"[{_short(one.low_us, 1)}, {_short(one.high_us or 0.0, 1)}]"
        drawn = bar_line(one.saved_us, min(ends), max(ends), bar)
        line = f"{clean(one.mode)[:18]:18}{one.rows:3} {one.saved_us:+8.2f} {interval:17}{drawn} {WORDS[one.verdict]}"
        out.print(Text(line.rstrip()))


def bar_line(value: float, low: float, high: float, bar: float | None) -> str:
    """A bar from 0 to `value` on a scale from `low` to `high`; `┊` marks the bar to be met, `|` zero."""
    span = (high - low) or 1.0

    def column(x: float) -> int:
        return round((x - low) / span * (WIDTH - 1))

    zero, end = column(0.0), column(value)
    cells = ["█" if min(zero, end) < i < max(zero, end) or (i == end != zero) else " " for i in range(WIDTH)]
    cells[zero] = "|"
    if bar is not None:
        cells[column(bar)] = "┊"
    return "".join(cells)


def show_determinism(out: Console, head: BenchHead, found: Sequence[Determinism]) -> None:
    """Shares by rows and by experts summed, and what they point at, for each way to sum."""
    out.print(plain(f"bench {head.bench}: {machine_of(head)}"))
    show_warnings(out, further_warnings(head))
    for one in found:
        share = f"{one.differ:,} of {one.calls:,} calls differ ({100 * one.share:.1f} %, measured)"
        out.print(plain(f"{one.reduce} sum: {share}, by {one.max_ulp:,} ulp at most"), style="bold")
        for word, lines in (("rows", one.by_rows), ("most experts a row", one.by_experts)):
            for line in lines:
                out.print(_twice(word, line))
        paragraph(out, f"points at {one.points_at}")


def _twice(word: str, line: Line) -> Text:
    share = f"{100 * line.share:6.1f} %"
    return Text(f"{word:>20} {line.key:2}: {line.differ:9,} of {line.calls:9,} {share} {line.max_ulp:6,} ulp")
