"""stepprof import and scrub: trace files in, run files and shareable copies out."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.carried_labels import carry_labels
from stepprof.profiler.commands.shared import Force, Json, opened, print_json
from stepprof.profiler.errors import UsageError
from stepprof.profiler.ingest.importer import Extras, import_run, summary
from stepprof.profiler.ingest.merge import import_merged
from stepprof.profiler.report import terminal
from stepprof.profiler.report.progress import working
from stepprof.profiler.scrub import scrub

app = typer.Typer()


@app.command("import")
def import_(
    traces: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="The trace to read; or the files of one run.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The run file to write.")],
    edges: Annotated[Path | None, typer.Option(help="Recorded CUDA graph edges (TSV, also .gz).")] = None,
    facts: Annotated[Path | None, typer.Option(help="Facts of steps and sidecar calls (JSON lines).")] = None,
    costs: Annotated[Path | None, typer.Option(help="Bytes and flops of ops (JSON lines).")] = None,
    resident: Annotated[
        Path | None, typer.Option(help="Calls that a resident sidecar kernel stamped (JSON lines).")
    ] = None,
    labels_from: Annotated[
        Path | None, typer.Option(metavar="TRACE", help="An annotated trace of the same program to take labels from.")
    ] = None,
    align: Annotated[
        str | None,
        typer.Option(metavar="MARKER", help="Ranges (regular expression) that put several files on one clock."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Read a trace, or several files of one run, into a run file that every other command takes.

    Facts, costs, edges, stamps and labels may also be added to a copy of a run file.
    """
    if align is not None and len(traces) == 1:
        raise UsageError("--align puts several files on one clock: give two or more.")
    extras = Extras(edges, facts, costs, resident)
    with opened(labels_from) if labels_from else nullcontext() as other:
        finish = None if other is None else partial(carry_labels, other=other)
        with working(f"reading {', '.join(trace.name for trace in traces[:3])}"):
            if len(traces) == 1:
                import_run(traces[0], out, extras, force, finish)
            else:
                import_merged(traces, out, extras, force, align, finish)
    with opened(out) as store:
        print_json(summary(store)) if json else terminal.show_import(terminal.console(), summary(store))


@app.command("scrub")
def scrub_(
    trace: Annotated[Path, typer.Argument(help="An nsys SQLite export, a torch.profiler trace or a run file.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The copy to write.")],
    force: Force = False,
) -> None:
    """Copy a trace without what tells about the machine and its user; list what was left out."""
    for line in scrub(trace, out, force):
        terminal.paragraph(terminal.console(), f"removed {line}")
