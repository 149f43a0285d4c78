"""The torch backend: the built-in model under torch.profiler, its Kineto trace imported.

    recording = record(sitting, program, folder, facts, window)

torch.profiler has to be started inside a program, so only the built-in model can be recorded this way; it does
that by its own switch --profile. Without a GPU the operators of the CPU stand in for GPU ops
(ingest/kineto_stand_in.py). With one, the kernels of graph replays carry no labels: cupti is the better backend.
"""

from __future__ import annotations

from pathlib import Path

from stepprof.profiler.capture.builtin import Program
from stepprof.profiler.capture.cupti import Recording
from stepprof.profiler.capture.program import Sitting
from stepprof.profiler.errors import UsageError
from stepprof.profiler.ingest.window import Window

TRACE = "torch.json"
# marks as ranges of torch.profiler; Kineto's own notes are no answer of the user's program
ENVIRONMENT = {"STEPPROF_MARKS": "torch", "KINETO_LOG_LEVEL": "99"}


def check_program(program: Program, window: Window) -> None:
    """UsageError where torch.profiler cannot do what is asked."""
    if not program.built_in:
        raise UsageError(
            "--backend torch records the built-in model only, since torch.profiler must be started inside a program: "
            "leave the command out, or let your program export a trace (export_chrome_trace) for stepprof import."
        )
    if window.delay_s > 0 or window.duration_s > 0:
        raise UsageError("--delay and --duration need --backend cupti or nsys: torch takes --steps and --range.")


def record(sitting: Sitting, program: Program, folder: Path, facts: Path, window: Window) -> Recording:
    """Run the model with its profiler on; the trace is that of its counted steps."""
    check_program(program, window)
    trace = folder / TRACE
    code = sitting.run(program.started(facts, "--profile", str(trace)), ENVIRONMENT)
    return Recording(code, trace)
