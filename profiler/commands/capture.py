"""stepprof capture: record a program."""

from __future__ import annotations

from pathlib import Path

import typer

from stepprof.analyses.markers import grammars
from stepprof.analyses.rules import load_rules
from stepprof.profiler.capture import command as recording
from stepprof.profiler.commands.shared import opened
from stepprof.profiler.errors import UsageError
from stepprof.profiler.ingest.importer import summary
from stepprof.profiler.report import terminal

app = typer.Typer()


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
    with opened(out) as store:
        terminal.show_capture(terminal.console(stderr=True), summary(store), done)
    raise typer.Exit(done.code)
