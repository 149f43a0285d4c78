"""stepprof steps, breakdown and roles: where the time of a step goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.attribution import Question, attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.breakdown_result import By
from stepprof.analyses.role_table import role_table
from stepprof.analyses.selection import chosen_steps
from stepprof.profiler.commands.shared import (
    Json,
    Marker,
    Method,
    Rules,
    StepNumber,
    StepSlice,
    Trace,
    opened,
    print_json,
    source_of,
)
from stepprof.profiler.report import document, terminal

app = typer.Typer()


@app.command()
def steps(trace: Trace, marker: Marker = None, method: Method = None, rules: Rules = None, json: Json = False) -> None:
    """List the steps of a trace: how they were found, their windows, what is doubtful."""
    with opened(trace) as store:
        found = attribute(store, Question(marker, method, rules))
        if json:
            print_json(document.steps_document(found.steps, found.warnings, found.inflation))
        else:
            terminal.show_steps(terminal.console(), source_of(store), found.steps, found.warnings)
            terminal.show_inflation(terminal.console(), found.inflation)


@app.command("breakdown")
def breakdown_(
    trace: Trace,
    by: Annotated[By, typer.Option(help="What the rows are.")] = "role",
    step: StepNumber = None,
    steps: StepSlice = None,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    json: Json = False,
    csv: Annotated[Path | None, typer.Option(help="Also write the rows to this CSV file.")] = None,
) -> None:
    """Show where the steps' time goes: exposed, hidden, busy, work and gaps."""
    with opened(trace) as store:
        found = attribute(store, Question(marker, method, rules))
        result = breakdown(found, by, chosen_steps(found.steps, step, steps))
        if csv:
            document.write_text(csv, document.breakdown_csv(result))
        if json:
            print_json(document.breakdown_document(result))
        else:
            terminal.show_breakdown(terminal.console(), source_of(store), result)


@app.command()
def roles(trace: Trace, marker: Marker = None, method: Method = None, rules: Rules = None, json: Json = False) -> None:
    """List op names with role, kind and the rule that decided; doubtful ones first."""
    with opened(trace) as store:
        found = attribute(store, Question(marker, method, rules))
        rows = role_table(found)
        if json:
            print_json(document.roles_document(found, rows))
        else:
            terminal.show_roles(terminal.console(), source_of(store), rows)
            terminal.show_inflation(terminal.console(), found.inflation)
            terminal.show_warnings(terminal.console(), found.warnings)
