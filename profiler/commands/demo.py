"""stepprof demo: the main job on a capture that comes with stepprof."""

from __future__ import annotations

import typer

from stepprof.analyses.breakdown import breakdown
from stepprof.profiler.commands.shared import attributed, opened
from stepprof.profiler.demo import demo_run
from stepprof.profiler.ingest.importer import summary
from stepprof.profiler.report import terminal

app = typer.Typer()


@app.command()
def demo() -> None:
    """Show where a step goes, on a real capture of two H200s that comes with stepprof."""
    with demo_run() as run, opened(run) as store:
        out = terminal.console()
        terminal.show_import(out, {**summary(store), "run": "demo capture"})
        found = attributed(store)
        out.print()
        terminal.show_steps(out, "demo", found.steps, [])
        out.print()
        terminal.show_breakdown(out, "demo", breakdown(found, "role"))
        for by in ("kind", "device"):
            out.print()
            terminal.show_rows(out, breakdown(found, by))
        out.print("\nNext: stepprof breakdown YOUR.sqlite   (record with nsys profile -t cuda,nvtx")
        out.print("      --cuda-graph-trace=node, then nsys export -t sqlite)")
