"""What a person reads in the terminal: 80 columns, no colour when piped.

Every function writes one answer to a rich Console. Texts from traces are printed
as they are, without markup and without control characters.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from stepprof.analyses.breakdown_result import Breakdown, Row
from stepprof.analyses.inflation import TracingInflation, times
from stepprof.analyses.role_table import NamedRole
from stepprof.analyses.short_names import short_name
from stepprof.analyses.steps import Steps
from stepprof.profiler.audit_fact import Fact
from stepprof.profiler.capture.command import Captured
from stepprof.profiler.query import Answer

WIDTH = 80
NARROW, WIDE = 20, 32  # columns of the key, with and without a bar
BAR = 10
FULL_BAR = 0.4  # the share of wall that fills a bar


def console(stderr: bool = False) -> Console:
    """Standard output (or error); exactly 80 columns when it is no terminal."""
    out = Console(highlight=False, soft_wrap=True, stderr=stderr)
    if out.is_terminal:
        return out
    return Console(highlight=False, soft_wrap=True, width=WIDTH, color_system=None, stderr=stderr)


def show_import(out: Console, summary: dict[str, Any]) -> None:
    """What an import read."""
    counts = summary["counts"]
    out.print(Text(f"{summary['run']}: {summary['tool']}, {summary['format']}"))
    cards = ", ".join(f"{d['ordinal']} {d['name'] or 'unknown GPU'}" for d in summary["devices"])
    out.print(Text(f"cards   {cards or 'none'}"))
    out.print(
        f"rows    {counts['kernel']:,} kernels, {counts['memcpy']:,} copies, {counts['memset']:,} memsets, "
        f"{counts['api']:,} API calls,\n        {counts['range']:,} ranges, {counts['graph_launch']:,} graph launches"
    )
    show_warnings(out, summary["warnings"])


def show_capture(out: Console, summary: dict[str, Any], done: Captured) -> None:
    """What was recorded, and what recording it cost."""
    show_import(out, summary)
    if done.inflation is None:
        out.print("tracing cost unknown (no untraced control was compared)")
        return
    cost = done.inflation
    out.print(
        f"tracing makes a step {cost.ratio:.3f} times as long as untraced "
        f"({cost.low:.3f} to {cost.high:.3f});\nuntraced p50 {_ms(cost.control_p50_ns[0]):.3f} ms, "
        f"traced {_ms(cost.traced_p50_ns):.3f} ms, {len(cost.control_ns)} untraced steps, measured"
    )
    if cost.span is not None and cost.prologue is not None:
        out.print(f"   = 1 + {cost.prologue:.3f} around the GPU's ops + {cost.span:.3f} within them")


def show_answer(out: Console, answer: Answer) -> None:
    """Rows of a query in columns; long texts are cut."""
    cells = [answer.columns, *([_cell(value) for value in row] for row in answer.rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(answer.columns))]
    for n, row in enumerate(cells):
        numbers = [isinstance(value, int | float) for value in answer.rows[n - 1]] if n else [False] * len(row)
        parts = [c.rjust(w) if number else c.ljust(w) for c, w, number in zip(row, widths, numbers, strict=True)]
        out.print(Text("  ".join(parts).rstrip(), style="bold" if n == 0 else ""))
    if answer.more:
        out.print(f"({len(answer.rows):,} rows shown, there are more: --limit N)")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    text = "" if value is None else clean(str(value))
    return text if len(text) <= 60 else text[:59] + "…"


def show_audit(out: Console, facts: list[Fact]) -> None:
    """Each fact with its meaning; what could not be seen last."""
    for fact in (f for f in facts if f.value is not None):
        where = f"{fact.name} [{fact.gpu}]" if fact.gpu else fact.name
        paragraph(out, f"{where:30}{fact.value or ''}", indent=30)
        paragraph(out, f"{fact.meaning} ({fact.source})", style="dim", first=4)
    for fact in (f for f in facts if f.value is None):
        where = f"{fact.name} [{fact.gpu}]" if fact.gpu else fact.name
        paragraph(out, f"not seen: {where} ({fact.source}): {fact.meaning}")


def plain(text: str) -> Text:
    """A line of untrusted text as it is."""
    return Text(clean(text))


def show_steps(out: Console, source: str, steps: Steps, warnings: list[dict[str, Any]]) -> None:
    """One line a step."""
    out.print(Text(f"{clean(source)}: {len(steps)} steps by {steps.method} (confidence {steps.confidence:.2f})"))
    out.print("  step  label                 window   wall ms  GPU span ms     ops  flags", style="bold")
    w = steps.windows
    for i in range(len(steps)):
        span = f"{_ms(w.gpu_end[i] - w.gpu_start[i]):11.3f}" if w.ops[i] else f"{'-':>11}"
        window = "host" if w.host[i] else "gpu"
        flags = ", ".join(steps.flags[i])
        label = clean(steps.label[i])[:20]
        out.print(
            Text(f"{i:6}  {label:20}  {window:6} {_ms(steps.wall[i]):9.3f}  {span}  {w.ops[i]:6,}  {flags}".rstrip())
        )
    show_warnings(out, warnings)


def show_breakdown(out: Console, source: str, result: Breakdown, limit: int = 24) -> None:
    """Headline, rows with kinds, gaps, cards, coverage, warnings."""
    _headline(out, source, result)
    show_rows(out, result, limit)
    out.print("gaps", style="bold")
    for gap in result.gaps:
        out.print(_line(gap.class_, gap.exposed_ns, gap.share, None, gap.count))
    _footer(out, result)


def show_rows(out: Console, result: Breakdown, limit: int = 24) -> None:
    """The rows alone; figures are ms a step."""
    width = WIDE if result.by in ("kernel", "label") else NARROW
    bar = f"  {'':{BAR}}" if width == NARROW else ""
    out.print(
        f"{result.by:<{width}}{'exposed':>8}{'of wall':>9}{bar}{'busy':>8}{'work':>8}{'hidden':>8}{'ops':>7}",
        style="bold",
    )
    for row in result.rows[:limit]:
        _row(out, result, row, width)
    rest = result.rows[limit:]
    if rest:
        fields = ("exposed_ns", "share", "busy_ns", "work_ns", "hidden_ns", "ops")
        exposed, share, *figures, ops = (float(sum(getattr(row, name) for row in rest)) for name in fields)
        out.print(_line(f"({len(rest)} more rows)", exposed, share, figures, ops, width))


def _headline(out: Console, source: str, result: Breakdown) -> None:
    wall, n = result.wall_ns, max(result.steps, 1)
    exposed, gap = result.totals["exposed_ns"] / n, result.totals["gap_ns"] / n
    out.print(Text(f"{clean(source)}: {result.steps} steps by {result.method} (confidence {result.confidence:.2f})"))
    spread = f"(min {_ms(wall['min']):.3f}, max {_ms(wall['max']):.3f})" if n > 1 else "(one step, so no spread)"
    out.print(
        f"step p50 {_ms(wall['p50']):.3f} ms {spread}, measured\n"
        f"   = mean {_ms(exposed):.3f} exposed + {_ms(gap):.3f} gaps",
        style="bold",
    )


def _row(out: Console, result: Breakdown, row: Row, width: int) -> None:
    key = {"kernel": lambda k: short_name(k, width - 1), "label": lambda k: k[-(width - 1) :]}.get(result.by, str)(
        row.key
    )
    out.print(_line(key, row.exposed_ns, row.share, [row.busy_ns, row.work_ns, row.hidden_ns], row.ops, width))
    if result.by in ("kind", "kernel") or [k.kind for k in row.kinds] == [row.key]:
        return
    shown = [k for k in row.kinds if row.work_ns and k.work_ns >= 0.01 * row.work_ns]
    odd = {k.kind for k in shown if not k.fits} if result.by == "role" else set[str]()
    parts = [f"{k.kind} {100 * k.work_ns / row.work_ns:.0f} %{' !' if k.kind in odd else ''}" for k in shown]
    if parts:
        out.print(Text(f"  {' · '.join(parts)}"[:WIDTH]), style="dim")


def _line(
    key: str, exposed: float, share: float, figures: list[float] | None, count: float, width: int = NARROW
) -> Text:
    bar = f"  {'█' * min(round(share * BAR / FULL_BAR), BAR):{BAR}}" if width == NARROW else ""
    middle = f"{'':24}" if figures is None else "".join(f"{_ms(figure):8.3f}" for figure in figures)
    return Text(f"{clean(key)[: width - 1]:{width}}{_ms(exposed):8.3f}{100 * share:8.1f}%{bar}{middle}{count:7,.0f}")


def _footer(out: Console, result: Breakdown) -> None:
    cards = "   ".join(f"card {d.device} {_ms(d.busy_ns):.3f} ms" for d in result.devices)
    out.print(f"busy    {cards}")
    if len(result.devices) > 1:
        out.print(f"second  {_ms(result.second_card_ns):.3f} ms of the path on the second card or waiting for it")
    path = result.path
    out.print(
        f"known   {100 * result.labelled_share:.1f} % of ops labelled; exposed time "
        f"{100 * result.unknown_share:.1f} % unknown, {100 * result.low_confidence_share:.1f} % vague"
    )
    out.print(
        f"path    {100 * path['recorded']:.1f} % of links recorded, {100 * path['ordered']:.1f} % ordered, "
        f"{100 * path['inferred']:.1f} % inferred"
    )
    for m in result.mismatches[:3]:
        out.print(Text(f"! {m.role}: {100 * m.share:.0f} % of its work is {m.kind} ({m.kernel})"))
    _doubts(out, result)
    show_warnings(out, result.warnings)


def _doubts(out: Console, result: Breakdown) -> None:
    if result.unknown_share + result.low_confidence_share > 0.05:
        out.print("roles rest on vague names: see stepprof roles TRACE for the rules that would settle most")
    show_inflation(out, result.inflation)


def show_inflation(out: Console, inflation: TracingInflation | None) -> None:
    """What tracing did to the steps, for the end of every answer."""
    if inflation is None:
        out.print(f"{tracing_text(None)}: trust shares more than ms")
        return
    out.print(tracing_text(inflation))
    if inflation.span is not None and inflation.prologue is not None:
        out.print(f"   = 1 + {inflation.prologue:.2f} around the GPU's ops + {inflation.span:.2f} within them")


def tracing_text(inflation: TracingInflation | None) -> str:
    """The same in a line."""
    if inflation is None:
        return "tracing cost unknown (no untraced control on record)"
    return f"tracing makes a step {times(inflation)}"


def tracing_lines(launches: Iterable[tuple[str, TracingInflation | None]]) -> list[str]:
    """The same of traced launches by name, a line for all that say the same."""
    said: dict[str, list[str]] = {}
    for name, inflation in launches:
        said.setdefault(tracing_text(inflation), []).append(clean(name))
    return [f"{', '.join(names)}: {text}" for text, names in said.items()]


def show_tracing(out: Console, launches: Iterable[tuple[str, TracingInflation | None]]) -> None:
    """Those lines."""
    for line in tracing_lines(launches):
        paragraph(out, line, first=2)


def show_roles(out: Console, source: str, rows: list[NamedRole], limit: int = 30) -> None:
    """Names by doubt, then work, and how much of the doubt the first ones make up."""
    vague = [row for row in rows if row.role == "unknown" or row.confidence == "low"]
    work, doubt = sum(r.work_ns for r in rows), sum(r.work_ns for r in vague)
    out.print(Text(f"{clean(source)}: {len(rows)} op names in steps; doubtful ones first"))
    if doubt:
        top = sum(r.work_ns for r in vague[:5]) / doubt
        out.print(
            f"{100 * doubt / work:.1f} % of work rests on vague names; rules for the first {min(5, len(vague))} "
            f"would settle {100 * top:.0f} % of it:\n"
        )
        out.print(
            Text(f"  [[role]]\n  pattern = '{clean(vague[0].short_name)}'\n  role = '…'      # then --rules FILE\n")
        )
    out.print(f"{'name':34}{'work ms':>9}{'ops':>8}  {'role':15}{'kind'}", style="bold")
    for row in rows[:limit]:
        fits = "" if row.fits else ", kind does not fit the role"
        out.print(Text(f"{clean(row.short_name)[:33]:34}{_ms(row.work_ns):9.3f}{row.ops:8,}  {row.role:15}{row.kind}"))
        out.print(Text(f"    by {row.rule or 'no rule'} ({row.confidence}{fits})"), style="dim")
    if len(rows) > limit:
        out.print(f"({len(rows) - limit} more; all of them with --json)")


def show_warnings(out: Console, warnings: list[dict[str, Any]]) -> None:
    """Every warning in words."""
    for warning in warnings:
        paragraph(out, f"warning: {warning['text']}", style="yellow", indent=9)


def paragraph(out: Console, text: str, style: str = "", first: int = 0, indent: int = 4) -> None:
    """A text of any length in lines of 80 columns; `first` and `indent` are the margins of its lines."""
    lines = textwrap.fill(
        clean(text),
        WIDTH,
        initial_indent=" " * first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    out.print(Text(lines), style=style)


def clean(text: str) -> str:
    """Text from a trace without control characters, so that it cannot drive the terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _ms(ns: float) -> float:
    return float(ns) / 1e6
