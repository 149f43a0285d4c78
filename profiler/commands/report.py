"""stepprof report: the answer as one HTML file that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.attribution import Question
from stepprof.analyses.selection import chosen_steps
from stepprof.analyses.sidecar.answer import SidecarQuestion
from stepprof.profiler.commands.breakdown import Bandwidth, quoted
from stepprof.profiler.commands.report_beside import Files, answered, check
from stepprof.profiler.commands.shared import Force, Marker, Method, Rules, StepSlice, Trace, absent, attributed, opened
from stepprof.profiler.report import terminal
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report
from stepprof.profiler.report.progress import working

app = typer.Typer()


Further = Annotated[
    list[Path] | None, typer.Option(metavar="FILE...", help="Launches of a changed setup to compare with.")
]


@app.command()
def report(
    trace: Trace,
    out: Annotated[Path, typer.Option("-o", "--out", help="The HTML file to write.")],
    vs: Further = None,
    replicate: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="One more launch of TRACE's setup, for --vs; may be repeated."),
    ] = None,
    warm_up: Annotated[int, typer.Option(min=0, help="Steps of each launch that --vs leaves out.")] = 0,
    whatif: Annotated[Path | None, typer.Option(help="TOML file of proposals to evaluate.")] = None,
    scores: Annotated[Path | None, typer.Option(help="Scored predictions, for --whatif.")] = None,
    kept: Annotated[float | None, typer.Option(help="Kept tokens a step, for --whatif.")] = None,
    bench: Annotated[Path | None, typer.Option(help="File of stepprof bench … -o to show beside.")] = None,
    bar: Annotated[float | None, typer.Option(help="What a mode of --bench has to save, µs.")] = None,
    expert_bytes: Annotated[float | None, typer.Option(help="Bytes of one expert's weights, for floors.")] = None,
    bandwidth: Bandwidth = None,
    steps: StepSlice = None,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    force: Force = False,
) -> None:
    """Write one HTML file that shows where a step goes, from headline to single ops; it opens offline."""
    absent(out, force, "-o")
    files = Files(bench, bar, whatif, scores, kept, vs or (), replicate or (), warm_up)
    check(trace, files)
    question, of_sidecar = Question(marker, method, rules), SidecarQuestion(rules, quoted(expert_bytes, bandwidth))
    with opened(trace) as store:
        found = attributed(store, question)
        chosen = chosen_steps(found.steps, None, steps)
        with working(f"drawing {out.name}"):
            beside = answered(files, question, of_sidecar, trace, store, found, chosen)
            write_report(out, report_data(store, found, chosen, beside))
    size = out.stat().st_size / 1e6
    terminal.console(stderr=True).print(terminal.plain(f"{out}: {size:.1f} MB, open it in a browser"))
