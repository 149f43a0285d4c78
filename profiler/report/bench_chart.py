"""Bench files as a chart: p50 by rows and mode, and what modes save, with the bar to be met as a dashed line.

The figure is plotly's; the page is one file that opens without a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from stepprof.analyses.bench.results import BenchFile, further_warnings, machine_of
from stepprof.analyses.bench.savings import Saving, unjudged
from stepprof.profiler.report.terminal import clean


def bench_figure(file: BenchFile, found: Sequence[Saving]) -> Any:
    """A row of two charts for each thing that was measured; only the first where nothing is compared."""
    names = list(dict.fromkeys(one.name for one in file.results))
    columns = 2 if found else 1
    titles = [title for name in names for title in (f"{_safe(name)}, p50", "saved")[:columns]]
    figure: Any = make_subplots(rows=len(names), cols=columns, subplot_titles=titles)
    for row, name in enumerate(names, 1):
        _add_times(figure, file, name, row)
        _add_savings(figure, [one for one in found if one.name == name], row)
    figure.update_layout(
        title=_title(file, found), barmode="group", template="plotly_white", height=120 + 330 * len(names)
    )
    figure.update_xaxes(type="category", title="rows")
    figure.update_yaxes(title="µs")
    return figure


def bench_html(file: BenchFile, found: Sequence[Saving]) -> str:
    """The chart as a page."""
    return bench_figure(file, found).to_html(include_plotlyjs=True, full_html=True)


def _add_times(figure: Any, file: BenchFile, name: str, row: int) -> None:
    results = [one for one in file.results if one.name == name]
    for mode in dict.fromkeys(one.mode for one in results):
        mine = [one for one in results if one.mode == mode]
        x, y = [str(one.rows) for one in mine], [one.p50_us.value for one in mine]
        label = f"{_safe(mode)} ({mine[0].p50_us.kind})"
        figure.add_trace(go.Bar(x=x, y=y, name=label, legendgroup=mode, showlegend=row == 1), row=row, col=1)


def _add_savings(figure: Any, found: Sequence[Saving], row: int) -> None:
    for mode in dict.fromkeys(one.mode for one in found):
        mine = [one for one in found if one.mode == mode]
        half = [0.0 if one.high_us is None else one.high_us - one.saved_us for one in mine]
        label = f"{_safe(mode)}: saved against {_safe(mine[0].against)}"
        x, y = [str(one.rows) for one in mine], [one.saved_us for one in mine]
        errors = {"type": "data", "array": half, "visible": any(half)}
        figure.add_trace(go.Bar(x=x, y=y, name=label, error_y=errors, showlegend=row == 1), row=row, col=2)
    if found and found[0].bar_us is not None:
        text = f"bar {found[0].bar_us:g} µs"
        figure.add_hline(y=found[0].bar_us, line_dash="dash", annotation_text=text, row=row, col=2)


def _title(file: BenchFile, found: Sequence[Saving]) -> str:
    warnings = further_warnings(file) + unjudged(file, found)
    lines = [f"bench {file.bench}: {machine_of(file)}", *(f"warning: {one['text']}" for one in warnings)]
    return "<br>".join(_safe(line) for line in lines)


def _safe(text: str) -> str:
    """Text from a file: plotly reads a few HTML tags in labels, so none get there."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;")
