"""stepprof export and query: a run for other tools, and by SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from stepprof.analyses.account import add_account
from stepprof.analyses.attribution import Question
from stepprof.analyses.selection import chosen_steps
from stepprof.profiler.commands.shared import (
    Force,
    Json,
    Marker,
    Method,
    Rules,
    StepNumber,
    StepSlice,
    Trace,
    attributed,
    opened,
    print_json,
)
from stepprof.profiler.errors import InputError
from stepprof.profiler.query import ask, wants_account
from stepprof.profiler.report import terminal
from stepprof.profiler.report.document import answer_csv, answer_document, write_text
from stepprof.profiler.report.perfetto import write_perfetto
from stepprof.profiler.report.tables import write_csv, write_parquet

app = typer.Typer()

WRITERS = {"perfetto": write_perfetto, "parquet": write_parquet, "csv": write_csv}


@app.command()
def export(
    trace: Trace,
    out: Annotated[Path, typer.Option("-o", "--out", help="The file to write; .gz is gzipped.")],
    format: Annotated[
        Literal["perfetto", "parquet", "csv"], typer.Option(help="A timeline, or a table with one row an op.")
    ] = "perfetto",
    step: StepNumber = None,
    steps: StepSlice = None,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    force: Force = False,
) -> None:
    """Write the steps for Perfetto (ui.perfetto.dev), or as a table with one row an op."""
    if out.exists() and not force:
        raise InputError(f"{out} exists already: choose another -o or pass --force.")
    with opened(trace) as store:
        found = attributed(store, Question(marker, method, rules))
        chosen = chosen_steps(found.steps, step, steps)
        count = WRITERS[format](out, store, found, list(range(len(found.steps))) if chosen is None else chosen)
    what = "events" if format == "perfetto" else "ops"
    said = terminal.console(stderr=True)
    said.print(terminal.plain(f"{out}: {count:,} {what}"))
    terminal.show_inflation(said, found.inflation)


@app.command()
def query(
    trace: Trace,
    sql: Annotated[str, typer.Argument(help="One SQL statement (DuckDB); '-' reads it from standard input.")],
    limit: Annotated[int, typer.Option(min=1, help="Print at most so many rows.")] = 1000,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    json: Json = False,
    csv: Annotated[Path | None, typer.Option(help="Write the rows to this CSV file instead.")] = None,
) -> None:
    """Ask a run by SQL: its tables, and step, op_account and gap. Reads nothing else, writes nothing."""
    sql = typer.get_text_stream("stdin").read() if sql == "-" else sql
    with opened(trace) as store:
        if wants_account(sql):
            add_account(store, attributed(store, Question(marker, method, rules)))
        answer = ask(store, sql, limit)
    if csv:
        write_text(csv, answer_csv(answer))
    elif json:
        print_json(answer_document(answer))
    else:
        terminal.show_answer(terminal.console(), answer)
