"""stepprof demo: the main job on a capture that comes with stepprof."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.whatif.answer import evaluate
from stepprof.analyses.whatif.proposals import read_proposals
from stepprof.analyses.whatif.settings import Figures, settings_of
from stepprof.profiler.commands.shared import Force, absent, attributed, opened
from stepprof.profiler.demo import PROPOSALS, demo_run
from stepprof.profiler.ingest.importer import summary
from stepprof.profiler.report import terminal, terminal_sidecar
from stepprof.profiler.report.html.beside import asked
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report
from stepprof.profiler.report.terminal_whatif import show_whatif

app = typer.Typer()


@app.command()
def demo(
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write its HTML report to this file.")] = None,
    force: Force = False,
) -> None:
    """Show where a step goes, on a real capture of two H200s that comes with stepprof."""
    if html is not None:
        absent(html, force, "--html")
    with demo_run() as run, opened(run) as store:
        out = terminal.console()
        terminal.show_import(out, {**summary(store), "run": "demo capture"})
        found = attributed(store)
        graph = build_graph(found, store)
        changes = evaluate(graph, read_proposals(PROPOSALS), settings_of(store, found, graph, Figures()))
        beside = replace(asked(store, found, found.steps.usable), whatif=changes)
        out.print()
        terminal.show_steps(out, "demo", found.steps, [])
        out.print()
        terminal.show_breakdown(out, "demo", breakdown(found, "role"))
        if beside.sidecar is not None:
            out.print()
            terminal_sidecar.show_sidecar(out, "demo", beside.sidecar)
        out.print()
        show_whatif(out, changes)
        if html is not None:
            write_report(html, report_data(store, found, None, beside))
    out.print("\nNext: stepprof breakdown YOUR.sqlite   (record with nsys profile -t cuda,nvtx")
    out.print("      --cuda-graph-trace=node, then nsys export -t sqlite)")
    out.print("To look at it: stepprof report YOUR.sqlite -o report.html")
    if html is not None:
        out.print(terminal.plain(f"This capture's report: {html}, open it in a browser"))
