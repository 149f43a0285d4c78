"""stepprof report: the answer as one HTML file that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.attribution import Question
from stepprof.analyses.selection import chosen_steps
from stepprof.profiler.commands.shared import Force, Marker, Method, Rules, StepSlice, Trace, attributed, opened
from stepprof.profiler.errors import InputError
from stepprof.profiler.report import terminal
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report

app = typer.Typer()


@app.command()
def report(
    trace: Trace,
    out: Annotated[Path, typer.Option("-o", "--out", help="The HTML file to write.")],
    steps: StepSlice = None,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    force: Force = False,
) -> None:
    """Write one HTML file that shows where a step goes, from headline to single ops; it opens offline."""
    if out.exists() and not force:
        raise InputError(f"{out} exists already: choose another -o or pass --force.")
    with opened(trace) as store:
        found = attributed(store, Question(marker, method, rules))
        write_report(out, report_data(store, found, chosen_steps(found.steps, None, steps)))
    size = out.stat().st_size / 1e6
    terminal.console(stderr=True).print(terminal.plain(f"{out}: {size:.1f} MB, open it in a browser"))
