"""stepprof capture: record a program."""

from __future__ import annotations

from pathlib import Path

import typer

from stepprof.analyses.markers import grammars
from stepprof.analyses.rules import load_rules
from stepprof.profiler.capture import options as recording
from stepprof.profiler.capture.command import capture as record
from stepprof.profiler.commands.shared import opened
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
    """Record a program, and an untraced control beside it, into one run file.

    Without a program: the built-in model (preset mini where a GPU is, else tiny on the CPU), with its facts.
    """
    window = recording.Window(steps, range_, delay, duration, marker)
    chosen = "none" if no_control else control
    options = recording.CaptureOptions(
        command or [], out, backend, chosen, window, tuple(env_prefix or ()), arm, force, keep_records
    )
    marks = [(name, [pattern for pattern, _ in found]) for name, found in grammars(load_rules(), marker)]
    done = record(options, marks)
    with opened(out) as store:
        terminal.show_capture(terminal.console(stderr=True), summary(store), done)
    raise typer.Exit(done.code)
