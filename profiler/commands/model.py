"""stepprof run, serve and bench: the built-in model, started as a command."""

from __future__ import annotations

import typer

from stepprof.profiler.commands.bench import run_bench
from stepprof.profiler.runtime_command import PASS_ON, start_runtime

app = typer.Typer()


@app.command(context_settings=PASS_ON)
def run(context: typer.Context) -> None:
    """Run the built-in model: prompts by class, steps, kept tokens; --help lists its switches."""
    raise typer.Exit(start_runtime("run", context.args))


@app.command(context_settings=PASS_ON)
def serve(context: typer.Context) -> None:
    """Serve the built-in model, OpenAI-compatible, on 127.0.0.1; --help lists its switches."""
    raise typer.Exit(start_runtime("serve", context.args))


@app.command(context_settings=PASS_ON)
def bench(context: typer.Context) -> None:
    """Measure one part: bench sidecar, experts, gemm, determinism, kernels, nodes; bench show FILE draws a result."""
    raise typer.Exit(run_bench(context.args))
