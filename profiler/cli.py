"""The command line: parse, call one function, print. Faults become one sentence here.

Standard output carries the answer (one JSON document with --json), standard error
everything else. Exit codes: profiler/errors.py.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import duckdb
import typer

from stepprof.analyses.attribution import Attribution, Question, attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.breakdown_result import By
from stepprof.analyses.carried_labels import carry_labels
from stepprof.analyses.markers import grammars
from stepprof.analyses.role_table import role_table
from stepprof.analyses.rules import load_rules
from stepprof.analyses.selection import chosen_steps
from stepprof.profiler.audit import audit, audit_document
from stepprof.profiler.capture import command as recording
from stepprof.profiler.demo import demo_run
from stepprof.profiler.errors import InputError, StepprofError, UsageError
from stepprof.profiler.ingest.cache import cached_run
from stepprof.profiler.ingest.importer import Extras, import_run, summary
from stepprof.profiler.ingest.merge import import_merged
from stepprof.profiler.report import document, terminal
from stepprof.profiler.runtime_command import PASS_ON, start_runtime
from stepprof.profiler.scrub import scrub
from stepprof.profiler.store import Store, open_run

app = typer.Typer(
    name="stepprof",
    help="Where did this decode step's time go, and what would a proposed change really buy?\n\n"
    "Start with [bold]stepprof demo[/bold]; then [bold]stepprof breakdown TRACE[/bold] on your own capture.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)

Trace = Annotated[Path, typer.Argument(help="A run file (.duckdb) or a trace that import reads.")]
Marker = Annotated[str | None, typer.Option(help="Regular expression of the ranges that mark steps.")]
Method = Annotated[
    Literal["launches", "period"] | None, typer.Option(help="Find steps without marks, by this method only.")
]
Rules = Annotated[Path | None, typer.Option(help="TOML file with your own role, kind, range and marker rules.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
StepNumber = Annotated[int | None, typer.Option(help="Only the step with this index.")]
StepSlice = Annotated[str | None, typer.Option(help="Only steps A:B, B not included.")]


@app.command(context_settings={"allow_interspersed_args": False})
def capture(
    command: recording.Command = None,
    out: recording.Out = Path("run.duckdb"),
    backend: recording.BackendOption = "auto",
    control: recording.ControlOption = "before",
    no_control: recording.NoControl = False,
    steps: recording.Steps = None,
    range_: recording.Range = None,
    delay: recording.Delay = 0,
    duration: recording.Duration = 0,
    marker: recording.StepMarker = None,
    env_prefix: recording.EnvPrefix = None,
    arm: recording.Arm = "",
    keep_records: recording.KeepRecords = False,
    force: recording.Force = False,
) -> None:
    """Record a program, and an untraced control beside it, into one run file."""
    if not command:
        raise UsageError("no program is given: stepprof capture -o RUN.duckdb -- python decode.py")
    window = recording.Window(steps, range_, delay, duration, marker)
    chosen = "none" if no_control else control
    options = recording.CaptureOptions(
        command, out, backend, chosen, window, tuple(env_prefix or ()), arm, force, keep_records
    )
    marks = [(name, [pattern for pattern, _ in found]) for name, found in grammars(load_rules(), marker)]
    done = recording.capture(options, marks)
    with _opened(out) as store:
        terminal.show_capture(terminal.console(stderr=True), summary(store), done)
    raise typer.Exit(done.code)


@app.command("import")
def import_(
    traces: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="The trace to read; or the files of one run.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The run file to write.")],
    edges: Annotated[Path | None, typer.Option(help="Recorded CUDA graph edges (TSV, also .gz).")] = None,
    facts: Annotated[Path | None, typer.Option(help="Facts of steps and sidecar calls (JSON lines).")] = None,
    costs: Annotated[Path | None, typer.Option(help="Bytes and flops of ops (JSON lines).")] = None,
    labels_from: Annotated[
        Path | None, typer.Option(metavar="TRACE", help="An annotated trace of the same program to take labels from.")
    ] = None,
    align: Annotated[
        str | None,
        typer.Option(metavar="MARKER", help="Ranges (regular expression) that put several files on one clock."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing run file.")] = False,
    json: Json = False,
) -> None:
    """Read a trace, or several files of one run, into a run file that every other command takes."""
    if align is not None and len(traces) == 1:
        raise UsageError("--align puts several files on one clock: give two or more.")
    extras = Extras(edges, facts, costs)
    with _opened(labels_from) if labels_from else nullcontext() as other:
        finish = None if other is None else partial(carry_labels, other=other)
        if len(traces) == 1:
            import_run(traces[0], out, extras, force, finish)
        else:
            import_merged(traces, out, extras, force, align, finish)
    with _opened(out) as store:
        _print(summary(store)) if json else terminal.show_import(terminal.console(), summary(store))


@app.command()
def steps(trace: Trace, marker: Marker = None, method: Method = None, rules: Rules = None, json: Json = False) -> None:
    """List the steps of a trace: how they were found, their windows, what is doubtful."""
    with _opened(trace) as store:
        found = attribute(store, Question(marker, method, rules))
        if json:
            _print(document.steps_document(found.steps, found.warnings))
        else:
            terminal.show_steps(terminal.console(), _source(store), found.steps, found.warnings)


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
    with _opened(trace) as store:
        found = attribute(store, Question(marker, method, rules))
        result = breakdown(found, by, chosen_steps(found.steps, step, steps))
        if csv:
            document.write_text(csv, document.breakdown_csv(result))
        if json:
            _print(document.breakdown_document(result))
        else:
            terminal.show_breakdown(terminal.console(), _source(store), result)


@app.command()
def roles(trace: Trace, marker: Marker = None, method: Method = None, rules: Rules = None, json: Json = False) -> None:
    """List op names with role, kind and the rule that decided; doubtful ones first."""
    with _opened(trace) as store:
        found = attribute(store, Question(marker, method, rules))
        rows = role_table(found)
        if json:
            _print(document.roles_document(found, rows))
        else:
            terminal.show_roles(terminal.console(), _source(store), rows)


@app.command("audit")
def audit_(json: Json = False) -> None:
    """Tell what this host lets one- and two-card decode do; reads, never sets, needs neither GPU nor root."""
    facts = audit()
    _print(audit_document(facts)) if json else terminal.show_audit(terminal.console(), facts)


@app.command("scrub")
def scrub_(
    trace: Annotated[Path, typer.Argument(help="An nsys SQLite export, a torch.profiler trace or a run file.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The copy to write.")],
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
) -> None:
    """Copy a trace without what tells about the machine and its user; list what was left out."""
    for line in scrub(trace, out, force):
        terminal.console().print(terminal.plain(f"removed {line}"))


@app.command()
def demo() -> None:
    """Run the main job on a real capture of two H200s that comes with stepprof."""
    with demo_run() as run, _opened(run) as store:
        out = terminal.console()
        terminal.show_import(out, {**summary(store), "run": "demo capture"})
        found: Attribution = attribute(store)
        out.print()
        terminal.show_steps(out, "demo", found.steps, [])
        out.print()
        terminal.show_breakdown(out, "demo", breakdown(found, "role"))
        for by in ("kind", "device"):
            out.print()
            terminal.show_rows(out, breakdown(found, by))
        out.print("\nNext: stepprof breakdown YOUR.sqlite   (record with nsys profile -t cuda,nvtx")
        out.print("      --cuda-graph-trace=node, then nsys export -t sqlite)")


@app.command(context_settings=PASS_ON)
def run(context: typer.Context) -> None:
    """Run the built-in model: prompts by class, steps, kept tokens (stepprof run --help lists its switches)."""
    raise typer.Exit(start_runtime("run", context.args))


@app.command(context_settings=PASS_ON)
def serve(context: typer.Context) -> None:
    """Serve the built-in model, OpenAI-compatible, on 127.0.0.1 (stepprof serve --help lists its switches)."""
    raise typer.Exit(start_runtime("serve", context.args))


@app.command(context_settings=PASS_ON)
def bench(context: typer.Context) -> None:
    """Measure one part of the built-in model: bench sidecar, bench kernels (stepprof bench --help)."""
    raise typer.Exit(start_runtime("bench", context.args))


@contextmanager
def _opened(trace: Path) -> Generator[Store]:
    """A run, or a trace imported into the cache."""
    store = open_run(cached_run(trace, Extras()))
    try:
        yield store
    except duckdb.Error as fault:  # a bad block shows only once it is read
        what = str(fault).splitlines()[0][:160]
        raise InputError(f"{store.path} is damaged ({what}): remove it and import the trace again.") from None
    finally:
        store.close()


def _source(store: Store) -> str:
    return store.fact("source") or store.path.name


def _print(answer: object) -> None:
    sys.stdout.write(document.as_json(answer) + "\n")


def main() -> None:
    """Run the command line; every fault a user can meet ends in one sentence."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` blocks clean up
    try:
        app(args=recording.spelled(sys.argv[1:]))
    except StepprofError as fault:
        sys.stderr.write(f"stepprof: {terminal.clean(str(fault))}\n")
        sys.exit(fault.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as fault:
        sys.stderr.write(
            f"stepprof: {fault.filename or 'the system'}: {fault.strerror}: check space and permissions.\n"
        )
        sys.exit(InputError.exit_code)
